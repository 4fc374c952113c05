import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # helpers beside the tests
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job; children inherit
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def cache_of_the_tests(tmp_path_factory):
    """What replays remember stays among the tests, and apart from the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield

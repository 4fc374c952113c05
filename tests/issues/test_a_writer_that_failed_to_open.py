"""Found by stopping eight writers at random moments: acknowledged records were gone, and no error.

Opening failed as the corpus was locked at that moment, and was tried again; what the first try had
left open stayed so, kept alive by its own traceback. Looking at who else holds locks then closed a
descriptor of the same file, and under POSIX that drops every lock that a process has on it: another
process, taking itself for the last one, removed the log that was still written to. Their kind:
whatever fails to open leaves nothing open.
"""

import os
from pathlib import Path

import pytest

import corpus.store
from corpus import CorpusError, open_writer


def descriptors(path):
    """The files below `path` that this process has open."""
    links = [Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd")]
    targets = [os.readlink(link) for link in links if os.path.lexists(link)]
    return [target for target in targets if target.startswith(str(path))]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors are listed by Linux")
def test_a_writer_that_cannot_be_opened_leaves_nothing_open(tmp_path, monkeypatch):
    open_writer(tmp_path / "corpus").close()
    monkeypatch.setattr(corpus.store, "_PRAGMAS", (("nothing of this kind", 1),))
    with pytest.raises(CorpusError) as error:
        open_writer(tmp_path / "corpus")
    assert error.value is not None  # and so are its traceback, and the frames that it holds
    assert descriptors(tmp_path) == []

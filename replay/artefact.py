"""What a compiler answered, in the corpus's words."""

import msgspec

from corpus import Argument, Estimates, Launch, Opt


class Artefact(msgspec.Struct, frozen=True, kw_only=True):
    """What a compiler answered to one question. `stages` pairs names with digests, or is empty."""

    name: str
    source: str
    applied: tuple[Opt, ...]
    launch: Launch | None
    arguments: tuple[Argument, ...]
    estimates: Estimates | None
    stages: tuple[tuple[str, str], ...] = ()
    texts: tuple[tuple[str, str], ...] = ()
    rewrites: int | None = None

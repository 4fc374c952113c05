"""What people call the place of a corpus: a path, or the URL of an object store."""

import re
from pathlib import Path

_SCHEMES = "s3a?|gs|az|azure|adl|abfss?|https?|file|memory"
_URL = re.compile(rf"(?P<scheme>{_SCHEMES}):(?:/+(?P<rest>.*))?", re.IGNORECASE)
_ROOTED = ("file", "memory")  # schemes without a host


def url_of(path: Path | str) -> str | None:
    """The URL of an object store that a path was made of, which folds its slashes; else None."""
    match = _URL.fullmatch(str(path))
    if match is None:
        return None
    scheme = match["scheme"].lower()
    root = "/" if scheme in _ROOTED else ""
    return f"{scheme}://{root}{match['rest'] or ''}"


def name_of(path: Path | str) -> str:
    """A place as messages and commands name it."""
    return url_of(path) or str(path)

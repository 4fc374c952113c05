"""Bodies of values: zstd with a trained dictionary, of which several are shipped by number.

A frame names the dictionary it was made with, 0 being none. Dictionaries are for ever: an old
record needs its own. To ship a new one: `train` it on captured records, write it to
dictionaries/N.dict, and put its number at the end of NUMBERS. Records that bear the provenance of a
capture should be among them, and those of models count twice: their sources are the long ones.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import zstandard

from corpus.errors import UnreadableError

NUMBERS: tuple[int, ...] = (1, 2)

_LEVEL = 7  # two less save half of 0.1 ms a record and cost a tenth of the bytes; more gain little
_SIZE_BYTES = 110 << 10
_local = threading.local()  # owner: this module; zstd's contexts are not for two threads at once


def compress(payload: bytes) -> bytes:
    """Compress with the newest dictionary. The same payload gives the same bytes anywhere."""
    compressor = getattr(_local, "compressor", None)
    if compressor is None:
        dictionary = _dictionary(NUMBERS[-1]) if NUMBERS else None
        compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=dictionary)
        _local.compressor = compressor
    body: bytes = compressor.compress(payload)
    return body


def decompress(body: bytes, max_bytes: int) -> bytes:
    """Undo `compress`, with any dictionary there ever was, up to a size that is checked before."""
    try:
        frame = zstandard.get_frame_parameters(body)
        if not 0 <= frame.content_size <= max_bytes:
            size = frame.content_size
            known = "an unknown size" if size == zstandard.CONTENTSIZE_UNKNOWN else f"{size} bytes"
            raise UnreadableError(f"body: unpacks to {known}, 0 to {max_bytes} bytes are allowed")
        return _decompressor(frame.dict_id).decompress(body, max_output_size=max_bytes)
    except zstandard.ZstdError as error:
        raise UnreadableError(f"body: {error}") from None


def train(payloads: Iterable[bytes], number: int) -> bytes:
    """Make a dictionary from many payloads, as `encode_payload` gives them."""
    samples: list[bytes | bytearray | memoryview[int]] = list(payloads)
    return zstandard.train_dictionary(_SIZE_BYTES, samples, dict_id=number, level=12).as_bytes()


@cache
def _dictionary(number: int) -> zstandard.ZstdCompressionDict:
    path = Path(__file__).parent / "dictionaries" / f"{number}.dict"
    return zstandard.ZstdCompressionDict(path.read_bytes())


def _decompressor(number: int) -> zstandard.ZstdDecompressor:
    if number and number not in NUMBERS:
        raise UnreadableError(f"dictionary {number}: newer than those known here")
    known: dict[int, zstandard.ZstdDecompressor] = _local.__dict__.setdefault("known", {})
    if number not in known:
        dictionary = _dictionary(number) if number else None
        known[number] = zstandard.ZstdDecompressor(dict_data=dictionary)
    return known[number]

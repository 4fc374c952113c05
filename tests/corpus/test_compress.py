"""Bodies shrink with a dictionary, and every dictionary there ever was still opens its own."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import zstandard

import corpus
from corpus import UnreadableError
from corpus.compress import NUMBERS, compress, decompress, train
from corpus.encoding import encode_payload

DICTIONARIES = Path(corpus.__file__).parent / "dictionaries"
FROZEN = {
    1: "868ec5e583f737c45840f71020cbf7bb4f29209db6bbcc179d6981b3421985c2",
    2: "b0a9258449fa2b2c4220699cd5b21021a543d3139b19447598d23a04a36eb850",
}


def test_a_dictionary_that_was_shipped_never_changes():
    assert tuple(FROZEN) == NUMBERS
    for number, digest in FROZEN.items():
        data = (DICTIONARIES / f"{number}.dict").read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest
        assert zstandard.ZstdCompressionDict(data).dict_id() == number


@pytest.mark.parametrize("number", [0, *NUMBERS])
def test_a_body_opens_with_the_dictionary_it_names(make_record, number):
    payload = encode_payload(make_record())
    dictionary = (
        zstandard.ZstdCompressionDict((DICTIONARIES / f"{number}.dict").read_bytes())
        if number
        else None
    )
    body = zstandard.ZstdCompressor(dict_data=dictionary).compress(payload)
    assert decompress(body, 1 << 20) == payload


def test_a_body_made_with_a_dictionary_of_the_future_says_so(make_record):
    samples = [encode_payload(make_record(number)) for number in range(300)]
    dictionary = zstandard.ZstdCompressionDict(train(samples, 77))
    body = zstandard.ZstdCompressor(dict_data=dictionary).compress(samples[0])
    with pytest.raises(UnreadableError, match="dictionary 77: newer than those known here"):
        decompress(body, 1 << 20)


def test_the_newest_dictionary_is_worth_its_bytes(make_record):
    payload = encode_payload(make_record())
    assert len(compress(payload)) < len(zstandard.compress(payload)) * 0.7


def test_threads_and_processes_give_the_same_bytes(make_record):
    payload = encode_payload(make_record())
    bodies = [compress(payload)]
    threads = [threading.Thread(target=lambda: bodies.append(compress(payload))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    program = f"from corpus.compress import compress; print(compress({payload!r}).hex())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    bodies.append(bytes.fromhex(done.stdout.decode()))
    assert len(set(bodies)) == 1
    assert decompress(bodies[0], len(payload)) == payload

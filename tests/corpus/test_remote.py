"""An object store is one more place for a corpus, in which nothing is ever written twice."""

from __future__ import annotations

import subprocess
import sys
import threading
import uuid

import pytest

pytest.importorskip("obstore")

import obstore
from obstore.store import MemoryStore

from corpus import (
    Conflict,
    Stored,
    Unreadable,
    check_corpus,
    encode_record,
    export_corpus,
    key_of,
    open_reader,
    open_writer,
    stat_corpus,
)
from corpus.errors import RemoteError
from corpus.remote import Pushed, open_remote, open_store, pull_corpus, push_corpus


@pytest.fixture(params=["memory", "file", pytest.param("s3", marks=pytest.mark.slow)])
def store(request, tmp_path):
    if request.param == "memory":
        yield MemoryStore()
    elif request.param == "file":
        yield open_store(f"file://{tmp_path}/remote%20store")
    else:
        server_module = pytest.importorskip("moto.server")
        server = server_module.ThreadedMotoServer(port=0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        options = {
            "endpoint": f"http://{host}:{port}",
            "access_key_id": "test",
            "secret_access_key": "test",
            "region": "us-east-1",
        }
        pytest.importorskip("boto3").client(
            "s3",
            endpoint_url=options["endpoint"],
            aws_access_key_id="test",
            aws_secret_access_key="test",
            region_name="us-east-1",
        ).create_bucket(Bucket=(bucket := uuid.uuid4().hex))
        yield open_store(f"s3://{bucket}/corpus", config=options, allow_http=True)
        server.stop()


def _push(path, store) -> Pushed:
    with open_reader(path) as reader:
        return push_corpus(reader, store, "the store")


def test_what_is_pushed_can_be_pulled_byte_for_byte(tmp_path, make_corpus, store):
    path = make_corpus(40)
    assert _push(path, store) == Pushed(40, 0, (), ())
    with open_writer(tmp_path / "pulled") as writer:
        assert pull_corpus(store, "the store", writer).added == 40
    with open_reader(path) as one, open_reader(tmp_path / "pulled") as other:
        assert list(one.values()) == list(other.values())


def test_pushing_again_creates_nothing_and_reports_conflicts(make_corpus, make_record, store):
    _push(make_corpus(5), store)
    with open_writer(make_corpus(6, "second")) as writer:
        writer.replace(make_record(2, source="other"))
        path = writer.path
    pushed = _push(path, store)
    assert (pushed.created, pushed.present) == (1, 4)
    assert pushed.conflicts == (Conflict(key_of(make_record(2)), "e_2", ("source",)),)
    with open_remote(store, "the store") as reader:
        assert reader.read(key_of(make_record(2))) == Stored(key_of(make_record(2)), make_record(2))


def test_two_jobs_may_push_at_once(make_corpus, store):
    paths = [make_corpus(30, name) for name in ("one", "two")]
    pushed: list[Pushed] = []
    threads = [
        threading.Thread(target=lambda path=path: pushed.append(_push(path, store)))
        for path in paths
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(push.created for push in pushed) == 30
    assert sum(push.present for push in pushed) == 30


def test_a_remote_corpus_is_read_like_any_other(tmp_path, make_corpus, store):
    path = make_corpus(12)
    _push(path, store)
    with open_reader(path) as here, open_remote(store, "the store") as there:
        assert list(here) == list(there)
        assert list(here.keys("a")) == list(there.keys("a"))
        assert check_corpus(there).is_whole
        assert stat_corpus(there).records == 12
        assert there.read("0" * 64) is None
        export_corpus(there, tmp_path / "archive")


def test_damage_in_a_store_is_named(make_corpus, make_record, store):
    _push(make_corpus(4), store)
    key, value = encode_record(make_record(2))
    obstore.put(store, f"records/{key[:2]}/{key[2:]}", value[:-1] + b"x")
    obstore.put(store, "records/stray", b"x")
    with open_remote(store, "the store") as reader:
        bad = [item for item in reader if isinstance(item, Unreadable)]
        assert len(reader) == 5
    assert sorted(item.key for item in bad) == sorted([key, "stray"])


def test_an_incomplete_corpus_stays_incomplete(tmp_path, make_corpus, store):
    path = make_corpus(2)
    with open_writer(path) as writer:
        writer.note_lost(7)
    _push(path, store)
    with open_writer(tmp_path / "pulled") as writer:
        pull_corpus(store, "the store", writer)
    with open_reader(tmp_path / "pulled") as reader:
        assert reader.lost == 1


@pytest.mark.parametrize("url", ["nope://x", "file://relative", "no url at all"])
def test_an_address_that_is_none_is_one_clear_line(url):
    with pytest.raises(RemoteError, match=r"^remote .*; check its address and access$") as caught:
        open_store(url)
    assert "\n" not in str(caught.value)


def test_a_missing_library_is_one_clear_line():
    program = """
import sys
sys.modules["obstore"] = None
try:
    import corpus.remote
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == (
        "RemoteError remote: obstore is not installed; run `pip install 'kernel-replay[remote]'`\n"
    )

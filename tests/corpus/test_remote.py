"""An object store is one more place for a corpus, in which nothing is ever written twice."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import boto3
import obstore
import pytest
from moto.server import ThreadedMotoServer
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
from corpus.errors import CorpusError, RemoteError
from corpus.place import url_of
from corpus.remote import Pushed, open_remote, open_store, pull_corpus, push_corpus
from replay.cli import main

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def s3():
    """An S3 of our own, in threads of this process; gives options for obstore."""
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield {
        "endpoint": f"http://{host}:{port}",
        "access_key_id": "test",
        "secret_access_key": "test",
        "region": "us-east-1",
    }
    server.stop()


@pytest.fixture
def bucket(s3):
    name = uuid.uuid4().hex
    boto3.client(
        "s3",
        endpoint_url=s3["endpoint"],
        aws_access_key_id=s3["access_key_id"],
        aws_secret_access_key=s3["secret_access_key"],
        region_name=s3["region"],
    ).create_bucket(Bucket=name)
    return name


@pytest.fixture(params=["memory", "file", "s3"])
def store(request, tmp_path):
    if request.param == "memory":
        return MemoryStore()
    if request.param == "file":
        return open_store(f"file://{tmp_path}/remote%20store")
    url = f"s3://{request.getfixturevalue('bucket')}/corpus"
    return open_store(url, config=request.getfixturevalue("s3"), allow_http=True)


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


def test_the_command_line_takes_the_address_of_a_store(tmp_path, make_corpus, s3, bucket):
    environ = {f"AWS_{name.upper()}": value for name, value in s3.items()}
    environ = {**os.environ, **environ, "AWS_ALLOW_HTTP": "true", "PYTHONPATH": str(ROOT)}
    url = f"s3://{bucket}/kernels"

    def replay(*words):
        command = [sys.executable, "-m", "replay.cli", "corpus", *map(str, words)]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    path = make_corpus(3)
    assert replay("export", url, "--corpus", path) == (0, f"3 records to {url}, 0 there already\n")
    assert replay("export", url, "--corpus", path) == (0, f"0 records to {url}, 3 there already\n")
    code, out = replay("import", url, "--corpus", tmp_path / "pulled")
    assert (code, out) == (0, f"{url}: 3 added, 0 there already\n")
    with open_reader(path) as one, open_reader(tmp_path / "pulled") as other:
        assert list(one.values()) == list(other.values())


@pytest.mark.parametrize("command", ["list", "stat", "check"])
def test_commands_read_a_store_by_its_url_as_they_read_a_directory(
    tmp_path, make_corpus, monkeypatch, capsys, s3, bucket, command
):
    for name, value in s3.items():
        monkeypatch.setenv(f"AWS_{name.upper()}", value)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    path, url = make_corpus(3), f"s3://{bucket}/kernels"
    words = [command] if command == "list" else ["corpus", command]
    assert main(["corpus", "export", url, "--corpus", str(path)]) == 0
    capsys.readouterr()
    assert main([*words, "--corpus", str(path)]) == 0
    of_the_directory = capsys.readouterr().out
    assert main([*words, "--corpus", url]) == 0
    of_the_store = capsys.readouterr().out
    assert [line for line in of_the_store.splitlines() if "on disk" not in line] == [
        line for line in of_the_directory.splitlines() if "on disk" not in line
    ]


def test_a_store_that_is_only_read_is_not_made(tmp_path):
    with pytest.raises(CorpusError, match="file://"):
        open_reader(f"file://{tmp_path}/nothing")
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize(
    ("path", "url"),
    [
        (Path("s3://bucket/kernels"), "s3://bucket/kernels"),
        ("gs://bucket/a/b", "gs://bucket/a/b"),
        (Path("file:///a/b"), "file:///a/b"),
        (Path("memory:///"), "memory:///"),
        (Path("https://host/a"), "https://host/a"),
        (Path("S3://Bucket/Kernels"), "s3://Bucket/Kernels"),
        (Path("kernels"), None),
        (Path("/s3/kernels"), None),
        (Path("./c:/kernels"), None),
    ],
)
def test_a_url_is_known_though_paths_fold_its_slashes(path, url):
    assert url_of(path) == url


URLS = ("s3://bucket/kernels", "gs://b/a", "memory:///k", "file:///nothing/there", "https://h/k")
WRITERS = (
    ("capture", "--", sys.executable, "-c", "open('ran', 'w')"),
    ("corpus", "merge", "corpus"),
    ("corpus", "import", "corpus"),
    ("corpus", "check", "--repair"),
    ("corpus", "check", "--forget-lost"),
    ("accept", "--update"),
    ("fuzz", "--examples", "1"),
)


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("words", WRITERS, ids=" ".join)
def test_what_writes_refuses_a_url_in_one_line_that_names_export(
    make_corpus, tmp_path, monkeypatch, capsys, words, url
):
    make_corpus(1)
    monkeypatch.chdir(tmp_path)
    place = 2 if words[0] == "corpus" else 1
    assert main([*words[:place], "--corpus", url, *words[place:]]) == 3
    message = f"replay: corpus {url}: an object store, which is no directory to write to; name one"
    err = capsys.readouterr().err
    assert err.startswith(message)
    assert err.endswith(f"`replay corpus export {url} --corpus DIR`\n")
    assert (err.count("\n"), os.listdir(tmp_path)) == (1, ["corpus"])


def test_messages_and_reports_name_a_store_by_its_url(make_corpus, tmp_path, monkeypatch, capsys):
    url = f"file://{tmp_path}/store"
    assert main(["corpus", "export", url, "--corpus", str(make_corpus(2))]) == 0
    assert main(["corpus", "check", "--corpus", url, "--json"]) == 0
    assert main(["run", "--corpus", url, "--report", "json:-"]) == 3
    assert main(["run", "--corpus", url, "--only", "nothing"]) == 3
    assert main(["corpus", "merge", url, "--corpus", str(tmp_path / "new")]) == 0
    out, err = capsys.readouterr()
    assert out.count(url) >= 4
    assert f"corpus {url}: no record was chosen" in err
    assert not re.search(r"file:/\w", out + err)

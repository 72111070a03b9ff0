"""Multi30k's files: fetched whole and checked, or an error that says where to get them."""

import hashlib
import importlib.util
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nmt.data import multi30k
from nmt.data.multi30k import LANGUAGES, MIRROR_VARIABLE, SPLITS, fetch
from nmt.system.errors import UserError

NAME = "val.de.gz"
DATA = bytes(range(256)) * 1000  # more than one chunk
NO_CZECH = ("test_2017_flickr", "test_2017_mscoco")
FILES = {
    f"{split}.{language}.gz": f"{split} {language}".encode()
    for language in LANGUAGES
    for split in SPLITS
    if language != "cs" or split not in NO_CZECH
} | {NAME: DATA}


class Server(ThreadingHTTPServer):
    """Serves under /good what upstream would, and under other folders what goes wrong."""

    daemon_threads = True
    asked: list[str]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        _, folder, name = self.path.split("/")
        data = FILES[name]
        if folder == "busy":
            self.send_error(503)
            return
        if folder == "slow":
            time.sleep(1)
            return
        if folder == "garbled":
            self.wfile.write(b"not HTTP at all\r\n\r\n")
            return
        self.send_response(200)
        if folder != "unsized":
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write({"short": data[:-1], "wrong": data[::-1]}.get(folder, data))

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(autouse=True)
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of our own in place of upstream's, and no way out to the network."""
    monkeypatch.setattr(multi30k, "_SHA256", {name: hashlib.sha256(data).hexdigest() for name, data in FILES.items()})
    monkeypatch.setattr(multi30k, "UPSTREAM", "http://127.0.0.1:9/upstream")
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv(MIRROR_VARIABLE, raising=False)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    folder = tmp_path / "mirror"
    folder.mkdir()
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where files are kept, with an old one."""
    folder = tmp_path / "data" / "multi30k"
    folder.mkdir(parents=True)
    (folder / NAME).write_bytes(b"the old file")
    return folder


def url(server: Server, folder: str) -> str:
    return f"http://127.0.0.1:{server.server_port}/{folder}"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def test_table_of_checksums() -> None:
    spec = importlib.util.find_spec("nmt.data.multi30k")
    assert spec is not None
    assert spec.loader is not None
    pristine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pristine)
    assert set(pristine._SHA256) == set(FILES)
    assert len(set(pristine._SHA256.values())) == len(FILES)
    assert all(len(bytes.fromhex(checksum)) == 32 for checksum in pristine._SHA256.values())
    assert pristine.UPSTREAM.startswith("https://")


@pytest.mark.parametrize("place", ["good", "good/", "unsized"])
def test_from_url(server: Server, tmp_path: Path, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "data" / "multi30k"
    assert fetch("val", "de", folder, mirror=url(server, place)) == folder / NAME
    assert contents(folder) == {NAME: DATA}  # the file asked for, and no other
    printed = capsys.readouterr()
    assert NAME in printed.err
    assert not printed.out


def test_upstream_folder_and_environment(
    server: Server, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multi30k, "UPSTREAM", url(server, "good"))
    fetch("train", "en", tmp_path)
    assert server.asked == ["/good/train.en.gz"]
    monkeypatch.setenv(MIRROR_VARIABLE, str(mirror))  # overrides the argument
    assert fetch("val", "de", tmp_path, mirror=url(server, "good")).read_bytes() == DATA
    monkeypatch.setenv(MIRROR_VARIABLE, "")  # as good as unset
    fetch("val", "en", tmp_path, mirror=str(mirror))
    assert server.asked == ["/good/train.en.gz"]
    assert fetch("val", "de", tmp_path, mirror="/nowhere") == tmp_path / NAME  # it is there: nothing else is needed


def test_present_wrong_file_is_fetched_again(mirror: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fetch("val", "de", folder, mirror=str(mirror))
    assert contents(folder) == {NAME: DATA}
    assert "fetching it again" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("busy", "HTTP 503"),
        ("slow", "timed out"),
        ("garbled", "cannot be fetched"),
        ("short", r"IncompleteRead\(255999 bytes read, 1 more expected"),
        ("wrong", "SHA-256 differs"),
    ],
)
def test_failing_download_leaves_everything_as_it_was(
    server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch, place: str, message: str
) -> None:
    monkeypatch.setattr(multi30k, "_TIMEOUT", 0.3 if place == "slow" else 30)
    before = contents(folder)
    with pytest.raises(UserError, match=message) as raised:
        fetch("val", "de", folder, mirror=url(server, place))
    assert contents(folder) == before
    text = str(raised.value)
    assert f"{url(server, place)}/{NAME}" in text
    assert f".gz into {folder}" in text
    assert MIRROR_VARIABLE in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (None, "cannot be fetched .*refused"),
        ("nonsense://host/folder", "cannot be fetched"),
        ("http://", "cannot be fetched"),
        ("http://[::1/folder", "cannot be fetched"),
        ("/nowhere", r"val\.de\.gz cannot be read .*gz into"),
        ("wrong", r"wrong/val\.de\.gz is not the published"),
    ],
)
def test_unusable_origins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / NAME).write_bytes(DATA[:-1])
    with pytest.raises(UserError, match=f"{message}.*{MIRROR_VARIABLE}"):
        fetch("val", "de", tmp_path / "data", mirror=address)
    assert contents(tmp_path / "data") == {}


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_interrupted_write_leaves_the_old_file(
    mirror: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fsync(_: int) -> None:
        assert len(contents(folder)) == 2  # the old file, untouched, and the new one in the making
        raise error

    before = contents(folder)
    monkeypatch.setattr(multi30k.os, "fsync", fsync)
    with pytest.raises(UserError if isinstance(error, OSError) else KeyboardInterrupt):
        fetch("val", "de", folder, mirror=str(mirror))
    assert contents(folder) == before


def test_folder_that_cannot_be_made(mirror: Path, folder: Path) -> None:
    with pytest.raises(UserError, match=r"cannot be created \(.*\): choose another place"):
        fetch("val", "de", folder / NAME / "multi30k", mirror=str(mirror))


@pytest.mark.parametrize(("split", "language"), [("test", "de"), ("val", "eo"), ("../val", "de")])
def test_unknown_split_or_language(folder: Path, split: str, language: str) -> None:
    with pytest.raises(UserError, match=r"choose the split from train, val, .*the language from de, en, fr, cs"):
        fetch(split, language, folder)


def test_czech_has_two_test_sets(folder: Path) -> None:
    with pytest.raises(UserError, match=r"splits of 'cs' are train, val, test_2016_flickr, test_2018_flickr$"):
        fetch("test_2017_mscoco", "cs", folder)
    assert multi30k.splits("fr") == list(SPLITS)

import hashlib
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nmt.augment.monolingual import load_monolingual
from nmt.config.data import DataConfig
from nmt.data import multi30k
from nmt.data.multi30k import LANGUAGES, MIRROR_VARIABLE, SPLITS, fetch
from nmt.system.errors import UserError

NAME = "val.de.gz"
DATA = bytes(range(256)) * 1000  # more than one chunk
LACKING = {f"test_2017_{kind}.cs.gz" for kind in ("flickr", "mscoco")}
HANDMADE = {
    name: name.encode()
    for name in (f"{split}.{language}.gz" for split in SPLITS for language in LANGUAGES)
    if name not in LACKING
}
TOLD = {
    f"train.{number}.{language}.gz": f"{number} {language}".encode()
    for number in range(1, 6)
    for language in ("de", "en")
}
HANDMADE[NAME] = DATA


class Server(ThreadingHTTPServer):
    """Serves under /good what upstream would, and under other folders what goes wrong."""

    daemon_threads = True
    asked: list[str]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        _, folder, name = self.path.split("/")
        data = (HANDMADE | TOLD)[name]
        if folder == "busy" or (folder == "good" and name in TOLD):
            self.send_error(503 if folder == "busy" else 404)
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
def handmade(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of our own in place of upstream's, and no way out to the network."""
    for kind, held in (("_SHA256", HANDMADE), ("_DESCRIPTIONS", TOLD)):
        monkeypatch.setattr(multi30k, kind, {name: hashlib.sha256(data).hexdigest() for name, data in held.items()})
    monkeypatch.setattr(multi30k, "UPSTREAM", "http://127.0.0.1:9/upstream")
    monkeypatch.setattr(multi30k, "DESCRIPTIONS_UPSTREAM", "http://127.0.0.1:9/told")
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
    for name, data in HANDMADE.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "multi30k"


def url(server: Server, folder: str) -> str:
    return f"http://127.0.0.1:{server.server_port}/{folder}"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def test_table_of_checksums() -> None:
    import importlib.util

    spec = importlib.util.find_spec("nmt.data.multi30k")
    assert spec is not None
    assert spec.loader is not None
    pristine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pristine)
    assert set(pristine._SHA256) == set(HANDMADE)
    assert all(len(bytes.fromhex(checksum)) == 32 for checksum in pristine._SHA256.values())
    assert set(pristine._DESCRIPTIONS) == set(TOLD)
    assert len({*pristine._SHA256.values(), *pristine._DESCRIPTIONS.values()}) == len(HANDMADE) + len(TOLD)
    assert all(len(bytes.fromhex(checksum)) == 32 for checksum in pristine._DESCRIPTIONS.values())
    assert pristine.UPSTREAM.startswith("https://")


@pytest.mark.parametrize("place", ["good", "good/", "unsized"])
def test_from_url(server: Server, folder: Path, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert fetch("val", "de", folder, mirror=url(server, place)) == folder / NAME
    assert contents(folder) == {NAME: DATA}  # the file asked for, and no other
    printed = capsys.readouterr()
    assert NAME in printed.err
    assert not printed.out


def test_from_upstream_by_default(server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multi30k, "UPSTREAM", url(server, "good"))
    fetch("train", "en", folder)
    assert server.asked == ["/good/train.en.gz"]
    assert contents(folder) == {"train.en.gz": HANDMADE["train.en.gz"]}


def test_from_folder(mirror: Path, folder: Path) -> None:
    assert fetch("val", "de", folder, mirror=str(mirror)).read_bytes() == DATA
    assert contents(folder) == {NAME: DATA}


def test_environment_overrides_argument(
    server: Server, mirror: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MIRROR_VARIABLE, str(mirror))
    fetch("val", "de", folder, mirror=url(server, "good"))
    assert server.asked == []
    monkeypatch.setenv(MIRROR_VARIABLE, "")  # as good as unset
    fetch("val", "en", folder, mirror=url(server, "good"))
    assert server.asked == ["/good/val.en.gz"]


def test_present_file_needs_nothing_else(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / NAME).write_bytes(DATA)
    assert fetch("val", "de", folder, mirror="/nowhere") == folder / NAME


def test_present_wrong_file_is_fetched_again(mirror: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.mkdir(parents=True)
    (folder / NAME).write_bytes(b"something else")
    fetch("val", "de", folder, mirror=str(mirror))
    assert contents(folder) == {NAME: DATA}
    assert "fetching it again" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("place", "complaint"),
    [
        ("busy", "HTTP 503"),
        ("slow", "timed out"),
        ("garbled", "cannot be fetched"),
        ("short", "is incomplete: 255999 of 256000 bytes|IncompleteRead"),
        ("wrong", "SHA-256 differs"),
    ],
)
def test_failing_download_leaves_everything_as_it_was(
    server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch, place: str, complaint: str
) -> None:
    if place == "slow":
        monkeypatch.setattr(multi30k, "_TIMEOUT", 0.3)
    folder.mkdir(parents=True)
    before = {NAME: b"the old file"}
    (folder / NAME).write_bytes(before[NAME])
    with pytest.raises(UserError, match=complaint) as raised:
        fetch("val", "de", folder, mirror=url(server, place))
    assert contents(folder) == before
    message = str(raised.value)
    assert f"{url(server, place)}/{NAME}" in message
    assert f".gz into {folder}" in message
    assert MIRROR_VARIABLE in message
    assert "\n" not in message


def test_no_network(folder: Path) -> None:
    with pytest.raises(UserError, match=f"cannot be fetched .*refused.*{MIRROR_VARIABLE}"):
        fetch("val", "de", folder)
    assert contents(folder) == {}


@pytest.mark.parametrize("address", ["nonsense://host/folder", "http://", "http://[::1/folder"])
def test_unusable_address(folder: Path, address: str) -> None:
    with pytest.raises(UserError, match="cannot be fetched"):
        fetch("val", "de", folder, mirror=address)


def test_mirror_folder_without_the_file(mirror: Path, folder: Path) -> None:
    (mirror / NAME).unlink()
    with pytest.raises(UserError, match=r"val\.de\.gz cannot be read .*gz into"):
        fetch("val", "de", folder, mirror=str(mirror))
    assert contents(folder) == {}


def test_mirror_folder_with_a_wrong_file(mirror: Path, folder: Path) -> None:
    (mirror / NAME).write_bytes(DATA[:-1])
    with pytest.raises(UserError, match=r"mirror/val\.de\.gz is not the published"):
        fetch("val", "de", folder, mirror=str(mirror))
    assert contents(folder) == {}


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_interrupted_write_leaves_the_old_file(
    mirror: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fsync(_: int) -> None:
        assert len(contents(folder)) == 2  # the old file, untouched, and the new one in the making
        raise error

    folder.mkdir(parents=True)
    (folder / NAME).write_bytes(b"the old file")
    monkeypatch.setattr(multi30k.os, "fsync", fsync)
    with pytest.raises(UserError if isinstance(error, OSError) else KeyboardInterrupt):
        fetch("val", "de", folder, mirror=str(mirror))
    assert contents(folder) == {NAME: b"the old file"}


def test_folder_that_cannot_be_made(mirror: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cannot be created \(.*\): choose another place"):
        fetch("val", "de", tmp_path / "file" / "multi30k", mirror=str(mirror))


@pytest.mark.parametrize(("split", "language"), [("test", "de"), ("val", "eo"), ("../val", "de")])
def test_unknown_split_or_language(folder: Path, split: str, language: str) -> None:
    with pytest.raises(UserError, match=r"choose the split from train, val, .*the language from de, en, fr, cs"):
        fetch(split, language, folder)


def test_czech_has_two_test_sets(folder: Path) -> None:
    with pytest.raises(UserError, match=r"splits of 'cs' are train, val, test_2016_flickr, test_2018_flickr$"):
        fetch("test_2017_mscoco", "cs", folder)
    assert multi30k.splits("fr") == list(SPLITS)


def test_descriptions_lack_the_lines_of_validation_and_all_test_sets(
    mirror: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = {name: f"From {name}\n".encode() for name in HANDMADE if name.split(".")[1] == "de"}
    told = dict.fromkeys(TOLD, b"a line\nfrom  VAL.de.gz\nFrom test_2018_flickr.de.gz\nfrom train.de.gz\n")
    for name, data in (judged | told).items():
        (mirror / name).write_bytes(data)
        table = multi30k._SHA256 if name in judged else multi30k._DESCRIPTIONS
        monkeypatch.setitem(table, name, hashlib.sha256(data).hexdigest())
    monkeypatch.setattr("nmt.augment.monolingual.iterate_lines", lambda path: path.read_text().splitlines())
    config = DataConfig(corpus="multi30k", folder=str(folder.parent), mirror=str(mirror))
    text = load_monolingual("multi30k_descriptions", "de", config)
    assert list(text) == ["a line", "from train.de.gz"] * 5
    assert (text.dropped(), len(text.held_out), capsys.readouterr().err) == (10, 5, "")
    for there in (mirror, folder):
        (there / "test_2018_flickr.de.gz").unlink()
    assert load_monolingual("multi30k_descriptions", "de", config).dropped() == 5
    assert "lines that equal one of test_2018_flickr.de are not left out: " in capsys.readouterr().err


@pytest.mark.parametrize("place", ["beside", "among"])
def test_descriptions_from_a_folder(mirror: Path, folder: Path, place: str) -> None:
    there = mirror if place == "among" else mirror.parent / "multi30k_descriptions"
    there.mkdir(exist_ok=True)
    for name, data in TOLD.items():
        (there / name).write_bytes(data)
    paths = multi30k.fetch_descriptions("de", folder, f"{mirror}/")
    assert [path.read_bytes() for path in paths] == [f"{number} de".encode() for number in range(1, 6)]
    assert multi30k.fetch_descriptions("de", folder, "/nowhere") == paths


def test_descriptions_from_a_url(server: Server, folder: Path) -> None:
    paths = multi30k.fetch_descriptions("en", folder, url(server, "good"))
    assert [path.read_bytes() for path in paths] == [f"{number} en".encode() for number in range(1, 6)]
    assert server.asked[:2] == ["/good/train.1.en.gz", "/multi30k_descriptions/train.1.en.gz"]


def test_descriptions_that_cannot_be_had(folder: Path) -> None:
    with pytest.raises(UserError, match=rf"9/told/train\.1\.en\.gz cannot be fetched .*{MIRROR_VARIABLE}"):
        multi30k.fetch_descriptions("en", folder)
    with pytest.raises(UserError, match="in de and en, and none in 'fr'"):
        multi30k.fetch_descriptions("fr", folder)

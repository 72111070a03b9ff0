"""Multi30k's files: fetched whole and checked, or an error that says where to get them."""

import gzip
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nmt.data import multi30k
from nmt.data.multi30k import LANGUAGES, MIRROR_VARIABLE, SPLITS, fetch
from nmt.system.errors import UserError

NAME = "val.de.gz"
PUBLISHED = dict(multi30k._SHA256)


class Handler(SimpleHTTPRequestHandler):
    """Serves under /good what the mirror has, and under other folders what goes wrong."""

    requests: list[str]

    def do_GET(self) -> None:
        self.requests.append(self.path)
        _, kind, name = self.path.split("/")
        data = Path(self.directory, name).read_bytes()
        if kind == "busy":
            self.send_error(503)
        elif kind == "slow":
            time.sleep(1)
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write({"short": data[:-1], "wrong": data[::-1]}.get(kind, data))

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def url(mirror: Path) -> Iterator[str]:
    """The address of such a server."""
    Handler.requests = []
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(mirror))) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where files are kept, with an old one."""
    folder = tmp_path / "data" / "multi30k"
    folder.mkdir(parents=True)
    (folder / NAME).write_bytes(b"the old file")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_there_is_a_checksum_of_each_file() -> None:
    not_in_czech = {"test_2017_flickr.cs.gz", "test_2017_mscoco.cs.gz"}
    assert set(PUBLISHED) == {f"{split}.{code}.gz" for split in SPLITS for code in LANGUAGES} - not_in_czech
    assert len({bytes.fromhex(checksum) for checksum in PUBLISHED.values() if len(checksum) == 64}) == len(PUBLISHED)
    assert multi30k.UPSTREAM.startswith("https://")


def test_upstream_url_folder_and_environment(
    url: str, mirror: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fetch("val", "de", folder, mirror=f"{url}/good/") == folder / NAME
    assert contents(folder) == {NAME: (mirror / NAME).read_bytes()}  # the file asked for, and no other
    assert "fetching it again" in capsys.readouterr().err
    monkeypatch.setattr(multi30k, "UPSTREAM", f"{url}/good")
    fetch("train", "en", folder)
    requests = [f"/good/{NAME}", "/good/train.en.gz"]
    assert Handler.requests == requests
    monkeypatch.setenv(MIRROR_VARIABLE, str(mirror))  # overrides the argument
    fetch("train", "de", folder, mirror=f"{url}/good")
    monkeypatch.setenv(MIRROR_VARIABLE, "")  # as good as unset
    fetch("val", "en", folder, mirror=str(mirror))
    assert fetch("val", "de", folder, mirror="/nowhere") == folder / NAME  # it is there: nothing else is needed
    assert Handler.requests == requests


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("busy", "HTTP Error 503"),
        ("slow", "timed out"),
        ("short", "IncompleteRead.*1 more expected"),
        ("wrong", "SHA-256 differs"),
    ],
)
def test_a_failing_download_leaves_everything_as_it_was(
    url: str, folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str, message: str
) -> None:
    monkeypatch.setattr(multi30k, "TIMEOUT", 0.3 if kind == "slow" else 30)
    before = contents(folder)
    with pytest.raises(UserError, match=message) as raised:
        fetch("val", "de", folder, mirror=f"{url}/{kind}")
    assert contents(folder) == before
    for part in (f"{url}/{kind}/{NAME}", f".gz into {folder}", MIRROR_VARIABLE):
        assert part in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.usefixtures("mirror")
@pytest.mark.parametrize(
    ("address", "message"),
    [
        (None, "cannot be fetched .*refused"),
        ("/nowhere", r"val\.de\.gz does not exist.*gz into"),
        ("wrong", r"wrong/val\.de\.gz is not the published"),
    ],
)
def test_unusable_origins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / NAME).write_bytes(gzip.compress(b"eins\n"))
    with pytest.raises(UserError, match=f"{message}.*{MIRROR_VARIABLE}"):
        fetch("val", "de", tmp_path / "data", mirror=address)
    assert not (tmp_path / "data").exists()


def test_unknown_splits_and_languages(folder: Path) -> None:
    for split, language in (("test", "de"), ("val", "eo"), ("../val", "de"), ("test_2017_mscoco", "cs")):
        with pytest.raises(
            UserError, match=r"choose the split from train, val, .*the language from de, en, fr, cs \(cs"
        ):
            fetch(split, language, folder)
    assert multi30k.splits("fr") == list(SPLITS)

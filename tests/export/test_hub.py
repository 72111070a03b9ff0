"""`nmt push` and `hf://`: what is pushed comes back, checked, from a server that speaks the hub's protocol."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import yaml
from huggingface_hub import constants, errors
from support.cli import error_of

from nmt.cli import main
from nmt.export import hub as client
from nmt.translator import Translator

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content:DeprecationWarning")  # of huggingface_hub's own
NAME, TOKEN, COMMIT = "someone/tiny-captions", "hf_test", "1" * 40
NOWHERE = "http://127.0.0.1:9"
Repositories = dict[str, dict[str, bytes]]


class Handler(BaseHTTPRequestHandler):
    """Downloads from `repositories`, which is set on a subclass."""

    repositories: Repositories

    def do_GET(self) -> None:
        match = re.fullmatch("/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", self.path)
        assert match is not None
        name, revision, file = match.groups()
        files, is_here = self.repositories.get(name), revision in ("main", COMMIT)
        content = (files or {}).get(file, b"") if is_here else b""
        self.send_response(200 if content else 404)
        missing = "Repo" if files is None else "Entry" if is_here else "Revision"
        headers = (
            {"ETag": f'"{hashlib.sha256(content).hexdigest()}"'} if content else {"X-Error-Code": f"{missing}NotFound"}
        )
        for header, value in {"X-Repo-Commit": COMMIT, "Content-Length": str(len(content)), **headers}.items():
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else content)

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Repositories]:
    """The repositories of a server, and huggingface_hub with an empty cache of its own; uploads do without HTTP."""
    repositories: Repositories = {}

    class Uploads:
        def __init__(self, **_: object) -> None: ...

        def create_repo(self, name: str, **_: object) -> None:
            if os.environ["HF_TOKEN"] != TOKEN:
                raise errors.LocalTokenNotFoundError
            repositories.setdefault(name, {})

        def create_commit(self, name: str, operations: list[Any], **_: object) -> None:
            for one in operations:
                content = one.path_or_fileobj
                repositories[name][one.path_in_repo] = (
                    content if one.path_in_repo[0] == "R" else Path(content).read_bytes()
                )

    handler = type("_Handler", (Handler,), {"repositories": repositories})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(huggingface_hub, "HfApi", Uploads)
        yield repositories
        server.shutdown()


def test_what_is_pushed_translates_and_what_was_fetched_needs_no_connection(
    hub: Repositories, best: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["push", best, NAME]) == 0
    assert capsys.readouterr().out == f"Written: hf://{NAME}\n"
    assert hub[NAME].keys() == {"model.safetensors", "README.md"}
    assert hub[NAME]["model.safetensors"] == Path(best).read_bytes()
    ours = Translator.load(best).translate(["der Hund läuft"])[0].text
    assert Translator.load(f"hf://{NAME}").translate(["der Hund läuft"])[0].text == ours
    for address in (f"hf://{NAME}", f"hf://{NAME}@{COMMIT}"):
        assert main(["translate", address, "der Hund läuft"]) == 0
        assert capsys.readouterr().out == f"{ours}\n"
    (tmp_path / "text").write_text("die Katze\n", encoding="utf-8")
    files = ["--input", str(tmp_path / "text"), "--output", str(tmp_path / "out")]
    assert main(["translate", f"hf://{NAME}", *files]) == 0  # whose note names the file
    first = client.fetch(f"hf://{NAME}")
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)
    assert client.fetch(f"hf://{NAME}") == first  # from the cache


def test_the_card(hub: Repositories, best: str) -> None:
    assert main(["push", best, NAME]) == 0
    _, fields, text = hub[NAME]["README.md"].decode().split("---\n")
    assert yaml.safe_load(fields)["language"] == ["de", "en"]
    assert f"hf://{NAME}" in text
    assert "bahdanau's attention (additive)" in text


def test_what_cannot_be_fetched_or_pushed(
    hub: Repositories, best: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hub["someone/empty"] = {}
    foreign = tmp_path / "foreign.safetensors"
    foreign.write_bytes(b"import os")
    monkeypatch.setattr("time.sleep", lambda _: None)  # before it tries again

    def check(arguments: list[str], message: str) -> None:
        assert main(arguments) == 2
        assert message in error_of(capsys)

    for address, message in (
        ("hf://someone", "is not an address: write hf://OWNER/NAME"),
        ("hf://someone/../x", "is not an address"),
        ("hf://someone/missing", "no such repository, or it is private"),
        ("hf://someone/empty", "has no file model.safetensors"),
        ("hf://someone/empty@old", "no such revision"),
    ):
        check(["translate", address, "Hund"], message)
    check(["push", str(foreign), NAME], "is not a complete nmt checkpoint")
    check(["push", best, "name"], "is not the name of a repository: write OWNER/NAME")
    monkeypatch.setenv("HF_TOKEN", "wrong")
    check(["push", best, NAME], "log in (hf auth login)")
    assert hub == {"someone/empty": {}}
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)
    check(["translate", f"hf://{NAME}", "Hund"], "check the connection")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    check(["translate", f"hf://{NAME}", "Hund"], "pip install -e '.[hub]' in the folder of nmt")

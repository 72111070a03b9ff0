"""`nmt push` and `hf://`: what is pushed comes back, checked, from a server that speaks the hub's protocol."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.cli import error_of
from support.hub_server import TOKEN, Hub, serving

from nmt.cli import main
from nmt.commands import output
from nmt.export import hub as client
from nmt.system.errors import UserError
from nmt.translator import Translator

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content:DeprecationWarning")  # of huggingface_hub's own
NAME = "someone/tiny-captions"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """The server, and huggingface_hub with an empty cache of its own."""
    from huggingface_hub import constants

    with serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        yield server


def test_what_is_pushed_translates_and_what_was_fetched_needs_no_connection(
    hub: Hub, best: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["push", best, NAME]) == 0
    assert capsys.readouterr().out == f"Written: hf://{NAME}\n"
    assert hub.repositories[NAME].keys() == {"model.safetensors", "README.md"}
    assert hub.repositories[NAME]["model.safetensors"] == Path(best).read_bytes()
    ours, theirs = (Translator.load(path).translate(["der Hund läuft"]) for path in (best, f"hf://{NAME}"))
    assert ours[0].text == theirs[0].text
    assert main(["translate", f"hf://{NAME}", "der Hund läuft"]) == 0
    assert capsys.readouterr().out == f"{ours[0].text}\n"
    assert main(["translate", f"hf://{NAME}@{'1' * 40}", "der Hund läuft"]) == 0
    first = client.fetch(f"hf://{NAME}")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert client.fetch(f"hf://{NAME}") == first  # from the cache


@pytest.mark.usefixtures("hub")
def test_what_a_model_has_begun_is_continued_by_its_own_file_alone(
    best: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["push", best, NAME]) == 0
    real, read = output.fingerprint, []

    def fingerprint(options: Any, names: Any, paths: Any, lines: Any) -> dict[str, Any]:
        read.extend(paths["checkpoint"])
        return real(options, names, {"checkpoint": read}, lines)

    monkeypatch.setattr(output, "fingerprint", fingerprint)
    text = tmp_path / "text"
    text.write_text("die Katze\n", encoding="utf-8")
    assert main(["back-translate", f"hf://{NAME}", "--input", str(text), "--output", str(tmp_path / "out")]) == 0
    assert [path.read_bytes() for path in read] == [Path(best).read_bytes()]


def test_the_card(hub: Hub, best: str, tmp_path: Path) -> None:
    assert main(["push", best, NAME]) == 0
    _, fields, text = hub.repositories[NAME]["README.md"].decode().split("---\n")
    assert yaml.safe_load(fields)["language"] == ["de", "en"]
    assert f"hf://{NAME}" in text
    assert "bahdanau's attention (additive)" in text
    own = tmp_path / "card.md"
    own.write_text("# Mine\n", encoding="utf-8")
    assert main(["push", best, NAME, "--card", str(own)]) == 0
    again = hub.repositories[NAME]["README.md"].decode()
    assert again == f"---\n{fields}---\n\n# Mine\n"
    own.write_text("---\nlicense: mit\n---\n# Mine\n", encoding="utf-8")
    assert main(["push", best, NAME, "--card", str(own)]) == 0
    assert hub.repositories[NAME]["README.md"].decode() == own.read_text(encoding="utf-8")


def test_a_damaged_or_foreign_file_is_refused(hub: Hub, best: str) -> None:
    content = bytearray(Path(best).read_bytes())
    content[1000] ^= 1
    hub.repositories["someone/damaged"] = {"model.safetensors": bytes(content)}
    hub.repositories["someone/foreign"] = {"model.safetensors": b"import os"}
    with pytest.raises(UserError, match="its checksum is wrong"):
        Translator.load("hf://someone/damaged")
    with pytest.raises(UserError, match="is not a complete nmt checkpoint"):
        Translator.load("hf://someone/foreign")


def test_what_cannot_be_fetched(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    hub.repositories["someone/empty"] = {}
    for address, message in (
        ("hf://someone", "is not an address: write hf://OWNER/NAME"),
        ("hf://someone/../x", "is not an address"),
        ("hf://someone/missing", "no such repository, or it is private"),
        ("hf://someone/empty", "has no file model.safetensors"),
        ("hf://someone/empty@old", "no such revision"),
    ):
        assert main(["translate", address, "Hund"]) == 2
        assert message in error_of(capsys)


@pytest.mark.usefixtures("hub")
def test_without_a_network(best: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("time.sleep", lambda _: None)  # before it tries again
    for command in (["translate", f"hf://{NAME}", "Hund"], ["push", best, NAME]):
        assert main(command) == 2
        assert "check the connection" in error_of(capsys)


def test_what_cannot_be_pushed(
    hub: Hub, best: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    foreign = tmp_path / "foreign.safetensors"
    foreign.write_bytes(b"import os")
    for arguments, message in (
        ([str(foreign), NAME], "is not a complete nmt checkpoint"),
        ([best, "name"], "is not the name of a repository: write OWNER/NAME"),
        ([best, NAME, "--card", str(tmp_path / "none.md")], "does not exist"),
    ):
        assert main(["push", *arguments]) == 2
        assert message in error_of(capsys)
        assert hub.requests == []
    monkeypatch.setenv("HF_TOKEN", "wrong")
    assert main(["push", best, NAME]) == 2
    assert "log in (hf auth login)" in error_of(capsys)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert main(["translate", f"hf://{NAME}", "Hund"]) == 2
    assert "pip install -e '.[hub]' in the folder of nmt" in error_of(capsys)

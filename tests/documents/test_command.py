"""`nmt translate --document`."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nmt.cli import main
from nmt.documents.document import translate_document
from nmt.documents.options import beside
from nmt.translator import Translator

TEXT = "# Der Hund\n\nDer **kleine** Hund\nläuft weg. Der Hund\n\n    code\n"


def test_the_command_writes_a_new_file_beside_and_overwrites_nothing(
    best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "read.me.md"
    path.write_text(TEXT)
    assert main(["translate", best, "--document", str(path), "--beam", "2"]) == 0
    new = tmp_path / "read.me.en.md"
    content = translate_document(Translator.load(best), TEXT.encode(), ".md", beam_size=2)
    assert new.read_bytes() == content
    assert content.startswith(b"# ")
    assert content.endswith(b"\n\n    code\n")
    assert content.count(b"*") == 4
    for more in ([], ["--output", str(new)]):
        assert main(["translate", best, "--document", str(path), *more]) == 2
        assert "read.me.en.md already exists" in capsys.readouterr().err
    assert main(["translate", best, "--document", str(path), "--output", str(tmp_path / "b"), "--keep", str(path)]) == 0
    printed = capsys.readouterr()
    assert (printed.out, "b: 2 texts translated" in printed.err) == ("", True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--n-best", "2"], "--n-best does not go with --document"),
        (["--json"], "--json does not go"),
        (["--check-words"], "--check-words does not go"),
        (["--input", "a"], "--input does not go"),
        (["--markup"], "tags in .md are markup already"),
        (["a text"], "TEXT and --document exclude each other"),
        (["--glossary", "missing"], "missing does not exist"),
    ],
)
def test_options_that_a_document_cannot_have_are_refused(
    best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    path = tmp_path / "a.md"
    path.write_text(TEXT)
    assert main(["translate", best, "--document", str(path), *arguments]) == 2
    error = capsys.readouterr().err.splitlines()
    assert len(error) == 1
    assert message in error[0]
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_cannot_be_read_are_named(best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\n\xff")
    assert main(["translate", best, "--document", str(path)]) == 2
    assert f"{path}: line 2: not valid UTF-8" in capsys.readouterr().err
    assert main(["translate", best, "--document", str(tmp_path / "b.txt")]) == 2
    assert "b.txt does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "new"),
    [
        ("a.md", "a.de.md"),
        ("a.en.md", "a.de.md"),
        ("a_en-GB.po", "a.de.po"),
        ("en.po", "en.de.po"),
        ("ten.po", "ten.de.po"),
    ],
)
def test_where_translations_go(name: str, new: str) -> None:
    assert beside(Path(name), "en", "de") == Path(new)


def test_without_markup_texts_between_tags_are_translated() -> None:
    class Upper:
        languages = "de", "en"

        def translate(self, texts: list[str]) -> Any:
            assert "" not in texts
            return [SimpleNamespace(text=text.upper()) for text in texts]

    new = translate_document(Upper(), b"Der **kleine & graue** _Hund_\n", ".md")  # type: ignore[arg-type]
    assert new.decode() == "DER **KLEINE & GRAUE** _HUND_\n"


def test_a_model_with_masks_reads_them_for_code() -> None:
    seen: list[str] = []

    class Masking:
        languages, protect = ("de", "en"), True

        def translate(self, texts: list[str], *, markup: bool = False, protect: Any = None) -> Any:
            """Each text backwards. What is protected is lost if the text says so."""
            seen.extend(texts)
            assert protect in (["numbers"], ["numbers", r"⟦(\d+)⟧"])
            words = [text.split()[::-1] if "lost" not in text or "⟦" not in text else ["nothing"] for text in texts]
            return [SimpleNamespace(text=" ".join(text)) for text in words]

    document = b"Run `make it` here.\n\nIt is lost: `x` here.\n"
    new = translate_document(Masking(), document, ".md", protect=["numbers"])  # type: ignore[arg-type]
    assert new == b"here. `make it` Run\n\nhere. `x` lost: is It\n"
    assert seen == ["Run ⟦1⟧ here.", "It is lost: ⟦1⟧ here.", "It is lost: <o1/> here."]

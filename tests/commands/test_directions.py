"""Which bundled model translates a text."""

import os
from pathlib import Path

import pytest
from support.cli import error_of

from nmt.cli import main
from nmt.commands import output, translate
from nmt.decoding.translation import Translation
from nmt.system import bundled
from nmt.text.language import likeliest_language

TEXTS = {"de": "Ein Hund läuft über die Wiese.", "en": "A dog runs through the grass."}


@pytest.fixture
def two(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Bundled models of two directions, by their source languages."""
    for name, run in (("multi30k-de-en", "bahdanau"), ("multi30k-en-de", "none")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes((runs / run / "best.safetensors").read_bytes())
    (tmp_path / "multi30k-fr-en").mkdir()  # without a model
    monkeypatch.setattr(bundled, "MODEL", tmp_path / "multi30k-de-en" / "model.safetensors")
    return {source: str(path) for (source, _), path in bundled.models().items()}


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The model of each block of sentences."""
    models: list[str] = []
    real = translate._translate_block

    def noting(options: object, names: tuple[str, ...], *rest: object) -> object:
        models.extend(names)
        return real(options, names, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(translate, "_translate_block", noting)
    return models


def test_the_language_of_the_text_decides_unless_a_direction_is_given(
    two: dict[str, str], used: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for language, other in (("de", "en"), ("en", "de")):
        file = tmp_path / "text"
        file.write_text(TEXTS[language], encoding="utf-8")
        for source in ([TEXTS[language]], ["--input", str(file)]):
            assert main(["translate", *source]) == 0
        assert "translating from" not in capsys.readouterr().err
        for direction in (["--from", other], ["--to", language]):
            assert main(["translate", *direction, TEXTS[language]]) == 0
        assert used == [two[language]] * 2 + [two[other]] * 2
        used.clear()
    for text in ("1 2 3", "Taxi"):
        assert main(["translate", text]) == 0
        assert "translating from de; --from CODE sets it" in capsys.readouterr().err
    assert used == [two["de"]] * 2


def test_a_guess_is_said_where_the_text_is_unlike_the_training_text(capsys: pytest.CaptureFixture[str]) -> None:
    doubtful = Translation("x", ["x", "<eos>"], ["y", "<eos>"], -9.0, None, is_unlike_training=True)
    output.warn(["y"], [doubtful], 0, "de")
    assert "it was taken for German: --from CODE sets the language" in capsys.readouterr().err
    output.warn(["y"], [doubtful], 0, None)
    assert "German" not in capsys.readouterr().err


def test_the_first_lines_of_standard_input_decide(
    two: dict[str, str], used: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for language, text in TEXTS.items():
        reading, writing = os.pipe()
        os.write(writing, f"\n{text}\n".encode())
        os.close(writing)
        with open(reading, encoding="utf-8") as standard_input, monkeypatch.context() as patch:
            patch.setattr("sys.stdin", standard_input)
            assert main(["translate"]) == 0
        assert used[-1:] == [two[language]]
    assert len(capfd.readouterr().out.splitlines()) == 4


def test_a_direction_that_there_is_not(
    two: dict[str, str], best: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, message in (
        (["--from", "fr"], "no bundled model translates fr→any language (there is de→en, en→de): give a CHECKPOINT"),
        (["--from", "de", "--to", "de"], "no bundled model translates de→de"),
        ([best, "--to", "en"], "a CHECKPOINT was given"),
    ):
        assert main(["translate", *arguments, "Text"]) == 2
        assert message in error_of(capsys)
    monkeypatch.setattr(bundled, "models", lambda: {("de", "en"): Path(two["de"])})
    monkeypatch.setattr("nmt.text.language.likeliest_language", None)  # one model needs no language
    assert main(["translate", "1 2 3"]) == 0


GERMAN = """
Mädchen in bunten Kleidern tanzen. | Junge Männer spielen Fußball im Park. | Ein Mann in Jeans fährt Skateboard.
| Eine Frau im Bikini am Strand. | Zwei Hunde und ein Team in Uniform | Bitte ruf mich morgen an.
| Wo ist der Bahnhof? | die Band spielt"""
ENGLISH = """
A man in a restaurant having lunch. | Man in a small red boat. | A man was in an also red car. | A boy rides a swing.
| A toddler in blue jeans plays in a puddle. | How much is this jacket? | Please call me tomorrow. | the band plays"""


def test_a_single_sentence_shows_its_language_unless_it_could_be_either() -> None:
    for language, sentences in (("de", GERMAN), ("en", ENGLISH)):
        for text in map(str.strip, sentences.split("|")):
            for form in (text, text.lower(), text.rstrip(".?")):
                assert likeliest_language(form, ["de", "en"]) == language, form
    for text in ("", "1 2 3", "Taxi"):
        assert likeliest_language(text, ["de", "en"]) is None, text

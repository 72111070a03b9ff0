"""Which bundled model translates a text."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import error_of

import nmt
from nmt.cli import main
from nmt.commands import directions, translate
from nmt.data import multi30k
from nmt.system import bundled
from nmt.text.language import likeliest_language
from nmt.translator import Translator

TEXTS = {"de": "Ein Hund läuft über die Wiese.", "en": "A dog runs through the grass."}


@pytest.fixture
def two(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Bundled models of two directions, by their source languages."""
    for name, run in (("multi30k-de-en", "bahdanau"), ("multi30k-en-de", "none")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes((runs / run / "best.safetensors").read_bytes())
    (tmp_path / "multi30k-fr-en").mkdir()  # without a model
    monkeypatch.setattr(bundled, "MODEL", tmp_path / "multi30k-de-en" / "model.safetensors")
    return {
        "de": str(tmp_path / "multi30k-de-en" / "model.safetensors"),
        "en": str(tmp_path / "multi30k-en-de" / "model.safetensors"),
    }


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that are chosen."""
    chosen: list[str] = []
    real = directions.bundled_checkpoint

    def choosing(*arguments: object) -> Path:
        chosen.append(str(real(*arguments)))  # type: ignore[arg-type]
        return Path(chosen[-1])

    monkeypatch.setattr("nmt.commands.directions.bundled_checkpoint", choosing)
    return chosen


@pytest.mark.parametrize("language", TEXTS)
def test_the_language_of_the_text_decides(
    two: dict[str, str], used: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], language: str
) -> None:
    file = tmp_path / "text"
    file.write_text(TEXTS[language], encoding="utf-8")
    assert main(["translate", TEXTS[language]]) == 0
    assert main(["translate", "--input", str(file)]) == 0
    assert used == [two[language]] * 2
    assert capsys.readouterr().err == ""
    other = next(code for code in TEXTS if code != language)
    assert main(["translate", "--from", other, TEXTS[language]]) == 0
    assert main(["translate", "--to", language, TEXTS[language]]) == 0
    assert used[2:] == [two[other]] * 2


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
    assert len(used) == len(TEXTS)
    assert len(capfd.readouterr().out.splitlines()) == 4


def test_each_sentence_at_a_prompt_decides(
    two: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded: list[str] = []
    real = Translator.load

    def loading(path: str, **options: object) -> Translator:
        loaded.append(path)
        return real(path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Translator, "load", loading)
    typed = [TEXTS["en"], "", "Taxi", TEXTS["de"], "42", TEXTS["en"]]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{text}\n" for text in typed)))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    asked: list[str] = []
    real_block = translate._translate_block

    def noting(options: object, models: tuple[str, ...], *rest: object) -> object:
        asked.extend(models)
        return real_block(options, models, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(translate, "_translate_block", noting)
    assert main(["translate"]) == 0
    assert asked == [two[language] for language in ("en", "en", "en", "de", "de", "en")]
    assert sorted(loaded) == sorted(two.values())
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 6
    assert "unclear" not in shown.err


def test_where_it_does_not_show_it_says_so(
    two: dict[str, str], used: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ("1 2 3", "Taxi"):
        assert main(["translate", text]) == 0
        assert "translating from de; --from CODE sets it" in capsys.readouterr().err
    assert used == [two["de"]] * 2


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--from", "fr"], ["fr→any language", "de→en, en→de", "CHECKPOINT"]),
        (["--from", "de", "--to", "de"], ["de→de"]),
    ],
)
def test_a_direction_that_there_is_not(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]
) -> None:
    assert main(["translate", *arguments, "Text"]) == 2
    error = error_of(capsys)
    for word in words:
        assert word in error


def test_a_checkpoint_has_its_own_direction(best: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["translate", best, "--to", "en", "Text"]) == 2
    assert "a CHECKPOINT was given" in error_of(capsys)


def test_one_model_needs_no_language(best: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "models", lambda: {("de", "en"): Path(best)})
    monkeypatch.setattr("nmt.text.language.likeliest_language", None)  # never called
    assert main(["translate", "1 2 3"]) == 0


SENTENCES = {
    "de": [
        "Mädchen in bunten Kleidern tanzen.",
        "Junge Männer spielen Fußball im Park.",
        "Ein Mann in Jeans fährt Skateboard.",
        "Eine Frau im Bikini am Strand.",
        "Zwei Hunde und ein Team in Uniform",
        "Bitte ruf mich morgen an.",
        "Wo ist der Bahnhof?",
        "die Band spielt",
    ],
    "en": [
        "A man in a restaurant having lunch.",
        "Man in a small red boat.",
        "A man was in an also red car.",
        "A boy rides a swing.",
        "A toddler in blue jeans plays in a puddle.",
        "How much is this jacket?",
        "Please call me tomorrow.",
        "the band plays",
    ],
}


@pytest.mark.parametrize("language", SENTENCES)
def test_a_single_sentence_shows_its_language(language: str) -> None:
    for text in SENTENCES[language]:
        for form in (text, text.lower(), text.rstrip(".?")):
            assert likeliest_language(form, ["de", "en"]) == language, form


def test_what_could_be_either_stays_open() -> None:
    names = "Angela Merkel trifft Emmanuel Macron in Berlin."
    for text in ("", "1 2 3", names, "Taxi", "taxi!", "Pizza", "Hotel Restaurant", "Привет, как дела?", "你好"):
        assert likeliest_language(text, ["de", "en"]) is None, text


def test_any_language_of_spacy_s_is_told() -> None:
    codes = list(multi30k.LANGUAGES)
    texts = {**TEXTS, "fr": "Un chien court dans l'herbe avec une balle.", "cs": "Pes běží po trávě a má míč, který je"}
    for language, text in texts.items():
        assert likeliest_language(text, codes) == language
    assert likeliest_language("the dog", ["xx", "../en", "en"]) == "en"
    assert likeliest_language("zzz qqq", ["xx", "en"]) is None


def test_telling_a_language_imports_no_spacy() -> None:
    """It would take longer than to translate a sentence."""
    program = (
        "import sys; from nmt.text.language import likeliest_language as found\n"
        f"print(found({TEXTS['en']!r}, ['de', 'en']), 'spacy' in sys.modules)"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(nmt.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == "en False\n"

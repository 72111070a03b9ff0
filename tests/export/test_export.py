"""`nmt export`: the folder, its script, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.cli import error_of, with_another_target_word

from nmt.checkpoint import contents as checkpoint
from nmt.cli import main
from nmt.config.run import Config
from nmt.decoding.translation import Translation
from nmt.export import standalone as script
from nmt.export.cards import folder_card
from nmt.export.folder import FORMAT
from nmt.system import bundled
from nmt.translator import Translator

Maker = Callable[..., tuple[Config, Translator]]
CARD = {"source": {"language": "de"}, "target": {"language": "en"}, "models": ["x"], "nmt": "1", "precision": "int8"}
CARD |= {"files": {}}
SENTENCES = ["B\xada De  Fi ja", "", "ke li Xy", "Hu", "Ba Ba ja De ke Fi li Go Hu"]
WHITESPACE = ["data.source.tokenizer=whitespace", "data.target.tokenizer=whitespace"]
CHAR = ["data.source.tokenizer=char", "data.target.tokenizer=char", "data.source.lowercase=true"]
PIECES, CASED = (
    [f"data.{side}.{field}" for side in ("source", "target") for field in (f"tokenizer={kind}", "vocabulary_size=24")]
    for kind in ("sentencepiece", "sentencepiece_cased")
)
PIECES.append("data.source.lowercase=true")
CASED += ["data.source.lowercase=false", "data.target.lowercase=false"]
CAPTIONS = [
    "Ein Hund läuft über die Wiese.",
    "Zwei Männer stehen an einem Herd und bereiten Essen zu.",
    "Ein kleines Mädchen klettert in ein Spielhaus aus Holz.",
    "Ein Mann in einem blauen Hemd steht auf einer Leiter und putzt ein Fenster.",
    "Mehrere Männer mit Schutzhelmen bedienen ein Antriebsradsystem.",
    "Ein Junge in einem roten Trikot versucht, die Home Base zu erreichen.",
]


def saved(path: Path, made: tuple[Config, Translator]) -> str:
    config, translator = made
    checkpoint.save(path, config, translator.source, translator.target, translator.model)
    return str(path)


def exported(tmp_path: Path, *arguments: str) -> Path:
    assert main(["export", *arguments, "--output", str(tmp_path / "folder")]) == 0
    return tmp_path / "folder"


def assert_same(found: list, expected: list[Translation]) -> None:
    for theirs, ours in zip(found, expected, strict=True):
        for other, one in zip(theirs, ours.n_best or (ours,), strict=True):
            assert (other.text, other.tokens, other.source_tokens) == (one.text, one.tokens, one.source_tokens)
            assert other.score == pytest.approx(one.score, abs=1e-4)
            assert (other.attention is None) == (one.attention is None or not one.tokens)
            if other.attention is not None:
                np.testing.assert_allclose(other.attention, one.attention, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "overrides",
    [
        pytest.param(["model.attention.wiring=luong", *WHITESPACE], id="whitespace"),
        pytest.param(["model.attention.wiring=none", *CHAR], id="char"),
        pytest.param(["model.attention.input_feeding=false", "model.attention.wiring=luong", *CASED], id="cased"),
        pytest.param(["model.attention.scope=local_m", "model.attention.window=1", *PIECES], id="sentencepiece"),
    ],
)
def test_the_script_finds_the_hypotheses_of_nmt(overrides: list[str], make_translator: Maker, tmp_path: Path) -> None:
    made = make_translator(*overrides, "search.max_length=9")
    folder = exported(tmp_path, saved(tmp_path / "best.safetensors", made))
    for beam, n_best, alpha in ((1, 1, 1.0), (4, 4, 0.6)):
        options = {"beam_size": beam, "length_penalty": alpha, "n_best": n_best}
        found = script.Translator(folder).translate(SENTENCES, attention=True, batch_size=2, **options)
        assert_same(found, made[1].translate(SENTENCES, **options))


def test_an_ensemble_searches_as_in_nmt(make_translator: Maker, tmp_path: Path) -> None:
    paths = [
        saved(tmp_path / f"{wiring}.safetensors", make_translator(f"model.attention.wiring={wiring}", *WHITESPACE))
        for wiring in ("bahdanau", "none")
    ]
    found = script.Translator(exported(tmp_path, *paths)).translate(SENTENCES, attention=True)
    assert_same(found, Translator.load(*paths).translate(SENTENCES))


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory, best: str) -> Path:
    folder = tmp_path_factory.mktemp("small") / "folder"
    assert main(["export", best, "--output", str(folder)]) == 0
    return folder


def run(folder: Path, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """The folder's own script in a process that cannot import nmt or PyTorch."""
    blocked = folder.parent / "blocked"
    for name in ("nmt", "torch"):
        (blocked / name).mkdir(parents=True, exist_ok=True)
        (blocked / name / "__init__.py").write_text("raise SystemExit('imported')")
    return subprocess.run(
        [sys.executable, str(folder / "translate.py"), *arguments],
        env=os.environ | {"PYTHONPATH": str(blocked), "PYTHONUTF8": "1"},
        input=text,
        capture_output=True,
        text=True,
        cwd=folder.parent,
    )


def test_the_script_alone_and_the_card_that_names_its_files(small: Path, best: str) -> None:
    card = (small / "README.md").read_text(encoding="utf-8")
    assert "# de→en: bahdanau" in card
    assert all(f"`{path.name}`" in card for path in small.iterdir() if path.name != "README.md")
    lines = ["der Hund läuft", "die Katze schläft"]
    ours = [translation.text for translation in Translator.load(best).translate(lines)]
    assert run(small, *lines).stdout.splitlines() == ours
    assert run(small, text="".join(f"{line}\n" for line in lines)).stdout.splitlines() == ours
    (small.parent / "input").write_text("\ufeff" + "\r\n".join(lines), encoding="utf-8")
    lists = run(small, "--input", "input", "--n-best", "2", "--beam", "3").stdout.splitlines()
    assert [line.split(" ||| ")[0] for line in lists] == ["0", "0", "1", "1"]
    [entry] = map(json.loads, run(small, "--json", lines[0]).stdout.splitlines())
    assert entry["text"] == ours[0]
    assert np.sum(entry["attention"], axis=1) == pytest.approx(np.ones(len(entry["tokens"])), abs=1e-5)


def test_a_hostile_card_costs_no_time() -> None:
    begun = time.process_time()
    assert folder_card(CARD, 1, "![" * 100_000 + "[a](" * 10_000 + "[a](b)").count("[a](b)") == 0
    assert time.process_time() - begun < 10


def test_what_the_script_refuses(small: Path, tmp_path: Path) -> None:
    def changed(name: str, content: bytes) -> str:
        copy = tmp_path / str(len(list(tmp_path.iterdir())))
        shutil.copytree(small, copy)
        (copy / name).write_bytes(content)
        return str(copy)

    config = json.loads((small / "config.json").read_text(encoding="utf-8"))
    newer, number = (json.dumps(config | change).encode() for change in ({"format": FORMAT + 1}, {"search": 7}))
    latin = tmp_path / "latin"
    latin.write_bytes(b"\xef\xbb\xbfBa\nB\xe4r\n")
    for arguments, message in (
        (["--model", changed("config.json", newer), "x"], "has format 2, not 1"),
        (["--model", changed("config.json", b"{"), "x"], "no usable config.json"),
        (["--model", changed("config.json", number), "x"], "no usable config.json"),
        (["--model", changed("step.onnx", b""), "x"], "checksum is wrong"),
        (["--model", str(tmp_path), "x"], "is not a folder of `nmt export`"),
        (["--n-best", "9", "x"], "at most the beam size"),
        (["--length-penalty", "nan", "x"], "the length penalty must lie between 0 and 10"),
        (["--input", str(tmp_path / "none")], "none cannot be read (No such file or directory): check the path"),
        (["--input", str(latin)], "latin, line 2: not valid UTF-8 text: convert it"),
    ):
        result = run(small, *arguments)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), arguments
        assert result.stderr.startswith("error: ")
        assert message in result.stderr
    assert "--input: not allowed with argument TEXT" in run(small, "x", "--input", str(latin)).stderr


def test_ctrl_c_keeps_what_is_written_and_shows_no_traceback(small: Path) -> None:
    command, pipe = [sys.executable, str(small / "translate.py")], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"Ba De\n" * 512)  # a block
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert (process.returncode, said) == (130, b"")


def test_what_the_command_refuses(
    small: Path, best: str, make_translator: Maker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spacy = saved(tmp_path / "spacy.safetensors", make_translator("data.source.tokenizer=spacy"))
    other = str(with_another_target_word(Path(best), tmp_path / "other.safetensors"))
    output = tmp_path / "out" / "folder"
    capsys.readouterr()
    for checkpoints, message in (
        ([spacy], "data.source.tokenizer: an exported model has no spacy: train with char"),
        ([best, other], "have different target tokens"),
        ([str(tmp_path / "missing.safetensors")], "does not exist"),
    ):
        assert main(["export", *checkpoints, "--output", str(output)]) == 2
        assert message in error_of(capsys)
        assert not output.parent.exists()
    assert main(["export", best, "--output", str(small)]) == 2
    assert "already exists" in error_of(capsys)


def test_search_options_that_an_exported_model_lacks_are_named(
    make_translator: Maker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_translator("search={block_ngrams: 2, beam_size: 3, sampling: {top_k: 3}}", *WHITESPACE)
    capsys.readouterr()
    exported(tmp_path, saved(tmp_path / "model.safetensors", made))
    assert "an exported model has no search.block_ngrams, sampling; left out\n" in capsys.readouterr().err


@pytest.mark.parametrize(("precision", "largest", "agree"), [("float16", 14e6, 6), ("int8", 10.5e6, 4)])
def test_the_bundled_model_in_fewer_bits(precision: str, largest: float, agree: int, tmp_path: Path) -> None:
    folder = exported(tmp_path, str(bundled.MODEL), "--precision", precision)
    assert sum(path.stat().st_size for path in folder.iterdir()) < largest
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "non-commercial" in text  # the terms of the data
    assert "](../" not in text
    ours = Translator.load().translate(CAPTIONS, attention=False)
    theirs = [one for [one] in script.Translator(folder, threads=1).translate(CAPTIONS)]
    assert sum(one.text == other.text for one, other in zip(ours, theirs, strict=True)) >= agree
    np.testing.assert_allclose([one.score for one in theirs], [one.score for one in ours], rtol=0, atol=0.15)

"""`nmt translate` as its users meet it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import SOURCES, all_named, command, error_of

from nmt.cli import main
from nmt.commands import sentences, translate
from nmt.system import bundled

RUN_AND_LIST = """
import sys
from nmt.cli import main
code = main(sys.argv[1:])
print(*sorted(sys.modules), file=sys.stderr)
sys.exit(code)
"""


def test_translation_alone_on_standard_output(best: str) -> None:
    done = subprocess.run(command("translate", best, SOURCES[0]), capture_output=True, check=True)
    assert done.stdout.decode().count("\n") == 1
    assert done.stderr == b""


def test_plain_translates_the_same_and_loads_nothing_of_nmt_fast(best: str) -> None:
    said = [
        subprocess.run(
            [sys.executable, "-c", RUN_AND_LIST, "translate", best, *SOURCES, "--precision", "float32", *plain],
            capture_output=True,
            check=True,
            text=True,
        )
        for plain in ([], ["--plain"])
    ]
    assert said[0].stdout == said[1].stdout
    assert "nmt.fast" in said[0].stderr
    assert "nmt.fast" not in said[1].stderr


def test_plain_refuses_what_only_nmt_fast_has(best: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", best, "x", "--plain", "--precision", "int8"]) == 2
    assert "search.precision: int8 needs nmt.fast" in error_of(capsys)


@pytest.mark.parametrize("drawing", [[], ["--temperature", "1.5", "--top-k", "5", "--seed", "3"]])
def test_workers_print_the_same_bytes(
    best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, drawing: list[str]
) -> None:
    monkeypatch.setattr(sentences, "BLOCK", 2)
    file = tmp_path / "input.txt"
    file.write_text("\n".join([*SOURCES, "", *SOURCES[::-1]]), encoding="utf-8")
    outputs = []
    for workers in ("1", "2"):
        more = ["--workers", workers, "--n-best", "2", *drawing]
        assert main(["translate", best, "--input", str(file), "--threads", "1", *more]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") == 2 * 10 + 1


def test_an_ensemble_has_no_member_twice(best: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", best, best, "x"]) == 2
    assert "a checkpoint was given twice" in error_of(capsys)


def test_file_equals_arguments(best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "input.txt"
    file.write_text("\n".join(SOURCES), encoding="utf-8")
    assert main(["translate", best, "--input", str(file)]) == 0
    from_file = capsys.readouterr().out
    assert main(["translate", best, SOURCES[0], "--beam", "3", *SOURCES[1:]]) == 0
    assert capsys.readouterr().out == from_file
    assert from_file.count("\n") == len(SOURCES)


def test_a_translation_that_is_cut_off_is_named(
    best: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sentences, "BLOCK", 1)
    file = tmp_path / "input.txt"
    file.write_text("\n".join(SOURCES), encoding="utf-8")
    assert main(["translate", best, "--input", str(file)]) == 0
    assert capsys.readouterr().err == ""
    assert main(["translate", best, "--input", str(file), "--json", "--max-length", "1"]) == 0
    printed = capsys.readouterr()
    tokens = [json.loads(line)["tokens"] for line in printed.out.splitlines()]
    assert printed.err.splitlines() == [
        f"the translation of sentence {number} was cut off after 1 token (raise --max-length): {source}"
        for number, (own, source) in enumerate(zip(tokens, SOURCES, strict=True), start=1)
        if own != ["<eos>"]
    ]
    assert printed.err


def test_a_sentence_that_is_the_name_of_a_file_gets_a_hint(
    best: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("Hund").write_text("\n".join(SOURCES), encoding="utf-8")
    assert main(["translate", best, "Hund", "der Hund"]) == 0
    printed = capsys.readouterr()
    assert printed.out.count("\n") == 2
    assert printed.err == "Hund is also a file: to translate its lines, use --input Hund\n"


def test_json_and_n_best(best: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", best, SOURCES[0], "--json", "--n-best", "2"]) == 0
    entry = json.loads(capsys.readouterr().out)
    assert entry["source_tokens"] == ["der", "Hund", "läuft", "<eos>"]
    assert len(entry["attention"]) == len(entry["tokens"])
    assert [sum(row) for row in entry["attention"]] == pytest.approx([1] * len(entry["tokens"]), abs=1e-5)
    assert entry["n_best"][0]["text"] == entry["text"]
    assert main(["translate", best, SOURCES[0], SOURCES[1], "--n-best", "2"]) == 0
    lines = [line.split(" ||| ") for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["0", "0", "1", "1"]
    assert lines[0][1] == entry["text"]
    assert float(lines[0][2]) == pytest.approx(entry["score"], abs=1e-4)
    assert float(lines[0][2]) >= float(lines[1][2])


def test_every_option_runs_alone_and_with_all_others(
    best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dictionary = tmp_path / "dictionary.txt"
    dictionary.write_text("unbekannte\tunknown\n", encoding="utf-8")
    sentence = "der unbekannte Hund"
    file = tmp_path / "input.txt"
    file.write_text(f"{sentence}\n", encoding="utf-8")
    shared = [
        ["--beam", "2"],
        ["--length-penalty", "0"],
        ["--n-best", "2"],
        ["--json"],
        ["--replace-unk"],
        ["--replace-unk", "--dictionary", str(dictionary)],
        ["--max-length", "3"],
        ["--prefix", "the dog"],
        ["--batch-size", "1"],
        ["--device", "cpu", "--threads", "1"],
        ["--workers", "2"],
        ["--precision", "int8"],
        ["--no-vocabulary-selection"],
        ["--vocabulary-selection"],
        ["--temperature", "0.5", "--seed", "2"],
        ["--top-k", "3"],
    ]
    text = [[sentence, "--attention", str(tmp_path / "a.png")]]
    plain = ["--plain", "--precision", "float32"]  # not together with int8
    directions = [["--from", "de"], ["--to", "en"]]  # without a checkpoint, so alone
    from_file = [["--input", str(file)], ["--input", str(file), "--output", str(tmp_path / "out"), "--resume"]]
    assert all_named([*shared, plain, *text, *from_file, *directions], translate.parser())
    for options in [*shared, plain]:  # the combinations hold every pair of options that do not exclude each other
        assert main(["translate", best, sentence, *options]) == 0, options
        assert capsys.readouterr().out.count("\n") == (2 if options[0] == "--n-best" else 1), options
    for kind, chosen in (("searched", shared[:-2]), ("drawn", shared[1:])):  # a beam and sampling exclude each other
        together = [word for options in chosen for word in options]
        picture, out = tmp_path / f"{kind}.png", tmp_path / kind
        for source in ([sentence, "--attention", str(picture)], ["--input", str(file)]):
            assert main(["translate", best, *together, *source]) == 0
            (found,) = capsys.readouterr().out.splitlines()
            assert len(json.loads(found)["n_best"]) == 2
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert main(["translate", best, *together, "--input", str(file), "--output", str(out), "--resume"]) == 0
        assert out.read_text(encoding="utf-8") == f"{found}\n"
    assert main(["translate", best, sentence, "--beam", "2", "--top-k", "3"]) == 2
    assert capsys.readouterr().out == ""


def test_without_a_checkpoint_the_bundled_one_translates(
    best: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", best, SOURCES[0]]) == 0
    expected = capsys.readouterr().out
    monkeypatch.setattr(bundled, "MODEL", Path(best))
    assert main(["translate", SOURCES[0]]) == 0
    assert capsys.readouterr().out == expected
    monkeypatch.setattr(bundled, "MODEL", Path("no/model.safetensors"))
    assert main(["translate", SOURCES[0]]) == 2
    error = error_of(capsys)
    assert "CHECKPOINT" in error
    assert "no/model.safetensors" in error


@pytest.mark.parametrize("sentence", ["", ".", "der Hund " * 500], ids=["empty", "a folder's name", "long"])
def test_any_sentence_is_told_from_a_checkpoint(
    best: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], sentence: str
) -> None:
    assert main(["translate", best, sentence, "--max-length", "5"]) == 0
    with_checkpoint = capsys.readouterr().out
    assert with_checkpoint.count("\n") == 1
    if sentence != ".":
        monkeypatch.setattr(bundled, "MODEL", Path(best))
        assert main(["translate", sentence, "--max-length", "5"]) == 0
        assert capsys.readouterr().out == with_checkpoint

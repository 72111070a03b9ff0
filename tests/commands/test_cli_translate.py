"""`nmt translate` as its users meet it."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import SOURCES, all_named, command, error_of

from nmt.checkpoint import contents as checkpoint
from nmt.cli import main
from nmt.commands import translate
from nmt.system import bundled
from nmt.system.wording import truncate

RUN_AND_LIST = """
import sys
from nmt.cli import main
code = main(sys.argv[1:])
print(*sorted(sys.modules), file=sys.stderr)
sys.exit(code)
"""


def test_translation_alone_on_standard_output(best: str, tmp_path: Path) -> None:
    calibrated = tmp_path / "calibrated.safetensors"
    checkpoint.set_thresholds(best, calibrated, -99.0, 99.0)
    for path, said in ((best, f"{translate.CANNOT_WARN}\n"), (str(calibrated), "")):
        done = subprocess.run(command("translate", path, SOURCES[0]), capture_output=True, check=True, text=True)
        assert done.stdout.count("\n") == 1
        assert done.stderr == said


def test_each_sentence_of_a_line_is_translated_and_all_doubts_are_one_line(
    best: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "Der Hund läuft. Die Katze schläft 12 mal."
    assert main(["translate", best, text, "--json"]) == 0
    printed = capsys.readouterr()
    [entry] = map(json.loads, printed.out.splitlines())
    assert [one["source_tokens"] for one in entry["sentences"]] == [
        ["Der", "Hund", "läuft.", "<eos>"],
        ["Die", "Katze", "schläft", "12", "mal.", "<eos>"],
    ]
    assert (entry["text"], entry["attention"]) == (" ".join(one["text"] for one in entry["sentences"]), None)
    assert (entry["missing_numbers"], entry["unlike_training"], entry["source_cut"]) == (["12"], None, False)
    [line] = [line for line in printed.err.splitlines() if line != translate.CANNOT_WARN]
    assert line.startswith("sentence 1 (")
    assert "numbers missing: 12" in line
    assert line.endswith(f"): {truncate(text)}")
    assert main(["translate", best, text, "--json", "--no-split"]) == 0
    assert len(json.loads(capsys.readouterr().out)["source_tokens"]) == 9
    assert main(["translate", best, text, "--attention", "none.png"]) == 2
    assert "this text has 2 sentences" in capsys.readouterr().err


def test_plain_translates_the_same_and_loads_nothing_of_nmt_fast(best: str, capsys: pytest.CaptureFixture[str]) -> None:
    plain, fast = (
        subprocess.run(
            [sys.executable, "-c", RUN_AND_LIST, "translate", best, *SOURCES, "--precision", "float32", *options],
            capture_output=True,
            check=True,
            text=True,
        )
        for options in (["--plain"], [])
    )
    assert plain.stdout == fast.stdout
    assert "nmt.fast" in fast.stderr
    assert "nmt.fast" not in plain.stderr
    assert main(["translate", best, "x", "--plain", "--precision", "int8"]) == 2
    assert "search.precision: int8 needs nmt.fast" in error_of(capsys)


@pytest.mark.parametrize("sampling", [[], ["--temperature", "1.5", "--top-k", "5", "--seed", "3"]])
def test_workers_print_the_same_bytes(
    best: str, source: Path, capsys: pytest.CaptureFixture[str], sampling: list[str]
) -> None:
    outputs = []
    for workers in ("1", "2"):
        more = ["--workers", workers, "--n-best", "2", *sampling]
        assert main(["translate", best, "--input", str(source), "--threads", "1", *more]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") == 2 * 10 + 1


def test_a_file_equals_arguments_and_a_translation_that_is_cut_off_is_named(
    best: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [*SOURCES, "", *SOURCES[::-1]]
    assert main(["translate", best, "--input", str(source)]) == 0
    from_file = capsys.readouterr()
    assert from_file.err == f"{translate.CANNOT_WARN}\n"
    assert main(["translate", best, lines[0], "--beam", "3", *lines[1:]]) == 0
    assert capsys.readouterr().out == from_file.out
    assert from_file.out.count("\n") == len(lines)
    assert main(["translate", best, "--input", str(source), "--json", "--max-length", "1"]) == 0
    printed = capsys.readouterr()
    tokens = [json.loads(line)["tokens"] for line in printed.out.splitlines()]
    assert [line for line in printed.err.splitlines() if line != translate.CANNOT_WARN] == [
        f"sentence {number} (cut off after 1 token (max_length)): {source}"
        for number, (translated, source) in enumerate(zip(tokens, lines, strict=True), start=1)
        if translated not in ([], ["<eos>"])
    ]
    assert len(printed.err.splitlines()) > 1
    monkeypatch.chdir(tmp_path)
    assert main(["translate", best, "input.txt", "der Hund"]) == 0
    printed = capsys.readouterr()
    assert printed.out.count("\n") == 2
    assert (
        printed.err
        == f"input.txt is also a file: to translate its lines, use --input input.txt\n{translate.CANNOT_WARN}\n"
    )


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
    best: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("nmt.addons.addons", tuple)  # options of the core alone
    file = tmp_path / "input.txt"
    sentence = "der unbekannte Hund"
    file.write_text(f"{sentence}\n", encoding="utf-8")
    shared = [
        shlex.split(options)
        for options in (
            *("--beam 2", "--length-penalty 0", "--n-best 2", "--json", "--replace-unk", "--max-length 3"),
            *("--alignment", "--prefix 'the dog'", "--batch-size 1", "--precision int8"),
            *("--device cpu --threads 1", "--no-split", "--split"),
            *("--temperature 0.5 --seed 0", "--top-k 3 --top-p 0.9"),
        )
    ]
    text = [[sentence, "--attention", str(tmp_path / "a.png"), "--pieces"]]
    plain = ["--plain", "--precision", "float32"]  # not together with int8
    directions = [["--from", "de"], ["--to", "en"]]  # without a checkpoint, so alone
    from_file = [["--input", str(file), "--workers", "2"], ["--input", str(file), "--output", "out", "--resume"]]
    assert all_named([*shared, plain, *text, *from_file, *directions], translate.parser())
    for options in [*shared, plain]:  # the combinations hold every pair of options that do not exclude each other
        assert main(["translate", best, sentence, *options]) == 0, options
        assert capsys.readouterr().out.count("\n") == (2 if options[0] == "--n-best" else 1), options
    for kind, options in (("search", shared[:-2]), ("samples", shared[1:])):  # a beam and sampling exclude each other
        together = [word for option in options for word in option]
        figure, out = tmp_path / f"{kind}.png", tmp_path / kind
        for source in ([sentence, "--attention", str(figure)], from_file[0]):
            assert main(["translate", best, *together, *source]) == 0
            (line,) = capsys.readouterr().out.splitlines()
            assert len(json.loads(line)["n_best"]) == 2
        assert figure.read_bytes().startswith(b"\x89PNG")
        assert main(["translate", best, *together, *from_file[0], "--output", str(out), "--resume"]) == 0
        assert out.read_text(encoding="utf-8") == f"{line}\n"
    assert main(["translate", best, sentence, "--beam", "2", "--top-k", "3"]) == 2
    assert capsys.readouterr().out == ""


def test_any_sentence_is_distinguished_from_a_checkpoint_and_needs_none(
    best: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bundled, "MODEL", Path(best))
    for sentence in (SOURCES[0], "", "der Hund " * 500):
        assert main(["translate", best, sentence, "--max-length", "5"]) == 0
        with_checkpoint = capsys.readouterr().out
        assert with_checkpoint.count("\n") == 1
        assert main(["translate", sentence, "--max-length", "5"]) == 0
        assert capsys.readouterr().out == with_checkpoint
    assert main(["translate", best, ".", "--max-length", "5"]) == 0  # the name of a folder
    capsys.readouterr()
    monkeypatch.setattr(bundled, "MODEL", Path("no/model.safetensors"))
    assert main(["translate", SOURCES[0]]) == 2
    error = error_of(capsys)
    assert "CHECKPOINT" in error
    assert "no/model.safetensors" in error

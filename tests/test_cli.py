"""The command line as its users meet it: files, exit codes, what is printed where, signals."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import yaml

from nmt import checkpoint_file
from nmt.cli import main
from nmt.commands import translate
from nmt.data import sample
from nmt.translator import Translator

ROOT = Path(__file__).parent.parent
SOURCES = ["der Hund läuft", "die Katze schläft", "der Hund schläft", "die Katze läuft", "der kleine Hund läuft weg"]
LINKS = ["0-0 1-1 2-2"] * 4 + ["0-0 1-1 2-2 3-3 4?4"]
TARGETS = ["the dog runs", "the cat sleeps", "the dog sleeps", "the cat runs", "the small dog runs away"]


def write_corpus(folder: Path) -> dict:
    """A tiny corpus of files; returns a config for it, whose run takes a second."""
    folder.mkdir(parents=True, exist_ok=True)
    sides = {}
    for side, language, lines in (("source", "de", SOURCES), ("target", "en", TARGETS)):
        path = folder / f"text.{language}"
        path.write_text("".join(line + "\n" for line in lines * 4), encoding="utf-8")
        splits = dict.fromkeys(("train", "validation", "test"), str(path))
        (folder / "text.align").write_text("".join(line + "\n" for line in LINKS * 4), encoding="utf-8")
        sides[side] = {"language": language, "tokenizer": "whitespace", "lowercase": False, **splits}
    return {
        "name": "tiny",
        "output_dir": str(folder / "runs"),
        "data": {"corpus": "files", **sides},
        "model": {
            "embedding_size": 8,
            "embedding_dropout": 0.0,
            "encoder": {"hidden_size": 8, "dropout": 0.0},
            "decoder": {"hidden_size": 16, "dropout": 0.0},
        },
        "training": {"max_epochs": 1, "batch_size": 4, "log_every": 2, "threads": 1, "learning_rate": 0.01},
        "search": {"beam_size": 3, "max_length": 12},
    }


def write_config(folder: Path, **changes: object) -> Path:
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump(write_corpus(folder) | changes), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the finished runs `bahdanau` and `none`."""
    folder = tmp_path_factory.mktemp("cli")
    config = write_config(folder)
    for wiring in ("bahdanau", "none"):
        arguments = ["--set", f"name={wiring}", "--set", f"model.attention.wiring={wiring}"]
        assert main(["train", str(config), *arguments]) == 0
    return folder / "runs"


@pytest.fixture(scope="module")
def best(runs: Path) -> str:
    return str(runs / "bahdanau" / "best.pt")


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "scripts" / f"{arguments[0]}.py"), *arguments[1:]]


def error_of(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of an error; fails if there is more, or anything on standard output."""
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    return captured.err


def test_a_run_leaves_the_promised_files(runs: Path) -> None:
    names = {path.name for path in (runs / "bahdanau").iterdir()} - {"tensorboard"}
    assert names == {
        *("best.pt", "last.pt", "config.yaml", "metrics.jsonl", "evaluation.json"),
        *("bleu_by_length.png", "bleu_by_length.svg", "bleu_by_length.csv"),
    }


def test_metrics_have_the_promised_fields(runs: Path) -> None:
    lines = (runs / "bahdanau" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["event"] for event in events] == ["train", "train", "validation", "train", "end"]
    assert events[0].keys() == {
        *("event", "update", "epoch", "loss", "perplexity", "learning_rate"),
        *("source_tokens_per_second", "target_tokens_per_second"),
    }
    assert {"event", "update", "epoch", "loss", "perplexity", "bleu"} <= events[2].keys()
    assert [event["update"] for event in events] == [2, 4, 5, 5, 5]


def test_evaluation_json_has_the_promised_fields(runs: Path) -> None:
    evaluation = json.loads((runs / "bahdanau" / "evaluation.json").read_text(encoding="utf-8"))
    assert evaluation.keys() == {"models", "significance"}
    (model,) = evaluation["models"]
    flavours = {"bleu", "bleu_lowercase", "bleu_tokenized_lowercase", "chrf"}
    assert model.keys() == {"checkpoint", "split", "signatures", "by_length", "alignment", *flavours}
    assert model["alignment"] is None
    assert model["signatures"].keys() == flavours
    assert model["split"] == "test"
    assert model["by_length"][0].keys() == {"low", "high", "count", "bleu", "ci_low", "ci_high"}
    assert sum(bucket["count"] for bucket in model["by_length"]) == 20


def test_the_resolved_config_repeats_the_run(runs: Path, tmp_path: Path) -> None:
    again = ["train", str(runs / "bahdanau" / "config.yaml"), "--set", f"output_dir={tmp_path}"]
    assert main(again) == 0
    first, second = (
        torch.load(folder / "bahdanau" / "best.pt", weights_only=True)["model"] for folder in (runs, tmp_path)
    )
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_translation_alone_on_standard_output(best: str) -> None:
    done = subprocess.run(command("translate", best, SOURCES[0]), capture_output=True, check=True)
    assert done.stdout.decode().count("\n") == 1
    assert done.stderr == b""


def test_standard_input_in_order_and_empty_lines_kept(best: str) -> None:
    text = "\n".join(["", SOURCES[1], "  ", SOURCES[0] + "\u2028" + SOURCES[1], SOURCES[2]]) + "\n"
    done = subprocess.run(command("translate", best), input=text.encode(), capture_output=True, check=True)
    lines = done.stdout.decode().split("\n")
    assert len(lines) == 6
    assert [bool(line) for line in lines] == [False, True, False, True, True, False]


@pytest.mark.parametrize("form", [[], ["--json"], ["--n-best", "2"]])
def test_workers_print_the_same_bytes(
    best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, form: list[str]
) -> None:
    monkeypatch.setattr(translate, "LINES_AT_ONCE", 2)
    file = tmp_path / "input.txt"
    file.write_text("\n".join([*SOURCES, "", *SOURCES[::-1]]), encoding="utf-8")
    outputs = []
    for workers in ("1", "2"):
        assert main(["translate", best, "--input", str(file), "--threads", "1", "--workers", workers, *form]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") == (2 if "--n-best" in form else 1) * 11 - (1 if "--n-best" in form else 0)


def test_a_checkpoint_does_not_decide_where_a_corpus_is_put(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, best: str
) -> None:
    contents = checkpoint_file.read(best)
    contents["config"]["data"] |= {"corpus": "sample", "folder": str(tmp_path / "elsewhere")}
    for side in ("source", "target"):
        contents["config"]["data"][side] |= {"train": None, "validation": None, "test": None}
    path = tmp_path / "sent.pt"
    checkpoint_file.write(path, contents)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sample, "write", lambda folder: pytest.fail(f"{folder} was written"))
    with pytest.raises(pytest.fail.Exception, match=r"^data/sample was written"):
        main(["evaluate", str(path)])
    with pytest.raises(pytest.fail.Exception, match=r"^here/sample was written"):
        main(["evaluate", str(path), "--data-folder", "here"])


def test_file_equals_arguments(best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "input.txt"
    file.write_text("\n".join(SOURCES), encoding="utf-8")
    assert main(["translate", best, "--input", str(file)]) == 0
    from_file = capsys.readouterr().out
    assert main(["translate", best, SOURCES[0], "--beam", "3", *SOURCES[1:]]) == 0
    assert capsys.readouterr().out == from_file
    assert from_file.count("\n") == len(SOURCES)


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


@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_attention_picture(best: str, tmp_path: Path, suffix: str, magic: bytes) -> None:
    picture = tmp_path / f"attention{suffix}"
    assert main(["translate", best, SOURCES[0], "--attention", str(picture)]) == 0
    assert picture.read_bytes().startswith(magic)


def test_every_pair_of_translate_options_runs(best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dictionary = tmp_path / "dictionary.txt"
    dictionary.write_text("unbekannte\tunknown\n", encoding="utf-8")
    options = [
        ["--beam", "2"],
        ["--length-penalty", "0"],
        ["--n-best", "2"],
        ["--json"],
        ["--attention", str(tmp_path / "a.png")],
        ["--replace-unk"],
        ["--replace-unk", "--dictionary", str(dictionary)],
        ["--max-length", "3"],
        ["--batch-size", "1"],
        ["--threads", "1"],
        ["--workers", "2"],
    ]
    for first, second in itertools.combinations(options, 2):
        assert main(["translate", best, "der unbekannte Hund", *first, *second]) == 0, (first, second)
        assert capsys.readouterr().out


def test_every_pair_of_evaluate_options_runs(
    runs: Path, best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(runs.parent / f"text.{language}") for language in ("de", "en")]
    options = [
        ["--split", "validation"],
        ["--source", files[0], "--reference", files[1]],
        ["--buckets", "3,4"],
        ["--output", str(tmp_path)],
        ["--beam", "1"],
        ["--length-penalty", "0.5"],
        ["--alignment", str(runs.parent / "text.align")],
        ["--heat-map", "2", "--alignment-words", "whitespace", "--output", str(tmp_path)],
        [str(runs / "none" / "best.pt")],
    ]
    for first, second in itertools.combinations(options, 2):
        assert main(["evaluate", best, *first, *second]) == 0, (first, second)
        assert "BLEU" in capsys.readouterr().out


def test_a_choice_of_settings_need_not_see_the_test_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", str(write_config(tmp_path)), "--set", "evaluation.split=validation"]) == 0
    assert "Scores on validation" in capsys.readouterr().out
    evaluation = json.loads((tmp_path / "runs" / "tiny" / "evaluation.json").read_text(encoding="utf-8"))
    assert [model["split"] for model in evaluation["models"]] == ["validation"]


def test_models_are_compared(runs: Path, best: str, tmp_path: Path) -> None:
    other = str(runs / "none" / "best.pt")
    assert main(["evaluate", best, other, "--output", str(tmp_path)]) == 0
    evaluation = json.loads((tmp_path / "evaluation.json").read_text(encoding="utf-8"))
    assert [model["checkpoint"] for model in evaluation["models"]] == [best, other]
    (comparison,) = evaluation["significance"]
    assert (comparison["baseline"], comparison["system"]) == (best, other)
    assert 0 <= comparison["p_value"] <= 1


def test_several_checkpoints_are_an_ensemble(
    runs: Path, best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none = str(runs / "none" / "best.pt")
    expected = [t.text for t in Translator.load(best, none).translate(SOURCES)]
    assert main(["translate", best, none, *SOURCES]) == 0
    assert capsys.readouterr().out.splitlines() == expected
    assert main(["evaluate", best, "--ensemble", best, none, "--output", str(tmp_path)]) == 0
    evaluation = json.loads((tmp_path / "evaluation.json").read_text(encoding="utf-8"))
    assert [model["checkpoint"] for model in evaluation["models"]] == [best, "ensemble of 2"]
    assert "ensemble of 2" in capsys.readouterr().out
    assert main(["evaluate", "--ensemble", best, none]) == 0


def test_without_a_checkpoint_the_shipped_one_translates(
    best: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", best, SOURCES[0]]) == 0
    expected = capsys.readouterr().out
    monkeypatch.setattr(translate, "SHIPPED", Path(best))
    assert main(["translate", SOURCES[0]]) == 0
    assert capsys.readouterr().out == expected
    monkeypatch.setattr(translate, "SHIPPED", Path("no/model.pt"))
    assert main(["translate", SOURCES[0]]) == 2
    error = error_of(capsys)
    assert "CHECKPOINT" in error
    assert "no/model.pt" in error


@pytest.mark.parametrize("sentence", ["", ".", "der Hund " * 500], ids=["empty", "a folder's name", "long"])
def test_any_sentence_is_told_from_a_checkpoint(
    best: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], sentence: str
) -> None:
    assert main(["translate", best, sentence, "--max-length", "5"]) == 0
    with_checkpoint = capsys.readouterr().out
    assert with_checkpoint.count("\n") == 1
    if sentence != ".":
        monkeypatch.setattr(translate, "SHIPPED", Path(best))
        assert main(["translate", sentence, "--max-length", "5"]) == 0
        assert capsys.readouterr().out == with_checkpoint


def with_another_target_word(path: Path, copy: Path) -> Path:
    contents = torch.load(path, weights_only=True)
    contents["target"]["tokens"][-1] = "other"
    torch.save(contents, copy)
    return copy


def test_attention_is_scored_and_drawn(
    runs: Path, best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none = str(runs / "none" / "best.pt")
    options = ["--alignment", str(runs.parent / "text.align"), "--heat-map", "5", "--output", str(tmp_path)]
    capsys.readouterr()
    assert main(["evaluate", best, none, *options]) == 0
    printed = capsys.readouterr().out
    rows = printed[printed.index("Alignment error rate") :].splitlines()
    models = json.loads((tmp_path / "evaluation.json").read_text(encoding="utf-8"))["models"]
    scored = models[0]["alignment"]
    assert list(scored) == ["error_rate", "ci_low", "ci_high", "precision", "recall"]
    assert 0 <= scored["ci_low"] <= scored["error_rate"] <= scored["ci_high"] <= 1
    shown = [f"{100 * scored[field]:.1f}" for field in ("error_rate", "precision", "recall")]
    assert [rows[2].split()[i] for i in (1, 3, 4)] == shown
    assert rows[2].split()[0] == "bahdanau"
    assert models[1]["alignment"] is None
    assert rows[3].split() == ["none", "-", "-", "-", "-"]
    assert (tmp_path / "attention_5.png").read_bytes().startswith(b"\x89PNG")
    drawn = (tmp_path / "attention_5.svg").read_text(encoding="utf-8")
    assert str(tmp_path / "attention_5.svg") in printed
    for word in [*SOURCES[4].split(), *TARGETS[4].split(), "bahdanau", "test split, line 5", "dashed: possible"]:
        assert f"{word}</" in drawn or f"{word})</" in drawn
    assert ">none<" not in drawn


def test_a_model_without_attention_has_no_alignment_error_rate(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    arguments = [str(runs / "none" / "best.pt"), "--alignment", str(runs.parent / "text.align")]
    assert main(["evaluate", *arguments]) == 0
    printed = capsys.readouterr().out
    rows = printed[printed.index("Alignment error rate") :].splitlines()
    assert rows[2].split() == ["none/best.pt", "-", "-", "-", "-"]


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (None, [], ["gold.align", "does not exist"]),
        ("0-0\n", [], ["gold.align", "1 lines", "20 pairs"]),
        ("0-0\n" * 19 + "0:0\n", [], ["gold.align, line 20", "'0:0'", "0-2"]),
        ("0-0\n" * 19 + "0-5\n", [], ["gold.align, line 20", "0-5", "5 source", "5 target"]),
        ("0?0\n" * 20, [], ["gold.align", "no sure link"]),
        ("0-0\n" * 20, ["--alignment-words", "words"], ["--alignment-words", "whitespace"]),
        ("0-0\n" * 20, ["--heat-map", "3"], ["--heat-map", "--output"]),
        ("0-0\n" * 20, ["--heat-map", "0", "--output", "OUT"], ["--heat-map", "'0'"]),
        ("0-0\n" * 20, ["--heat-map", "21", "--output", "OUT"], ["--heat-map 21", "20"]),
        ("0-0\n\n", ["--heat-map", "2", "--output", "OUT", "--source", "IN", "--reference", "IN"], ["--heat-map 2"]),
        ("0-0\n" * 20, ["--heat-map", "3", "--output", "OUT", "NONE"], ["--heat-map", "wiring"]),
    ],
)
def test_bad_alignments_and_heat_maps_are_refused_before_translating(
    runs: Path,
    best: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: str | None,
    options: list[str],
    words: list[str],
) -> None:
    gold = tmp_path / "gold.align"
    if content is not None:
        gold.write_text(content, encoding="utf-8")
    (tmp_path / "in").write_text("ja\n\n", encoding="utf-8")
    names = {"OUT": str(tmp_path / "out"), "IN": str(tmp_path / "in"), "NONE": str(runs / "none" / "best.pt")}
    models = [best] if "NONE" not in options else []
    capsys.readouterr()
    arguments = [*models, *(names.get(o, o) for o in options), "--alignment", str(gold)]
    assert main(["evaluate", *arguments]) == 2
    error = error_of(capsys)  # one line: "Translating …" was not said yet
    for word in words:
        assert word in error
    assert not list(tmp_path.glob("out/*"))


def test_alignment_words_alone_are_refused(best: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["evaluate", best, "--alignment-words", "spacy"]) == 2
    assert "--alignment-words goes with --alignment or --heat-map" in error_of(capsys)


def test_a_run_is_never_overwritten(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (runs / "bahdanau" / "last.pt").read_bytes()
    config = str(runs / "bahdanau" / "config.yaml")
    capsys.readouterr()
    assert main(["train", config]) == 2
    assert "--resume" in error_of(capsys)
    assert (runs / "bahdanau" / "last.pt").read_bytes() == before


def test_a_finished_run_is_prolonged(tmp_path: Path) -> None:
    config = str(write_config(tmp_path))
    assert main(["train", config]) == 0
    assert main(["train", config, "--resume", "--set", "training.max_epochs=2"]) == 0
    lines = (tmp_path / "runs" / "tiny" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    assert [e["update"] for e in events if e["event"] == "validation"] == [5, 10]
    assert [e["update"] for e in events if e["event"] == "end"] == [10]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "missing.yaml"], ["missing.yaml", "No such file"]),
        (["train", "CONFIG", "--set", "training.batchsize=3"], ["training.batchsize", "batch_size"]),
        (["train", "CONFIG", "--set", "training.batch_size=many"], ["training.batch_size", "'many'"]),
        (["train", "CONFIG", "--set", "model.attention.score=dot", "--set", "model.encoder.hidden_size=9"], ["18"]),
        (["train", "CONFIG", "--set", "data.source.train=/no/such"], ["/no/such", "does not exist"]),
        (["train", "CONFIG", "--set", "training.device=tpu9"], ["tpu9"]),
        (["train", "CONFIG", "--set", "evaluation.split=tset"], ["'tset'", "validation"]),
        (["translate", "missing.pt", "x"], ["missing.pt", "does not exist"]),
        (["translate", "CONFIG", "x"], ["CONFIG", "no checkpoint"]),
        (["translate", "FOLDER", "x"], ["FOLDER", "folder", "best.pt"]),
        (["translate", "BEST", "x", "--attention", "a.gif"], ["a.gif", ".png"]),
        (["translate", "BEST", "x", "y", "--attention", "a.png"], ["--attention", "2"]),
        (["translate", "NONE", "x", "--attention", "a.png"], ["wiring"]),
        (["translate", "BEST", " ", "--attention", "a.png"], ["--attention", "empty"]),
        (["translate", "BEST", "x", "--attention", "BEST/a.png"], ["BEST", "cannot be made a folder"]),
        (["translate", "BEST", "x", "--beam", "0"], ["--beam", "'0'", "nmt translate --help"]),
        (["translate", "BEST", "x", "--bean", "3"], ["--bean", "nmt translate --help"]),
        (["translate", "BEST", "missing.pt", "x"], ["missing.pt", "does not exist"]),
        (["translate", "BEST", "OTHER", "x"], ["BEST", "OTHER", "target tokens"]),
        (["average", "BEST", "OTHER", "--output", "mean.pt"], ["BEST", "OTHER", "target tokens"]),
        (["average", "BEST", "NONE", "--output", "mean.pt"], ["BEST", "NONE", "model.attention.wiring"]),
        (["average", "BEST"], ["--output", "nmt average --help"]),
        (["evaluate"], ["CHECKPOINT", "--ensemble"]),
        (["evaluate", "--ensemble", "BEST", "BEST"], ["twice"]),
        (["transalte"], ["'transalte'", "translate"]),
        (["evaluate", "BEST", "--buckets", "abc"], ["--buckets", "'abc'", "10,20,30"]),
        (["evaluate", "BEST", "--output", "BEST/x"], ["BEST", "cannot be made a folder"]),
        (["train", "CONFIG", "--set", "output_dir=/dev/null/x"], ["/dev/null/x", "cannot be made a folder"]),
        (
            ["train", "CONFIG", "--set", "data.target={tokenizer: sentencepiece, train: T, validation: T, test: T}"],
            ["data.target.vocabulary_size: 4000", "too large"],
        ),
        (["translate", "NONE", "x", "--replace-unk"], ["replace_unk", "wiring"]),
        (["translate", "BEST", "x", "--n-best", "9"], ["n_best", "beam"]),
        (["translate", "BEST", "x", "--length-penalty", "-1"], ["length_penalty"]),
        (["translate", "BEST", "x", "--input", "y"], ["--input"]),
        (["translate", "BEST", "--input", "missing.txt"], ["missing.txt"]),
        (["evaluate", "BEST", "BEST"], ["twice"]),
        (["evaluate", "BEST", "--split", "tset"], ["tset", "validation"]),
        (["evaluate", "BEST", "--source", "x"], ["--reference"]),
        (["evaluate", "BEST", "--source", "BEST", "--reference", "missing"], ["UTF-8"]),
        (["evaluate", "BEST", "--buckets", "20,10"], ["20"]),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_code_2(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]
) -> None:
    names = {
        "CONFIG": str(write_config(tmp_path)),
        "FOLDER": str(runs),
        "BEST": str(runs / "bahdanau" / "best.pt"),
        "NONE": str(runs / "none" / "best.pt"),
        "OTHER": str(with_another_target_word(runs / "bahdanau" / "best.pt", tmp_path / "other.pt")),
        "BEST/x": str(runs / "bahdanau" / "best.pt" / "x"),
        "BEST/a.png": str(runs / "bahdanau" / "best.pt" / "a.png"),
    }
    text = str(tmp_path / "text.en")
    arguments = [names.get(argument, argument).replace(": T", f": {text}") for argument in arguments]
    capsys.readouterr()
    assert main(arguments) == 2
    error = error_of(capsys)
    for word in words:
        assert names.get(word, word) in error
    assert not (tmp_path / "runs").exists()


def test_bad_bytes_on_standard_input(best: str) -> None:
    done = subprocess.run(command("translate", best), input=b"gut\n\xff\n", capture_output=True, check=False)
    assert done.returncode == 2
    assert b"line 2" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_resuming_ends_as_if_nothing_had_happened(tmp_path: Path, number: signal.Signals) -> None:
    config = str(write_config(tmp_path))
    settings = ["--set", "training.max_epochs=60", "--set", "training.validate_every=1000"]
    whole = tmp_path / "runs" / "whole"
    assert main(["train", config, *settings, "--set", "name=whole"]) == 0
    metrics = tmp_path / "runs" / "tiny" / "metrics.jsonl"
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command("train", config, *settings), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        while process.poll() is None and not (metrics.exists() and metrics.stat().st_size):
            time.sleep(0.005)
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors.decode()
    assert "--resume" in output.decode().splitlines()[-1]
    assert "Traceback" not in errors.decode()
    stopped = torch.load(metrics.with_name("last.pt"), weights_only=True)
    assert 0 < stopped["training"]["state"]["update"] < 300
    assert main(["train", config, *settings, "--resume"]) == 0
    ends = [torch.load(folder / "last.pt", weights_only=True)["model"] for folder in (whole, metrics.parent)]
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])

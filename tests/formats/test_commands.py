"""Commands read tables as they read lines: the same text gives the same models, translations and scores."""

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.cli import error_of, write_corpus

from nmt.cli import main
from nmt.config.reading import load_config
from nmt.data.training_set import load_training_set
from nmt.text.corpus import read_lines
from nmt.text.tokenizers import TOKENIZERS

MORE = [("der Hund\nläuft", "the dog\nruns"), ("die Katze, die\n\nschläft", "the cat that\n\nsleeps")]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with the same text as `pairs.csv.gz` and in two files, and a model trained on the former."""
    folder = tmp_path_factory.mktemp("formats")
    config = write_corpus(folder)
    for side, language in enumerate(("de", "en")):
        with (folder / f"text.{language}").open("a", encoding="utf-8") as file:
            file.writelines(pair[side].replace("\n", "␤") + "\n" for pair in MORE)
    pairs = folder / "pairs.csv.gz"
    rows = zip(read_lines(folder / "text.de"), read_lines(folder / "text.en"), strict=True)
    with gzip.open(pairs, "wt", encoding="utf-8", newline="") as file:
        csv.writer(file).writerow(("id", "en-GB", "de"))
        csv.writer(file).writerows((1, en.replace("␤", "\n"), de.replace("␤", "\n")) for de, en in rows)
    config["data"]["source"]["extra"] = [str(folder / "text.de")]
    config["data"]["target"]["extra"] = [str(folder / "text.en")]
    (folder / "text.yaml").write_text(yaml.safe_dump(config), "utf-8")
    for side in ("source", "target"):
        config["data"][side] |= dict.fromkeys(("train", "validation", "test"), str(pairs)) | {"extra": [str(pairs)]}
    (folder / "pairs.yaml").write_text(yaml.safe_dump(config), "utf-8")
    assert main(["train", str(folder / "pairs.yaml")]) == 0
    return folder, str(folder / "runs" / "tiny" / "best.safetensors")


def test_the_same_text_is_learnt(trained: tuple[Path, str]) -> None:
    stores = [load_training_set(load_config(trained[0] / f"{name}.yaml").data).store for name in ("text", "pairs")]
    assert stores[0].arrays is not stores[1].arrays
    for name, values in stores[0].arrays.items():
        assert np.array_equal(values, stores[1].arrays[name]), name
    assert stores[0].meta["pairs"] == stores[1].meta["pairs"] == [22, 22]


def test_commands_read_both(trained: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    folder, model = trained
    pairs, source, target = (str(folder / name) for name in ("pairs.csv.gz", "text.de", "text.en"))
    score = ["score", model, "--source"]
    for by_pairs, by_lines in (
        (["translate", model, "--input", pairs], ["translate", model, "--input", source]),
        (["translate", model, "--input", f"{pairs}#3"], ["translate", model, "--input", source]),
        ([*score, pairs, "--target", pairs], [*score, source, "--target", target]),
        (["align", model, pairs, pairs], ["align", model, source, target]),
        (["align", "--lexical", f"{pairs}#de", f"{pairs}#en"], ["align", "--lexical", source, target]),
    ):
        assert main(by_lines) == 0
        expected = capsys.readouterr().out
        assert main(by_pairs) == 0
        assert capsys.readouterr().out == expected
        assert expected.count("\n") == 22
    assert main(["evaluate", model, "--source", pairs, "--reference", pairs]) == 0
    table = capsys.readouterr().out.partition("\n")[2]
    assert main(["evaluate", model, "--source", source, "--reference", target]) == 0
    assert capsys.readouterr().out.partition("\n")[2] == table
    assert main(["index", model, "--source", pairs, "--target", pairs, "--output", str(folder / "a.index")]) == 0
    assert "22 pairs" in capsys.readouterr().out
    sets = ["--output", str(folder / "sets"), "--validation", "2", "--test", "2"]
    assert main(["split", f"{pairs}#de", f"{pairs}#en", *sets]) == 0
    assert read_lines(folder / "sets" / "train.de")


def test_line_ends_are_encoded_in_lines_and_not_in_json(
    trained: tuple[Path, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model, file = trained[1], tmp_path / "t.csv"
    file.write_text('de\n"der Hund\nläuft"\n', "utf-8")
    prefix = ["--prefix", "the dog␤runs"]
    assert main(["translate", model, "--input", str(file), *prefix]) == 0
    assert capsys.readouterr().out.startswith("the dog␤runs")
    assert main(["translate", model, "--input", str(file), *prefix, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"].startswith("the dog\nruns")


@pytest.mark.parametrize("name", ["spacy", "whitespace", "char"])
def test_tokens_keep_line_ends(name: str) -> None:
    tokenizer = TOKENIZERS[name].make("en", False, None)
    for text in ("One line.␤Another", "a␤␤b", "end␤"):
        assert tokenizer.detokenize(tokenizer.tokenize(text)) == text


def test_columns_that_are_missing_end_a_command(
    trained: tuple[Path, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "t.csv"
    file.write_text("fr,en\na,b\n", "utf-8")
    assert main(["translate", trained[1], "--input", str(file)]) == 2
    assert error_of(capsys) == f"error: {file} has no column or language de: it has fr, en; write {file}#en\n"
    assert main(["train", str(trained[0] / "pairs.yaml"), "--set", f"data.source.train={file}", "--set", "name=b"]) == 2
    assert error_of(capsys).startswith(f"error: {file} has no column or language de")

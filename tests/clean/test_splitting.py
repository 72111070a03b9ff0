"""One pair of files becomes three sets: the same everywhere, with no pair in two of them."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.cli import error_of

from nmt.cli import main
from nmt.config.reading import parse_config
from nmt.data.splits import load_split

SIZES = {"train": 69, "validation": 20, "test": 10}
PAIRS = [(f"Satz {n} ß\u2028", f"sentence {n}") for n in range(99)]


def write(folder: Path, pairs: list[tuple[str, str]], names: tuple[str, str] = ("all.de", "all.en")) -> list[str]:
    for name, side in zip(names, zip(*pairs, strict=True), strict=True):
        (folder / name).write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    return [str(folder / name) for name in names]


def split(files: list[str], output: Path, *options: str) -> int:
    sizes = ["--validation", str(SIZES["validation"]), "--test", str(SIZES["test"])]
    return main(["split", *files, "--output", str(output), *sizes, *options])


def read(folder: Path) -> dict[str, list[tuple[str, str]]]:
    def lines(name: str) -> list[str]:
        return (folder / name).read_text(encoding="utf-8").split("\n")[:-1]

    return {name: list(zip(lines(f"{name}.de"), lines(f"{name}.en"), strict=True)) for name in SIZES}


def test_every_pair_is_in_one_set_in_the_order_of_the_files(tmp_path: Path) -> None:
    assert split(write(tmp_path, PAIRS), tmp_path / "a") == 0
    sets = read(tmp_path / "a")
    assert {name: len(pairs) for name, pairs in sets.items()} == SIZES
    assert sorted(pair for pairs in sets.values() for pair in pairs) == sorted(PAIRS)
    for pairs in sets.values():
        assert pairs == [pair for pair in PAIRS if pair in pairs]


def test_the_sets_depend_on_text_and_seed_alone(tmp_path: Path) -> None:
    """The pairs of the test set are named here: they must be the same on every machine, in any order."""
    pairs = [(f"Satz {n}", f"sentence {n}") for n in range(99)]
    assert split(write(tmp_path, pairs), tmp_path / "a") == 0
    assert split(write(tmp_path, pairs), tmp_path / "c", "--seed", "0") == 0
    assert split(write(tmp_path, random.Random(1).sample(pairs, len(pairs))), tmp_path / "b") == 0
    first, again, another = (read(tmp_path / name) for name in "abc")
    assert {name: set(lines) for name, lines in first.items()} == {name: set(lines) for name, lines in again.items()}
    assert set(first["test"]) != set(another["test"])
    assert [int(source.split()[1]) for source, _ in first["test"]] == [17, 24, 25, 26, 45, 68, 79, 85, 92, 96]


def test_copies_of_a_pair_never_straddle_the_sets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = [(f"Satz {n}", f"sentence {n}") for n in range(60)]
    pairs = base + [(f"  satz  {n}", f"Sentence {n}") for n in range(60)] + [("x", ""), (" ", "y")]
    assert split(write(tmp_path, pairs), tmp_path / "a") == 0
    sets = read(tmp_path / "a")
    keys = {name: [" ".join(source.lower().split()) for source, _ in lines] for name, lines in sets.items()}
    assert [len(texts) for texts in keys.values()] == [60, 20, 10]  # a copy in the training set is no harm
    assert [len(set(texts)) for texts in keys.values()] == [30, 20, 10]
    assert len({text for texts in keys.values() for text in texts}) == 60
    printed = capsys.readouterr().out
    for part in ("60 train, 20 validation, 10 test pairs", "2 pairs with an empty side", "30 more of the same pairs"):
        assert part in printed


def test_no_sentence_of_either_side_is_in_two_sets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Single pairs, chains of pairs that share a source or a target in turn, and one group larger than a set."""
    draw = random.Random(3)
    pairs = [(f"Satz {n}", f"sentence {n}") for n in range(60)]
    pairs += [
        (f"Kette {n} {k // 2}", f"Chain  {n} {(k + 1) // 2}") for n in range(30) for k in range(draw.randint(2, 6))
    ]
    pairs += [("Ja", f"yes {n}") for n in range(50)]
    draw.shuffle(pairs)
    assert split(write(tmp_path, pairs), tmp_path / "a") == 0
    sets = read(tmp_path / "a")
    assert [len(lines) for name, lines in sets.items() if name != "train"] == [20, 10]
    for side in (0, 1):
        sentences = [sentence for lines in sets.values() for sentence in {pair[side] for pair in lines}]
        assert len(sentences) == len(set(sentences))
    groups = {name: {" ".join(source.split()[:2]) for source, _ in lines} for name, lines in sets.items()}
    assert sum(source == "Ja" for source, _ in sets["train"]) == 50
    moved = sum(len(sets[name]) - len(groups[name]) for name in ("validation", "test"))
    left_out = len(pairs) - sum(map(len, sets.values()))
    assert moved >= 5
    assert left_out >= 1
    printed = capsys.readouterr().out
    assert f"Moved: {moved} pairs into the set that has one of their sentences." in printed
    assert f"Left out: {left_out} pair{'s' * (left_out > 1)} that share a sentence with a full set." in printed


def test_the_printed_config_reads_the_sets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = write(tmp_path, PAIRS, ("all.no", "all.en"))  # YAML takes no for a boolean
    assert split(files, tmp_path / "a") == 0
    snippet = yaml.safe_load(capsys.readouterr().out.partition("In the config:\n")[2])
    config = parse_config({"name": "x"} | snippet, "printed")
    assert config.data.source.language == "no"
    assert [len(load_split(config.data, name).source) for name in SIZES] == list(SIZES.values())


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refusal(files: list[str]) -> str:
        assert split(files, tmp_path / "a") == 2
        return error_of(capsys)

    message = "have 30 different pairs, too few for 20 validation and 10 test pairs"
    assert message in refusal(write(tmp_path, PAIRS[:30]))
    for linked in ([("Ja", target) for _, target in PAIRS[:80]], [(source, "yes") for source, _ in PAIRS[:80]]):
        files = write(tmp_path, linked + PAIRS[80:])
        assert "too few for 20 validation and 10 test pairs that share no sentence" in refusal(files)
    files = write(tmp_path, PAIRS)
    for names in (write(tmp_path, PAIRS, ("one.txt", "two.txt")), [files[0], files[0]]):
        assert "end the names with the codes of the two languages, such as text.de" in refusal(names)
    assert not (tmp_path / "a").exists()
    assert split(files, tmp_path / "a") == 0
    capsys.readouterr()
    before = read(tmp_path / "a")
    assert "already exists" in refusal(files)
    assert read(tmp_path / "a") == before


def test_python_runs_the_package_and_a_full_disk_is_said_though_the_output_was_kept_to_the_end(tmp_path: Path) -> None:
    for name in ("text.de", "text.en"):
        (tmp_path / name).write_text("".join(f"{n}\n" for n in range(9)), encoding="utf-8")
    sets = ["split", "text.de", "text.en", "--output", "sets", "--validation", "2", "--test", "2"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "nmt", *sets], stdout=full, stderr=subprocess.PIPE, cwd=tmp_path, env=environment
        )
    assert done.returncode == 2
    assert done.stderr.decode().startswith("error: cannot write the output (No space left on device)")
    assert done.stderr.count(b"\n") == 1

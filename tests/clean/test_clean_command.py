"""`nmt clean` as its users meet it."""

import csv
import gzip
import json
from pathlib import Path

import pytest
from support.cli import error_of

from nmt.clean import cleaning, corpus
from nmt.clean.report import Report, shortened
from nmt.cli import main
from nmt.text.corpus import read_lines

NOUNS = ["house", "river", "garden", "window", "bridge", "mountain", "letter", "teacher"]
NAMEN = ["Haus", "Fluss", "Garten", "Fenster", "Brücke", "Berg", "Brief", "Lehrer"]
GOOD = [
    (f"The {noun} behind the {other} is old.", f"Das ist alt: {name}, {anderer} davor")
    for noun, name in zip(NOUNS, NAMEN, strict=True)
    for other, anderer in zip(NOUNS, NAMEN, strict=True)
]
BAD = [
    ("", "leer"),
    ("Built in 1998", "Gebaut 1999"),
    GOOD[3],
    ("A\x1b[Jvery old\tthing", "Ein sehr alter Name 7777"),
]
PAIRS = [*GOOD[:40], *BAD, ("It\u2019s fÃ¼r us", "Es ist fÃ¼r uns"), *GOOD[40:]]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return write(tmp_path, PAIRS)


def write(folder: Path, pairs: list[tuple[str, str]]) -> list[str]:
    paths = [folder / "memory.en", folder / "memory.de.gz"]
    texts = ["".join(f"{pair[side]}\n" for pair in pairs).encode() for side in (0, 1)]
    paths[0].write_bytes(texts[0])
    paths[1].write_bytes(gzip.compress(texts[1]))
    return [*map(str, paths)]


def rows_of(folder: Path) -> list[dict[str, str]]:
    with gzip.open(folder / "dropped.tsv.gz", "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, dialect="excel-tab"))


def test_pairs_are_kept_in_order_or_dropped_and_each_is_somewhere(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = []
    for block, workers in ((corpus.BLOCK, 1), (7, 2)):
        monkeypatch.setattr(corpus, "BLOCK", block)
        folder = tmp_path / str(workers)
        assert main(["clean", *files, "--output", str(folder), "--workers", str(workers)]) == 0
        outputs.append({path.name: path.read_bytes() for path in folder.iterdir()})
        assert not list(folder.glob(".*"))
    assert outputs[0] == outputs[1]
    mended = PAIRS[44]
    kept = list(zip(read_lines(folder / "text.en"), read_lines(folder / "text.de"), strict=True))
    assert kept == [*GOOD[:40], ("It\u2019s für us", "Es ist für uns"), *GOOD[40:]]
    rows = rows_of(folder)
    assert [(row["rule"], int(row["pair"])) for row in rows] == [
        *(("empty", 41), ("numbers", 42), ("numbers", 44), ("duplicates", 43))
    ]
    assert [(row["en"], row["de"]) for row in rows] == [BAD[0], BAD[1], BAD[3], BAD[2]]
    report = json.loads(outputs[0]["report.json"])
    assert (report["pairs_read"], report["pairs_written"]) == (len(PAIRS), len(kept))
    assert report["rules"]["numbers"]["dropped"] == 2
    assert report["rules"]["mojibake"]["changed"] == 1
    assert mended not in kept
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert r"A\x1b[Jvery old\tthing | Ein sehr alter Name 7777  (– / 7777)" in printed


def test_a_table_of_both_languages_is_both_sides_and_a_held_out_set(tmp_path: Path) -> None:
    for name, pairs in (("memory.csv", [*GOOD[:5], ("One.\nTwo", "Eins.\nZwei")]), ("test.csv", GOOD[2:4])):
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("en", "de_AT", "note"), *((*pair, "x, y") for pair in pairs)])
    arguments = ["--languages", "en", "de_AT", "--held-out", str(tmp_path / "test.csv")]
    table, folder = str(tmp_path / "memory.csv"), tmp_path / "out"
    assert main(["clean", table, "--output", str(folder), *arguments]) == 0
    assert read_lines(folder / "text.en") == [GOOD[0][0], GOOD[1][0], GOOD[4][0], "One.␤Two"]
    assert read_lines(folder / "text.de-AT") == [GOOD[0][1], GOOD[1][1], GOOD[4][1], "Eins.␤Zwei"]
    dropped = str(folder / "dropped.tsv.gz")
    assert [read_lines(Path(f"{dropped}#{name}")) for name in ("rule", "de-AT")] == [
        ["held-out"] * 2,
        [GOOD[2][1], GOOD[3][1]],
    ]
    assert main(["clean", f"{table}#de_AT", f"{table}#en", "--output", str(tmp_path / "b"), "--split-lines"]) == 0
    assert read_lines(tmp_path / "b" / "text.de-AT")[-2:] == ["Eins.", "Zwei"]


def test_held_out_sentences_votes_and_scores(tmp_path: Path) -> None:
    votes = [("Open", "Öffnen"), ("Open", "Auf"), ("Open", "Auf"), ("Shut", "Zu")]
    files = write(tmp_path, [*votes, *GOOD[:4]])
    held_out, scores = tmp_path / "test.de", tmp_path / "scores"
    held_out.write_text(f"x\n  {GOOD[1][1].upper()}\n", encoding="utf-8")
    scores.write_text("".join(f"-{n}\n" for n in range(8)))
    arguments = ["--several-targets", "vote", "--held-out", str(held_out), "--scores", str(scores), str(scores)]
    assert main(["clean", *files, "--output", str(tmp_path / "out"), *arguments, "--keep-share", ".5"]) == 0
    rows = {int(row["pair"]): row["rule"] for row in rows_of(tmp_path / "out")}
    assert rows == {6: "held-out", 1: "several-targets", 3: "duplicates", 7: "scores", 8: "scores"}
    assert read_lines(tmp_path / "out" / "text.de") == ["Auf", "Zu", GOOD[0][1]]


def test_what_stops_it_leaves_nothing(files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    for place in ("drop", "json"):
        with monkeypatch.context() as patch:
            patch.setattr(Report, place, stop)
            assert main(["clean", *files, "--output", str(tmp_path / "a" / "out")]) == 130
        assert not (tmp_path / "a" / "out").exists()
    with monkeypatch.context() as patch:
        patch.setattr(cleaning, "_second_pass", stop)
        (tmp_path / "there").mkdir()
        assert main(["clean", *files, "--output", str(tmp_path / "there")]) == 130
    assert list((tmp_path / "there").iterdir()) == []


def test_a_refusal_is_one_line_and_writes_nothing(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = files
    (tmp_path / "short.de").write_text("eins\n")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "report.json").write_text("{}")
    for arguments, expected in (
        ([source, target, source], "give two files, or one that has both sides"),
        ([source, "--languages", "en", "de"], "both sides are in no such file: give two files"),
        ([source], "name its languages, such as --languages en de"),
        ([source, str(tmp_path / "scores.txt")], "does not end in a language: add --languages"),
        ([source, target, "--languages", "en", "german"], "'german' is not a language code: use one such as de"),
        ([source, target, "--languages", "de", "DE"], "both sides are de"),
        ([source, str(tmp_path / "short.de")], "short.de has 1: line n"),
        ([source, target, "--skip", "number"], "--skip: invalid choice: 'number'"),
        ([source, target, "--max-ratio", "1"], "'1' is not a number above 1"),
        ([source, target, "--keep-share", "0.5"], "are for --scores: add it"),
        ([source, target, "--scores", source, source, "--split-lines"], "split first"),
        ([source, target, "--scores", source, source, "--keep-share", "1", "--min-score", "1"], "exclude each other"),
        ([source, target, "--scores", source, source], "memory.en, line 1: 'The house"),
        ([source, target, "--held-out", str(tmp_path / "gone.en")], "gone.en does not exist"),
        ([source, target, "--output", str(tmp_path / "full")], "report.json already exists"),
        ([target, source, "--languages", "en", "de", "--held-out", source, "--skip", "mojibake"], None),
    ):
        before = sorted(tmp_path.rglob("*"))
        assert main(["clean", "--output", str(tmp_path / "out"), *arguments]) == 2, arguments
        if expected is None:
            assert "no pair is left" in capsys.readouterr().err
        else:
            assert expected in error_of(capsys)
        assert sorted(tmp_path.rglob("*")) == before


def test_without_ftfy_and_without_the_patterns(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ftfy", None)
    assert main(["clean", *files, "--output", str(tmp_path / "out")]) == 2
    assert "run pip install -e '.[clean]'" in error_of(capsys)
    monkeypatch.setattr("nmt.clean.placeholders._patterns", lambda: (None, None))
    assert main(["clean", *files, "--output", str(tmp_path / "out"), "--skip", "mojibake"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert "mojibake        off: --skip" in printed
    assert "placeholders    off: nmt.constraints is not installed" in printed


def test_an_example_is_short_and_has_no_control_characters() -> None:
    assert shortened("a\x00\u202eb\u2028") == "a\\x00\\u202eb\u2028"
    assert len(shortened("x" * 10**6)) == len(shortened("\x00" * 100)) == 44

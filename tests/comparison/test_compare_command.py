"""`nmt compare` as its users meet it: what it prints, the page, and what it refuses."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import sacrebleu
import spacy
from support.cli import all_named, error_of

from nmt.cli import main
from nmt.comparison.commands import compare

SOURCES = ["Ein Hund läuft.", "Zwei Katzen schlafen im Haus.", "Ein Mann mit 3 Hunden.", "Eine <b>Frau</b> liest."] * 5
REFERENCES = [
    "A dog is running.",
    "Two cats sleep in the house.",
    "A man with 3 dogs.",
    "A <b>woman</b> is reading.",
] * 5
FIRST = ["A dog is running.", "Two cats sleep in a house.", "A man with 3 dogs.", "A <b>man</b> reads a lot."] * 5
SECOND = ["A dog runs.", "Two cats sleep in the house.", "A man with dogs.", "A <b>woman</b> is reading."] * 5
TRAINING = ["A dog is here.", "The house is old.", "A dog sleeps."]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    texts = {"one.en": FIRST, "two.en": SECOND, "test.en": REFERENCES, "test.de": SOURCES, "train.en": TRAINING}
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    systems = [str(tmp_path / name) for name in ("one.en", "two.en")]
    return [*systems, "--reference", str(tmp_path / "test.en"), "--source", str(tmp_path / "test.de")]


def test_the_summary_has_sacrebleus_scores_and_each_question(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *files, "--training", str(tmp_path / "train.en")]) == 0
    printed = capsys.readouterr().out
    for name, lines in (("one", FIRST), ("two", SECOND)):
        bleu, chrf = (metric.corpus_score(lines, [REFERENCES]) for metric in (sacrebleu.BLEU(), sacrebleu.CHRF()))
        [row] = re.findall(rf"^{name} .*", printed, re.MULTILINE)[:1]
        values = row.split()
        assert f"{bleu.score:.2f}" in values
        assert f"{chrf.score:.2f}" in values
        assert values[-1] == f"{bleu.sys_len / bleu.ref_len:.3f}"
    assert "by source length" in printed
    assert "by frequency" in printed
    assert "letters (no spaCy pipeline)" in printed
    assert "one is better in 10, two in 10, equal in 0" in printed
    assert "{+is+} {+running+}" in printed
    assert "[-runs-]" in printed
    assert re.search(r"N-grams that two has right more often than one: .*\bwoman\b.* \(5, 0\)", printed)


def test_lower_case_changes_the_score_and_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.upper() for line in REFERENCES]
    for name, text in (("loud", lines), ("other", FIRST), ("test", REFERENCES)):
        (tmp_path / f"{name}.en").write_text("\n".join(text) + "\n", encoding="utf-8")
    command = ["compare", *(str(tmp_path / f"{name}.en") for name in ("loud", "other")), "--reference"]
    assert main([*command, str(tmp_path / "test.en"), "--lowercase"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^Scores +BLEU lc", printed, re.MULTILINE)
    assert re.search(r"^loud +100\.00 +100\.00", printed, re.MULTILINE)
    assert "case:lc" in printed
    assert "capitalised word" in printed  # found before the text was lower-cased


def test_a_folder_of_an_evaluation_is_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = tmp_path / "translations"
    texts.mkdir()
    names = {"b": FIRST, "a": SECOND, "reference": REFERENCES, "source": SOURCES}
    for name, lines in names.items():
        (texts / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    models = [{"checkpoint": f"runs/{name}/best.safetensors"} for name in ("b", "a")]
    (tmp_path / "evaluation.json").write_text(json.dumps({"models": models}), encoding="utf-8")
    assert main(["compare", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert printed.index("\nb ") < printed.index("\na "), "the baseline is the evaluation's"
    (tmp_path / "evaluation.json").write_text("[]", encoding="utf-8")
    assert main(["compare", str(tmp_path)]) == 2
    assert "not what nmt evaluate wrote" in error_of(capsys)


class Page(HTMLParser):
    """Checks that elements are closed in their order; collects their names, attributes and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open, self.seen, self.attributes, self.text = list[str](), list[str](), list[tuple[str, str]](), ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.open += [] if tag == "meta" else [tag]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_whole_by_itself_and_shows_text_as_text(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "comparison.html"
    options = ["--training", str(tmp_path / "train.en"), "--html", str(path), "--examples", "20"]
    assert main(["compare", *files, *options]) == 0
    html = path.read_text(encoding="utf-8")
    page = Page(html)
    assert html.startswith("<!DOCTYPE html>")
    assert not {"script", "link", "img", "iframe"} & set(page.seen)
    links = [value for name, value in page.attributes if name in ("src", "href", "xlink:href", "action")]
    assert all(value.startswith("#") for value in links), links
    assert "b" not in page.seen, "markup of a sentence"
    assert "A <b>woman</b> is reading." in page.text
    assert page.seen.count("article") == 20, "the sentences that each side wins"
    assert {"svg", "table", "del", "ins", "details"} <= set(page.seen)
    assert "prefers-color-scheme: dark" in html
    assert 'name="viewport"' in html
    capsys.readouterr()
    assert main(["compare", *files, "--html", str(path)]) == 2
    assert "already exists" in error_of(capsys)


def test_a_pipeline_names_parts_of_speech(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("attribute_ruler")
    ruler.add([[{"LOWER": {"IN": ["dog", "dogs", "cats", "house", "man", "woman"]}}]], {"POS": "NOUN"})
    ruler.add([[{"LOWER": {"NOT_IN": ["dog", "dogs", "cats", "house", "man", "woman"]}}]], {"POS": "X"})
    pipeline.to_disk(tmp_path / "tagger")
    assert main(["compare", *files, "--pipeline", str(tmp_path / "tagger")]) == 0
    printed = capsys.readouterr().out
    [row] = re.findall(r"^NOUN +(\d+) +([\d.]+) +([\d.*]+)$", printed, re.MULTILINE)
    assert row[0] == "25", "dog, cats, house, man, dogs; <b>woman</b> is no word"
    spacy.blank("en").to_disk(tmp_path / "blank")
    for name, expected in (("blank", "gives no parts of speech"), ("missing", "spaCy cannot load it")):
        assert main(["compare", *files, "--pipeline", str(tmp_path / name)]) == 2
        assert expected in error_of(capsys)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda files, _: files[:1] + files[2:], "two or more files"),
        (lambda files, _: files[:2], "add --reference"),
        (lambda files, _: [files[0], *files], "one.en is given twice"),
        (lambda files, folder: [*files, str(folder / "train.en")], "has 3 lines but"),
        (lambda files, folder: [*files, str(folder / "none.en")], "none.en does not exist"),
        (lambda files, folder: [*files, "--training", str(folder / "none.en")], "none.en does not exist"),
        (lambda files, _: [*files, "--languages", "de", "klingon!"], "'klingon!' is not a language code"),
        (lambda files, folder: [str(folder), *files[2:]], "has no evaluation.json"),
        (lambda files, _: [*files, "--examples", "0"], "--examples"),
        (lambda files, folder: [*files, "--html", str(folder / "train.en" / "x.html")], "cannot be written"),
    ],
)
def test_bad_input_is_one_line(
    change: object, expected: str, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *change(files, tmp_path)]) == 2
    assert expected in error_of(capsys)


def test_a_region_does_not_change_the_language(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for codes in (("de", "zh"), ("de-AT", "zh-TW")):
        assert main(["compare", *files, "--languages", *codes]) == 0
        printed.append(capsys.readouterr().out)
    assert "tok:zh" in printed[0]
    assert printed[1] == printed[0]


def test_every_option_is_named_here() -> None:
    names = ("reference", "source", "training", "languages", "pipeline", "lowercase", "examples", "ngrams", "html")
    assert all_named([[f"--{name}" for name in names]], compare.parser())

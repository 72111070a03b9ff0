"""Alignment error rate against numbers worked out by hand, and the gold links that it is measured by."""

import gzip
from pathlib import Path

import pytest
from support.texts import LANGUAGES, SAMPLE

from nmt.evaluation.alignment import Links, read_links, score_alignment, word_pairs
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText, read_pairs

TEXT = ParallelText(["Das ist gut.", "", "Ja!"], ["That's good.", "", "Yes!"])


def gold(sure: set[tuple[int, int]], possible: set[tuple[int, int]] = frozenset()) -> Links:
    return Links(frozenset(sure), frozenset(sure | possible))


def test_score_is_that_worked_out_by_hand() -> None:
    # |A∩S| = 2 + 0, |A∩P| = 3 + 1, |A| = 4 + 2, |S| = 3 + 2.
    links = [gold({(0, 0), (1, 1), (2, 2)}, {(3, 3), (4, 4)}), gold({(0, 1), (1, 0)}, {(0, 0)})]
    answers = [{(0, 0), (1, 1), (3, 3), (9, 9)}, {(0, 0), (1, 1)}]
    result = score_alignment(answers, links)
    assert result.error_rate == pytest.approx(1 - (2 + 4) / (6 + 5))
    assert result.precision == pytest.approx(4 / 6)
    assert result.recall == pytest.approx(2 / 5)
    # Two pairs: a resample holds one twice, or both. Alone they have 1 − 5/7 and 1 − 1/4.
    assert (result.ci_low, result.ci_high) == (pytest.approx(2 / 7), pytest.approx(3 / 4))
    one, again, other = (score_alignment(answers * 9, links * 9, samples=10, seed=seed) for seed in (4, 4, 5))
    assert one == again != other


def test_perfect_and_empty_alignments() -> None:
    links = [gold({(0, 0)}, {(1, 1)}), gold(set()), gold({(0, 1), (1, 0)})]
    for kind in ("sure", "possible"):
        result = score_alignment([getattr(g, kind) for g in links], links)
        assert (result.error_rate, result.ci_low, result.ci_high) == (0, 0, 0)
        assert (result.precision, result.recall) == (1, 1)
    empty = score_alignment([frozenset()] * 3, links)
    assert (empty.error_rate, empty.recall, empty.ci_low, empty.ci_high) == (1, 0, 1, 1)
    assert empty.precision is None  # 0 of 0
    sure = {(0, 0), (1, 1)}  # links that are only possible are no mistake, and none that is missing
    assert score_alignment([sure], [gold(sure, {(2, 2)})]).error_rate == 0
    assert score_alignment([sure | {(2, 2)}], [gold(sure, {(2, 2)})]).error_rate == 0
    assert score_alignment([sure | {(2, 2)}], [gold(sure)]).error_rate == pytest.approx(1 / 5)  # 1 − F1


def test_links_are_read(tmp_path: Path) -> None:
    content = "0-0 1?2  10-3\n\n 2-1 2?1\r\n"
    (tmp_path / "a.align").write_text(content, encoding="utf-8")
    (tmp_path / "a.align.gz").write_bytes(gzip.compress(content.encode()))
    expected = [gold({(0, 0), (10, 3)}, {(1, 2)}), gold(set()), gold({(2, 1)})]
    assert read_links(tmp_path / "a.align") == read_links(tmp_path / "a.align.gz") == expected


@pytest.mark.parametrize("link", ["0:0", "-1-0", "1-1-1", "１-1", "9" * 5000 + "-0"])
def test_malformed_links_are_refused(tmp_path: Path, link: str) -> None:
    path = tmp_path / "bad.align"
    path.write_text(f"0-0\n0-0 {link}\n", encoding="utf-8")
    with pytest.raises(UserError) as caught:
        read_links(path)
    assert str(caught.value).startswith(f"{path}, line 2: {link!r}"[:100])
    assert "is not a link; write " in str(caught.value) or len(link) > 1000  # of a long message the middle is left out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0-0\n\n", "has 2 lines, and the text 3 pairs"),
        ("0-0 4-1\n\n0-0\n", "line 1: link 4-1 .* 4 source and 4 target words.*--alignment-words whitespace"),
        ("0-0\n0-0\n0?0\n", "line 2: link 0-0 points outside a pair of 0 source and 0 target words"),
        ("0?0\n\n0?0\n", "no sure link"),
    ],
)
def test_links_must_fit_the_text(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "gold.align"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=f"{path}.*{message}"):
        word_pairs(TEXT, LANGUAGES, "spacy", path)


def test_words_are_spacys_or_stand_between_blanks(tmp_path: Path) -> None:
    words = word_pairs(TEXT, LANGUAGES)
    assert words.source == [["Das", "ist", "gut", "."], [], ["Ja", "!"]]
    assert words.target == [["That", "'s", "good", "."], [], ["Yes", "!"]]
    assert words.links is None
    path = tmp_path / "gold.align"
    path.write_text("2-1\n\n0-0\n", encoding="utf-8")
    words = word_pairs(TEXT, LANGUAGES, "whitespace", path)
    assert words.source == [["Das", "ist", "gut."], [], ["Ja!"]]
    assert words.links == [gold({(2, 1)}), gold(set()), gold({(0, 0)})]
    sample = read_pairs(*(SAMPLE / f"test.{language}" for language in LANGUAGES))
    links = word_pairs(sample, LANGUAGES, "spacy", SAMPLE / "test.align").links
    assert links is not None
    assert score_alignment([g.sure for g in links], links).error_rate == 0

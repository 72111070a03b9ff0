"""Links learnt from text: against an independent model 1, the gold links of the sample corpus, and themselves."""

import itertools
from collections.abc import Sequence

import pytest
from support.texts import LANGUAGES, SAMPLE, rows_of

from nmt.align import lexicon
from nmt.align.lexicon import lexical_links
from nmt.data.store import Rows
from nmt.evaluation.alignment import read_links, score_alignment
from nmt.evaluation.scores import spacy_tokens
from nmt.text.corpus import read_lines

PAIRS = [([0, 1, 2], [3, 4, 5]), ([1, 0], [4, 3]), ([], [1]), ([2], []), ([2], [5]), ([0] * 1001, [3])]


def links_of(links: Rows) -> list[list[tuple[int, int]]]:
    return [[(s, t) for s, t in links[pair].tolist()] for pair in range(len(links))]


def rows_and_tokens(sentences: Sequence[Sequence[str]]) -> tuple[Rows, list[str]]:
    tokens = sorted(set(itertools.chain.from_iterable(sentences)))
    ids = {token: number for number, token in enumerate(tokens)}
    return rows_of([[ids[token] for token in sentence] for sentence in sentences]), tokens


def test_links_of_made_up_pairs() -> None:
    """Each id i comes with 3 + i; empty and very long sentences have no links."""
    source, target = (rows_of(side) for side in zip(*PAIRS, strict=True))
    expected = [[(0, 0), (1, 1), (2, 2)], [(0, 0), (1, 1)], [], [], [(0, 0)], []]
    assert links_of(lexical_links(source, target)) == expected
    assert len(lexical_links(rows_of([]), rows_of([]))) == 0
    assert links_of(lexical_links(rows_of([[]]), rows_of([[1]]))) == [[]]
    with pytest.raises(ValueError, match="6 source and 1 target"):
        lexical_links(source, rows_of([[1]]))


def test_words_are_not_linked_to_punctuation() -> None:
    """The comma is always there with the verb, and so is its translation unless it is known to be none."""
    source, tokens = rows_and_tokens([["▁hat", "▁Wort", str(n)] for n in range(9)])
    target, others = rows_and_tokens([[",", str(n), "…"] for n in range(9)])
    assert (0, 0) in links_of(lexical_links(source, target))[0]
    assert {t for _, t in lexical_links(source, target, tokens=(tokens, others))[0]} == {1}
    assert [lexicon._kind(token) for token in ("▁a", "7", "▁,", "«", "▁", "⇧▁", "")] == [1, 1, -1, -1, 0, 0, 0]


def test_marks_have_no_links_and_take_none() -> None:
    """The marks of case change nothing but the positions."""
    source, tokens = rows_and_tokens([["⇧▁", "▁hund", "."], ["▁der", "⇧▁", "▁hund"]])
    target, others = rows_and_tokens([["⇧▁", "▁dog", "."], ["▁the", "▁dog"]])
    assert links_of(lexical_links(source, target, tokens=(tokens, others))) == [[(1, 1), (2, 2)], [(0, 0), (2, 1)]]


@pytest.fixture(scope="module")
def sample() -> tuple[list[list[str]], list[list[str]]]:
    """1,000 training pairs and 300 of the test split, as spaCy's lower-cased words."""
    lines = ([*read_lines(SAMPLE / f"train.{x}")[:1000], *read_lines(SAMPLE / f"test.{x}")[:300]] for x in LANGUAGES)
    source, target = (
        spacy_tokens([line.lower() for line in side], x) for side, x in zip(lines, LANGUAGES, strict=True)
    )
    return source, target


def test_error_rate_on_the_sample_corpus(
    sample: tuple[list[list[str]], list[list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (source, source_tokens), (target, target_tokens) = map(rows_and_tokens, sample)
    gold = read_links(SAMPLE / "test.align")[:300]

    def error_rate() -> float:
        links = lexical_links(source, target, tokens=(source_tokens, target_tokens))
        return score_alignment([frozenset(of_pair) for of_pair in links_of(links)[1000:]], gold, samples=2).error_rate

    assert error_rate() < 0.062  # measured: 0.060, and 0.050 of 11,000 pairs
    monkeypatch.setattr(lexicon, "MEETINGS", 400_000)
    assert 0.07 < error_rate() < 0.12  # learnt from a third of the pairs
    monkeypatch.setattr(lexicon, "HMM", 0)
    assert error_rate() > 0.3  # model 1 alone

"""What a comparison finds, against values that are counted by hand or in another way."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.comparison.sentences import NGram, largest_differences, marked, ngrams_won, sentence_scores
from nmt.comparison.texts import words_of
from nmt.comparison.words import accuracies, by_frequency, by_part_of_speech, frequency_labels

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=7)
SENTENCES = st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=5)


def labelled(words: list[str]) -> list[tuple[str, str]]:
    return [(word, "vowel" if word == "a" else "consonant") for word in words]


@given(SENTENCES)
def test_f1_is_that_of_words_counted_one_by_one(sentences: list[tuple[list[str], list[str], list[str]]]) -> None:
    first, second, references = ([labelled(words) for words in side] for side in zip(*sentences, strict=True))
    rows = {row.label: row for row in accuracies([first, second], references, ["vowel", "consonant"])}
    for label in ("vowel", "consonant"):
        expected = []
        for system in (first, second):
            right = 0
            for words, reference in zip(system, references, strict=True):
                left = [pair for pair in reference if pair[1] == label]
                for pair in words:
                    if pair in left:
                        left.remove(pair)
                        right += 1
            written = sum(pair[1] == label for words in system for pair in words)
            there = sum(pair[1] == label for words in references for pair in words)
            # from precision and recall, whose harmonic mean is F1
            if right:
                precision, recall = right / written, right / there
                expected.append(100 * 2 * precision * recall / (precision + recall))
            else:
                expected.append(0.0 if written + there else None)
        if label not in rows:
            assert expected == [None, None]
        else:
            assert rows[label].f1 == pytest.approx(expected)
            assert rows[label].count == there


def test_an_interval_has_no_0_where_one_system_is_always_better() -> None:
    references = [labelled(["a", "b"])] * 30
    good, bad = [labelled(["a", "b"])] * 30, [labelled(["a", "c"])] * 30
    vowel, consonant = accuracies([bad, good, bad], references, ["vowel", "consonant"])
    assert [vowel.is_clear(number) for number in range(3)] == [False, False, False]
    assert [consonant.is_clear(number) for number in range(3)] == [False, True, False]
    assert consonant.intervals == [None, (100.0, 100.0), (0.0, 0.0)]


def test_an_interval_is_that_of_resampled_sentences() -> None:
    rng = np.random.default_rng(3)
    references = [labelled(["b", "c", "d"]) for _ in range(40)]
    systems = [[labelled(rng.choice(["b", "c", "d"], 3).tolist()) for _ in range(40)] for _ in range(2)]
    [row] = accuracies(systems, references, ["consonant"])
    right = np.array(
        [[sum((Counter(h) & Counter(r)).values()) for h, r in zip(s, references, strict=True)] for s in systems]
    )
    draws = rng.integers(0, 40, (4000, 40))
    f1 = 100 * right[:, draws].sum(axis=2) / (3 * 40)  # as many words in translations as in references
    expected = np.percentile(f1[1] - f1[0], [2.5, 97.5])
    assert row.intervals[1] == pytest.approx(expected, abs=1.5)


def test_words_have_the_bucket_of_their_frequency() -> None:
    counts = Counter({"b": 1, "c": 4, "d": 5, "e": 99, "f": 100, "g": 999, "h": 1000, "i": 10**7})
    [sentence] = by_frequency(counts, lambda texts: words_of(texts, "en"))(["a b c d e f g h i"])
    assert [label for _, label in sentence] == [
        *("0", "1", "2–4", "5–9", "10–99", "100–999", "100–999", "1,000 and more", "1,000 and more")
    ]
    assert {label for _, label in sentence} == set(frequency_labels())


def test_letters_alone_tell_numbers_punctuation_and_capitals() -> None:
    label, by = by_part_of_speech("en", None, lowercase=True)
    [sentence] = label(["The 2 dogs , two cats & Ann !"])
    assert by == "letters (no spaCy pipeline)"
    kinds = dict(sentence)
    assert kinds["the"] == kinds["ann"] == "capitalised word"
    assert kinds["2"] == kinds["two"] == "number"
    assert kinds[","] == kinds["&"] == kinds["!"] == "punctuation"
    assert kinds["dogs"] == "other word"


@given(WORDS, WORDS, WORDS)
def test_marks_leave_the_words_and_agree(first: list[str], second: list[str], ref: list[str]) -> None:
    for words, result in zip((first, second), marked(first, second, ref), strict=True):
        assert [word for word, _ in result] == words
        right = [word for word, kind in result if kind != "wrong"]
        rest = iter(ref)
        assert all(word in rest for word in right), "a common subsequence"
        assert any(kind != "wrong" for _, kind in result) == bool(set(words) & set(ref))


def test_only_one_has_it() -> None:
    first, second = marked(["a", "b", "x"], ["a", "y", "d"], ["a", "b", "d"])
    assert first == [("a", ""), ("b", "only"), ("x", "wrong")]
    assert second == [("a", ""), ("y", "wrong"), ("d", "only")]


def test_sentences_are_in_the_order_of_their_differences() -> None:
    references = ["the dog runs home", "two cats sleep here", "a man reads books", "same words here"]
    first = ["the dog runs home", "two cats sleep", "a woman eats soup", "same words here"]
    second = ["a bird flies away", "two cats sleep here", "a man reads a book", "same words here"]
    scores = sentence_scores(first, references), sentence_scores(second, references)
    words = [[line.split() for line in side] for side in (first, second, references)]
    won = largest_differences(scores, (words[0], words[1]), words[2], 9)
    lost = largest_differences(scores[::-1], (words[1], words[0]), words[2], 9)
    assert [example.number for example in won] == [0]
    assert [example.number for example in lost] == [2, 1]
    assert won[0].scores[0] == pytest.approx(100)
    assert len(largest_differences(scores[::-1], (words[1], words[0]), words[2], 1)) == 1


def test_ngrams_are_counted_as_often_as_the_reference_has_them() -> None:
    references = [["a", "b", "c", "d"], ["a", "b", "e"], ["f", "f"]]
    first = [["a", "b", "c", "d"], ["a", "b", "e"], ["f", "f", "f"]]
    second = [["a", "x", "c"], ["e"], ["f"]]
    won = ngrams_won(first, second, references, 10)
    assert NGram("a b", (2, 0)) == won[0]
    assert NGram("a b c d", (1, 0)) in won
    assert NGram("f", (2, 1)) in won
    texts = [ngram.text for ngram in won]
    assert "b" not in texts, "it is part of a b, with the same numbers"
    assert "c d" not in texts, "it is part of a b c d"
    assert "e" not in texts, "both have it"
    assert ngrams_won(second, first, references, 10) == []

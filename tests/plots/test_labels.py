"""Tokens as readers know words: no tokenizer's signs, ends and unknown words marked."""

import pytest

from nmt.plots.labels import LONGEST, notes_on, token_labels
from nmt.text.language import language_name


@pytest.mark.parametrize(
    ("tokens", "texts"),
    [
        (["▁ein", "▁wasser", "melone", "n", ".", "<eos>"], ["ein", "wasser-", "melone-", "n", ".", "(end)"]),
        (["▁t", "-", "▁shirt", "s"], ["t", "-", "shirt-", "s"]),
        (["▁ein", "▁", "漢字", "<unk>", "<eos>"], ["ein", "␣", "漢字", "(unknown)", "(end)"]),
        (["Ein", "Wasser", "<unk>", ".", "<eos>"], ["Ein", "Wasser", "(unknown)", ".", "(end)"]),
        (["E", "i", "▁", "▁▁", "B", "<eos>"], ["E", "i", "␣", "▁▁", "B", "(end)"]),
        (["a\nb", "\t", "$x_1$", ""], ["a\\nb", "\\t", "$x_1$", ""]),
        (["x" * 1000], ["x" * (LONGEST - 1) + "…"]),
        (["⇧▁", "▁ein", "▁hund", "s"], ["⇧", "ein", "hund-", "s"]),
        ([], []),
    ],
)
def test_labels_are_words(tokens: list[str], texts: list[str]) -> None:
    assert [label.text for label in token_labels(tokens)] == texts


def test_what_is_not_a_word_is_explained_once_and_languages_have_names() -> None:
    labels = token_labels(["▁a", "▁", "<unk>", "<unk>", "<eos>"])
    assert [label.kind for label in labels] == ["word", "space", "unknown", "unknown", "end"]
    assert notes_on(labels) == [
        "(end): end of sentence",
        "(unknown): not in the vocabulary",
        "␣: space between words",
    ]
    assert notes_on(token_labels(["Ein", "Mann"])) == []
    assert notes_on(token_labels(["⇧▁", "▁ein"])) == ["⇧: a capital letter follows"]
    assert [language_name(code) for code in ("de", "en", "xx")] == ["German", "English", "xx"]

"""Other spellings of a sentence: what each leaves out or writes in another way, and how often."""

from collections import Counter
from functools import partial
from random import Random

import pytest

from nmt.augment.typos import in_ascii, with_end, with_typos, without_last_mark, without_marks

ENDS = ("!", "!!", "!!!", "...")
AT_END = [partial(with_end, end=end) for end in ENDS]
SENTENCE = "Ein Mann grüßt, lächelt und trägt ein T-Shirt."


@pytest.mark.parametrize(
    ("text", "last", "every"),
    [
        (SENTENCE, SENTENCE[:-1], "Ein Mann grüßt lächelt und trägt ein T-Shirt"),
        ('"Halt!", sagt er .', '"Halt!", sagt er', "Halt sagt er"),
        ("The dog's toy costs 3.50 dollars?!", "The dog's toy costs 3.50 dollars", "The dog's toy costs 3.50 dollars"),
        ("a – b", "a – b", "a b"),
        ("...", "...", "..."),
        ("", "", ""),
    ],
)
def test_marks_are_left_out_but_never_the_whole_text(text: str, last: str, every: str) -> None:
    assert without_last_mark(text) == last
    assert without_marks(text) == every


def test_each_spelling_is_drawn_as_often_as_asked_for_and_by_itself() -> None:
    draws, chance = 4000, Random(1)
    seen = Counter(with_typos(SENTENCE, "de", 0.3, chance) for _ in range(draws))
    marks = (str, without_last_mark, without_marks, *AT_END)
    shares = {  # of each spelling
        capitals(spell(mark(case(SENTENCE)))): a * b * c * d
        for capitals, a in ((str, 0.7), (str.upper, 0.3))
        for case, b in ((str, 0.7), (str.lower, 0.3))
        for spell, c in ((str, 0.7), (in_ascii, 0.3))
        for mark, d in zip(marks, (0.7, 0.1, 0.1, *[0.1 / len(ENDS)] * len(ENDS)), strict=True)
        if (capitals, case) != (str.upper, str.lower)
    }
    assert seen.keys() == shares.keys()
    for text, share in shares.items():
        share /= 0.7 if text.isupper() else 1  # of any case before
        assert seen[text] / draws == pytest.approx(share, abs=4 * (share / draws) ** 0.5)

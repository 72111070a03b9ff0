"""Other spellings of a sentence: what each leaves out or writes in another way, and how often."""

from collections import Counter
from collections.abc import Callable
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
        ('Er ruft."Ja"', 'Er ruft."Ja"', "Er ruft Ja"),
        ("Halt,", "Halt,", "Halt"),
        ("...", "...", "..."),
        ("", "", ""),
    ],
)
def test_marks_are_left_out_but_never_the_whole_text(text: str, last: str, every: str) -> None:
    assert without_last_mark(text) == last
    assert without_marks(text) == every


def test_another_end_and_umlauts_in_ascii() -> None:
    ended = {"Halt.": "Halt!!", "Halt !": "Halt!!", "Halt": "Halt!!", "...": "...!!", "": "!!"}
    assert {text: with_end(text, "!!") for text in ended} == ended
    assert in_ascii("Über Öl, Äpfel: ä ö ü ß é") == "Ueber Oel, Aepfel: ae oe ue ss é"


def test_each_spelling_is_drawn_as_often_as_asked_for_and_by_itself() -> None:
    draws, chance = 4000, Random(1)
    seen = Counter(with_typos(SENTENCE, "de", 0.3, chance) for _ in range(draws))
    expected = {
        capitals(spell(mark(case(SENTENCE))))
        for capitals in (str, str.upper)
        for case in (str, str.lower)
        for mark in (str, without_last_mark, without_marks, *AT_END)
        for spell in (str, in_ascii)
    }
    assert set(seen) == expected
    small = Counter({text: count for text, count in seen.items() if not text.isupper()})
    total = small.total()
    assert 1 - total / draws == pytest.approx(0.3, abs=0.03)

    def share(condition: Callable[[str], bool]) -> float:
        return sum(count for text, count in small.items() if condition(text)) / total

    def has_mark(text: str, inner: bool, end: str) -> bool:
        return ("grüßt," in text or "gruesst," in text) == inner and text.lower().split("t-shirt")[1] == end

    shares = [
        (share(lambda text: text[0] == "e"), 0.3),  # lower-cased
        (share(lambda text: "ß" not in text), 0.3),  # in ASCII
        (share(lambda text: "ß" not in text and text[0] == "e"), 0.09),
        (share(lambda text: has_mark(text, True, "")), 0.1),  # without the last mark
        (share(lambda text: has_mark(text, False, "")), 0.1),  # without any
        *((share(partial(has_mark, inner=True, end=end)), 0.1 / len(ENDS)) for end in ENDS),
    ]
    for measured, expected in shares:
        assert measured == pytest.approx(expected, abs=4 * (expected * (1 - expected) / total) ** 0.5)


def test_only_german_has_spellings_in_ascii() -> None:
    words = {with_typos("Müller.", "en", 0.5, Random(seed)) for seed in range(500)}
    assert words == {word + end for word in ("Müller", "müller", "MÜLLER") for end in (".", "", *ENDS)}

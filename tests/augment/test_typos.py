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
        ('Er ruft."Ja"', 'Er ruft."Ja"', "Er ruft Ja"),
        ("Halt,", "Halt,", "Halt"),
        ("...", "...", "..."),
        ("", "", ""),
    ],
)
def test_marks_are_left_out_but_never_the_whole_text(text: str, last: str, every: str) -> None:
    assert without_last_mark(text) == last
    assert without_marks(text) == every


@pytest.mark.parametrize(
    ("text", "ended"), [("Halt.", "Halt!!"), ("Halt !", "Halt!!"), ("Halt", "Halt!!"), ("...", "...!!"), ("", "!!")]
)
def test_another_end_stands_in_the_place_of_the_last_mark(text: str, ended: str) -> None:
    assert with_end(text, "!!") == ended


def test_umlauts_are_written_in_ascii() -> None:
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
    marks = (("grüßt," in text or "gruesst," in text, text.lower().split("t-shirt")[1]) for text in small.elements())
    kept = Counter(marks)
    shares = {
        "lower": sum(count for text, count in small.items() if text[0] == "e"),
        "ascii": sum(count for text, count in small.items() if "ß" not in text),
        "both": sum(count for text, count in small.items() if "ß" not in text and text[0] == "e"),
        "last": kept[True, ""],
        "all": kept[False, ""],
        **{end: kept[True, end] for end in ENDS},
    }
    expected_shares = {
        "lower": 0.3,
        "ascii": 0.3,
        "both": 0.09,
        "last": 0.1,
        "all": 0.1,
        **dict.fromkeys(ENDS, 0.1 / len(ENDS)),
    }
    others = small.total()
    assert 1 - others / draws == pytest.approx(0.3, abs=0.03)
    for name, share in expected_shares.items():
        assert shares[name] / others == pytest.approx(share, abs=4 * (share * (1 - share) / others) ** 0.5), name


def test_only_german_has_spellings_in_ascii() -> None:
    ends = (".", "", *ENDS)
    words = {with_typos("Müller.", "en", 0.5, Random(seed)) for seed in range(500)}
    assert words == {word + end for word in ("Müller", "müller", "MÜLLER") for end in ends}

"""What is seen of a translation without a model: numbers that differ, and words that repeat."""

import pytest

from nmt.text.checks import begins_word, number_differences, repeats


@pytest.mark.parametrize(
    ("source", "target", "missing", "new"),
    [
        ("Das kostet 1.299,00 €.", "It costs € 1,299.00.", "", ""),
        ("am 3.10.2024 um 14:30 Uhr", "on 10/3/2024 at 14.30", "", ""),
        ("am 3.10.2024 um 14:30 Uhr", "at the 3,1024 around 14:30 watch", "10 2024", "1024"),
        ("12,5 kg", "12.5 kg", "", ""),
        ("12,5 kg", "125 kg", "12 5", "125"),
        ("1 299 und 1'299 und 1299", "1,299 and 1.299 and 1299", "1 299", "1299"),  # a blank may separate two numbers
        ("1\u202f299", "1299", "", ""),
        ("zwei Hunde", "two dogs", "", ""),
        ("zwei Hunde", "2 dogs", "", "2"),
        ("2 Hunde und 2 Katzen", "2 dogs and cats", "2", ""),
        ("Nummer 007 und 0", "number 7 and 00", "", ""),
        ("١٢", "12", "", ""),
        ("10² m²", "10 m", "", ""),
        ("9" * 5000, "9" * 5000, "", ""),
    ],
)
def test_numbers(source: str, target: str, missing: str, new: str) -> None:
    assert number_differences(source, target) == (tuple(missing.split()), tuple(new.split()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A dog's dog's dog's toy.", True),
        ("Son's Son's Son's Son's", True),
        ("the man and the man and the man and", True),
        ("Gundapernpernpernpern Bhumibol", True),
        ("a man, a man, a dog", False),
        ("very, very good", False),
        ("100 100 100 and 000000", False),
        ("www.example.com", False),
        ("", False),
    ],
)
def test_repeats(text: str, expected: bool) -> None:
    assert repeats(text) is expected


def test_which_tokens_begin_a_word() -> None:
    tokens = ["▁dog", "s", "▁", "⇧▁", "▁12", "0", ".", "dog"]
    assert [begins_word(token, pieces=True) for token in tokens] == [True, False, True, True] + 4 * [False]
    assert [begins_word(token, pieces=False) for token in ["dog", "B2", "12", ".", "’s"]] == [True] + 3 * [False] + [
        True
    ]

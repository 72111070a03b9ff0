"""Where a text is split into sentences, and where not."""

import time

import pytest

from nmt.text.sentences import Sentences, split_text

GERMAN = [
    "Ein Hund läuft über die Wiese. | Eine Frau sitzt auf einer Bank. | Zwei Kinder spielen Fußball.",
    "Wir mögen Obst, z. B. Äpfel und Birnen. | Dr. Müller mag auch Nüsse.",
    "Am 3. Oktober fahren wir um 14.30 Uhr zu Prof. Dr. Weber. | Kommst du mit?",
    "Das ist z.B. gut, d.h. besser als 3.5 kg usw. und so weiter.",
    "Er rief »Komm!« und ging. | Sie blieb!",
    "„Wo bist du?“ | Niemand antwortete ...",
    "Siehe https://www.example.com/a.html?b=1 für mehr. | Danke!",
    "A. Merkel und J. K. Rowling trafen sich in St. Gallen.",
    "ein hund schläft. | eine katze auch.",
    "Ein Mann schläft. | Ein Mann schläft. | Ein Mann schläft. :-)",
]
ENGLISH = [
    "Mr. Smith met Dr. Jones at 5 p.m. on Jan. 3rd. | They talked.",
    "Fruit, e.g. apples, costs $3.50 vs. $4 elsewhere, i.e. more.",
    'He said "Stop!" and left. | "Why?" | Nobody knows.',
    "1. A dog runs. | 2. A cat sleeps.",
    "Version 2.0.1 is out! | Download it now?! | Yes.",
    "The U.S. team won. | It was great. | #tags help.",
]
OTHERS = {
    "zh": "一只狗在跑。|一只猫在睡觉。",
    "ja": "犬が走る。|猫が寝る。",
    "fr": "M. Dupont dort. | Où est-il ?",
    "ru": "Собака бежит. | Кошка спит.",
    "xx": "Ba de. | Fi go.",
    "no-such-code": "Ba de. | Fi go.",
}


@pytest.mark.parametrize(
    ("language", "marked"), [*(("de", x) for x in GERMAN), *(("en", x) for x in ENGLISH), *OTHERS.items()]
)
def test_sentences(language: str, marked: str) -> None:
    text = marked.replace(" | ", " ").replace("|", "")
    assert split_text(text, language).sentences == [part.strip() for part in marked.split("|")]


def test_white_space_between_sentences_is_kept_and_line_ends_separate() -> None:
    text = "  Ein Hund.  Eine Katze\r\nohne Punkt\n\n \tEin Vogel.\u2028Ein Fisch.\n"
    assert split_text(text, "de") == Sentences(
        ["Ein Hund.", "Eine Katze", "ohne Punkt", "Ein Vogel.", "Ein Fisch."], ["  ", "\n", "\n\n \t", " "]
    )
    for single in ("", "  ", "Ein Hund.\n", " ein Hund", "...", "1. 2. 3.", "\u00a0"):
        assert split_text(single, "de") == Sentences([single], [])


def test_a_blank_where_the_target_language_has_one() -> None:
    assert [split_text("犬。猫。", "ja", target).gaps for target in ("en", "zh")] == [[" "], [""]]


@pytest.mark.parametrize("piece", [" ", "!", "(", ". ", "!\n", "a. ", "。", "'s"])
def test_long_text_takes_no_longer_than_it_has_to(piece: str) -> None:
    began = time.monotonic()
    split_text(f"Ein Hund. {piece * 100_000} Ende", "de")
    assert time.monotonic() - began < 30

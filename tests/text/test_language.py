"""What is no evidence of a language: addresses, numbers, tags."""

import pytest

from nmt.text.language import likeliest_language

TEXTS = {
    "de": [
        "Besuchen Sie https://www.example.com/shop?id=3 oder schreiben Sie an info@example.com.",
        "Hallo {name}, Sie haben %s neue Nachrichten.",
        '<b>Ein Hund</b> läuft über die <a href="/the/meadow">Wiese</a>.',
        "Mehr: http://www.the-one.com/this-is-it",
    ],
    "en": [
        "Visit https://www.beispiel.de/laden?id=3 or write to info@beispiel.de.",
        "Hello {name}, you have %s new messages.",
        "This is English, not German.",
    ],
    None: [
        "https://www.example.com/the/shop?and=of",
        "info@example.com",
        "the_file.of.and",
        "README.md",
        "3.10.2024 14:30",
        "12,5 kg",
        '<p class="the">Hund</p>',
    ],
}


@pytest.mark.parametrize("language", TEXTS)
def test_words_are_evidence_and_nothing_else(language: str | None) -> None:
    for text in TEXTS[language]:
        assert likeliest_language(text, ["de", "en"]) == language, text

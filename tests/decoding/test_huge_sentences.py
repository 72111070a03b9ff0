"""Sentences of a million characters, and text that is none. (Odd input of all other kinds: tests/test_walk.py.)"""

import io
from contextlib import redirect_stderr

import pytest
from support.walk.checkpoints import models

from nmt.system.errors import UserError
from nmt.translator import Translator


@pytest.fixture(scope="session")
def translators(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Translator]:
    paths = models(tmp_path_factory.mktemp("models"))
    return {kind: Translator.load(path, device="cpu") for kind, path in paths.items()}


@pytest.mark.parametrize(
    "sentence", [" " * 1_000_000, "ba " * 10_000, "ba" * 50_000, "👩🏽" * 10_000, "\u0301" * 10_000, "." * 10_000]
)
def test_huge_sentences(translators: dict[str, Translator], sentence: str) -> None:
    for translator in translators.values():
        with redirect_stderr(io.StringIO()) as said:
            [translation] = translator.translate([sentence])
        assert "\n" not in translation.text
        assert len(translation.source_tokens) <= 13
        assert ("cut off after 12 tokens " in said.getvalue()) is (len(translation.source_tokens) == 13)


def test_text_that_is_no_unicode_is_refused(translators: dict[str, Translator]) -> None:
    for translator in translators.values():
        with pytest.raises(UserError, match="sentence 2 is not valid Unicode text: convert it to UTF-8"):
            translator.translate(["ba", "a\udcff"])

"""An identity model: what a translator makes of documents if each sentence's translation is the sentence itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import torch

from nmt.decoding.translation import Translation
from nmt.text.vocabulary import EOS_TOKEN
from nmt.translator import Translator


@pytest.fixture(scope="session")
def identity(best: str) -> Translator:
    """A translator with all that there is around a model, which copies: word n is aligned with word n."""
    translator = Translator.load(best)

    def copies(sentences: Sequence[str], *_: object) -> Iterator[tuple[int, Translation]]:
        for number, text in enumerate(sentences):
            words = [*text.split(), EOS_TOKEN]
            yield number, Translation(text, words, words, 0.0, torch.eye(len(words)), source=text)

    vars(translator)["_translations"] = copies
    return translator

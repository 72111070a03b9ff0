"""Text: sentences to translate, and corpora."""

from __future__ import annotations

import gzip
import io
from contextlib import redirect_stderr
from pathlib import Path
from random import Random

from nmt.text.corpus import ParallelText, read_pairs
from nmt.translator import Translator
from support.walk.checkpoints import KINDS, models
from support.walk.family import Try, refused
from support.walk.odd import altered, text

LINES = 100  # that are translated together


def begin_lines(folder: Path) -> tuple[Try, int]:
    """Lines for `Translator.translate`: as many translations as lines, each of them one line."""
    translators = {kind: Translator.load(path, device="cpu") for kind, path in models(folder).items()}

    def attempt(number: int, chance: Random) -> bool:
        translator = translators[KINDS[number % len(KINDS)]]
        lines = [text(chance) for _ in range(LINES)]
        n_best, attention, replace_unk = chance.choice([1, 2]), chance.random() < 0.2, chance.random() < 0.3
        split = chance.random() < 0.5
        options = {"n_best": n_best, "attention": attention, "replace_unk": replace_unk, "split": split}
        with redirect_stderr(io.StringIO()) as errors:
            translations = translator.translate(lines, **options)
        assert len(translations) == LINES
        if split:  # the texts of several sentences are joined
            return False
        cut = [line for line in lines if len(translator.source.encode(line)) > 12]
        assert errors.getvalue().count("cut off after 12 tokens ") == len(cut)
        for translation in translations:
            assert "\n" not in translation.text
            assert len(translation.source_tokens) <= 13
            if attention:
                assert translation.attention is not None
                assert translation.attention.shape == (len(translation.tokens), len(translation.source_tokens))
        return False

    return attempt, 0


def _any_file(chance: Random, ending: str) -> bytes:
    content = "".join(f"{text(chance)}\n" for _ in range(chance.choice([1, 2, 2, 2, 2, 2, 2, 3]))).encode()
    if (ending == "gz") != (chance.random() < 0.05):
        content = gzip.compress(content, compresslevel=1)
    return altered(content, chance) if chance.random() < 0.3 else content


def begin_corpora(folder: Path) -> tuple[Try, int]:
    """Any bytes as two files of pairs."""

    def attempt(_: int, chance: Random) -> bool:
        ending = chance.choice(["txt", "txt", "gz"])
        paths = folder / f"source.{ending}", folder / f"target.{ending}"
        for path in paths:
            path.write_bytes(_any_file(chance, ending))
        read: list[ParallelText] = []
        if refused(lambda: read.append(read_pairs(*paths)), *paths):
            return True
        assert len(read[0].source) == len(read[0].target) > 0
        assert not any("\n" in line for line in read[0].source + read[0].target)
        return False

    return attempt, 0

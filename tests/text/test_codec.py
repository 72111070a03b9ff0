import io
from pathlib import Path
from typing import Any

import pytest
import torch
from support.texts import learn

from nmt.config.data import DataConfig
from nmt.text.codec import Codec
from nmt.text.corpus import ParallelText
from nmt.text.vocabulary import UNK

RAW = "Ba de, Fi kippt!"


def reloaded(value: Any) -> Any:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize(
    ("tokenizer", "size"), [("spacy", None), ("whitespace", 6), ("char", None), ("sentencepiece", 24)]
)
def test_a_codec_survives_a_checkpoint(
    tmp_path: Path, text: dict[str, ParallelText], tokenizer: str, size: int | None, joint: bool
) -> None:
    pairs = learn(tmp_path, text["train"], tokenizer, size, joint=joint)
    for (_, side), codec in zip(pairs.config.sides, (pairs.source, pairs.target), strict=True):
        again = Codec.from_state(side.tokenizer, side.language, side.lowercase, reloaded(codec.state()))
        assert again == codec
        for sentence in (RAW, *text["test"].source, *text["test"].target, ""):
            ids = codec.encode(sentence)
            assert again.encode(sentence) == ids
            tokens = codec.vocabulary.decode(ids)
            assert again.tokenizer.detokenize(tokens) == codec.tokenizer.detokenize(tokens)
    known = text["test"].source[0]
    if size != 6:
        ids = pairs.source.encode(known)
        assert UNK not in ids
        assert pairs.source.tokenizer.detokenize(pairs.source.vocabulary.decode(ids)) == known.lower()


def test_case_is_kept_if_asked_for(tmp_path: Path, text: dict[str, ParallelText]) -> None:
    codec = learn(tmp_path, text["train"], "whitespace", lowercase=False).source
    assert UNK not in codec.encode("Ba ja")
    assert codec.encode("ba JA") == [UNK, UNK]


def test_the_config_says_which_tokenizer_it_was(tmp_path: Path, text: dict[str, ParallelText]) -> None:
    state = learn(tmp_path, text["train"], "whitespace").source.state()
    side = DataConfig.model_validate({"source": {"tokenizer": "char"}}).source
    assert Codec.from_state(side.tokenizer, side.language, side.lowercase, state).tokenizer.tokenize("ba") == ["b", "a"]

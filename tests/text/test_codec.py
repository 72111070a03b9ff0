from pathlib import Path

import pytest
from support.texts import learn

from nmt.config.data import DataConfig
from nmt.text.codec import Codec
from nmt.text.corpus import ParallelText
from nmt.text.vocabulary import UNK

RAW = "Ba de, Fi kippt!"


@pytest.mark.parametrize(
    ("tokenizer", "size", "joint"),
    [("spacy", None, True), ("whitespace", 6, False), ("char", None, True), ("sentencepiece", 24, False)],
)
def test_a_codec_survives_a_checkpoint(
    tmp_path: Path, text: dict[str, ParallelText], tokenizer: str, size: int | None, joint: bool
) -> None:
    pairs = learn(tmp_path, text["train"], tokenizer, size, joint=joint)
    for (_, side), codec in zip(pairs.config.sides, (pairs.source, pairs.target), strict=True):
        again = Codec.from_state(side.tokenizer, side.language, side.lowercase, codec.state())
        assert again == codec
        for sentence in (RAW, *text["test"].source, *text["test"].target, ""):
            ids = codec.encode(sentence)
            assert again.encode(sentence) == ids
            assert again.decode(ids) == codec.decode(ids)
    if size != 6:
        sentence = text["test"].source[0]
        assert UNK not in pairs.source.encode(sentence)
        assert pairs.source.decode(pairs.source.encode(sentence)) == sentence.lower()


def test_the_config_says_which_tokenizer_it_was(tmp_path: Path, text: dict[str, ParallelText]) -> None:
    codec = learn(tmp_path, text["train"], "whitespace", lowercase=False).source
    assert UNK not in codec.encode("Ba ja")
    assert codec.encode("ba JA") == [UNK, UNK]
    side = DataConfig.model_validate({"source": {"tokenizer": "char"}}).source
    again = Codec.from_state(side.tokenizer, side.language, side.lowercase, codec.state())
    assert again.tokenizer.tokenize("ba") == ["b", "a"]

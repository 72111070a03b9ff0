import io
from collections.abc import Callable
from typing import Any

import pytest
import torch

from nmt.config import Config, DataConfig
from nmt.data.codec import Codec, build_codecs, encode_pairs
from nmt.data.corpus import ParallelText, Skipped
from nmt.data.vocabulary import UNK
from nmt.errors import UserError

RAW = "Ba de, Fi kippt!"


def data_config(tokenizer: str, size: int | None, joint: bool, **more: Any) -> DataConfig:
    side = {"tokenizer": tokenizer, "vocabulary_size": size}
    values = {"source": {"language": "de", **side}, "target": {"language": "en", **side}}
    return DataConfig.model_validate({**values, "joint_vocabulary": joint, **more})


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
    text: dict[str, ParallelText], tokenizer: str, size: int | None, joint: bool
) -> None:
    config = data_config(tokenizer, size, joint)
    source, target, _, _ = build_codecs(config, text["train"])
    for side, codec in ((config.source, source), (config.target, target)):
        again = Codec.from_state(side, reloaded(codec.state()))
        assert again == codec
        for sentence in (RAW, *text["test"].source, *text["test"].target, ""):
            ids = codec.encode(sentence)
            assert again.encode(sentence) == ids
            tokens = codec.vocabulary.decode(ids)
            assert again.tokenizer.detokenize(tokens) == codec.tokenizer.detokenize(tokens)
    known = text["test"].source[0]
    if size != 6:
        ids = source.encode(known)
        assert UNK not in ids
        assert source.tokenizer.detokenize(source.vocabulary.decode(ids)) == known.lower()


@pytest.mark.parametrize(("tokenizer", "size"), [("whitespace", None), ("sentencepiece", 30)])
def test_a_joint_vocabulary_is_one(text: dict[str, ParallelText], tokenizer: str, size: int | None) -> None:
    source, target, pairs, _ = build_codecs(data_config(tokenizer, size, joint=True), text["train"])
    assert source.vocabulary == target.vocabulary
    assert source.subword_model == target.subword_model
    for codec in (source, target):
        for sentence in (*text["test"].source, *text["test"].target):
            assert UNK not in codec.encode(sentence)
    examples = encode_pairs(pairs, source, target)
    assert all(UNK not in example.source + example.target for example in examples)


@pytest.mark.parametrize(("tokenizer", "size"), [("whitespace", None), ("sentencepiece", 20)])
def test_separate_vocabularies_know_their_own_side(
    text: dict[str, ParallelText], tokenizer: str, size: int | None
) -> None:
    source, target, _, _ = build_codecs(data_config(tokenizer, size, joint=False), text["train"])
    assert source.vocabulary != target.vocabulary
    assert UNK not in source.encode(text["test"].source[0])
    assert UNK in source.encode(text["test"].target[0])
    assert UNK in target.encode(text["test"].source[0])


def test_vocabularies_are_of_the_asked_size() -> None:
    text = ParallelText(["a b c", "a b", "a"], ["x x y z", "y", "x"])
    config = DataConfig.model_validate(
        {
            "source": {"language": "de", "tokenizer": "whitespace", "min_frequency": 2},
            "target": {"language": "en", "tokenizer": "whitespace", "vocabulary_size": 1},
        }
    )
    source, target, _, _ = build_codecs(config, text)
    assert source.vocabulary.tokens[4:] == ("a", "b")
    assert target.vocabulary.tokens[4:] == ("x",)


def test_pairs_are_dropped_as_pairs_counted_and_not_learnt_from() -> None:
    text = ParallelText(["a b", "", "c", "d d d", "A"], ["x", "only", " \t", "y", "z z"])
    config = data_config("whitespace", None, joint=False, max_length=2)
    source, target, pairs, skipped = build_codecs(config, text)
    assert pairs == [(["a", "b"], ["x"]), (["a"], ["z", "z"])]
    assert skipped == Skipped(empty=2, too_long=1, max_length=2)
    assert source.vocabulary.tokens[4:] == ("a", "b")
    assert target.vocabulary.tokens[4:] == ("z", "x")
    assert [(e.source, e.target) for e in encode_pairs(pairs, source, target)] == [([4, 5], [5]), ([4], [4, 4])]


def test_no_pair_left_is_an_error_that_counts_them() -> None:
    config = data_config("whitespace", None, joint=False, max_length=1)
    with pytest.raises(UserError, match=r"no training pair is left \(skipped 2 pairs: 1 .*, 1 longer than 1 token"):
        build_codecs(config, ParallelText(["a b", ""], ["x", "y"]))


def test_a_vocabulary_that_the_text_cannot_give_is_an_error(text: dict[str, ParallelText]) -> None:
    with pytest.raises(UserError, match="vocabulary_size: 4000 is too large"):
        build_codecs(data_config("sentencepiece", 4000, joint=False), text["train"])


def test_case_is_kept_if_asked_for(make_config: Callable[..., Config], text: dict[str, ParallelText]) -> None:
    source, _, _, _ = build_codecs(make_config("data.source.lowercase=false").data, text["train"])
    assert UNK not in source.encode("Ba ja")
    assert source.encode("ba JA") == [UNK, UNK]

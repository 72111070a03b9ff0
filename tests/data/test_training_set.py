"""From text to pairs of ids: the right ones, or an error that says why there are none."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.texts import KINDS, MORE, TEXT, data_config, everything, learn

from nmt.config.data import DataConfig
from nmt.data import building
from nmt.data.batching import Example
from nmt.data.training_set import TrainingSet, load_training_set
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText, Skipped
from nmt.text.tokenizers.sentencepiece import train_sentencepiece
from nmt.text.vocabulary import EOS, UNK

JOINT_KINDS = [(*kind, False) for kind in KINDS] + [(kind, size and 55, True) for kind, size in KINDS]


@pytest.mark.parametrize(("kind", "size", "joint"), JOINT_KINDS)
def test_ids_are_those_of_each_line(tmp_path: Path, kind: str, size: int | None, joint: bool) -> None:
    pairs = learn(tmp_path, TEXT, kind, size, joint=joint)
    kept = [0, 2, *range(4, len(TEXT.source))]
    expected = [Example(pairs.source.encode(TEXT.source[n]), pairs.target.encode(TEXT.target[n])) for n in kept]
    assert everything(pairs) == expected
    assert pairs.skipped == Skipped(empty=2, too_long=0, max_length=100)
    assert [side.tolist() for side in pairs.lengths] == [
        [len(example.source) for example in expected],
        [len(example.target) for example in expected],
    ]
    unknown = [example for example in expected if UNK in example.source + example.target]
    assert unknown == ([expected[2]] if kind == "whitespace" else [])  # which spells what marks are called
    assert (pairs.source.vocabulary == pairs.target.vocabulary) == joint
    assert pairs.source.subword_model == pairs.target.subword_model or not joint


def test_pairs_are_dropped_as_pairs_counted_and_not_learnt_from(tmp_path: Path) -> None:
    text = ParallelText(["a b", "", "c", "d d d", "A", "a"], ["x", "only", " \t", "y", "z z", "w w w"])
    config = data_config(tmp_path, text, "whitespace").model_copy(update={"max_length": 2})
    pairs = load_training_set(config)
    assert everything(pairs) == [Example([4, 5], [5]), Example([4], [4, 4])]
    assert pairs.skipped == Skipped(empty=2, too_long=2, max_length=2)
    assert pairs.source.vocabulary.tokens[4:] == ("a", "b")
    assert pairs.target.vocabulary.tokens[4:] == ("z", "x")
    text = ParallelText(["a b c", "a b", "a"], ["x x y z", "y", "x"])
    assert learn(tmp_path, text, "whitespace", 1).target.vocabulary.tokens[4:] == ("x",)
    assert learn(tmp_path, text, "whitespace", min_frequency=2).source.vocabulary.tokens[4:] == ("a", "b")
    assert learn(tmp_path, text, "whitespace", 3, joint=True).source.vocabulary.tokens[4:] == ("a", "x", "b")


def test_the_subword_model_is_that_of_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    separate = learn(tmp_path, TEXT, "sentencepiece", 36)
    assert separate.source.subword_model == train_sentencepiece(TEXT.source, 36, "unigram", True)
    assert separate.target.subword_model == train_sentencepiece(TEXT.target, 36, "unigram", True)
    joint = learn(tmp_path, TEXT, "sentencepiece", 55, joint=True)
    assert joint.source.subword_model == train_sentencepiece(TEXT.source + TEXT.target, 55, "unigram", True)
    monkeypatch.setattr(building, "SUBWORD_LINES", 2)  # of a large text every n-th line is enough
    lines = [MORE[0], "xx", "yy", MORE[1], "zz", "ww"]
    model = learn(tmp_path, ParallelText(lines, lines), "sentencepiece", 20).source.subword_model
    assert model == train_sentencepiece([lines[0], lines[3]], 20, "unigram", True)


def with_extra(config: DataConfig, extra: list[tuple[dict[str, Any], ParallelText]], **values: object) -> TrainingSet:
    """The training set of a config and further texts, which are written beside the corpus."""
    sides = {name: side.model_dump() | {"extra": []} for name, side in config.sides}
    for number, (settings, text) in enumerate(extra):
        for name, lines in (("source", text.source), ("target", text.target)):
            path = Path(config.folder) / f"{number}.{name}"
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            sides[name]["extra"].append({"path": str(path), **settings} if name == "source" else str(path))
    return load_training_set(DataConfig.model_validate({**dict(config), **values, **sides}))


@pytest.mark.parametrize(("kind", "size", "joint"), JOINT_KINDS)
def test_extra_pairs_come_behind_those_of_the_corpus_and_have_weights_and_tags(
    tmp_path: Path, kind: str, size: int | None, joint: bool
) -> None:
    plain = learn(tmp_path, TEXT, kind, size, joint=joint)
    config = data_config(tmp_path, TEXT, kind, size, joint=joint)
    more = ParallelText(["Ein x Hund", "", "ein ein"], ["A dog", "x", "a a"])
    repeated = ParallelText(TEXT.source[:1] * 3, TEXT.target[:1] * 3)
    extra = [({"weight": 2, "tag": "<BT>"}, more), ({}, repeated), ({"tag": "<FT>"}, more)]
    pairs = with_extra(config, extra, corpus_weight=3)
    vocabulary = plain.source.vocabulary.tokens
    assert pairs.source.vocabulary.tokens == (*vocabulary, "<BT>", "<FT>")  # and no other token
    assert pairs.target.vocabulary == (pairs if joint else plain).target.vocabulary
    assert (pairs.source.tokenizer, pairs.target.tokenizer) == (plain.source.tokenizer, plain.target.tokenizer)
    assert pairs.skipped == Skipped(empty=4, too_long=0, max_length=100)

    def added(text: ParallelText, *tag: int) -> list[Example]:
        lines = [(s, t) for s, t in zip(text.source, text.target, strict=True) if s]
        return [Example([*tag, *plain.source.encode(s)], plain.target.encode(t)) for s, t in lines]

    bt, ft = len(vocabulary), len(vocabulary) + 1
    expected = everything(plain) * 3 + added(more, bt) * 2 + added(repeated) + added(more, ft)
    assert everything(pairs) == expected
    assert pairs.lengths[0].tolist() == [len(example.source) for example in expected]
    assert pairs.lengths[1].tolist() == [len(example.target) for example in expected]
    counts = Counter(token for example in expected for token in (*example.target, EOS))
    assert pairs.target_counts.tolist() == [counts[token] for token in range(len(pairs.target.vocabulary))]
    assert with_extra(config, extra).text != pairs.text  # a run is not resumed with other weights


def test_extra_files_of_unequal_length_are_an_error(tmp_path: Path) -> None:
    config = data_config(tmp_path, TEXT, "whitespace")
    with pytest.raises(UserError, match=r"0\.source has 2 lines but .*0\.target has 1"):
        with_extra(config, [({}, ParallelText(["a", "b"], ["c"]))])
    with (tmp_path / "text.en").open("a", encoding="utf-8") as file:
        file.write("one more\n")
    with pytest.raises(UserError, match=r"text\.de has 13 lines but .*text\.en has 14"):
        load_training_set(config)


def test_no_pair_left_is_an_error_that_counts_them(tmp_path: Path) -> None:
    config = data_config(tmp_path, ParallelText(["a b", ""], ["x", "y"]), "whitespace")
    with pytest.raises(UserError, match=r"no training pair is left \(skipped 2 pairs: 1 .*, 1 longer than 1 token"):
        load_training_set(config.model_copy(update={"max_length": 1}))
    assert list((tmp_path / "cache").glob("*pairs*")) == []


@pytest.mark.parametrize("model", ["unigram", "bpe"])
def test_a_vocabulary_larger_than_the_text_gives_is_capped(tmp_path: Path, model: str) -> None:
    pairs = learn(tmp_path, TEXT, "sentencepiece", 4000, subword_model=model)
    sizes = {name: side.tokenizer.size for name, side in (("source", pairs.source), ("target", pairs.target))}
    message = "data.{}.vocabulary_size: 4000 is more than this text gives: using {} tokens"
    assert pairs.notes == [message.format(name, size) for name, size in sizes.items()]
    exact = learn(tmp_path, TEXT, "sentencepiece", sizes["source"], subword_model=model)
    assert exact.source == pairs.source
    assert not any("source" in line for line in exact.notes)


def test_a_language_without_rules_is_an_error(tmp_path: Path) -> None:
    config = data_config(tmp_path, TEXT, "spacy")
    sides = {"target": config.target.model_copy(update={"language": "qq"})}
    with pytest.raises(UserError, match=r"data\.target\.language: spaCy has no tokenizer rules for 'qq'"):
        load_training_set(config.model_copy(update=sides))


def test_blocks_and_processes_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"wort{n % 7} {'x ' * (n % 5)}{n % 3}" for n in range(100)]
    text = ParallelText(lines, lines[::-1])
    whole = tmp_path / "whole"
    whole.mkdir()
    expected = learn(whole, text, "whitespace")
    monkeypatch.setattr(building, "LINES", 9)
    monkeypatch.setattr(building, "BYTES_AT_ONCE", 52)
    pairs = learn(tmp_path, text, "whitespace")
    assert (pairs.source, pairs.target) == (expected.source, expected.target)
    assert everything(pairs) == everything(expected)

"""Augmentation in training: what is read, what is refused, and how a run continues."""

from pathlib import Path

import pytest
from support.runs import HARD, ConfigMaker, assert_same_run, finish, run_and_stop
from support.texts import data_config, learn

from nmt.augment.monolingual import load_monolingual
from nmt.config.data import DataConfig
from nmt.data.batching import Example
from nmt.data.training_set import load_training_set
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText
from nmt.text.tokenizers.sentencepiece import train_sentencepiece

SUBWORDS = [f"data.{side}.tokenizer=sentencepiece" for side in ("source", "target")]
SUBWORDS += ["data.source.vocabulary_size=30", "data.target.vocabulary_size=30", "data.joint_vocabulary=true"]
BOTH = "data.augment={typos: 0.3, copying: 0.3}"


@pytest.mark.parametrize("kind", ["sentencepiece", "sentencepiece_cased"])
def test_sources_are_read_with_typos(tmp_path: Path, kind: str) -> None:
    sources = ["Der liebe Bär am Bach grüßt.", "Ein Hund, der müde ist."] * 30
    text = ParallelText(sources, ["The bear greets.", "A dog."] * 30)
    config = data_config(tmp_path, text, kind, 60, lowercase=False, min_frequency=40)
    sides = {name: side.model_dump() | {"extra": [side.train]} for name, side in config.sides}
    sides["source"]["extra"] = [{"path": config.source.train, "tag": "<BT>"}]
    values = {**dict(config), **sides}
    pairs = load_training_set(DataConfig.model_validate({**values, "augment": {"typos": 0.5}}))
    plain = load_training_set(DataConfig.model_validate(values))
    assert set(pairs.source.tokenizer.subwords()) <= set(pairs.source.vocabulary.tokens)  # however rare
    tag = pairs.source.vocabulary.tokens.index("<BT>")

    def spelt(examples: list[Example]) -> list[str]:
        sources = [example.source for example in examples[:60]] + [example.source[1:] for example in examples[60:]]
        assert {example.source[0] for example in examples[60:]} == {tag}
        assert not any(tag in source for source in sources)
        return list(map(pairs.source.tokenizer.detokenize, map(pairs.source.vocabulary.decode, sources)))

    first, again, other = (spelt(pairs.examples(range(len(pairs)), draw)) for draw in ("1", "1", "2"))
    assert first == again
    assert first != other
    assert set(first + other) >= {"der liebe baer am bach gruesst", "Ein Hund der müde ist", *text.source[:2]}
    targets = [[example.target for example in one.examples(range(len(pairs)), "1")] for one in (pairs, plain)]
    assert targets[0] == targets[1]


@pytest.mark.parametrize(("kind", "size"), [("whitespace", None), ("sentencepiece", 24)])
def test_monolingual_text_brings_types_but_no_line_that_is_judged_by(
    tmp_path: Path, kind: str, size: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    text = ParallelText(["der hund", "die katze"] * 3, ["the dog", "the cat"] * 3)
    judged = tmp_path / "judged"
    judged.write_text("A zebra  runs\n", encoding="utf-8")
    more = tmp_path / "more"
    more.write_text("the fox\na Zebra runs \n\nthe Fox sleeps\nThe DOG\n", encoding="utf-8")
    config = data_config(tmp_path, text, kind, size)
    target = config.target.model_dump() | {"test": str(judged)}
    source = config.source.model_dump() | {"test": str(judged)}
    values = {**dict(config), "source": source, "target": target, "augment": {"target_monolingual": str(more)}}
    data = DataConfig.model_validate(values)
    pairs = load_training_set(data)
    plain = learn(tmp_path, text, kind, size)
    assert pairs.source == plain.source
    assert len(pairs) == len(plain)
    if kind == "whitespace":
        assert set(pairs.target.vocabulary.tokens) - set(plain.target.vocabulary.tokens) == {"fox", "sleeps"}
    else:
        lines = [*text.target, "the fox", "the Fox sleeps"]
        assert pairs.target.subword_model == train_sentencepiece(lines, 24, "unigram", True)
    capsys.readouterr()
    judged.unlink()
    assert "a Zebra runs " in load_monolingual(str(more), config.target.language, data)
    assert capsys.readouterr().err == f"lines that equal one of {judged} are not left out: it does not exist here\n"


def test_resuming_draws_the_epoch_s_typos_and_copies_again(
    make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(*HARD, *SUBWORDS, BOTH)
    run_and_stop(monkeypatch, config, 6)
    assert_same_run(finish(config, resume=True), finish(make_config(*HARD, *SUBWORDS, BOTH, "name=straight")))


@pytest.mark.parametrize("field", ["data.augment.typos", "data.augment.copying"])
def test_drawing_what_the_checkpoint_does_not_know_is_refused(make_config: ConfigMaker, field: str) -> None:
    fields = [*SUBWORDS, "data.source.min_frequency=60", "data.target.min_frequency=60", "training.max_updates=1"]
    plain = finish(make_config("name=plain", *fields)) / "best.safetensors"
    with pytest.raises(UserError, match=rf"{field}: .*plain.* lacks some of the subwords: leave it out"):
        finish(make_config("name=second", f"training.start_from={plain}", *fields, f"{field}=0.3"))


def test_what_does_not_fit_the_tokens_is_refused(make_config: ConfigMaker) -> None:
    for field, message in (
        ("typos", r"augment\.typos: with whitespace, .* set source\.tokenizer to sentencepiece"),
        ("copying", r"augment\.copying: .* set joint_vocabulary to true and both tokenizers to sentencepiece"),
    ):
        with pytest.raises(UserError, match=message):
            make_config(f"data.augment.{field}=0.1")

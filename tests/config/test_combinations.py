"""What is said of config fields that have no effect or do not go together, and the defaults that a choice brings."""

from pathlib import Path

import pytest
from support.config_reading import read, refusal, value_at

from nmt.config.reading import to_yaml

# Fields without effect


@pytest.mark.parametrize(
    ("section", "field", "fix"),
    [
        ("training.schedule={kind: cosine, factor: 0.5}", "factor (0.5)", "kind to halving or plateau"),
        ("training.teacher_forcing={granularity: batch}", "granularity (batch)", "ratio below 1"),
        ("model.attention={score: general, size: 7}", "size (7)", "score to additive or concat"),
        ("model.attention={wiring: bahdanau, input_feeding: true}", "input_feeding (true)", "wiring to luong"),
        ("model.attention={wiring: none, hard: false}", "hard (false)", "wiring to bahdanau or luong"),
        ("model.decoder={readout: linear, readout_size: 8}", "readout_size (8)", "readout to tanh or maxout"),
        ("model.attention={heads: 2, projected: true}", "projected (true)", "heads to 1"),
        ("model.attention={scope: local_m, fixed_above: 20}", "fixed_above (20)", "scope to local_p"),
    ],
)
def test_a_field_without_effect_is_refused_with_what_gives_it_one(
    tmp_path: Path, section: str, field: str, fix: str
) -> None:
    message = refusal(tmp_path, "name: x", section)
    assert f"{field} has no effect with " in message
    assert fix in message


def test_null_is_no_value_for_an_option(tmp_path: Path) -> None:
    assert read(tmp_path, "name: x\nmodel: {attention: {scope: local_m, window: null}}").model.attention.window == 10
    assert read(tmp_path, "name: x\nmodel: {attention: {score: dot, size: null}, decoder: {hidden_size: 512}}")


# Combinations


FILES = (
    "corpus: files, source: {language: de, train: a, validation: b}, target: {language: en, train: c, validation: d}"
)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ("data.joint_vocabulary=true & data.source.lowercase=false", "source.lowercase (False) and target.lowercase"),
        ('data.source.extra=[{path: b, tag: "a\\x1cb"}] & data.target.extra=[b]', "data.source.extra.0.tag: a tag is"),
        ("data.source.extra=[a, b] & data.target.extra=[a]", "source.extra has 2 files and target.extra 1; set both"),
        ("data.source.extra=[a, {path: b, weigth: 2}]", "data.source.extra.1.weigth: unknown field (did you mean"),
        ("data.source.extra=[{path: b, tag: <eos>}]", "data.source.extra.0: tag: <eos> has a meaning already"),
        ("data={corpus: multi30k, target: {language: de}}", "target.language are both de; set one of them"),
        ("data.source.train=a", "source.train is a file but corpus is sample; set corpus to files"),
        ("data.corpus=files", "corpus: files needs source.train; set it"),
        (f"data={{{FILES}}} & data.source.test=e", "source.test and target.test go together; set both, or none"),
        ("model={tied_embeddings: target, attention: {wiring: luong}, embedding_size: 8}", "decoder.hidden_size (256)"),
        ("model.tied_embeddings=all", "model.tied_embeddings: all needs data.joint_vocabulary: true; set it"),
        ("model={tied_embeddings: target, decoder: {readout_size: 8}}", "readout_size (8) = embedding_size (256); set"),
        ("model={decoder: {readout_size: 8}, attention: {wiring: luong}}", "decoder.readout_size (8) has no effect"),
        ("model={encoder: {self_attention: 4}, attention: {wiring: none}}", "self_attention (4) has no effect"),
        ("model={attention: {wiring: luong}, decoder: {readout: maxout}}", "attention.wiring: luong, whose readout is"),
        ("model={tied_embeddings: target, decoder: {readout: linear}}", "tied_embeddings: target cannot be combined"),
        ("model.encoder.self_attention=3", "model.encoder: self_attention: 3 does not divide 2 × hidden_size (512)"),
        ("training.teacher_forcing={schedule: inverse_sigmoid, decay: 1}", "decay: input should be greater than 1"),
        ("training.teacher_forcing={schedule: linear, decay: 0.1, ratio: 0.3, minimum: 0.4}", "minimum (0.4)"),
        ("training.max_epochs=null", "max_epochs and max_updates are both null, so training would never end; set one"),
    ],
)
def test_bad_combination_names_the_fields_and_the_fix(tmp_path: Path, overrides: str, words: str) -> None:
    assert words in refusal(tmp_path, "name: x", *overrides.split(" & "))


@pytest.mark.parametrize(
    ("choice", "field", "value"),
    [
        ("data.source.tokenizer=sentencepiece", "data.source.vocabulary_size", 4000),
        ("data.source.tokenizer=spacy", "data.source.vocabulary_size", None),
        ("training.teacher_forcing.schedule=linear", "training.teacher_forcing.decay", 0.0001),
        ("training.teacher_forcing.schedule=exponential", "training.teacher_forcing.decay", 0.9999),
        ("training.teacher_forcing.schedule=inverse_sigmoid", "training.teacher_forcing.decay", 1000),
        ("training.schedule.kind=inverse_sqrt", "training.schedule.warmup", 1000),
    ],
)
def test_a_choice_alone_brings_a_default_that_fits_it(tmp_path: Path, choice: str, field: str, value: object) -> None:
    config = read(tmp_path, "name: x", choice)
    assert value_at(config, field) == value
    assert read(tmp_path, to_yaml(config)) == config
    *_, name = field.split(".")
    other = read(tmp_path, "name: x", choice, f"{field}={7 if name != 'decay' or value == 1000 else 0.5}")
    assert value_at(other, field) in (7, 0.5)

"""The fields of a config, their defaults, and what is said of wrong names and values."""

from pathlib import Path

import pytest
from pydantic import ValidationError
from support.config_reading import read, refusal, value_at

from nmt.config.reading import to_yaml
from nmt.config.run import Config

STABLE = {
    "name": "x",
    "output_dir": "checkpoints",
    "data.corpus": "sample",
    "data.source.language": "de",
    "data.target.language": "en",
    "data.mirror": None,
    "model.embedding_size": 256,
    "model.encoder.hidden_size": 256,
    "model.encoder.layers": 1,
    "model.encoder.dropout": 0.3,
    "model.decoder.hidden_size": 256,
    "model.decoder.layers": 1,
    "model.decoder.dropout": 0.3,
    "model.attention.wiring": "bahdanau",
    "model.attention.score": "additive",
    "model.attention.scope": "global",
    "model.attention.input_feeding": True,
    "training.max_updates": None,
    "training.max_epochs": 10,
    "training.batch_size": 64,
    "training.batch_unit": "sentences",
    "training.seed": 1,
    "training.learning_rate": 0.001,
    "training.label_smoothing": 0.1,
    "training.teacher_forcing.ratio": 1.0,
    "training.checkpoint_every": None,
    "search.beam_size": 5,
    "search.length_penalty": 1.0,
    "search.max_length": 100,
}

# Fields


def test_stable_fields_keep_their_names_and_defaults_and_are_written(tmp_path: Path) -> None:
    config = Config(name="x")
    without_effect = {"data.mirror", "model.attention.input_feeding"}
    for field, value in STABLE.items():
        assert value_at(config, field) == value
        assert (f"{field.split('.')[-1]}:" in to_yaml(config)) == (field not in without_effect)
    assert read(tmp_path, to_yaml(config)) == config


def test_configs_are_frozen() -> None:
    config = Config(name="x")
    with pytest.raises(ValidationError):
        config.name = "y"
    with pytest.raises(ValidationError):
        config.model.attention.heads = 3


# Wrong names and values


@pytest.mark.parametrize(
    ("override", "field", "nearest"),
    [
        ("model.atention={}", "model.atention", "attention"),
        ("model.attention.input_feed=true", "model.attention.input_feed", "input_feeding"),
        ("training.teacher_forcing.rato=0.5", "training.teacher_forcing.rato", "ratio"),
        ("data.source.lower_case=true", "data.source.lower_case", "lowercase"),
    ],
)
def test_unknown_field_is_named_and_the_nearest_proposed(
    tmp_path: Path, override: str, field: str, nearest: str
) -> None:
    message = refusal(tmp_path, "name: x\ndata: {source: {language: de}}", override)
    assert message == f"--set {override}: {field}: unknown field (did you mean {nearest}?)"


def test_unknown_field_like_none_lists_the_known_ones(tmp_path: Path) -> None:
    message = refusal(tmp_path, "name: x\nsearch: {qqq: 1}")
    assert "search.qqq: unknown field (known fields: beam_size, length_penalty, " in message


@pytest.mark.parametrize(
    ("override", "field", "value"),
    [
        ("training.batch_size=many", "training.batch_size", "'many'"),
        ("training.batch_size=0", "training.batch_size", "0"),
        ("training.batch_size=null", "training.batch_size", "None"),
        ("training.learning_rate=.nan", "training.learning_rate", "nan"),
        ("training.teacher_forcing=2", "training.teacher_forcing.ratio", "2"),
        ("training.teacher_forcing=true", "training.teacher_forcing", "True"),
        ("training.teacher_forcing={ratio: 0.5, granularity: word}", "training.teacher_forcing.granularity", "'word'"),
        ("model.decoder.dropout=1", "model.decoder.dropout", "1"),
        ("model.attention.wiring=luoong", "model.attention.wiring", "'luoong'"),
        ("training.precision=bf8", "training.precision", "'bf8'"),
        ("evaluation.length_edges=[10, 0]", "evaluation.length_edges.1", "0"),
        ("data.source.language=en/../x", "data.source.language", "'en/../x'"),
        ("data.source.tokenizer=[spacy]", "data.source.tokenizer", "['spacy']"),
        ("training.schedule.kind={a: 1}", "training.schedule.kind", "{'a': 1}"),
    ],
)
def test_wrong_value_names_the_field_and_shows_the_value(tmp_path: Path, override: str, field: str, value: str) -> None:
    message = refusal(tmp_path, "name: x", override)
    assert message.startswith(f"--set {override}: {field}: ")
    assert message.endswith(f"(here: {value})")


def test_a_language_is_its_code_alone(tmp_path: Path) -> None:
    message = refusal(tmp_path, "name: x", "data.source.language=no")
    assert "data.source.language: YAML takes no and on for false and true" in message
    for written, code in (("DE", "de"), ("en-US", "en"), ("de_DE", "de"), ("zh-Hant", "zh"), ("my-own", "my-own")):
        assert read(tmp_path, "name: x", f"data.source.language={written}").data.source.language == code


def test_all_errors_are_reported_at_once(tmp_path: Path) -> None:
    message = refusal(tmp_path, "serch: {}\ntraining: {batch_size: 0}\nmodel: {attention: {wiring: luoong}}")
    assert "name: missing; set it; model.attention.wiring: input should be 'bahdanau', 'luong' or 'none'" in message
    assert "; training.batch_size: " in message
    assert message.endswith("; serch: unknown field (did you mean search?)")


def test_an_unknown_field_that_stands_elsewhere_is_shown_its_place(tmp_path: Path) -> None:
    message = refusal(tmp_path, "name: x\nattention: {}")
    assert message.endswith("attention: unknown field (did you mean model.attention?)")
    message = refusal(tmp_path, "name: x\nmodel: {hidden_size: 3}")
    assert message.endswith("did you mean model.encoder.hidden_size or model.decoder.hidden_size?)")

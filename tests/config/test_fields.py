"""The fields of a config, their defaults, and what is said of wrong names, values and combinations."""

from pathlib import Path

import pytest
from pydantic import ValidationError
from support.config_reading import read, refusal, value_at

from nmt.config.reading import load_config, to_yaml
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
    "model.attention.window": 10,
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


@pytest.mark.parametrize(("field", "value"), STABLE.items())
def test_stable_fields_keep_their_names_and_defaults(field: str, value: object) -> None:
    assert value_at(Config(name="x"), field) == value


def test_all_defaults_are_written_out_and_read_back(tmp_path: Path) -> None:
    config = Config(name="x")
    assert read(tmp_path, to_yaml(config)) == config
    without_effect = {"data.mirror", "model.attention.window", "model.attention.input_feeding"}
    for field in STABLE:
        assert (f"{field.split('.')[-1]}:" in to_yaml(config)) == (field not in without_effect)


def test_configs_are_frozen() -> None:
    config = Config(name="x")
    with pytest.raises(ValidationError):
        config.name = "y"
    with pytest.raises(ValidationError):
        config.model.attention.window = 3


def test_teacher_forcing_by_its_ratio_alone(tmp_path: Path) -> None:
    short = read(tmp_path, "name: x\ntraining: {teacher_forcing: 0.5}")
    long = read(tmp_path, "name: x\ntraining: {teacher_forcing: {ratio: 0.5}}")
    assert short == long


# Wrong names and values


@pytest.mark.parametrize(
    ("override", "field", "nearest"),
    [
        ("modle={}", "modle", "model"),
        ("model.atention={}", "model.atention", "attention"),
        ("model.attention.input_feed=true", "model.attention.input_feed", "input_feeding"),
        ("training.teacher_forcing.rato=0.5", "training.teacher_forcing.rato", "ratio"),
        ("training.schedule.start_epochs=2", "training.schedule.start_epochs", "start_epoch"),
        ("data.source.lower_case=true", "data.source.lower_case", "lowercase"),
        ("search.beam=3", "search.beam", "beam_size"),
    ],
)
def test_unknown_field_is_named_and_the_nearest_proposed(
    tmp_path: Path, override: str, field: str, nearest: str
) -> None:
    message = refusal(tmp_path, "name: x\ndata: {source: {language: de}}", override)
    assert f"config.yaml: {field}: unknown field; did you mean {nearest}?" in message


def test_unknown_field_like_none_lists_the_known_ones(tmp_path: Path) -> None:
    message = refusal(tmp_path, "name: x\nsearch: {qqq: 1}")
    assert (
        "search.qqq: unknown field; known fields: beam_size, length_penalty, max_length, max_source_length, " in message
    )


@pytest.mark.parametrize(
    ("override", "field", "value"),
    [
        ("training.batch_size=many", "training.batch_size", "'many'"),
        ("training.batch_size=2.5", "training.batch_size", "2.5"),
        ("training.batch_size=0", "training.batch_size", "0"),
        ("training.batch_size=null", "training.batch_size", "None"),
        ("training.seed=-1", "training.seed", "-1"),
        ("training.learning_rate=0", "training.learning_rate", "0"),
        ("training.learning_rate=.inf", "training.learning_rate", "inf"),
        ("training.learning_rate=.nan", "training.learning_rate", "nan"),
        ("training.label_smoothing=1", "training.label_smoothing", "1"),
        ("training.teacher_forcing=2", "training.teacher_forcing.ratio", "2"),
        ("training.teacher_forcing=true", "training.teacher_forcing", "True"),
        ("training.teacher_forcing={ratio: 0.5, granularity: word}", "training.teacher_forcing.granularity", "'word'"),
        ("training.schedule={kind: plateau, factor: 1}", "training.schedule.factor", "1"),
        ("model.decoder.dropout=1", "model.decoder.dropout", "1"),
        ("model.decoder.dropout=-0.1", "model.decoder.dropout", "-0.1"),
        ("model.attention.wiring=luoong", "model.attention.wiring", "'luoong'"),
        ("model.attention=luong", "model.attention", "'luong'"),
        ("model=[]", "model", "[]"),
        ("search.length_penalty=-1", "search.length_penalty", "-1"),
        ("search.precision=bf8", "search.precision", "'bf8'"),
        ("evaluation.length_edges=[10, 0]", "evaluation.length_edges.1", "0"),
        ("data.corpus=wmt", "data.corpus", "'wmt'"),
        ("data.source.tokenizer=[spacy]", "data.source.tokenizer", "['spacy']"),
        ("training.schedule.kind={a: 1}", "training.schedule.kind", "{'a': 1}"),
        ("training.teacher_forcing.schedule=[]", "training.teacher_forcing.schedule", "[]"),
        ("name=../elsewhere", "name", "'../elsewhere'"),
        ("name=", "name", "None"),
    ],
)
def test_wrong_value_names_the_field_and_shows_the_value(tmp_path: Path, override: str, field: str, value: str) -> None:
    message = refusal(tmp_path, "name: x", override)
    assert f"config.yaml: {field}: " in message
    assert f"(here: {value})" in message


def test_wrong_choice_lists_the_right_ones(tmp_path: Path) -> None:
    message = refusal(tmp_path, "name: x", "model.attention.wiring=luoong")
    assert "'bahdanau', 'luong' or 'none'" in message


def test_all_errors_are_reported_at_once(tmp_path: Path) -> None:
    message = refusal(tmp_path, "name: x\nserch: {}\ntraining: {batch_size: 0}")
    assert "did you mean search?" in message
    assert "training.batch_size" in message


def test_name_is_asked_for(tmp_path: Path) -> None:
    assert refusal(tmp_path, "training: {seed: 1}").endswith("name: missing; set it")


def test_an_unknown_field_that_stands_elsewhere_is_shown_its_place(tmp_path: Path) -> None:
    assert refusal(tmp_path, "name: x\nattention: {}").endswith(
        "attention: unknown field; did you mean model.attention?"
    )
    message = refusal(tmp_path, "name: x\nmodel: {hidden_size: 3}")
    assert message.endswith("did you mean model.encoder.hidden_size or model.decoder.hidden_size?")


# Fields without effect


@pytest.mark.parametrize(
    ("section", "field", "fix"),
    [
        ("training.schedule={kind: cosine, factor: 0.5}", "factor (0.5)", "kind to halving or plateau"),
        ("training.schedule={kind: halving, patience: 2}", "patience (2)", "kind to plateau"),
        ("training.teacher_forcing={decay: 0.5}", "decay (0.5)", "schedule to exponential, inverse_sigmoid or linear"),
        ("training.teacher_forcing={granularity: batch}", "granularity (batch)", "ratio below 1"),
        ("model.attention={window: 10}", "window (10)", "scope to local_m or local_p"),
        ("model.attention={score: general, size: 7}", "size (7)", "score to additive or concat"),
        ("model.attention={positions: 7}", "positions (7)", "score to location"),
        ("model.attention={wiring: bahdanau, input_feeding: true}", "input_feeding (true)", "wiring to luong"),
        ("model.attention={wiring: none, hard: false}", "hard (false)", "wiring to bahdanau or luong"),
        ("model={decoder: {readout_size: 8}, attention: {wiring: luong}}", "readout_size (8)", "wiring to bahdanau"),
        ("data.source={language: de, subword_model: bpe}", "subword_model (bpe)", "tokenizer to sentencepiece"),
        ("data.mirror=there", "mirror (there)", "corpus to multi30k"),
    ],
)
def test_a_field_without_effect_is_refused_with_what_gives_it_one(
    tmp_path: Path, section: str, field: str, fix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refusal(tmp_path, "name: x", section)
    assert f"{field} has no effect with " in message
    assert fix in message
    name, _, value = section.partition("=")
    path = tmp_path / "config.yaml"
    config = load_config(path, [f"{name}={value}"], forgiving=True)
    assert read(tmp_path, to_yaml(config)) == config
    assert f"{field} has no effect" in capsys.readouterr().err


def test_null_is_no_value_for_an_option(tmp_path: Path) -> None:
    assert read(tmp_path, "name: x\nmodel: {attention: {scope: local_m, window: null}}").model.attention.window == 10
    assert read(tmp_path, "name: x\nmodel: {attention: {score: dot, size: null}, decoder: {hidden_size: 512}}")


# Combinations


FILES = (
    "corpus: files, source: {language: de, train: a, validation: b}, target: {language: en, train: c, validation: d}"
)


@pytest.mark.parametrize(
    ("overrides", "fragments"),
    [
        (
            ["data.joint_vocabulary=true", "data.source={language: de, lowercase: false}"],
            ["joint_vocabulary: true", "source.lowercase (False)", "target.lowercase (True)", "set both"],
        ),
        (
            ["data.source.extra=[a.de, b.de]", "data.target.extra=[a.en]"],
            ["source.extra has 2 files", "target.extra 1", "set both"],
        ),
        (
            ["data.joint_vocabulary=true", "data.target={language: en, min_frequency: 2}"],
            ["source.min_frequency (1)", "target.min_frequency (2)", "joint_vocabulary to false"],
        ),
        (["data.source={language: de, train: a}"], ["source.train", "corpus is sample", "set corpus to files"]),
        (["data.corpus=files"], ["corpus: files", "source.train", "set it"]),
        ([f"data={{{FILES}}}", "data.target.train=null"], ["corpus: files", "target.train", "set it"]),
        ([f"data={{{FILES}}}", "data.source.test=e"], ["source.test", "target.test", "set both, or none"]),
        (
            ["model.attention.score=dot"],
            ["model:", "attention.score: dot", "decoder.hidden_size (256)", "encoder.hidden_size (512)", "to 512"],
        ),
        (
            ["model.tied_embeddings=target", "model.attention.wiring=luong", "model.embedding_size=8"],
            ["tied_embeddings: target", "embedding_size (8)", "decoder.hidden_size (256)", "set both to the same size"],
        ),
        (["model.tied_embeddings=all"], ["model.tied_embeddings: all", "data.joint_vocabulary: true", "set it"]),
        (
            ["model.tied_embeddings=target", "model.decoder.readout_size=8"],
            ["tied_embeddings: target", "decoder.readout_size (8)", "embedding_size (256)", "remove readout_size"],
        ),
        (["training.teacher_forcing.decay=0.5"], ["decay (0.5)", "schedule: constant", "remove it"]),
        (
            ["training.teacher_forcing={schedule: exponential, decay: 2}"],
            ["schedule: exponential", "decay between 0 and 1", "(here: 2.0)"],
        ),
        (
            ["training.teacher_forcing={schedule: inverse_sigmoid, decay: 1}"],
            ["schedule: inverse_sigmoid", "decay between 1 and", "(here: 1.0)"],
        ),
        (
            ["training.teacher_forcing={schedule: linear, decay: 0.1, ratio: 0.3, minimum: 0.4}"],
            ["minimum (0.4)", "ratio (0.3)", "lower it"],
        ),
        (["training.schedule={kind: inverse_sqrt, warmup: 0}"], ["kind: inverse_sqrt", "warmup above 0", "set it"]),
        (["training.max_epochs=null"], ["max_epochs", "max_updates", "set one"]),
    ],
)
def test_bad_combination_names_the_fields_and_the_fix(
    tmp_path: Path, overrides: list[str], fragments: list[str]
) -> None:
    message = refusal(tmp_path, "name: x", *overrides)
    for fragment in fragments:
        assert fragment in message


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


@pytest.mark.parametrize(
    "overrides",
    [
        ["model.attention.score=dot", "model.decoder.hidden_size=512"],
        ["model.tied_embeddings=target", "model.attention.wiring=luong"],
        ["model.tied_embeddings=target", "model.embedding_size=8"],
        ["model.tied_embeddings=all", "data.joint_vocabulary=true"],
        [f"data={{{FILES}}}"],
        ["training.max_epochs=null", "training.max_updates=3"],
    ],
)
def test_good_combinations_are_let_through(tmp_path: Path, overrides: list[str]) -> None:
    read(tmp_path, "name: x", *overrides)

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from nmt.config import Config
from nmt.config_file import load_config, parse_config, to_yaml
from nmt.config_model import ModelConfig
from nmt.errors import UserError

CONFIGS = Path(__file__).parent.parent / "configs"
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


def value_at(config: Config, field: str) -> Any:
    value: Any = config
    for part in field.split("."):
        value = getattr(value, part)
    return value


def read(tmp_path: Path, text: str, *overrides: str) -> Config:
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return load_config(path, overrides)


def refusal(tmp_path: Path, text: str, *overrides: str) -> str:
    with pytest.raises(UserError) as caught:
        read(tmp_path, text, *overrides)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("field", "value"), STABLE.items())
def test_stable_fields_keep_their_names_and_defaults(field: str, value: object) -> None:
    assert value_at(Config(name="x"), field) == value


def test_all_defaults_are_written_out_and_read_back(tmp_path: Path) -> None:
    config = Config(name="x")
    assert read(tmp_path, to_yaml(config)) == config
    for field in STABLE:
        assert f"{field.split('.')[-1]}:" in to_yaml(config)


def test_any_config_survives_yaml(tmp_path: Path) -> None:
    config = read(
        tmp_path,
        "name: x",
        "data.folder='Ordner für Text'",
        "data.source={language: fr, tokenizer: char, max: 1}".replace(", max: 1", ", min_frequency: 3"),
        "model.attention={wiring: luong, scope: local_p, window: 3, size: 5}",
        "training.learning_rate=1e-3",
        "training.clip_norm=null",
        "training.teacher_forcing={schedule: inverse_sigmoid, decay: 50.5, granularity: batch}",
        "evaluation.length_edges=[3, 9]",
    )
    assert config.data.folder == "Ordner für Text"
    assert config.evaluation.length_edges == (3, 9)
    assert read(tmp_path, to_yaml(config)) == config


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_config_loads(path: Path) -> None:
    assert load_config(path).name == path.stem


def test_the_multi30k_configs_differ_in_attention_alone() -> None:
    wiring_and_scope = {}
    rest = []
    for name in ("multi30k", "multi30k_bahdanau", "multi30k_luong_local", "multi30k_none"):
        values = load_config(CONFIGS / f"{name}.yaml").model_dump()
        attention = values["model"]["attention"]
        assert values.pop("name") == name
        wiring_and_scope[name] = attention.pop("wiring"), attention.pop("scope")
        rest.append(values)
    assert all(values == rest[0] for values in rest)
    assert wiring_and_scope == {
        "multi30k": ("luong", "global"),
        "multi30k_bahdanau": ("bahdanau", "global"),
        "multi30k_luong_local": ("luong", "local_p"),
        "multi30k_none": ("none", "global"),
    }


def test_configs_are_frozen() -> None:
    config = Config(name="x")
    with pytest.raises(ValidationError):
        config.name = "y"
    with pytest.raises(ValidationError):
        config.model.attention.window = 3


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
        ("training.teacher_forcing.granularity=word", "training.teacher_forcing.granularity", "'word'"),
        ("training.schedule.factor=1", "training.schedule.factor", "1"),
        ("model.decoder.dropout=1", "model.decoder.dropout", "1"),
        ("model.decoder.dropout=-0.1", "model.decoder.dropout", "-0.1"),
        ("model.attention.wiring=luoong", "model.attention.wiring", "'luoong'"),
        ("model.attention=luong", "model.attention", "'luong'"),
        ("model=[]", "model", "[]"),
        ("search.length_penalty=-1", "search.length_penalty", "-1"),
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
            ["tied_embeddings: target", "embedding_size (8)", "decoder.hidden_size (256)", "set them alike"],
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
        ["model.attention={score: dot, wiring: none}"],
        ["model.tied_embeddings=target", "model.attention.wiring=luong"],
        ["model.tied_embeddings=target", "model.embedding_size=8"],
        ["model.tied_embeddings=all", "data.joint_vocabulary=true"],
        [f"data={{{FILES}}}"],
        ["training.max_epochs=null", "training.max_updates=3"],
    ],
)
def test_good_combinations_are_let_through(tmp_path: Path, overrides: list[str]) -> None:
    read(tmp_path, "name: x", *overrides)


@pytest.mark.parametrize(
    ("override", "field", "value"),
    [
        ("training.learning_rate=1e-3", "training.learning_rate", 0.001),
        ("training.max_updates=null", "training.max_updates", None),
        ("training.max_updates=", "training.max_updates", None),
        ("training.max_updates=7", "training.max_updates", 7),
        ("model.attention.input_feeding=false", "model.attention.input_feeding", False),
        ("name=a-b.c_1", "name", "a-b.c_1"),
        ("output_dir=a=b", "output_dir", "a=b"),
        ("output_dir='null'", "output_dir", "null"),
        ("training.teacher_forcing=0.5", "training.teacher_forcing.ratio", 0.5),
        ("training.teacher_forcing=0", "training.teacher_forcing.ratio", 0.0),
        ("evaluation.length_edges=[1, 2]", "evaluation.length_edges", (1, 2)),
        ("model={decoder: {layers: 2}}", "model.decoder.layers", 2),
    ],
)
def test_override_values_are_yaml(tmp_path: Path, override: str, field: str, value: object) -> None:
    found = value_at(read(tmp_path, "name: x", override), field)
    assert found == value
    assert type(found) is type(value)


def test_overrides_apply_in_their_order_and_keep_their_neighbours(tmp_path: Path) -> None:
    config = read(
        tmp_path,
        "name: x\nmodel: {decoder: {layers: 2}}",
        "model.decoder.hidden_size=8",
        "model.decoder.hidden_size=9",
        "name=y",
    )
    assert (config.name, config.model.decoder.layers, config.model.decoder.hidden_size) == ("y", 2, 9)
    assert config.model.encoder == ModelConfig().encoder


@pytest.mark.parametrize(
    ("override", "fragment"),
    [
        ("training.batch_size", "expected FIELD=VALUE"),
        ("=3", "expected FIELD=VALUE"),
        ("training..batch_size=3", "expected FIELD=VALUE"),
        (".name=3", "expected FIELD=VALUE"),
        ("name.first=y", "name is a value, not a section"),
        ("model.decoder.hidden_size.x=y", "model.decoder.hidden_size is a value, not a section"),
        ("training={", "not valid YAML"),
    ],
)
def test_bad_override_is_quoted(tmp_path: Path, override: str, fragment: str) -> None:
    message = refusal(tmp_path, "name: x\nmodel: {decoder: {hidden_size: 8}}", override)
    assert message.startswith(f"--set {override}: ")
    assert fragment in message


def test_teacher_forcing_by_its_ratio_alone(tmp_path: Path) -> None:
    short = read(tmp_path, "name: x\ntraining: {teacher_forcing: 0.5}")
    long = read(tmp_path, "name: x\ntraining: {teacher_forcing: {ratio: 0.5}}")
    assert short == long


def test_yaml_error_names_file_and_line(tmp_path: Path) -> None:
    assert "config.yaml: line 3: not valid YAML" in refusal(tmp_path, "name: x\ntraining:\n\tseed: 1\n")


@pytest.mark.parametrize("text", ["", "- name\n- x\n", "bahdanau"])
def test_only_a_mapping_is_a_config(tmp_path: Path, text: str) -> None:
    assert "config.yaml: the config must be a mapping" in refusal(tmp_path, text)


def test_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.yaml: cannot read the config: No such file"):
        load_config(tmp_path / "none.yaml")
    with pytest.raises(UserError, match="cannot read the config: Is a directory"):
        load_config(tmp_path)
    (tmp_path / "latin.yaml").write_bytes("name: ä".encode("latin-1"))
    with pytest.raises(UserError, match=r"latin\.yaml: cannot read the config: it is not UTF-8"):
        load_config(tmp_path / "latin.yaml")


def test_origin_begins_the_message() -> None:
    with pytest.raises(UserError, match=r"^best\.pt: name: missing"):
        parse_config({}, "best.pt")

"""Configs as YAML: written and read again, those that come along, overrides, files that cannot be read."""

from pathlib import Path

import pytest
from support.config_reading import read, refusal, value_at

from nmt.config.model import ModelConfig
from nmt.config.reading import load_config, parse_config, to_yaml
from nmt.system.errors import UserError

CONFIGS = Path(__file__).parents[2] / "configs"

# Written and read


def test_any_config_survives_yaml(tmp_path: Path) -> None:
    config = read(
        tmp_path,
        "name: x",
        "data.folder='Ordner für Text'",
        "data.source={language: fr, tokenizer: char, min_frequency: 3}",
        "model.attention={wiring: luong, scope: local_p, window: 3, size: 5}",
        "training.learning_rate=1e-3",
        "training.clip_norm=null",
        "training.teacher_forcing={schedule: inverse_sigmoid, decay: 50.5, granularity: batch}",
        "evaluation.length_edges=[3, 9]",
    )
    assert config.data.folder == "Ordner für Text"
    assert config.evaluation.length_edges == (3, 9)
    assert read(tmp_path, to_yaml(config)) == config


def test_the_multi30k_configs_differ_in_attention_alone() -> None:
    attention, rest = {}, []
    for name in ("multi30k", "multi30k_bahdanau", "multi30k_luong_local", "multi30k_luong_local_m", "multi30k_none"):
        values = load_config(CONFIGS / f"{name}.yaml").model_dump()
        fields = values["model"].pop("attention")
        assert values.pop("name") == name
        attention[name.partition("_")[2]] = " ".join(fields.get(field, "") for field in ("wiring", "scope", "score"))
        rest.append(values)
    assert all(values == rest[0] for values in rest)
    assert attention == {
        "": "luong global additive",
        "bahdanau": "bahdanau global additive",
        "luong_local": "luong local_p additive",
        "luong_local_m": "luong local_m additive",
        "none": "none  ",
    }


# Overrides

AS_WRITTEN = ["007", "7", "12:30", "1.10", "1.5", "2024_05", "2024-02-30", "0x_", "1e5", "+5", ".inf", "1" * 5000]


@pytest.mark.parametrize(
    ("override", "field", "value"),
    [
        ("training.learning_rate=1e-3", "training.learning_rate", 0.001),
        ("output_dir=a=b", "output_dir", "a=b"),
        *((f"data.folder={text}", "data.folder", text) for text in AS_WRITTEN),
        ("name=007", "name", "007"),
        ("search.beam=3", "search.beam_size", 3),
        ("training.teacher_forcing=0.5", "training.teacher_forcing.ratio", 0.5),
    ],
)
def test_override_values_are_yaml(tmp_path: Path, override: str, field: str, value: object) -> None:
    result = value_at(read(tmp_path, "name: x", override), field)
    assert result == value
    assert type(result) is type(value)


def test_overrides_apply_in_their_order_and_keep_their_neighbours(tmp_path: Path) -> None:
    sizes = (f"model.decoder.hidden_size={size}" for size in (8, 9))
    config = read(tmp_path, "name: x\nmodel: {decoder: {layers: 2}}", *sizes, "name=y")
    assert (config.name, config.model.decoder.layers, config.model.decoder.hidden_size) == ("y", 2, 9)
    assert config.model.encoder == ModelConfig().encoder


@pytest.mark.parametrize(
    ("override", "fragment"),
    [
        ("training.batch_size", "expected FIELD=VALUE"),
        ("name.first=y", "name is a value, not a section"),
        ("training={", "not valid YAML"),
    ],
)
def test_bad_override_is_quoted(tmp_path: Path, override: str, fragment: str) -> None:
    message = refusal(tmp_path, "name: x\nmodel: {decoder: {hidden_size: 8}}", override)
    assert message.startswith(f"--set {override}: ")
    assert fragment in message


# Files that cannot be read


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("name: x\ntraining:\n\tseed: 1\n", "config.yaml: line 3: not valid YAML"),
        ("name: x\ntraining: {seed: 5}\ntraining: {batch_size: 3}", "is given twice"),
        ("", "config.yaml: the config must be a mapping"),
        ("bahdanau", "config.yaml: the config must be a mapping"),
        *((f"name: x\ndata: {{folder: {v}}}\n", "config.yaml: ") for v in ("[" * 3000, '"a\\0b"', "!!bool x", "? {}")),
    ],
)
def test_yaml_that_is_no_config_is_refused(tmp_path: Path, text: str, error: str) -> None:
    assert error in refusal(tmp_path, text)


def test_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.yaml: cannot read the config: No such file"):
        load_config(tmp_path / "none.yaml")
    with pytest.raises(UserError, match="cannot read the config: Is a directory"):
        load_config(tmp_path)
    (tmp_path / "latin.yaml").write_bytes("name: ä".encode("latin-1"))
    with pytest.raises(UserError, match=r"latin\.yaml: cannot read the config: it is not UTF-8"):
        load_config(tmp_path / "latin.yaml")


def test_a_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    values = {"name": "x", "output_dir": "~/runs", "data": {"folder": "~"}, "training": {"start_from": "a/~"}}
    config = parse_config(values, "config")
    assert config.output_dir == "/home/somebody/runs"
    assert (config.data.folder, config.training.start_from) == ("/home/somebody", "a/~")

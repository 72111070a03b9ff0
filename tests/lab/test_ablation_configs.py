"""The shipped configs of the comparison: every mechanism there is, and no other difference."""

import json
from pathlib import Path
from typing import get_args

import pytest
import yaml
from support.cli import ROOT

from nmt.components import SCOPES, SCORES
from nmt.config.model import DecoderConfig, ModelConfig
from nmt.config.reading import load_config
from nmt.config.run import Config
from nmt.lab.configs import load_configs, missing
from nmt.system.errors import UserError

SHIPPED = sorted((ROOT / "configs" / "ablation").glob("*.yaml"))


@pytest.fixture(scope="session")
def compared() -> list[Config]:
    """What `nmt ablation` compares if no config is named."""
    return load_configs([], [])


def test_every_wiring_score_scope_and_variant_is_compared(compared: list[Config]) -> None:
    attention = [config.model.attention for config in compared]
    attentive = [section for section in attention if section.wiring != "none"]
    assert {section.wiring for section in attention} == {"none", "bahdanau", "luong"}
    assert {name for name, score in SCORES.items() if score.same_as is None} <= {one.score for one in attentive}
    assert SCOPES.keys() <= {section.scope for section in attentive}
    defaults = {"hard": False, "key_value": False, "coverage": False, "heads": 1, "projected": False}
    for variant, default in defaults.items():
        assert any(getattr(section, variant) != default for section in attention)


def test_what_is_not_attention_is_compared_too(compared: list[Config]) -> None:
    assert {config.model.cell for config in compared} == set(get_args(ModelConfig.model_fields["cell"].annotation))
    readouts = {config.model.decoder.readout for config in compared if config.model.attention.wiring != "luong"}
    assert readouts == set(get_args(DecoderConfig.model_fields["readout"].annotation))
    assert any(config.model.encoder.self_attention for config in compared)
    assert any(config.training.teacher_forcing.granularity == "step" for config in compared)


def test_a_mechanism_without_a_config_gets_one() -> None:
    shipped = {path.stem: load_config(path) for path in SHIPPED}
    named = {"luong_location", "luong_general_local_m"}
    left = [config for name, config in shipped.items() if name not in named]
    assert {config.name: config for config in missing(left)} == {name: shipped[name] for name in named}
    names = [config.name for config in load_configs([], [])]
    assert len(names) == len(set(names))
    assert set(names) >= shipped.keys()


def test_the_shipped_configs_load() -> None:
    for path in SHIPPED:
        config = load_config(path)
        assert (config.name, config.output_dir, config.training.threads) == (path.stem, "checkpoints/ablation", 1)


def test_shipped_configs_are_alike_but_for_name_and_mechanism() -> None:
    contents = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in SHIPPED]
    assert [values.pop("name") for values in contents] == [path.stem for path in SHIPPED]
    found = []
    for values in contents:
        model, training = values["model"], values["training"]
        parts = [model.pop("attention"), model.pop("cell", None), training.pop("teacher_forcing", None)]
        parts += [model["encoder"].pop("self_attention", None), model["decoder"].pop("readout", None)]
        found.append(json.dumps(parts, sort_keys=True))
    assert len(set(found)) == len(SHIPPED)
    assert all(values == contents[0] for values in contents)


def test_from_any_folder_the_bundled_configs_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [config.name for config in load_configs([], [])] == [path.stem for path in SHIPPED]
    assert [config.name for config in load_configs(["ablation/none"], [])] == ["none"]


def test_a_recipe_gives_all_but_the_mechanisms() -> None:
    recipe = load_config(ROOT / "configs" / "multi30k.yaml")
    unfit = {"luong_dot", "luong_scaled_dot", "bahdanau_additive_linear_readout"}  # for its sizes and tied embeddings
    shipped = {path.stem: load_config(path) for path in SHIPPED if path.stem not in unfit}
    found = load_configs([str(path) for path in SHIPPED if path.stem in shipped], [], recipe="multi30k")
    assert [config.name for config in found] == list(shipped)
    for config in found:
        mechanism = shipped[config.name]
        assert config.model.attention == mechanism.model.attention
        assert config.model.cell == mechanism.model.cell
        assert config.model.encoder.self_attention == mechanism.model.encoder.self_attention
        assert config.model.decoder.readout == mechanism.model.decoder.readout
        assert config.training.teacher_forcing == mechanism.training.teacher_forcing
        assert (config.data, config.search, config.output_dir) == (recipe.data, recipe.search, recipe.output_dir)
        assert config.training.max_epochs == recipe.training.max_epochs


def test_overrides_come_after_the_recipe() -> None:
    dot = str(ROOT / "configs" / "ablation" / "luong_dot.yaml")  # its M and H must be equal, and the recipe's are not
    with pytest.raises(UserError, match=r"luong_dot\.yaml by the recipe .*multi30k\.yaml: "):
        load_configs([dot], [], recipe="multi30k")
    (config,) = load_configs([dot], ["model.encoder.hidden_size=128"], recipe="multi30k")
    assert (config.model.encoder.hidden_size, config.model.decoder.hidden_size) == (128, 256)

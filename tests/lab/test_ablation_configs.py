"""The shipped configs of the comparison: every mechanism there is, and no other difference."""

from typing import get_args

import pytest
from support.cli import ROOT

from nmt.components import NORMALIZERS, SCOPES, SCORES
from nmt.config.model import DecoderConfig
from nmt.config.reading import load_config
from nmt.lab.configs import load_configs, missing
from nmt.lab.mechanisms import is_plain, mechanism
from nmt.system.errors import UserError

SHIPPED = sorted((ROOT / "configs" / "ablation").glob("*.yaml"))


def test_every_wiring_score_scope_and_variant_is_compared() -> None:
    models = [config.model for config in load_configs([], [])]
    attentive = [model.attention for model in models if model.attention.wiring != "none"]
    assert {model.attention.wiring for model in models} == {"none", "bahdanau", "luong"}
    assert {name for name, score in SCORES.items() if score.same_as is None} <= {one.score for one in attentive}
    assert SCOPES.keys() <= {section.scope for section in attentive}
    for variant in ("hard", "key_value", "coverage", "projected"):
        assert any(getattr(section, variant) for section in attentive)
    assert any(section.heads > 1 for section in attentive)
    assert {model.cell for model in models} == {"gru", "lstm"}
    readouts = {model.decoder.readout for model in models if model.attention.wiring != "luong"}
    assert readouts == set(get_args(DecoderConfig.model_fields["readout"].annotation))
    assert any(model.encoder.self_attention for model in models)


def test_normalizers_and_latent_attention_are_compared_with_names_of_their_own() -> None:
    paths = list((ROOT / "configs" / "normalizers").glob("*.yaml"))
    models = [load_config(path).model for path in paths]
    assert {model.attention.normalizer for model in models} == NORMALIZERS.keys()
    names = set(map(mechanism, models))
    assert len(names) == len(paths)
    assert {f"Luong, additive, {words}" for words in ("monotonic (chunk 2)", "coverage (fertility 2)")} <= names


def test_a_mechanism_without_a_config_gets_one() -> None:
    shipped = {path.stem: load_config(path) for path in SHIPPED}
    named = {"luong_location", "luong_general_local_m"}
    left = [config for name, config in shipped.items() if name not in named]
    made = {config.name: config for config in missing(left)}
    assert {name: made[name] for name in named} == {name: shipped[name] for name in named}
    assert made.keys() == named
    for config in made.values():
        assert is_plain(config.model) == (config.name == "luong_location")
    assert {config.name for config in load_configs([], [])} == shipped.keys()


def test_a_recipe_gives_all_but_the_mechanisms() -> None:
    recipe = load_config(ROOT / "configs" / "multi30k.yaml")
    shipped = load_config(ROOT / "configs" / "ablation" / "luong_general_lstm.yaml")
    (config,) = load_configs(["ablation/luong_general_lstm"], [], recipe="multi30k")
    assert config.name == "luong_general_lstm"
    assert (config.model.attention, config.model.cell) == (shipped.model.attention, "lstm")
    assert config.model.decoder.readout == shipped.model.decoder.readout
    assert config.training.teacher_forcing == shipped.training.teacher_forcing
    assert (config.data, config.search, config.output_dir) == (recipe.data, recipe.search, recipe.output_dir)
    assert config.training.max_epochs == recipe.training.max_epochs
    dot = "ablation/luong_dot"  # its M and H must be equal, and the recipe's are not
    with pytest.raises(UserError, match=r"luong_dot\.yaml by the recipe .*multi30k\.yaml: "):
        load_configs([dot], [], recipe="multi30k")
    (config,) = load_configs([dot], ["model.encoder.hidden_size=128"], recipe="multi30k")
    assert (config.model.encoder.hidden_size, config.model.decoder.hidden_size) == (128, 256)

"""The shipped configs of the comparison: every mechanism there is, and no other difference."""

import json
from pathlib import Path
from typing import get_args

import pytest
import yaml
from support.cli import ROOT

from nmt.ablation.runs import load_configs
from nmt.config.model import AttentionConfig
from nmt.config.reading import load_config

SHIPPED = sorted((ROOT / "configs" / "ablation").glob("*.yaml"))


def test_every_mechanism_is_compared() -> None:
    attention = [load_config(path).model.attention for path in SHIPPED]
    for field in ("wiring", "score", "scope"):
        every = set(get_args(AttentionConfig.model_fields[field].annotation)) - {"concat"}  # which is additive
        assert {getattr(chosen, field) for chosen in attention} == every
    for variant, default in (("hard", False), ("key_value", False), ("coverage", False), ("heads", 1)):
        assert any(getattr(chosen, variant) != default for chosen in attention)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_config_loads(path: Path) -> None:
    config = load_config(path)
    assert config.name == path.stem
    assert config.output_dir == "checkpoints/ablation"
    assert config.training.threads == 1


def test_shipped_configs_are_alike_but_for_name_and_attention() -> None:
    contents = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in SHIPPED]
    assert [values.pop("name") for values in contents] == [path.stem for path in SHIPPED]
    mechanisms = [json.dumps(values["model"].pop("attention"), sort_keys=True) for values in contents]
    assert len(set(mechanisms)) == len(SHIPPED)
    assert all(values == contents[0] for values in contents)


def test_from_any_folder_the_bundled_configs_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [config.name for config in load_configs([], [])] == [path.stem for path in SHIPPED]
    assert [config.name for config in load_configs(["ablation/none"], [])] == ["none"]
    (tmp_path / "configs" / "ablation").mkdir(parents=True)
    (tmp_path / "configs" / "ablation" / "mine.yaml").write_text("name: mine\n", encoding="utf-8")
    assert [config.name for config in load_configs([], [])] == ["mine"]

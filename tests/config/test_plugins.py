"""Plugins: files of the user's own that define components."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.plugins import forget_plugins

from nmt.components import LEARNING_RATE_SCHEDULES
from nmt.config import plugins
from nmt.config.reading import load_config, parse_config, to_yaml
from nmt.system.errors import UserError

SCHEDULE = '''
from nmt.registry import Positive
from nmt.schedules.learning_rate import LearningRateSchedule

class Steep(LearningRateSchedule):
    """It falls."""
    slope: Positive = 2.0
    """How fast."""

    def scheduled(self, rate, step):
        return rate / step.update**self.slope
'''
CONFIG = "name: x\nplugins: [steep.py]\ntraining: {schedule: {kind: steep, slope: 3}}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a plugin and a config that names it; what they register is forgotten afterwards."""
    monkeypatch.setenv("NMT_PLUGINS", "")
    forget_plugins(monkeypatch)
    (tmp_path / "steep.py").write_text(SCHEDULE)
    (tmp_path / "x.yaml").write_text(CONFIG)
    return tmp_path


def refusal(function: Any, *arguments: Any) -> str:
    with pytest.raises(UserError) as refused:
        function(*arguments)
    return str(refused.value)


def test_a_component_of_a_plugin_is_like_one_of_the_project(folder: Path) -> None:
    config = load_config(folder / "x.yaml")
    assert config.training.schedule.component("kind").slope == 3
    assert "steep" in LEARNING_RATE_SCHEDULES
    (folder / "again.yaml").write_text(to_yaml(config))
    assert load_config(folder / "again.yaml") == config
    assert "slope (3) has no effect with kind: cosine; remove it, or set kind to steep" in refusal(
        load_config, folder / "x.yaml", ["training.schedule.kind=cosine"]
    )
    assert "slop: unknown field (did you mean slope?)" in refusal(
        load_config, folder / "x.yaml", ["training.schedule.slop=2"]
    )


def test_a_checkpoint_does_not_load_a_plugin(folder: Path) -> None:
    values = load_config(folder / "x.yaml").model_dump(mode="json")
    plugins._loaded.clear()
    path = folder / "steep.py"
    message = refusal(parse_config, values, "best.safetensors")
    assert message.startswith(
        f"best.safetensors: it needs the plugin {path}, which is not loaded: if you trust that file, set NMT"
    )
    (folder / "elsewhere").mkdir()
    moved = path.rename(folder / "elsewhere" / "steep.py")
    LEARNING_RATE_SCHEDULES._classes.pop("steep")  # as in another process
    plugins.load_plugin(moved)
    for stored in (str(path), {"path": str(path), "sha256": "0" * 64}):  # the latter in older files
        assert parse_config(values | {"plugins": [stored]}, "best.safetensors").plugins == (str(moved),)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (None, "cannot read it: No such file or directory; name a Python file"),
        ("x = ", "SyntaxError: "),
        ("x = 1", "it defines no score, scope, tokenizer, schedule or optimizer"),
        ("raise OSError('full')", "OSError: full"),
        (SCHEDULE + "    name = 'cosine'\n", "are both called cosine: give each a `name` of its own"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_refused(folder: Path, source: str | None, reason: str) -> None:
    (folder / "steep.py").unlink()
    if source is not None:
        (folder / "steep.py").write_text(source)
    message = refusal(load_config, folder / "x.yaml")
    assert message.startswith(f"plugin {folder / 'steep.py'}: ")
    assert reason in message


def test_a_package_names_a_component_as_an_entry_point(folder: Path) -> None:
    site = folder / "site"
    (site / "steep-1.dist-info").mkdir(parents=True)
    (site / "steep-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: steep\nVersion: 1\n")
    (site / "steep-1.dist-info" / "entry_points.txt").write_text("[nmt.components]\nfalling = a_schedule:Steep\n")
    (site / "a_schedule.py").write_text(SCHEDULE)
    program = "from nmt.config.training import ScheduleConfig; print(ScheduleConfig(kind='falling'))"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), *sys.path])}
    printed = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True).stdout
    assert printed.decode() == "kind='falling' warmup=0 slope=2.0\n"

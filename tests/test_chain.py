"""scripts/multi30k_full.py on a corpus of a few lines: every step, once each, also after an interruption."""

import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
import torch
import yaml
from doit.cmd_base import ModuleTaskLoader
from doit.doit_cmd import DoitMain, reset_vars, set_var
from support.cli import SOURCES, TARGETS

from nmt.checkpoint.contents import load
from nmt.cli import main
from nmt.commands import train
from nmt.config.reading import load_config

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[1]
BUNDLING = ["average"] * 2
MODEL = {"embedding_size": 4, "encoder": {"hidden_size": 4}, "decoder": {"hidden_size": 4}}
MODEL["attention"] = {"wiring": "none"}


@pytest.fixture(autouse=True)
def keeping_the_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chain says in its own way that it was interrupted."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, object]:
    """The chain's settings for a tiny corpus in place of Multi30k."""
    sample = tmp_path / "data" / "sample"
    sample.mkdir(parents=True)
    for split in ("train", "validation", "test"):
        for language, lines in (("de", SOURCES), ("en", TARGETS)):
            (sample / f"{split}.{language}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (sample / "README.md").touch()  # the last that is written: the corpus is whole
    sides = {side: {"tokenizer": "whitespace", "lowercase": False} for side in ("source", "target")}
    config = {"name": "tiny", "data": {"corpus": "sample", **sides}, "model": MODEL}
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    values: dict[str, object] = {"output": tmp_path / "runs", "data": tmp_path / "data", "seeds": "1 2", "workers": "1"}
    for name, lines in (("english", ["the dog runs away", "away"]), ("german", ["der kleine Hund", "weg"])):
        values[name] = tmp_path / name
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    values |= dict.fromkeys(("pairs", "captions", "again", "tuning"), tmp_path / "tiny.yaml")
    values["set"] = "training.max_epochs=1 training.threads=1 search.max_length=5 search.beam_size=1"
    return values


def chain(settings: dict[str, object], run: list[list[str]], stop_at: int | None = None) -> ModuleType:
    """The tasks, whose commands run in this process; `run` gets each, and the one of a number is interrupted."""
    reset_vars()
    for name, value in settings.items():
        set_var(name, str(value))
    spec = importlib.util.spec_from_file_location("multi30k_full", ROOT / "scripts" / "multi30k_full.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    reset_vars()
    assert settings["output"] == module.OUTPUT

    def act(*arguments: str) -> bool:
        if len(run) == stop_at:
            raise KeyboardInterrupt
        run.append(list(arguments))
        drawing = ["--temperature", "3"] if arguments[0] == "back-translate" else []  # untrained models write nothing
        return main([*arguments, *drawing]) == 0

    module.nmt = lambda *arguments: (act, arguments)  # type: ignore[attr-defined]
    return module


def doit(module: ModuleType, *arguments: str) -> int:
    return int(DoitMain(ModuleTaskLoader(vars(module))).run(list(arguments)))


def test_each_step_runs_once_also_after_an_interruption(
    settings: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # To score each run would take longer than all else.
    monkeypatch.setattr(train, "_evaluate", lambda _, __, folder: (folder / "evaluation.json").touch())
    first: list[list[str]] = []
    with pytest.raises(KeyboardInterrupt):
        doit(chain(settings, first, stop_at=5))
    assert [command[0] for command in first] == ["train"] * 4 + ["back-translate"]
    second: list[list[str]] = []
    assert doit(chain(settings, second)) == 0
    one_round = [*["train"] * 4 * (1 + 3), *["average"] * 4]  # two directions, two seeds
    commands = [*["back-translate"] * 3, *one_round, *one_round, *["evaluate"] * 20]
    assert Counter(command[0] for command in second) == Counter([*commands, *BUNDLING])
    assert not any(command in first for command in second)
    translating = [Path(command[1]).stem for command in second if command[0] == "back-translate"]
    assert translating == ["best", "mean1-de-en-1", "mean1-en-de-1"]
    third: list[list[str]] = []
    assert doit(chain(settings, third)) == 0
    assert third == []
    runs = tmp_path / "runs"
    evaluation = json.loads((runs / "test-mean2-de-en" / "evaluation.json").read_text(encoding="utf-8"))
    paths = [str(runs / f"mean2-de-en-{seed}.safetensors") for seed in (1, 2)]
    assert [model["checkpoint"] for model in evaluation["models"]] == [*paths, "ensemble of 2"]
    bundled = load(runs / "bundle-en-de.safetensors", torch.device("cpu"))
    assert bundled.config.data.source.language == "en"
    names = ("tuned2-en-de-2-3", "mixed1-en-de-1", "mixed2-en-de-1")
    tuned, first_round, config = (load_config(runs / name / "config.yaml") for name in names)
    assert tuned.training.start_from == str(runs / "mixed2-en-de-2" / "best.safetensors")
    assert first_round.training.start_from is None
    assert config.training.start_from == str(runs / "mean1-en-de-1.safetensors")
    assert config.data.source.language == "en"
    assert [(Path(extra.path).name, extra.tag) for extra in config.data.source.extra] == [
        ("text2-de.en", "<BT>"),
        ("text2-en.en", "<FT>"),
    ]
    assert [Path(path).name for path in config.data.target.extra] == ["text2-de.de", "text2-en.de"]
    assert set((tmp_path / "runs" / "text2-de.de").read_text(encoding="utf-8").splitlines()) <= {
        "der kleine Hund",
        "weg",
    }


def test_what_other_settings_made_is_neither_used_nor_lost(settings: dict[str, object], tmp_path: Path) -> None:
    assert doit(chain(settings | {"seeds": "1"}, []), "captions:text1-de") == 0
    file = tmp_path / "runs" / "text1-de.de"
    before = file.read_bytes()
    more: list[list[str]] = []
    other = chain(settings, more)
    assert doit(other, "captions:text1-de") != 0
    assert [command[0] for command in more] == ["train"]  # the second seed's
    check = next(task for task in other.task_chain() if task["name"] == "text1-de")["actions"][0]
    assert f"{file} and {file.with_suffix('.en')}: made with other settings" in check().message
    assert file.read_bytes() == before
    file.unlink()
    file.with_suffix(".en").unlink()
    assert doit(chain(settings | {"workers": "2"}, more), "captions:text1-de") == 0
    config = Path(str(settings["pairs"]))
    config.write_text(config.read_text(encoding="utf-8").replace("name: tiny", "name: other"), encoding="utf-8")
    assert doit(chain(settings, more), "captions:text1-de") != 0

"""Which attention the page of the comparison draws."""

from pathlib import Path

import pytest

from nmt.evaluation import checkpoints
from nmt.evaluation.alignment import WordPairs
from nmt.lab import figures
from nmt.lab.configs import load_configs
from nmt.lab.result import Result, best_of
from nmt.text.corpus import ParallelText

PAIRS = checkpoints.TestSet("corpus", "test", ParallelText([""], [""]), WordPairs([["a"]], [["b"]]))


def test_heat_maps_of_models_that_are_elsewhere_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "_curve_figures", lambda *_: {})
    (config,) = load_configs(["ablation/luong_dot"], [f"output_dir={tmp_path}"])
    results = [Result.model_construct(config=config)]
    assert figures.figures(results, PAIRS, tmp_path) == {}
    names = ["heat_maps.png", "heat_maps_2.png", "heat_maps_10.png"]
    for name in names:
        (tmp_path / name).write_bytes(name.encode())
    kept = figures.figures(results, PAIRS, tmp_path)
    assert {name: content for name, (_, content) in kept.items()} == {name: name.encode() for name in names}
    assert list(kept) == names
    best_of(config).parent.mkdir()
    best_of(config).touch()
    monkeypatch.setattr(figures, "_heat_map_figures", lambda here, _: {"new": ("", str(len(here)).encode())})
    assert figures.figures(results, PAIRS, tmp_path) == {"new": ("", b"1")}


def test_runs_are_named_where_they_share_a_mechanism(tmp_path: Path) -> None:
    dot, general = load_configs(["ablation/luong_dot", "ablation/luong_general"], [f"output_dir={tmp_path}"])
    configs = [dot, general, dot.model_copy(update={"name": "again"})]
    titles = figures._titles([Result.model_construct(config=config) for config in configs])
    assert titles == ["Luong, dot (luong_dot)", "Luong, general", "Luong, dot (again)"]

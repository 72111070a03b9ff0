"""Which attention the page of the comparison draws."""

from pathlib import Path

import pytest

from nmt.evaluation import checkpoints
from nmt.evaluation.alignment import WordPairs
from nmt.lab import figures
from nmt.lab.configs import load_configs
from nmt.lab.result import Result, best_of
from nmt.text.corpus import ParallelText


def pairs(source: list[int], target: list[int]) -> checkpoints.TestSet:
    """Pairs of so many words each."""
    words = WordPairs([["a"] * words for words in source], [["b"] * words for words in target])
    return checkpoints.TestSet("corpus", "test", ParallelText([""] * len(source), [""] * len(source)), words)


def test_the_line_that_is_drawn_has_words_on_both_sides() -> None:
    assert figures._heat_map_line(pairs([16, 11, 22, 0], [0, 1, 1, 1])) == 2
    assert figures._heat_map_line(pairs([1], [0])) is None


def test_heat_maps_of_models_that_are_elsewhere_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "_curve_figures", lambda *_: {})
    (config,) = load_configs(["ablation/luong_dot"], [f"output_dir={tmp_path}"])
    results = [Result.model_construct(config=config)]
    assert figures.figures(results, pairs([1], [1]), tmp_path) == {}
    names = ["heat_maps.png", "heat_maps_2.png", "heat_maps_10.png"]
    for name in names:
        (tmp_path / name).write_bytes(name.encode())
    kept = figures.figures(results, pairs([1], [1]), tmp_path)
    assert {name: content for name, (_, content) in kept.items()} == {name: name.encode() for name in names}
    assert list(kept) == names
    best_of(config).parent.mkdir()
    best_of(config).touch()
    monkeypatch.setattr(figures, "_heat_map_figures", lambda here, _: {"new": ("", str(len(here)).encode())})
    assert figures.figures(results, pairs([1], [1]), tmp_path) == {"new": ("", b"1")}

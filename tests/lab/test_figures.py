"""Which attention the page of the comparison draws."""

from pathlib import Path

import pytest
from support.pictures import svg_texts

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
    for name in ("_curve_figures", "_error_figure"):
        monkeypatch.setattr(figures, name, lambda *_: {})
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


def test_intervals_stand_in_order_from_the_top_and_are_as_wide_as_they_say() -> None:
    names, values = ["$a$", "_b_", "c"], [(10.0, 8.0, 13.0), (20.0, 19.0, 21.0), (90.0, 85.0, 91.0)]
    figure = figures._intervals(names, values, title="errors", subtitle="toy corpus", label="AER in percent")
    texts = svg_texts(figure)
    assert {"errors", "toy corpus", "AER in percent"} <= set(texts)
    assert [text for text in texts if text in names] == names
    lines = figure.axes[0].lines
    assert [tuple(line.get_xdata()) for line in lines[::2]] == [(low, high) for _, low, high in values]
    assert [float(line.get_xdata()[0]) for line in lines[1::2]] == [value for value, _, _ in values]
    assert figure.axes[0].get_ylim() == (2.5, -0.5)

"""Curves: every point on its tick, every name in the legend."""

import numpy as np
import pytest
from support.pictures import has_colour, pixels, svg_texts

from nmt.evaluation.by_length import Bucket
from nmt.plots.curves import bleu_by_length
from nmt.plots.style import COLOURS, render


def some_buckets(counts, start=30.0):
    return [
        Bucket(1 + 10 * i, None if i == len(counts) - 1 else 10 + 10 * i, count,
               *((start - i, start - i - 2, start - i + 3) if count else (None, None, None)))
        for i, count in enumerate(counts)
    ]  # fmt: skip


def test_the_figure_has_all_labels():
    curves = [some_buckets([1100, 7, 0]), some_buckets([1100, 7, 0], 20.0)]
    figure = bleu_by_length(["_none_", "$luong$"], curves, title="BLEU", subtitle="toy corpus")
    texts = svg_texts(figure)
    assert {"_none_", "$luong$", "BLEU", "toy corpus", "1–10", "11–20", "21+"} <= set(texts)
    assert {"n = 1,100", "n = 7", "n = 0"} <= set(texts)
    assert "bands and bars: 95 % bootstrap intervals" in texts
    assert render(figure, "svg") == render(figure, "svg")
    assert "n = 0" in svg_texts(bleu_by_length(["a"], [some_buckets([0, 0])], title="t"))
    outside = [Bucket(1, None, 3, 40.0, 20.0, 30.0)]  # a bootstrap of three sentences may miss its own point
    assert {"0", "40"} <= {t.removesuffix(".0") for t in svg_texts(bleu_by_length(["a"], [outside], title="t"))}


@pytest.mark.parametrize(("best", "top"), [(100.00000000000004, 100), (97.0, 100), (43.0, 45), (0.0, 10)])
def test_the_scale_ends_on_a_tick_above_everything(best, top):
    points = [Bucket(1, 10, 100, best, max(best - 2, 0.0), best), Bucket(11, None, 100, best, max(best - 3, 0.0), best)]
    axes = bleu_by_length(["a"], [points], title="t").axes[0]
    assert axes.get_ylim() == (0, top)
    assert top in axes.get_yticks()


def test_buckets_without_bleu_interrupt_the_curve():
    figure = bleu_by_length(["a"], [some_buckets([100, 100, 0, 100])], title="t")
    axes = figure.axes[0]
    (curve,) = [line for line in axes.lines if len(line.get_xdata()) == 4]
    np.testing.assert_array_equal(curve.get_ydata(), [30.0, 29.0, np.nan, 27.0])
    bars = [tuple(line.get_ydata()) for line in axes.lines if len(line.get_xdata()) == 2]
    assert bars == [(25.0, 30.0)]  # of the point without neighbours


def test_every_model_has_its_colour_and_its_name_in_the_legend():
    names = ["first", "second", "third"]
    curves = [some_buckets([100] * 3, start) for start in (20.0, 20.1, 40.0)]
    figure = bleu_by_length(names, curves, title="t", subtitle="s")
    [legend] = [child for part in (figure, *figure.subfigs) for child in part.legends]
    assert [text.get_text() for text in legend.get_texts()] == names
    assert [list(line.get_xdata()) for line in figure.axes[0].lines] == [[0, 1, 2]] * 3
    assert len(figure.axes[0].collections) == 3  # a band of each
    boxes = [part.get_tightbbox() for part in (*figure.axes, legend, *figure.texts)]
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[i + 1 :])
    assert all(figure.bbox.fully_containsx(box.x1) and figure.bbox.fully_containsy(box.y0) for box in boxes)
    picture = pixels(figure)
    assert all(has_colour(picture, colour, 300) for colour in COLOURS[:3])
    assert not has_colour(picture, COLOURS[3], 1)

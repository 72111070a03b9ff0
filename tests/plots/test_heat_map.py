"""Heat maps: what they say, where the weights are, how large they get."""

import matplotlib
import numpy as np
import pytest
from support.pictures import pixels, svg_texts

from nmt.plots.heat_map import heat_maps
from nmt.plots.style import DPI, WIDTH, render, save
from nmt.system.errors import UserError

SOURCE = ["Ein", "älterer", "$x_1$", "Süßes_", "."]
TARGET = ["An", "older", "<unk>", "_sweet_", "&", "<eos>"]
EVEN = np.full((6, 5), 0.2)


def heat_map(weights=EVEN, source=SOURCE, target=TARGET, **options):
    [figure] = heat_maps([weights], source, target, titles=[None], **options)
    return figure


def overlap(boxes):
    return any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[i + 1 :])


def test_a_heat_map_says_all_that_its_reader_needs(tmp_path):
    options = {"heading": "a $b$ title", "source_label": "German (source)", "target_label": "English (hypothesis)"}
    figure = heat_map(**options)
    texts = svg_texts(figure)
    shown = ["An", "older", "(unknown)", "_sweet_", "&", "(end)"]
    assert {*SOURCE, *shown, *options.values(), "attention weight", "0", "0.1", "0.2"} <= set(texts)
    assert {"(end): end of sentence", "(unknown): not in the vocabulary"} <= set(texts)
    save(figure, tmp_path / "new" / "a.svg")
    assert (tmp_path / "new" / "a.svg").read_bytes() == render(figure, "svg")  # the same figure, the same bytes
    assert figure._repr_png_().startswith(b"\x89PNG")  # how a notebook shows it


def test_source_runs_along_x_and_target_down_y():
    weights = np.zeros((2, 7))
    weights[0, 6] = 1.0  # first target token, last source token: the upper right corner
    figure = heat_map(weights, list("abcdefg"), ["x", "y"])
    cells = figure.axes[0].get_position()
    height, width = (picture := pixels(figure)).shape[:2]
    dark = np.abs(picture - (8, 48, 107)).max(axis=-1) <= 4  # the end of the colour map
    ys, xs = np.nonzero(dark[: round(height * (1 - cells.y0))])  # without the colour bar
    assert cells.x1 - cells.width / 7 < xs.mean() / width < cells.x1
    assert cells.y1 - cells.height / 2 < 1 - ys.mean() / height < cells.y1


@pytest.mark.parametrize(("rows", "columns", "count"), [(1, 1, 1), (14, 16, 4), (12, 30, 3)])
def test_figures_fit_a_page_and_no_panel_covers_another(rows, columns, count):
    matrices = [np.full((rows, columns), 1 / columns)] * count
    words = ["Straße" if i % 2 else "in" for i in range(max(rows, columns))]
    titles = [f"Luong, scaled general, local-p ({number})" for number in range(count)]
    figures = heat_maps(matrices, words[:columns], words[:rows], titles=titles, heading="h", subheading="s")
    assert [len(figure.axes) - 1 for figure in figures] == {1: [1], 3: [2, 1], 4: [4]}[count]  # and a colour bar
    for figure in figures:
        assert figure.get_size_inches()[0] <= WIDTH
        assert DPI * WIDTH <= 1600
        boxes = [box for axes in figure.axes if (box := axes.get_tightbbox()) is not None]
        boxes += [text.get_window_extent() for text in figure.texts]
        assert not overlap(boxes)
        assert all(figure.bbox.containsx(x) for box in boxes for x in (box.x0, box.x1))
        assert all(figure.bbox.containsy(y) for box in boxes for y in (box.y0, box.y1))
        ticks = [tick for axes in figure.axes for tick in (*axes.get_xticklabels(), *axes.get_yticklabels())]
        assert min(text.get_fontsize() for text in [*ticks, *figure.texts]) >= 9


def test_panels_share_their_colours_and_the_target_words_at_the_left():
    strong, weak = np.zeros((4, 4)), np.zeros((4, 4))
    strong[0, 3], weak[0, 3] = 0.8, 0.4
    (figure,) = heat_maps([strong, weak], list("abcd"), list("wxyz"), titles=["_one", "$two$"])
    texts = svg_texts(figure)
    assert {"_one", "$two$", "0.8"} <= set(texts)
    assert [texts.count(word) for word in "abcdwxyz"] == [2] * 4 + [1] * 4  # target words are at the left alone
    for axes, largest in zip(figure.axes, (0.8, 0.4), strict=False):
        cells = axes.collections[0]
        assert cells.get_clim() == (0.0, 0.8)  # the same for all panels
        assert cells.get_array().max() == largest


def test_letters_that_the_font_lacks_are_no_trouble_and_other_formats_are_refused(tmp_path, capfd):
    tokens = ["漢字", "🙂", "a\nb", "\t", "Donaudampfschifffahrtsgesellschaft"]
    figure = heat_map(np.zeros((5, 5)), tokens, tokens)
    save(figure, tmp_path / "a.PDF")  # warnings are errors here
    assert capfd.readouterr() == ("", "")
    assert (tmp_path / "a.PDF").read_bytes().startswith(b"%PDF")
    for name in ("attention.gif", "attention"):
        with pytest.raises(UserError, match=rf"{name}: .* is not a figure format; use \.png, \.svg or \.pdf"):
            save(figure, tmp_path / name)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_callers_matplotlib_stays_as_it_was_and_does_not_change_the_figure():
    with matplotlib.rc_context():
        plain = render(heat_map(), "png")
        matplotlib.rcParams["font.size"] = 30.0
        matplotlib.rcParams["text.usetex"] = True
        before = dict(matplotlib.rcParams)
        assert render(heat_map(), "png") == plain
        assert dict(matplotlib.rcParams) == before

"""Pictures are opened again: their size, their colours, their words."""

import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest
from PIL import Image

from nmt.evaluation import plots
from nmt.evaluation.by_length import Bucket
from nmt.evaluation.plots import COLOURS, GOLD, attention_heat_map, draw_heat_maps, plot_bleu_by_length, plot_intervals
from nmt.system.errors import UserError

SOURCE = ["Ein", "älterer", "$x_1$", "Süßes_", "."]
TARGET = ["An", "older", "$", "_sweet_", "&", "</s>"]


def svg_words(content):
    return {"".join(text.itertext()) for text in ET.fromstring(content).iter("{http://www.w3.org/2000/svg}text")}


def pixels(path):
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"), dtype=int)


def colour_count(picture, colour):
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return int((np.abs(picture - wanted).max(axis=-1) <= 2).sum())


def some_buckets(counts, start=30.0):
    return [
        Bucket(1 + 10 * i, None if i == len(counts) - 1 else 10 + 10 * i, count,
               *((start - i, start - i - 2, start - i + 3) if count else (None, None, None)))
        for i, count in enumerate(counts)
    ]  # fmt: skip


def draw(tmp_path, names, bucket_lists, picture_format="png", title="t"):
    path = tmp_path / f"picture.{picture_format}"
    path.write_bytes(plot_bleu_by_length(names, bucket_lists, title, picture_format))
    return path


# BLEU by length


def test_png_has_the_size_and_the_colour_of_every_model(tmp_path):
    lists = [some_buckets([100, 50, 30], start) for start in (40.0, 30.0, 20.0)]
    picture = pixels(draw(tmp_path, ["a", "b", "c"], lists))
    assert picture.shape == (750, 1200, 3)  # 8 × 5 inches at 150 dots
    for colour in COLOURS[:3]:
        assert colour_count(picture, colour) > 300
    assert colour_count(picture, COLOURS[3]) == 0


def test_many_buckets_make_a_wider_picture(tmp_path):
    picture = pixels(draw(tmp_path, ["a"], [some_buckets([100] * 12)]))
    assert picture.shape[1] == pytest.approx((1.1 * 12 + 1.4) * 150, abs=1)


def test_svg_says_all_that_the_reader_needs():
    title = "BLEU by source length\nsynthetic toy corpus, test split"
    content = plot_bleu_by_length(["_none_", "$luong$"], [some_buckets([1100, 7, 0])] * 2, title, "svg")
    words = svg_words(content)
    assert {"_none_", "$luong$", "1–10", "11–20", "21+", "n = 1,100", "n = 7", "n = 0"} <= words
    assert {"synthetic toy corpus, test split", "hollow: < 20 sentences"} <= words
    assert any("BLEU" in word and "95 % bootstrap interval" in word for word in words)
    assert content == plot_bleu_by_length(["_none_", "$luong$"], [some_buckets([1100, 7, 0])] * 2, title, "svg")


def test_markers_of_small_buckets_are_hollow(tmp_path):
    few = pixels(draw(tmp_path, ["a"], [some_buckets([19, 19, 19])]))
    words = svg_words(draw(tmp_path, ["a"], [some_buckets([19, 19, 19])], "svg").read_bytes())
    assert "hollow: < 20 sentences" in words
    enough = pixels(draw(tmp_path, ["a"], [some_buckets([20, 20, 20])]))
    assert colour_count(enough, COLOURS[0]) > colour_count(few, COLOURS[0]) + 200
    assert not any("hollow" in w for w in svg_words(draw(tmp_path, ["a"], [some_buckets([20])], "svg").read_bytes()))


def test_models_with_equal_scores_do_not_hide_each_other(tmp_path):
    picture = pixels(draw(tmp_path, ["a", "b"], [some_buckets([100] * 6)] * 2))
    first, second = colour_count(picture, COLOURS[0]), colour_count(picture, COLOURS[1])
    assert first > 800
    assert second > 800


def test_axis_begins_at_zero_and_odd_intervals_are_drawn():
    outside = [Bucket(1, None, 3, 40.0, 20.0, 30.0)]  # a bootstrap of three sentences may miss its own point
    content = plot_bleu_by_length(["a"], [outside], "t", "svg")
    assert {"0", "10", "20", "30", "40"} <= svg_words(content)
    assert {"0", "10"} <= svg_words(plot_bleu_by_length(["a"], [some_buckets([0, 0])], "t", "svg"))


# Attention


def drawn_attention(tmp_path, weights, source, target, name="attention.png", **options):
    attention_heat_map(np.asarray(weights), source, target, tmp_path / name, **options)
    return tmp_path / name


def test_heat_map_names_every_token(tmp_path):
    weights = np.full((6, 5), 0.2)
    words = svg_words(drawn_attention(tmp_path, weights, SOURCE, TARGET, "a.svg", title="a $b$ title").read_bytes())
    assert {*SOURCE, *TARGET, "a $b$ title", "attention weight"} <= words


def test_source_runs_along_x_and_target_down_y(tmp_path):
    weights = np.zeros((2, 7))
    weights[0, 6] = 1.0  # first target token, last source token: the upper right corner
    picture = pixels(drawn_attention(tmp_path, weights, list("abcdefg"), ["x", "y"]))
    cell = round(0.24 * 150)
    dark = (picture.sum(axis=-1) < 200) & (picture[..., 2] > picture[..., 0] + 50)
    ys, xs = np.nonzero(dark[:, : -3 * cell])  # without the colour bar
    assert np.ptp(xs) == pytest.approx(cell, abs=4)
    assert np.ptp(ys) == pytest.approx(cell, abs=4)
    frame = np.nonzero((picture < 60).all(axis=-1).sum(axis=1) > 5 * cell)[0]  # rows of the black frame
    assert frame.min() <= ys.mean() <= frame.min() + cell
    columns = np.nonzero((picture < 60).all(axis=-1).sum(axis=0) > 1.5 * cell)[0]
    assert xs.mean() > columns.min() + 6 * cell


def test_cells_keep_their_size_up_to_60_tokens(tmp_path):
    small = pixels(drawn_attention(tmp_path, np.ones((10, 10)) / 10, ["ab"] * 10, ["ab"] * 10)).shape
    large = pixels(drawn_attention(tmp_path, np.ones((60, 60)) / 60, ["ab"] * 60, ["ab"] * 60)).shape
    assert large[0] - small[0] == pytest.approx(50 * 0.24 * 150, abs=12)
    assert large[1] - small[1] == pytest.approx(50 * 0.24 * 150, abs=24)


def test_long_tokens_widen_the_picture_and_are_cut_at_some_point(tmp_path):
    def width(token):
        return pixels(drawn_attention(tmp_path, [[1.0]], ["a"], [token])).shape[1]

    assert width("Donaudampfschifffahrtsgesellschaft") > width("Donau") + 200
    assert width("x" * 100_000) == width("x" * 61)


def test_letters_that_the_font_lacks_and_line_ends_are_no_trouble(tmp_path, capfd):
    tokens = ["漢字", "🙂", "a\nb", "\t", ""]
    drawn_attention(tmp_path, np.full((5, 5), 0.2), tokens, tokens)  # warnings are errors here
    words = svg_words(drawn_attention(tmp_path, np.full((5, 5), 0.2), tokens, tokens, "a.svg").read_bytes())
    assert {"漢字", "🙂", "a\\nb", "\\t"} <= words
    plot_bleu_by_length(["漢字"], [some_buckets([30])], "字", "png")
    assert capfd.readouterr() == ("", "")


def test_weights_of_zero_can_be_drawn(tmp_path):
    assert drawn_attention(tmp_path, np.zeros((2, 3)), list("abc"), ["x", "y"], "new/folder/a.PNG").stat().st_size > 0


@pytest.mark.parametrize("name", ["attention.pdf", "attention", "attention.png.txt"])
def test_other_suffixes_are_refused_before_anything_is_written(tmp_path, name):
    with pytest.raises(UserError, match=rf"{name}: .*use \.png or \.svg"):
        drawn_attention(tmp_path, [[1.0]], ["a"], ["b"], name)
    assert not list(tmp_path.iterdir())


def test_weights_of_another_shape_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"\(5, 6\) weights for 6 target, 5 source"):
        drawn_attention(tmp_path, np.ones((5, 6)), SOURCE, TARGET)
    assert not list(tmp_path.iterdir())


# Several models' attention


def drawn_maps(tmp_path, count, rows, columns, titles=None, **options):
    path = tmp_path / "maps.png"
    matrices = [np.full((rows, columns), 1 / columns)] * count
    titles = titles or [f"m{i}" for i in range(count)]
    words = [f"s{i}" for i in range(columns)], [f"t{i}" for i in range(rows)]
    path.write_bytes(draw_heat_maps(matrices, *words, "png", titles=titles, **options))
    return pixels(path)


def panels_of(monkeypatch, tmp_path, count, rows, columns, **options):
    """Each panel's cells, and the box around its labels and title as well, in inches from the first one's corner."""
    figures = []
    render = plots._render
    monkeypatch.setattr(plots, "_render", lambda figure, *a, **k: figures.append(figure) or render(figure, *a, **k))
    drawn_maps(tmp_path, count, rows, columns, **options)
    panels = figures[0].axes[:count]
    to_inches = figures[0].dpi_scale_trans.inverted()
    return [[box.transformed(to_inches) for box in (axes.bbox, axes.get_tightbbox())] for axes in panels]


@pytest.mark.parametrize(
    ("count", "rows", "columns"), [(1, 1, 1), (2, 1, 2), (3, 2, 2), (5, 2, 3), (9, 3, 3), (16, 4, 4)]
)
@pytest.mark.parametrize("title", ["m", "a long title that no panel of four words has room for"])
def test_panels_have_cells_of_one_size_in_a_square_and_room(monkeypatch, tmp_path, count, rows, columns, title):
    boxes = panels_of(monkeypatch, tmp_path, count, 3, 4, titles=[title] * count)
    for cells, _ in boxes:
        assert (cells.width, cells.height) == (pytest.approx(4 * 0.24), pytest.approx(3 * 0.24))
    places = [(round(cells.y1, 3), round(cells.x0, 3)) for cells, _ in boxes]
    assert len({y for y, _ in places}) == rows
    assert len({x for _, x in places}) == columns
    assert places == sorted(places, key=lambda place: (-place[0], place[1]))  # as a page is read
    for i, (_, one) in enumerate(boxes):
        assert not any(one.overlaps(other) for _, other in boxes[i + 1 :])


def test_a_heading_and_a_longer_title_take_room(tmp_path):
    short = drawn_maps(tmp_path, 2, 3, 3)
    assert drawn_maps(tmp_path, 2, 3, 3, titles=["a" * 40, "b" * 40]).shape[1] > short.shape[1] + 400
    assert drawn_maps(tmp_path, 2, 3, 3, heading="one\ntwo").shape[0] > short.shape[0] + 40


def test_huge_pictures_get_fewer_dots(tmp_path, monkeypatch):
    usual = drawn_maps(tmp_path, 4, 10, 10).shape
    monkeypatch.setattr(plots, "LARGEST_SIDE", 500)
    small = drawn_maps(tmp_path, 4, 10, 10).shape
    assert 480 <= max(small) <= 540
    assert small[0] / small[1] == pytest.approx(usual[0] / usual[1], rel=0.05)


def test_every_panel_has_its_words_and_gold_links_are_outlined():
    weights = np.eye(3, 4)
    content = draw_heat_maps(
        [weights, weights / 2], list("abcd"), list("xyz"), "svg",
        titles=["_one", "$two$"], heading="head", sure={(0, 0)}, possible={(0, 0), (3, 2), (1, 2)},
    )  # fmt: skip
    texts = ["".join(t.itertext()) for t in ET.fromstring(content).iter("{http://www.w3.org/2000/svg}text")]
    assert {*"abcdxyz", "_one", "$two$", "head", "attention weight"} <= set(texts)
    assert all(texts.count(word) == 2 for word in "abcdxyz")
    outlines = [line for line in content.decode().splitlines() if f"stroke: {GOLD.lower()}" in line]
    assert len(outlines) == 6  # three in each panel
    assert sum("stroke-dasharray" in line for line in outlines) == 4


def test_colours_mean_the_same_in_all_panels_and_links_lie_on_their_cells(tmp_path):
    path = tmp_path / "maps.png"
    strong, weak = np.zeros((4, 4)), np.zeros((4, 4))
    strong[0, 3], weak[0, 3] = 0.8, 0.4  # first target word, last source word
    path.write_bytes(draw_heat_maps([strong, weak], list("abcd"), list("wxyz"), "png", titles="st", sure={(3, 0)}))
    picture = pixels(path)
    darkest, half = (8, 48, 107), (106, 174, 214)  # the ends and the middle of matplotlib's Blues
    orange = np.nonzero(np.abs(picture - (213, 94, 0)).max(axis=-1) <= 30)
    middle = np.median(orange[1])
    for colour, here in ((darkest, orange[1] < middle), (half, orange[1] > middle)):
        y, x = (int((edge[here].min() + edge[here].max()) / 2) for edge in orange)
        assert np.abs(picture[y, x] - colour).max() <= 4


def test_a_matrix_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"\(2, 3\) weights for 3 target, 2 source"):
        draw_heat_maps([np.ones((3, 2)), np.ones((2, 3))], list("ab"), list("xyz"), "png", titles=["m", "n"])


# The surroundings


def test_a_callers_matplotlib_stays_as_it_was_and_does_not_change_the_picture(tmp_path):
    with matplotlib.rc_context():
        plain = drawn_attention(tmp_path, np.full((6, 5), 0.2), SOURCE, TARGET).read_bytes()
        matplotlib.rcParams["font.size"] = 30.0
        matplotlib.rcParams["text.usetex"] = True
        before = dict(matplotlib.rcParams)
        assert drawn_attention(tmp_path, np.full((6, 5), 0.2), SOURCE, TARGET).read_bytes() == plain
        assert dict(matplotlib.rcParams) == before


# Values with intervals


def test_intervals_stand_in_order_from_the_top():
    names, intervals = ["$a$", "_b_", "c"], [(10.0, 8.0, 13.0), (20.0, 19.0, 21.0), (90.0, 85.0, 91.0)]
    content = plot_intervals(names, intervals, "errors\ntoy corpus", "AER in percent", "svg")
    assert {*names, "errors", "toy corpus", "AER in percent"} <= svg_words(content)
    assert content == plot_intervals(names, intervals, "errors\ntoy corpus", "AER in percent", "svg")
    places = [content.index(f">{name}<".encode()) for name in names]
    assert places == sorted(places)


def test_an_interval_is_as_wide_as_it_says(tmp_path):
    path = tmp_path / "picture.png"
    path.write_bytes(plot_intervals(["a", "b"], [(50.0, 0.0, 100.0), (50.0, 45.0, 55.0)], "t", "x", "png"))
    drawn = np.abs(pixels(path) - [0x00, 0x72, 0xB2]).max(axis=-1) <= 2
    middle = len(drawn) // 2
    widths = [np.ptp(np.flatnonzero(half.any(axis=0))) for half in (drawn[:middle], drawn[middle:])]
    assert widths[0] == pytest.approx(10 * widths[1], rel=0.1)

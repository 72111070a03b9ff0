"""How a translation shows its attention: as a picture, and by itself in a notebook."""

import xml.etree.ElementTree as ET
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest
import torch

from nmt.decoding.translation import Translation
from nmt.system.errors import UserError
from nmt.text.words import joined, word_numbers

WEIGHTS = torch.tensor([[0.75, 0.25, 0.0], [0.125, 0.5, 0.375]])
SHOWN = Translation("a <b>", ["<b>", "<eos>"], ["ein", "&", "<eos>"], -1.234, WEIGHTS)
EMPTY = Translation("", [], [], 0.0, torch.zeros(0, 0))
WITHOUT = Translation("a <b>", ["<b>", "<eos>"], ["ein", "&", "<eos>"], -1.234, None)


def test_plot_returns_the_figure_and_writes_it_where_asked(tmp_path: Path) -> None:
    figure = SHOWN.plot()
    words = {text.get_text() for axes in figure.axes for text in (*axes.get_xticklabels(), *axes.get_yticklabels())}
    assert {"ein", "&", "<b>"} <= words
    drawn = [mesh.get_array() for axes in figure.axes for mesh in axes.collections]
    assert any(np.array_equal(np.ravel(array), WEIGHTS.numpy().ravel()) for array in drawn)
    for suffix, magic in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        SHOWN.plot(tmp_path / f"attention{suffix}")
        assert (tmp_path / f"attention{suffix}").read_bytes().startswith(magic)


def test_words_are_drawn_unless_pieces_are_asked_for() -> None:
    """Sums over the pieces of a source word, means over those of a target word; marks belong to their words."""
    source, target = ["⇧▁", "▁wasser", "melone", ".", "<eos>"], ["⇪▁", "▁a", "-", "b", "▁<unk>", "<eos>"]
    weights = torch.rand(6, 5, generator=torch.Generator().manual_seed(1)).softmax(dim=1)
    translation = Translation("A-B <unk>", target, source, -1.0, weights, segments=(0, 0, 0, 0, 1))
    words = translation.in_words()
    assert (words.source_tokens, words.segments) == (["Wassermelone", ".", "<eos>"], (0, 0, 1))
    assert words.tokens == ["A-B", "<unk>", "<eos>"]
    assert words.attention is not None
    assert words.attention[0, 0].item() == pytest.approx(weights[:4, :3].sum().item() / 4)
    assert words.attention[1:, 1:].tolist() == [pytest.approx(row) for row in weights[4:, 3:].tolist()]
    for pieces, labels in ((False, {"Wassermelone", "A-B"}), (True, {"⇧", "wasser-"})):
        axes = translation.plot(pieces=pieces).axes[0]
        assert labels <= {text.get_text() for text in (*axes.get_xticklabels(), *axes.get_yticklabels())}
    for tokens, texts in ((["l'", "￭", "eau", "▁", "!"], ["l'", "eau", "!"]), (["e", "i", "▁", "n"], ["ei", "n"])):
        assert joined(tokens, word_numbers(tokens)) == texts


def test_what_cannot_be_drawn_is_reported() -> None:
    for translation, path, words in (
        (WITHOUT, None, "has no attention"),
        (EMPTY, None, "the sentence is empty"),
        (SHOWN, "attention.gif", "'.gif' is not a figure format"),
    ):
        with pytest.raises(UserError, match=words):
            translation.plot(path)


def test_a_notebook_shows_text_score_and_attention() -> None:
    page = ET.fromstring(f"<div>{SHOWN._repr_html_()}</div>")  # well-formed, so every sign of a token is escaped
    assert "a <b> (score -1.23)" in "".join(page.itertext())
    [image] = page.iter("img")
    assert b64decode(str(image.get("src")).removeprefix("data:image/png;base64,")) == SHOWN.plot()._repr_png_()


def test_a_notebook_shows_what_there_is() -> None:
    assert EMPTY._repr_html_() == "<div><i>(empty sentence)</i></div>"
    assert "tokens: &lt;b&gt; &lt;eos&gt;" in WITHOUT._repr_html_()
    several = Translation("a", ["a"], ["b"], -1.0, None, (WITHOUT, WITHOUT))
    assert several._repr_html_().count("<li>a &lt;b&gt; (-1.23)</li>") == 2

"""Figures opened again: their words and their pixels."""

import xml.etree.ElementTree as ET
from io import BytesIO

import numpy as np
from PIL import Image

from nmt.plots.style import render


def svg_texts(figure):
    """Every text of a figure, in the order in which it is drawn."""
    root = ET.fromstring(render(figure, "svg"))
    return ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]


def pixels(figure):
    """The figure as PNG: height × width × RGB."""
    with Image.open(BytesIO(render(figure, "png"))) as image:
        return np.asarray(image.convert("RGB"), dtype=int)


def has_colour(picture, colour, count):
    """Whether at least `count` pixels have the colour, but for rounding."""
    rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return int((np.abs(picture - rgb).max(axis=-1) <= 2).sum()) >= count

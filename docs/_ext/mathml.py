"""Formulas as MathML, which every current browser draws by itself: no script, and nothing from another server."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
# An accented letter with an index, which docutils sets as limits, below and above the letter.
INDEXED_ACCENT = re.compile(
    r"<munderover>\s*(<mi[^>]*>[^<]*</mi>)\s*(<(\w+)[^>]*>(?:(?!</?\3[ >]).)*</\3>)"
    r"\s*(<mo[^>]*>[→←~^¯˙]</mo>)\s*</munderover>",
    re.DOTALL,
)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(f'<span class="math">{_mathml(node, block=False)}</span>')
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">{_mathml(node, block=True)}</div>')
    raise nodes.SkipNode


def _mathml(node: nodes.Element, *, block: bool) -> str:
    try:
        mathml = tex2mathml(re.sub(r"\\dots|…", r"\\ldots ", node.astext()), as_block=block)
    except MathError as error:
        LOGGER.warning("the formula %r cannot be drawn: %s", node.astext(), error, location=node)
        return nodes.unescape(node.astext())
    return INDEXED_ACCENT.sub(r"<msub><mover>\1\4</mover>\2</msub>", mathml)

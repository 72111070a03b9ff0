"""The page as a single file, which holds the explanations of one sentence and works without a server or a network."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from nmt.page import serializers
from nmt.page.explanation import Explanation, explain, prepared
from nmt.translator import Translator

STATIC = Path(__file__).parent / "static"
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


def html_report(
    translator: Translator,
    name: str,
    text: str,
    *,
    beam_size: int | None = None,
    length_penalty: float | None = None,
    alternatives: int = 2,
    forced: int = 2,
) -> str:
    """HTML that shows how a sentence was translated, and how it goes on after other words or with other attention.

    At each step it holds the search that follows each of so many other likely tokens (`alternatives`), and the search
    whose attention is forced there onto each of so many other source tokens (`forced`); `name` is the model's. Raises
    `UserError` where `explain` does.
    """
    ready = prepared(translator)
    find = partial(explain, ready, text, beam_size=beam_size, length_penalty=length_penalty)
    first = find()
    questions: list[tuple[Sequence[str], dict[int, int]]] = [((), {})]
    questions += [(prefix, {}) for prefix in _prefixes(translator, first, alternatives)]
    questions += [((), {t: s}) for t, s in _forced_positions(first, forced)]
    model = serializers.of_model("1", name, translator)
    model["beam_size"] = model["beam_size"] if beam_size is None else beam_size
    stored: list[dict[str, Any]] = [{"path": "/api/models", "answer": [model]}]
    for prefix, at in questions:
        explanation = find(prefix=prefix, forced=at) if prefix or at else first
        question = {"text": text, "prefix": prefix, "forced": list(at.items())}
        answer = serializers.of_explanation(translator, explanation)
        stored.append({"path": "/api/explain", "question": question, "answer": answer})
    return _assembled(stored, f"nmt: {text}")


def _prefixes(translator: Translator, explanation: Explanation, alternatives: int) -> list[tuple[str, ...]]:
    """Of each step what was written before it, and another likely token."""
    vocabulary, tokens = translator.target.vocabulary.tokens, explanation.translation.tokens
    prefixes = []
    for t, step in enumerate(explanation.steps[: translator.search.max_length - 1]):
        likeliest = [vocabulary[token] for token, _ in step.likeliest if token != step.chosen]
        words = [token for token in likeliest if token not in ("<eos>", "<unk>")]
        prefixes += [(*tokens[:t], token) for token in words[:alternatives]]
    return prefixes


def _forced_positions(explanation: Explanation, forced: int) -> list[tuple[int, int]]:
    """Each step, with each of the source tokens that have the most weight behind the one with the largest."""
    orders = [
        step.attention.weights.mean(dim=0).argsort(descending=True, stable=True)
        for step in explanation.steps
        if step.attention
    ]
    return [(t, s) for t, order in enumerate(orders) for s in order.tolist()[1 : 1 + forced]]


def _assembled(stored: Sequence[dict[str, Any]], title: str) -> str:
    """The page with all that it loads inside it, and the stored answers."""
    modules = {path.name: path for path in STATIC.glob("*.js") if path.name != "theme.js"}
    imports = {f"nmt/{name}": _data("text/javascript", _bare(path)) for name, path in modules.items()}
    icon = _data("image/svg+xml", _read("icon.svg"))
    style = _read("page.css").replace("/static/icon.svg", icon)
    [library] = (STATIC / "vendor").glob("d3-*.min.js")
    page, policy = _read("index.html"), f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    for pattern, replacement in (
        (r"<title>.*?</title>", f"<title>{escape(title)}</title>"),
        (r'<link rel="icon"[^>]*>', f'{policy}\n<link rel="icon" href="{icon}">'),
        (r'<link rel="stylesheet"[^>]*>', f"<style>{style}</style>"),
        (r'<script src="/static/theme.js"></script>', f"<script>{_read('theme.js')}</script>"),
        (r'<script src="/static/vendor/[^>]*></script>', f"<script>{library.read_text(encoding='utf-8')}</script>"),
        (
            r'<script type="module"[^>]*></script>',
            f'<script type="importmap">{json.dumps({"imports": imports})}</script>\n'
            f'<script type="application/json" id="stored">{_as_script(stored)}</script>\n'
            '<script type="module">import "nmt/main.js";</script>',
        ),
        (r"<footer>.*?</footer>", "<footer><p>Written by nmt explain.</p></footer>"),
    ):
        before, after = re.split(pattern, page, maxsplit=1, flags=re.DOTALL)
        page = before + replacement + after
    return page


def _as_script(value: Any) -> str:
    """JSON in ASCII, which no text in it can end, turn into markup, or show in another direction."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _bare(path: Path) -> str:
    """A module with its picture, whose imports are names of the import map: in a data address it has no neighbours."""
    text = re.sub(r'(from|import) "\./', r'\1 "nmt/', path.read_text(encoding="utf-8"))
    return text.replace("static/decoders.svg", _data("image/svg+xml", _read("decoders.svg")))


def _data(kind: str, text: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(text.encode()).decode()}"


def _read(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")

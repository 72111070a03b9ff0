"""What an exported folder says about itself."""

from __future__ import annotations

import re
from typing import Any

_CARD = """# {source}→{target}: {models}

A translation model that needs no PyTorch, written by `nmt export` (nmt {nmt}, {precision}, {size:.1f} MB).

    pip install numpy onnxruntime{packages}
    python translate.py "…"
    python translate.py --input FILE > TRANSLATIONS

Without a text it reads standard input. `python translate.py --help` lists what it can do: the best translations of
each sentence, attention as JSON, other settings of the search.

| file | content |
|---|---|
| `translate.py` | beam search over the graphs: a script to read, and to take code from |
| `encoder.onnx` | source ids → the decoder's first state, and the memory of each sentence |
| `step.onnx` | the last tokens, state, memory → log-probabilities of the next ones, the new state, attention weights |
| `source.json`, `target.json` | the tokens of both languages, by their ids |
| `config.json` | tokenizers, settings of the search, and the other files' SHA-256 |
"""
_CASE = "| `case.py` | case as marks between subwords |\n"
_MODEL = "| `source.model` | sentencepiece's model, which cuts text into tokens |\n"


def card(config: dict[str, Any], size: int, about: str = "") -> str:
    """The text of README.md, of a folder of `size` bytes. `about` is what is known of the model, in Markdown."""
    subwords = "source.model" in config["files"]
    text = _CARD.format(
        source=config["source"]["language"],
        target=config["target"]["language"],
        models=", ".join(config["models"]),
        nmt=config["nmt"],
        precision=config["precision"],
        size=size / 1e6,
        packages=" sentencepiece" if subwords else "",
    )
    text += _MODEL if subwords else ""
    text += _CASE if "case.py" in config["files"] else ""
    return f"{text}\n## About the model\n\n{_elsewhere(about)}" if about.strip() else text


def _elsewhere(text: str) -> str:
    """A text of Markdown without a Hub's fields and its title, and without links to files that are not there."""
    body = re.sub(r"\A\s*# .*\n", "", re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)).strip()
    return re.sub(r"!?\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", body) + "\n"

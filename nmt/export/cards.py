"""Model cards: the README.md of an exported folder, and that of a checkpoint on the Hugging Face Hub."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import yaml

from nmt.checkpoint.contents import Loaded
from nmt.text.corpus import read_lines

_FOLDER = """# {source}→{target}: {models}

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
_CHECKPOINT = """# {source}→{target}: {name}

A translation model of nmt: {encoder} encoder, decoder with {attention}, {parameters:.1f} million
parameters.

In a folder with the source of nmt, after `make setup`:

    .venv/bin/nmt translate hf://{repository} "…"

In Python: `nmt.Translator.load("hf://{repository}")`.
"""


def folder_card(config: dict[str, Any], size: int, about: str = "") -> str:
    """The text of README.md, of a folder of `size` bytes. `about` is what is known of the model, in Markdown."""
    subwords = "source.model" in config["files"]
    text = _FOLDER.format(
        source=config["source"]["language"],
        target=config["target"]["language"],
        models=", ".join(config["models"]),
        nmt=config["nmt"],
        precision=config["precision"],
        size=size / 1e6,
        packages=" sentencepiece" if subwords else "",
    )
    text += "| `source.model` | sentencepiece's model, which cuts text into tokens |\n" if subwords else ""
    text += "| `normalization.py` | the form of text that the model reads |\n"
    text += "| `case.py` | case as marks between subwords |\n" if "case.py" in config["files"] else ""
    return f"{text}\n## About the model\n\n{_elsewhere(about)}" if about.strip() else text


def _elsewhere(text: str) -> str:
    """A text of Markdown without a Hub's fields and its title, and without links to files that are not there."""
    body = re.sub(r"\A\s*# .*\n", "", re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)).strip()
    link = r"!?\[([^\]]{0,1000})\]\((?!https?:)[^)]{0,1000}\)"  # without bounds a hostile text would take hours
    return re.sub(link, r"\1", body) + "\n"


def description(checkpoint: str) -> str:
    """The text of the README.md in the checkpoint's folder, and a note on standard error.

    Empty if there is none, or if it describes a program, which has a pyproject.toml. Raises `UserError` for a file that
    cannot be read.
    """
    file = Path(checkpoint).with_name("README.md")
    has_text = file.is_file() and file.stat().st_size > 0
    if not has_text or file.with_name("pyproject.toml").exists():
        return ""
    text = "\n".join(read_lines(file)) + "\n"
    print(f"Description of the model: taken from {file.resolve()}", file=sys.stderr)
    return text


def hub_card(loaded: Loaded, repository: str, text: str = "") -> str:
    """The card: `text` if there is any, or a few facts; before it fields in YAML, unless the text brings its own."""
    if text.startswith("---\n"):
        return text
    config = loaded.config
    source, target = config.data.source.language, config.data.target.language
    fields = {
        "language": list(dict.fromkeys((source, target))),
        "library_name": "nmt",
        "pipeline_tag": "translation",
        "tags": ["translation", "attention", "rnn"],
    }
    attention, has_attention = config.model.attention, config.model.attention.wiring != "none"
    facts = _CHECKPOINT.format(
        source=source,
        target=target,
        name=config.name,
        encoder=f"bidirectional {config.model.cell.upper()}",
        attention=f"{attention.wiring}'s attention ({attention.score})" if has_attention else "no attention",
        parameters=sum(p.numel() for p in loaded.model.parameters()) / 1e6,
        repository=repository,
    )
    return f"---\n{yaml.safe_dump(fields, allow_unicode=True)}---\n\n{text or facts}"

"""The card of a checkpoint on the hub: README.md, with the fields that the hub reads before it."""

from __future__ import annotations

from pathlib import Path

import yaml

from nmt.checkpoint.contents import Loaded

_TEXT = """# {source}→{target}: {name}

A translation model of nmt: {encoder} encoder, decoder with {attention}, {parameters:.1f} million
parameters.

In a folder with the source of nmt, after `make setup`:

    .venv/bin/nmt translate hf://{repository} "…"

In Python: `nmt.Translator.load("hf://{repository}")`.
"""


def description_beside(checkpoint: str) -> Path | None:
    """The README.md in a checkpoint's folder, unless it describes a program, which has a pyproject.toml."""
    readme = Path(checkpoint).with_name("README.md")
    is_there = readme.is_file() and readme.stat().st_size > 0
    return readme if is_there and not readme.with_name("pyproject.toml").exists() else None


def card(loaded: Loaded, repository: str, text: str = "") -> str:
    """The card: `text` if there is any, or a few facts; before it fields in YAML, unless the text brings its own."""
    if text.startswith("---\n"):
        return text
    config = loaded.config
    languages = config.data.source.language, config.data.target.language
    fields = {
        "language": list(dict.fromkeys(languages)),
        "library_name": "nmt",
        "pipeline_tag": "translation",
        "tags": ["translation", "attention", "rnn"],
    }
    attention = config.model.attention
    facts = _TEXT.format(
        source=languages[0],
        target=languages[1],
        name=config.name,
        encoder=f"bidirectional {config.model.cell.upper()}",
        attention="no attention"
        if attention.wiring == "none"
        else f"{attention.wiring}'s attention ({attention.score})",
        parameters=sum(p.numel() for p in loaded.model.parameters()) / 1e6,
        repository=repository,
    )
    return f"---\n{yaml.safe_dump(fields, allow_unicode=True)}---\n\n{text or facts}"

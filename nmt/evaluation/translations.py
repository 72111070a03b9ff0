"""The translations of an evaluation as text, one sentence per line, for other tools and for reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, count
from pathlib import Path

from nmt.evaluation.report import display_names
from nmt.system import files
from nmt.text.corpus import ParallelText

FOLDER = "translations"


def write(folder: Path, text: ParallelText, outputs: Mapping[str, Sequence[str]]) -> Path:
    """Write `source.txt`, `reference.txt` and each model's sentences into `folder`/translations; returns that folder.

    `outputs` maps checkpoints to sentences. A model's file is named as in tables, such as `quickstart_best` for
    quickstart/best.safetensors, with a number if that name is taken. Raises `UserError` where a file cannot be written.
    """
    sides: dict[str, Sequence[str]] = {"source": text.source, "reference": text.target}
    for name, sentences in zip(display_names(list(outputs)), outputs.values(), strict=True):
        stem = "_".join(name.removesuffix(".safetensors").replace("/", " ").split()).strip(".") or "model"
        names = chain([stem], (f"{stem}_{number}" for number in count(2)))
        sides[next(name for name in names if name not in sides)] = sentences
    for name, sentences in sides.items():
        files.write(folder / FOLDER / f"{name}.txt", "".join(f"{sentence}\n" for sentence in sentences).encode())
    return folder / FOLDER

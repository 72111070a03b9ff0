"""Training sets of made-up text."""

import os
import signal
from pathlib import Path
from typing import Any

from nmt.config import DataConfig
from nmt.data.corpus import ParallelText
from nmt.data.training_set import TrainingSet, load_training_set


def data_config(
    folder: Path, text: ParallelText, tokenizer: str, size: int | None = None, *, joint: bool = False, **both: Any
) -> DataConfig:
    """A config for the text, which is written into the folder; `both` are fields of both sides."""
    sides = {}
    for name, language, lines in (("source", "de", text.source), ("target", "en", text.target)):
        path = folder / f"text.{language}"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        paths = {"train": str(path), "validation": str(path)}
        sides[name] = {"language": language, "tokenizer": tokenizer, "vocabulary_size": size, **paths, **both}
    values = {"corpus": "files", "folder": str(folder), "joint_vocabulary": joint, **sides}
    return DataConfig.model_validate(values)


def learn(folder: Path, text: ParallelText, tokenizer: str, size: int | None = None, **more: Any) -> TrainingSet:
    return load_training_set(data_config(folder, text, tokenizer, size, **more))


def end_this_process(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)

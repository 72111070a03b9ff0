"""What is about to be trained, on what: the first screen of a run. All settings are in the run's `config.yaml`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from nmt.config.run import Config
from nmt.data.batching import fill_rate
from nmt.data.training_set import TrainingSet
from nmt.model.seq2seq import Seq2Seq
from nmt.registry import Section
from nmt.system.wording import counted
from nmt.training.distributed import ALONE, World
from nmt.training.event_log import tensorboard_folder
from nmt.training.precision import Chosen
from nmt.training.prepare import Prepared, batches_of
from nmt.training.state import total_updates

WIDTH, INDENT = 100, 12  # columns
SETTINGS_LINES = 14  # at most, so that all of it fits on one screen


class Summary(NamedTuple):
    """The essentials of a run."""

    folder: str
    corpus: str
    languages: tuple[str, str]
    training_pairs: int
    skipped_pairs: str
    """How many pairs of the text are not trained on, and why."""
    validation_pairs: int
    note: str | None
    """What is likely to be a mistake, if anything is."""
    source_types: int
    target_types: int
    wiring: str
    score: str
    scope: str
    parameters: int
    updates: int
    """At most: early stopping may come first."""
    batches_per_epoch: int
    filled: float
    """The share of the batches' cells that hold a token; the others are padding."""
    patience: int | None
    """Validations without a better score that end training early."""
    device: str
    precision: str
    precision_reason: str | None
    """Why `auto` chose it."""
    threads: int
    processes: int
    changed: dict[str, Any]
    """The settings that differ from their defaults, by their dotted names."""
    tensorboard: str | None
    """The folder to start TensorBoard with, if it is installed."""

    def __str__(self) -> str:
        """A screen of text."""
        source, target = self.languages
        attention = (
            "no attention"
            if self.wiring == "none"
            else f"{self.wiring} wiring, {self.score} score, {self.scope.replace('_', '-')} scope"
        )
        stopping = (
            "" if self.patience is None else f", or {counted(self.patience, 'validation')} without a better score"
        )
        processes = "" if self.processes == 1 else f" in each of {self.processes} processes"
        batches = "1 batch" if self.batches_per_epoch == 1 else f"{self.batches_per_epoch} batches"
        reason = "" if self.precision_reason is None else f" ({self.precision_reason})"
        lines = {
            "Run": f"{self.folder} (all settings are in its config.yaml)",
            "Corpus": f"{self.corpus}, {source}→{target}: {counted(self.training_pairs, 'training pair')} "
            f"({self.skipped_pairs}), {counted(self.validation_pairs, 'validation pair')}",
            "Note": self.note,
            "Vocabulary": f"{self.source_types} source types, {self.target_types} target types, special ones included",
            "Model": f"{attention}; {self.parameters:,} parameters",
            "Training": f"{counted(self.updates, 'update')}{stopping}; {batches} per epoch, "
            f"filled to {100 * self.filled:.1f} % with tokens",
            "Device": f"{self.device}, {counted(self.threads, 'thread')}{processes}, {self.precision}{reason}",
            "Changed": "\n".join(_settings(self.changed)),
            "Curves": self.tensorboard and f"tensorboard --logdir {self.tensorboard}",
        }
        return "".join(f"{name:<{INDENT}}{_indented(text)}\n" for name, text in lines.items() if text)


def summarize(
    config: Config, folder: Path, prepared: Prepared, model: Seq2Seq, chosen: Chosen, world: World = ALONE
) -> Summary:
    """The essentials of a run of `config`, whose results go to `folder`."""
    pairs, attention, training = prepared.pairs, config.model.attention, config.training
    batches = batches_of(pairs, training, 0, world)
    tensorboard = tensorboard_folder(folder)
    return Summary(
        folder=str(folder),
        corpus=config.data.corpus,
        languages=(config.data.source.language, config.data.target.language),
        training_pairs=len(pairs),
        skipped_pairs=str(pairs.skipped),
        validation_pairs=len(prepared.validation.source),
        note=_many_are_too_long(pairs),
        source_types=len(pairs.source.vocabulary),
        target_types=len(pairs.target.vocabulary),
        wiring=attention.wiring,
        score=attention.score,
        scope=attention.scope,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        updates=total_updates(training, len(batches)),
        batches_per_epoch=len(batches),
        filled=fill_rate(pairs.lengths, batches),
        patience=training.early_stopping.patience,
        device=str(prepared.device),
        precision=chosen.precision,
        precision_reason=chosen.reason,
        threads=torch.get_num_threads(),
        processes=world.size,
        changed={name: value for name, value in changed_settings(config) if name not in ("name", "output_dir")},
        tensorboard=None if tensorboard is None else str(tensorboard),
    )


def _many_are_too_long(pairs: TrainingSet) -> str | None:
    share = pairs.skipped.too_long / (len(pairs) + pairs.skipped.too_long)
    if share <= 0.05:
        return None
    return (
        f"{share:.0%} of the pairs are left out because a side is longer than data.max_length "
        f"({pairs.skipped.max_length} tokens): raise it, and search.max_length, to train on them"
    )


def changed_settings(section: Section, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The dotted names and values of the fields that differ from their defaults, options of components included."""
    for name, plain in section.model_dump(mode="json").items():
        value = getattr(section, name)
        if isinstance(value, Section):
            yield from changed_settings(value, f"{prefix}{name}.")
        elif value != type(section).model_fields[name].get_default(call_default_factory=True):
            yield f"{prefix}{name}", plain


def _settings(changed: Mapping[str, Any]) -> list[str]:
    """The changed settings as `--set` would take them, in a few lines."""
    text = ", ".join(f"{name}={_as_yaml(value)}" for name, value in changed.items())
    lines = textwrap.wrap(text, WIDTH - INDENT, break_long_words=False, break_on_hyphens=False)
    return [*lines[: SETTINGS_LINES - 1], "… and more"] if len(lines) > SETTINGS_LINES else lines


def _as_yaml(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)  # which YAML reads alike


def _indented(text: str) -> str:
    return text.replace("\n", "\n" + INDENT * " ")

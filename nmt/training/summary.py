"""What is about to be trained, on what: the first screen of a run. All settings are in the run's `config.yaml`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from nmt.config.run import Config
from nmt.data.batching import fill_rate
from nmt.data.training_set import TrainingSet
from nmt.model.seq2seq import Seq2Seq
from nmt.registry import Section
from nmt.system.wording import counted
from nmt.training.counters import total_updates
from nmt.training.distributed import SINGLE_PROCESS, ProcessGroup
from nmt.training.event_log import TENSORBOARD, has_tensorboard
from nmt.training.precision import Choice
from nmt.training.prepare import Prepared, batches_of

WIDTH, INDENT = 100, 12  # columns
SETTINGS_LINES = 14  # at most, so that all of it fits on one screen


def summarize(
    config: Config,
    folder: Path,
    prepared: Prepared,
    model: Seq2Seq,
    precision: Choice,
    group: ProcessGroup = SINGLE_PROCESS,
) -> dict[str, Any]:
    """The essentials of a run of `config`, whose results go to `folder`: the `start` event of the JSON log."""
    pairs, attention, training = prepared.pairs, config.model.attention, config.training
    batches = batches_of(pairs, training, 0, group)
    return {
        "folder": str(folder),
        "corpus": config.data.corpus,
        "languages": (config.data.source.language, config.data.target.language),
        "training_pairs": len(pairs),
        "skipped_pairs": str(pairs.skipped),  # how many pairs of the text are not trained on, and why
        "validation_pairs": len(prepared.validation.source),
        "note": _note_on_long_pairs(pairs),  # a likely mistake, if there is one
        "source_types": len(pairs.source.vocabulary),
        "target_types": len(pairs.target.vocabulary),
        "wiring": attention.wiring,
        "score": attention.score,
        "scope": attention.scope,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "updates": total_updates(training, len(batches)),  # at most: early stopping may come first
        "batches_per_epoch": len(batches),
        "filled": fill_rate(pairs.lengths, batches),  # the share of the batches' positions that hold a token
        "patience": training.early_stopping.patience,  # validations without a better score that end training early
        "device": str(prepared.device),
        "precision": precision.precision,
        "precision_reason": precision.reason,  # why `auto` chose it
        "threads": torch.get_num_threads(),
        "processes": group.size,
        "changed": {name: value for name, value in changed_settings(config) if name not in ("name", "output_dir")},
        "tensorboard": str(folder / TENSORBOARD) if has_tensorboard() else None,
    }


def summary_text(summary: Mapping[str, Any]) -> str:
    """A screen of text."""
    source, target = summary["languages"]
    attention = f"{summary['wiring']} wiring, {summary['score']} score, {summary['scope'].replace('_', '-')} scope"
    if summary["wiring"] == "none":
        attention = "no attention"
    patience, processes, reason = summary["patience"], summary["processes"], summary["precision_reason"]
    stopping = "" if patience is None else f", or {counted(patience, 'validation')} without a better score"
    batches = "1 batch" if summary["batches_per_epoch"] == 1 else f"{summary['batches_per_epoch']} batches"
    lines = {
        "Run": f"{summary['folder']} (all settings are in its config.yaml)",
        "Corpus": f"{summary['corpus']}, {source}→{target}: {counted(summary['training_pairs'], 'training pair')} "
        f"({summary['skipped_pairs']}), {counted(summary['validation_pairs'], 'validation pair')}",
        "Note": summary["note"],
        "Vocabulary": f"{summary['source_types']} source tokens, {summary['target_types']} target tokens, "
        "special ones included",
        "Model": f"{attention}; {summary['parameters']:,} parameters",
        "Training": f"{counted(summary['updates'], 'update')}{stopping}; {batches} per epoch, "
        f"filled to {100 * summary['filled']:.1f} % with tokens",
        "Device": f"{summary['device']}, {counted(summary['threads'], 'thread')}"
        f"{f' in each of {processes} processes' if processes > 1 else ''}, {summary['precision']}"
        f"{f' ({reason})' if reason else ''}",
        "Changed": "\n".join(_setting_lines(summary["changed"])),
        "Curves": summary["tensorboard"] and f"tensorboard --logdir {summary['tensorboard']}",
    }
    texts = (f"{name:<{INDENT}}{text}".replace("\n", "\n" + INDENT * " ") for name, text in lines.items() if text)
    return "\n".join([*texts, ""])


def _note_on_long_pairs(pairs: TrainingSet) -> str | None:
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


def _setting_lines(changed: Mapping[str, Any]) -> list[str]:
    """The changed settings as `--set` would take them, in a few lines."""

    def as_yaml(value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    text = ", ".join(f"{name}={as_yaml(value)}" for name, value in changed.items())
    lines = textwrap.wrap(text, WIDTH - INDENT, break_long_words=False, break_on_hyphens=False)
    return [*lines[: SETTINGS_LINES - 1], "… and more"] if len(lines) > SETTINGS_LINES else lines

"""What is about to be trained, on what: the first screen of a run. All settings are in the run's `config.yaml`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from nmt.config.run import Config
from nmt.model.seq2seq import Seq2Seq
from nmt.system.wording import counted
from nmt.training.counters import total_updates
from nmt.training.distributed import SINGLE_PROCESS, ProcessGroup
from nmt.training.event_log import TENSORBOARD, has_tensorboard
from nmt.training.prepare import PrecisionChoice, Prepared, batches_of

WIDTH, INDENT, SETTINGS_LINES = 100, 12, 14  # columns; lines at most, so that all of it fits on one screen


def summarize(
    config: Config,
    folder: Path,
    prepared: Prepared,
    model: Seq2Seq,
    precision: PrecisionChoice,
    group: ProcessGroup = SINGLE_PROCESS,
) -> dict[str, Any]:
    """The essentials of a run of `config`, whose results go to `folder`: the `start` event of the JSON log."""
    pairs, attention, training = prepared.pairs, config.model.attention, config.training
    batches = len(batches_of(pairs, training, 0, group))
    return {
        "folder": str(folder),
        "corpus": config.data.corpus,
        "languages": (config.data.source.language, config.data.target.language),
        "training_pairs": len(pairs),
        "skipped_pairs": str(pairs.skipped),  # how many pairs of the text are not trained on, and why
        "validation_pairs": len(prepared.validation.source),
        "source_types": len(pairs.source.vocabulary),
        "target_types": len(pairs.target.vocabulary),
        "wiring": attention.wiring,
        "score": attention.score,
        "scope": attention.scope,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "updates": total_updates(training, batches),  # at most: early stopping may come first
        "batches_per_epoch": batches,
        "device": str(prepared.device),
        "precision": precision.precision,
        "precision_reason": precision.reason,  # why `auto` chose it
        "threads": torch.get_num_threads(),
        "processes": group.size,
        "changed": {k: v for k, v in changed_settings(config).items() if k not in ("name", "output_dir")},
        "tensorboard": str(folder / TENSORBOARD) if has_tensorboard() else None,
    }


def summary_text(summary: Mapping[str, Any]) -> str:
    """A screen of text."""
    source, target = summary["languages"]
    attention = f"{summary['wiring']} wiring, {summary['score']} score, {summary['scope'].replace('_', '-')} scope"
    if summary["wiring"] == "none":
        attention = "no attention"
    processes, reason = summary["processes"], summary["precision_reason"]
    values = {k: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for k, v in summary["changed"].items()}
    wrapper = textwrap.TextWrapper(WIDTH - INDENT, break_long_words=False, break_on_hyphens=False)
    wrapper.max_lines, wrapper.placeholder = SETTINGS_LINES, " … and more"
    lines = {
        "Run": f"{summary['folder']} (all settings are in its config.yaml)",
        "Corpus": f"{summary['corpus']}, {source}→{target}: {counted(summary['training_pairs'], 'training pair')} "
        f"({summary['skipped_pairs']}), {counted(summary['validation_pairs'], 'validation pair')}",
        "Vocabulary": f"{summary['source_types']} source tokens, {summary['target_types']} target tokens, "
        "special ones included",
        "Model": f"{attention}; {summary['parameters']:,} parameters",
        "Training": f"{counted(summary['updates'], 'update')}; {summary['batches_per_epoch']} batches per epoch",
        "Device": f"{summary['device']}, {counted(summary['threads'], 'thread')}"
        f"{f' in each of {processes} processes' if processes > 1 else ''}, {summary['precision']}"
        f"{f' ({reason})' if reason else ''}",
        "Changed": wrapper.fill(", ".join(f"{name}={value}" for name, value in values.items())),
        "Curves": summary["tensorboard"] and f"tensorboard --logdir {summary['tensorboard']}",
    }
    texts = (f"{name:<{INDENT}}{text}".replace("\n", "\n" + INDENT * " ") for name, text in lines.items() if text)
    return "\n".join([*texts, ""])


def changed_settings(config: Config) -> dict[str, Any]:
    """The dotted names and values of the fields that differ from their defaults, options of components included."""

    def flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
        for name, value in values.items():
            yield from flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [(f"{prefix}{name}", value)]

    return dict(flat(config.model_dump(mode="json", exclude_defaults=True)))

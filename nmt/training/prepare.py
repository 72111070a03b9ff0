"""What a run needs before its first update: device, precision, the text with its codecs, the weights to start from."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from operator import attrgetter, ne
from pathlib import Path
from typing import NamedTuple

import torch

from nmt import acceleration, addons
from nmt.acceleration import Precision
from nmt.build import build_model, segment_ends
from nmt.checkpoint.contents import Loaded, load, weight_differences
from nmt.config.reading import differences
from nmt.config.run import Config
from nmt.config.training import TrainingConfig
from nmt.data.augmentation import augmentation_of
from nmt.data.batching import Batches, epoch_batches
from nmt.data.splits import split_paths, training_paths
from nmt.data.training_set import TrainingSet, load_training_set
from nmt.evaluation.scores import sacrebleu_score
from nmt.model.seq2seq import Seq2Seq
from nmt.system.device import choose_device
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText, iterate_lines, read_pairs
from nmt.text.vocabulary import UNK
from nmt.training.distributed import SINGLE_PROCESS, ProcessGroup, local_device
from nmt.training.folder import load_last_intact

_TOKEN_FIELDS = {"tokenizer", "language", "lowercase", "vocabulary_size", "subword_model"}
_SIDES = ("source", "target")
SAMPLE = 1000  # lines, from all of the text
SEVERAL = 0.1  # the share of training lines with several sentences from which on search leaves lines whole
TRAINABLE: tuple[Precision, ...] = ("float32", "bf16")


class Prepared(NamedTuple):
    device: torch.device
    pairs: TrainingSet
    validation: ParallelText
    start: Loaded | None  # the checkpoint that training starts from


def prepare(config: Config, group: ProcessGroup = SINGLE_PROCESS, resumed: Path | None = None) -> Prepared:
    """Read and tokenise the data that `config` names, and cache the result; read the checkpoint to start from.

    Of several processes the first one does the work. `resumed` is the folder of a run that continues. Raises
    `UserError` if the data or the starting point cannot be used here.
    """
    device = local_device(choose_device(config.training.device))
    if config.training.threads is not None:
        torch.set_num_threads(config.training.threads)
    start = _starting_point(config, resumed)
    if not group.is_main:
        group.wait()
    pairs = load_training_set(config.data, start and (start.source, start.target))
    if config.training.guided_alignment is not None:
        pairs = replace(pairs, links=addons.offered("guided_alignment").links_of(pairs, config))
    validation = _validation_text(config)
    if group.is_main:
        group.wait()
        for line in [*pairs.notes, *_lost_text(pairs)]:
            print(line, file=sys.stderr)
    return Prepared(device, pairs, validation, start)


def first_model(config: Config, prepared: Prepared) -> Seq2Seq:
    """The model before the first update: with the weights of the starting point, or with random ones."""
    source, target = prepared.pairs.source.vocabulary, prepared.pairs.target.vocabulary
    model = build_model(config.model, len(source), len(target), segment_ends(config.model.attention, source))
    if prepared.start is not None:
        model.load_state_dict(prepared.start.model.state_dict())
    return model.to(prepared.device)


def batches_of(pairs: TrainingSet, config: TrainingConfig, epoch: int, group: ProcessGroup = SINGLE_PROCESS) -> Batches:
    """An epoch's batches, of all processes together; epochs are counted from 0."""
    return epoch_batches(pairs.lengths, group.size * config.batch_size, config.batch_unit, config.seed, epoch)


def choose_precision(
    config: Config, device: torch.device, recorded: str | None = None, group: ProcessGroup = SINGLE_PROCESS
) -> Precision:
    """The precision that `training.precision` names; for `auto` `recorded`, or else what the device multiplies faster.

    `recorded` is the precision of the checkpoint that training continues from, with the same bits. On a GPU bf16 was
    measured with CUDA graphs alone. Several processes follow the first one; every process must call it.
    """
    training, attention = config.training, config.model.attention
    in_graphs = group.size == 1 and (attention.wiring == "none" or attention.scope == "global")
    precision = training.precision if training.precision != "auto" or recorded is None else recorded
    if precision == "auto" and device.type != "cpu" and not in_graphs:
        precision = "float32"
    resolved = acceleration.resolve_precision(precision, device, "training", fast=training.fast)
    [index] = group.total(group.is_main * TRAINABLE.index(resolved))
    return TRAINABLE[int(index)]


def as_recorded(config: Config, precision: Precision, pairs: TrainingSet) -> Config:
    """The config as it is kept in checkpoints, from which a resumed run takes its precision.

    Search splits lines into sentences by default, unless the training lines were often several.
    """
    training = config.training.model_copy(update={"precision": precision})
    split = pairs.store.meta["several_sentences"] < SEVERAL if config.search.split is None else config.search.split
    search = config.search.model_copy(update={"split": split})
    return config.model_copy(update={"training": training, "search": search})


def _lost_text(pairs: TrainingSet) -> Iterator[str]:
    """What a model without a mistake would get wrong: what the target's tokens lose, by a sample of the corpus."""
    codec, path = pairs.target, training_paths(pairs.config)[0][1]
    step = max(1, pairs.store.meta["pairs"][0] // SAMPLE)
    lines = [line for line in islice(iterate_lines(path), 0, None, step) if line.strip()]
    texts = (" ".join(codec.normalized(line).split()) for line in lines)
    references = [text.lower() if pairs.config.target.lowercase else text for text in texts]
    spelt = [codec.decode(codec.encode(line)) for line in lines]
    if changed := sum(map(ne, spelt, references)):
        bleu = sacrebleu_score(spelt, references, codec.language)
        best = f": {bleu:.1f} BLEU without any other mistake" if bleu is not None else ""
        share = 100 * changed / len(lines)
        yield f"data.target: a model cannot write {share:.1f} % of the training lines as they are{best}"


def _validation_text(config: Config) -> ParallelText:
    """The validation text. Raises `UserError` if no pair has text."""
    source_path, target_path = split_paths(config.data, "validation")
    text = read_pairs(source_path, target_path)
    if not any(source.strip() and target.strip() for source, target in zip(text.source, text.target, strict=True)):
        raise UserError(f"{source_path} and {target_path}: no pair has text on both sides: give another validation set")
    return text


def _starting_point(config: Config, resumed: Path | None) -> Loaded | None:
    """The checkpoint to start from, if any; for a resumed run its last one. Raises `UserError` if it does not fit."""
    path = config.training.start_from
    if path is None:
        return None
    cpu = torch.device("cpu")
    if resumed is not None and (last := load_last_intact(resumed, cpu)[0]) is not None:
        return last
    start = load(path, cpu)
    for field in _fixed_differences(start.config, config):
        value = json.dumps(attrgetter(field)(start.config), default=str).strip('"')
        raise UserError(f"training.start_from: {path} has another {field}: set it to the checkpoint's, {value}")
    for extra in config.data.source.extra:
        if extra.tag is not None and extra.tag not in start.source.vocabulary.tokens:
            raise UserError(f"data.source.extra: {path} was trained without the tag {extra.tag}: leave it out")
    for side in _SIDES:
        codec = getattr(start, side)
        before, now = (augmentation_of(c.data).drawn_fields(side) for c in (start.config, config))
        if now and not before and UNK in codec.vocabulary.encode(codec.tokenizer.subwords()):
            raise UserError(f"{now[0]}: {path} was trained without it, and lacks some of the subwords: leave it out")
    return start


def _fixed_differences(before: Config, now: Config) -> Iterator[str]:
    """The fields that must be the checkpoint's, and are not."""
    for field in ("joint_vocabulary", "normalize"):
        if getattr(before.data, field) != getattr(now.data, field):
            yield f"data.{field}"
    for side in _SIDES:
        one, other = (getattr(config.data, side).model_dump(include=_TOKEN_FIELDS) for config in (before, now))
        yield from (f"data.{side}.{field}" for field in differences(one, other))
    yield from weight_differences(before.model, now.model)

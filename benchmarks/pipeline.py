"""What comes before the model: how long a corpus takes to become ids, and an epoch of them to become padded batches.

    python benchmarks/pipeline.py
    python benchmarks/pipeline.py configs/multi30k_bahdanau.yaml --set data.source.tokenizer=spacy \\
        --set data.target.tokenizer=spacy --set training.batch_size=128

Each round starts with an empty cache folder and a fresh process, then does the same in another fresh process, which
finds the cache. Printed are seconds, medians of `--rounds` rounds, without the imports that every run has in common:

    reading     the files of the training and the validation split, fetched before
    tokenising  both splits to ids: subword model, tokens, vocabulary; with the imports of torchtext and, if used, spaCy
    batching    all batches of an epoch: their order, and the padded tensors
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import torch

from nmt.config import Config
from nmt.config_file import load_config
from nmt.data.batching import Example, collate, epoch_batches
from nmt.data.codec import build_codecs, encode_pairs
from nmt.data.splits import load_split
from nmt.device import describe_machine
from nmt.startup import kept_for_good

ROOT = Path(__file__).parent.parent


class Seconds(NamedTuple):
    reading: float
    tokenising: float
    batching: float


def main() -> None:
    options = parse()
    config = load_config(options.config, options.set)
    pairs = {split: len(load_split(config.data, split).source) for split in ("train", "validation")}
    first, cached = [], []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            first.append(in_a_fresh_process(config, Path(folder)))
            cached.append(in_a_fresh_process(config, Path(folder)))
    table = {"first": medians(first), "cached": medians(cached)}
    machine = describe_machine(torch.device("cpu"))
    if options.json:
        rows = {name: row._asdict() for name, row in table.items()}
        what = {"machine": machine, "config": config.name, "set": options.set, "rounds": options.rounds, "pairs": pairs}
        print(json.dumps(what | rows))
        return
    print(f"{machine}\n{config.name}: {pairs['train']} and {pairs['validation']} pairs", *options.set)
    print(f"{'':8}" + "".join(f"{name:>12}" for name in Seconds._fields))
    for name, row in table.items():
        print(f"{name:8}" + "".join(f"{seconds:12.2f}" for seconds in row))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = ROOT / "configs" / "multi30k_luong_general.yaml"
    parser.add_argument("config", type=Path, nargs="?", default=default, metavar="CONFIG")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="as in training")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="one JSON object, not a table")
    return parser.parse_args()


def in_a_fresh_process(config: Config, cache: Path) -> Seconds:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(prepare, config, cache).result()


def prepare(config: Config, cache: Path) -> Seconds:
    """What a training run does before its first update, and all batches of its first epoch."""
    torch.set_num_threads(1)
    marks = [time.perf_counter()]
    with kept_for_good():
        text, validation = load_split(config.data, "train"), load_split(config.data, "validation")
        marks.append(time.perf_counter())
        source, target, pairs, _ = build_codecs(config.data, text, cache)
        examples = encode_pairs(pairs, source, target)
    for s, t in zip(validation.source, validation.target, strict=True):
        Example(source.encode(s), target.encode(t))
    marks.append(time.perf_counter())
    training = config.training
    for batch in epoch_batches(examples, training.batch_size, training.batch_unit, training.seed, epoch=0):
        collate([examples[i] for i in batch])
    marks.append(time.perf_counter())
    return Seconds(*(after - before for before, after in pairwise(marks)))


def medians(rounds: list[Seconds]) -> Seconds:
    return Seconds(*(statistics.median(column) for column in zip(*rounds, strict=True)))


if __name__ == "__main__":
    main()

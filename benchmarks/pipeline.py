"""Before the model: how long it takes to turn a corpus into ids, and an epoch of ids into padded batches.

    python benchmarks/pipeline.py
    python benchmarks/pipeline.py configs/multi30k_bahdanau.yaml --set data.source.tokenizer=spacy \\
        --set data.target.tokenizer=spacy --set training.batch_size=128

Each round starts with an empty cache folder and a fresh process, then does the same in another fresh process, which
finds the cache. Seconds are printed, medians of `--rounds` rounds, without the imports that every run needs:

    tokenising  the training set: subword model, tokens, vocabulary, ids; with the imports of spaCy and torchtext
    validation  reading the validation set, and its ids
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

from nmt.config.reading import load_config
from nmt.config.run import Config
from nmt.data.batching import collate
from nmt.data.splits import load_split, split_paths
from nmt.data.training_set import load_training_set
from nmt.lab.machine import describe_machine
from nmt.training.prepare import batches_of

ROOT = Path(__file__).parent.parent


class Seconds(NamedTuple):
    tokenising: float
    validation: float
    batching: float


def main() -> None:
    options = parse()
    config = load_config(options.config, options.set)
    pairs = {split: len(load_split(config.data, split).source) for split in ("train", "validation")}
    first, cached = [], []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            empty = with_folder(config, folder)
            first.append(in_a_fresh_process(empty))
            cached.append(in_a_fresh_process(empty))
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
    default = ROOT / "configs" / "multi30k.yaml"
    parser.add_argument("config", type=Path, nargs="?", default=default, metavar="CONFIG")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="as in training")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    return parser.parse_args()


def with_folder(config: Config, folder: str) -> Config:
    """The config with a data folder that holds the corpus, taken from where it lies, and nothing else."""
    files = str(Path(config.data.folder) / "multi30k")
    config = config.model_copy(update={"data": config.data.model_copy(update={"folder": folder, "mirror": files})})
    for split in ("train", "validation"):
        split_paths(config.data, split)
    return config


def in_a_fresh_process(config: Config) -> Seconds:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(prepare, config).result()


def prepare(config: Config) -> Seconds:
    """What a training run does before its first update, and all batches of its first epoch."""
    torch.set_num_threads(1)
    marks = [time.perf_counter()]
    pairs = load_training_set(config.data)
    marks.append(time.perf_counter())
    validation = load_split(config.data, "validation")
    for codec, lines in ((pairs.source, validation.source), (pairs.target, validation.target)):
        for line in lines:
            codec.encode(line)
    marks.append(time.perf_counter())
    batches = batches_of(pairs, config.training, epoch=0)
    for number in range(len(batches)):
        collate(pairs.examples(batches[number], ""))
    marks.append(time.perf_counter())
    return Seconds(*(after - before for before, after in pairwise(marks)))


def medians(rounds: list[Seconds]) -> Seconds:
    return Seconds(*(statistics.median(column) for column in zip(*rounds, strict=True)))


if __name__ == "__main__":
    main()

"""How time and memory grow with the corpus: preparing made-up pairs, and training on them.

    python benchmarks/corpus_size.py
    python benchmarks/corpus_size.py --pairs 50_000 5_000_000 --folder /large/disk

Each number of pairs is measured in fresh processes: one prepares the pairs (subwords, tokens, vocabularies, ids), the
next finds them prepared and trains.

    preparing      seconds, and microseconds per pair
    first update   seconds from the start of the second process, imports included, to the end of its first update
    training       target tokens per second in the updates after it
    memory         peak resident memory in MiB: of preparing, of each process that helps with it, and of training
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from nmt.build import build_model
from nmt.config.run import Config
from nmt.data.batching import collate
from nmt.data.training_set import load_training_set
from nmt.lab.machine import describe_machine
from nmt.training.prepare import batches_of
from nmt.training.update import new_train_state, update

AT_ONCE = 100_000  # pairs written at once
WORDS = 1_500  # few enough to be subwords of their own, so that sentences are as long in every corpus


class Row(NamedTuple):
    pairs: int
    preparing: float
    microseconds_a_pair: float
    first_update: float
    target_tokens_per_second: float
    memory_preparing: float
    memory_helper: float
    memory_training: float


def main() -> None:
    options = parse()
    rows = []
    for pairs in options.pairs:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            rows.append(measure(Path(folder), pairs, options.updates))
    machine = describe_machine(torch.device("cpu"))
    if options.json:
        print(json.dumps({"machine": machine, "rows": [row._asdict() for row in rows]}))
        return
    print(machine)
    print("      pairs   preparing   µs a pair   first update   tokens/s   MiB: preparing   helper   training")
    for row in rows:
        print(
            f"{row.pairs:11,}{row.preparing:10.1f} s{row.microseconds_a_pair:12.1f}{row.first_update:13.1f} s"
            f"{row.target_tokens_per_second:11,.0f}{row.memory_preparing:17.0f}{row.memory_helper:9.0f}"
            f"{row.memory_training:11.0f}"
        )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, nargs="+", default=[50_000, 500_000, 5_000_000])
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--folder", type=Path, help="where the corpora are written temporarily")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    return parser.parse_args()


def measure(folder: Path, pairs: int, updates: int) -> Row:
    for ending, seed in (("de", 1), ("en", 2)):
        write(folder / f"train.{ending}", pairs, seed)
    config = configured(folder)
    preparing, memory, helper = in_a_fresh_process(prepare, config)
    started = time.time()
    first, speed, training = in_a_fresh_process(train, config, updates)
    return Row(pairs, preparing, 1e6 * preparing / pairs, first - started, speed, memory, helper, training)


def write(path: Path, lines: int, seed: int) -> None:
    """Lines of 6 to 18 words, which are as frequent as Zipf's law says."""
    random = np.random.default_rng(seed)
    syllables = ["ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "wo", "zu"]
    words = np.array(["".join(random.choice(syllables, random.integers(1, 5))) for _ in range(WORDS)])
    with path.open("w", encoding="utf-8") as file:
        for begin in range(0, lines, AT_ONCE):
            lengths = random.integers(6, 19, size=min(AT_ONCE, lines - begin))
            ranks = np.minimum(random.zipf(1.3, size=int(lengths.sum())), WORDS) - 1
            ends = lengths.cumsum()
            chosen = words[ranks]
            rows = (chosen[end - length : end] for end, length in zip(ends, lengths, strict=True))
            file.writelines(" ".join(row) + "\n" for row in rows)


def configured(folder: Path) -> Config:
    side = {"tokenizer": "sentencepiece", "vocabulary_size": 1200}
    sides = {
        name: {"language": language, "train": str(folder / f"train.{language}"), "validation": "none", **side}
        for name, language in (("source", "de"), ("target", "en"))
    }
    data = {"corpus": "files", "folder": str(folder), "joint_vocabulary": True, **sides}
    return Config.model_validate({"name": "large", "data": data, "training": {"threads": 1}})


def in_a_fresh_process(function, *arguments):  # type: ignore[no-untyped-def]  # whatever the function returns
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def prepare(config: Config) -> tuple[float, float, float]:
    """Seconds, and the peak memory of this process and of the largest one that helped."""
    started = time.perf_counter()
    load_training_set(config.data)
    return time.perf_counter() - started, peak(resource.RUSAGE_SELF), peak(resource.RUSAGE_CHILDREN)


def train(config: Config, updates: int) -> tuple[float, float, float]:
    """The time of the clock when the first update was done, target tokens per second after it, and the peak memory."""
    torch.set_num_threads(1)
    pairs = load_training_set(config.data)
    batches = batches_of(pairs, config.training, epoch=0)
    model = build_model(config.model, len(pairs.source.vocabulary), len(pairs.target.vocabulary))
    train_state = new_train_state(model.train(), config.training)
    first, tokens = 0.0, 0
    for number in range(updates):
        batch = collate(pairs.examples(batches[number], ""))
        update(train_state, [batch], config.training, rate=1e-3, global_step=number)
        if number == 0:
            first = time.time()
        else:
            tokens += batch.target_tokens
    return first, tokens / (time.time() - first), peak(resource.RUSAGE_SELF)


def peak(who: int) -> float:
    """MiB."""
    return resource.getrusage(who).ru_maxrss / 1024


if __name__ == "__main__":
    main()

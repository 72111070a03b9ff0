"""How time and memory of an update grow with the length of the sentences and with their number.

    python benchmarks/growth.py
    python benchmarks/growth.py --mechanisms luong --lengths 50 100 --batches 64 --rounds 9
    python benchmarks/growth.py --json > growth.json

There are three tables for each mechanism: by the length of the target, with a fixed length of the source; by the length
of both, whose product is what global attention compares; and by the number of sentences.

An update is the training loop's: loss, gradients, clipping, Adam. The sizes are those of `peers.yaml`, with 7,851
source and 5,892 target types. Ids are random, and all sentences of a batch have the same length. The rows of a
mechanism take turns, round after round, in one process; memory is measured in a fresh process for each row. EOS counts
as a token.

    update    milliseconds, the median of the rounds
    token     microseconds per target token, and in parentheses the ratio to the table's first row
    variable  the same without the time of an update of one token, which does not depend on the batch (`fixed`)
    peak      the largest MiB of tensors during an update, above those before it, by the allocator's count
    a token   KiB of it per target token, without the weights' gradients, which have the same size in any batch
    process   the largest MiB that the process grew by, by the system's count
    largest   the largest tensor of an update, relative to the logits of all target tokens, N·V numbers
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import accumulate
from typing import Any, NamedTuple

import peers
import torch
from torch.profiler import ProfilerActivity, profile

from nmt.build import build_model
from nmt.config.reading import load_config
from nmt.config.run import Config
from nmt.config.training import TrainingConfig
from nmt.data.batching import Batch, Example, collate
from nmt.lab.machine import describe_machine
from nmt.system.device import peak_memory
from nmt.training.update import TrainState, new_train_state, update

SOURCE_TYPES, TARGET_TYPES = 7851, 5892
TABLES = {
    "by_length": "by the length of the target",
    "by_both_lengths": "by the length of source and target",
    "by_batch": "by the number of sentences",
}
COLUMNS = (
    *("batch", "source", "target", "update", "token", "variable"),
    *("peak", "a token", "process", "largest"),
)


class Shape(NamedTuple):
    """Of a batch: its number of sentences, and the tokens of each."""

    batch: int
    source: int
    target: int

    @property
    def tokens(self) -> int:
        """Of the target."""
        return self.batch * self.target


class Memory(NamedTuple):
    """Bytes; `largest` of one tensor."""

    peak: int
    process: int
    largest: int


def main() -> None:
    options = parse()
    tables = {
        "by_length": [Shape(options.batch, options.source, length) for length in options.lengths],
        "by_both_lengths": [Shape(options.batch, round(options.ratio * length), length) for length in options.lengths],
        "by_batch": [Shape(batch, options.source, options.length) for batch in options.batches],
    }
    machine = describe_machine(torch.device("cpu"))
    measured: dict[str, Any] = {"machine": machine, "threads": options.threads, "rounds": options.rounds}
    if not options.json:
        print(f"{machine}, {options.threads} threads")
    for mechanism in options.mechanisms:
        shapes = list(dict.fromkeys(shape for table in tables.values() for shape in table))
        fixed, seconds = in_a_fresh_process(times, mechanism, shapes, options.rounds, options.threads)
        memories = {shape: in_a_fresh_process(memory, mechanism, shape, options.threads) for shape in shapes}
        gradients = gradient_bytes(mechanism)
        measured[mechanism] = {
            "fixed_ms": 1e3 * fixed,
            "gradients_mib": gradients / 2**20,
            **{
                name: [row(shape, seconds[shape], fixed, memories[shape], gradients) for shape in table]
                for name, table in tables.items()
            },
        }
        if not options.json:
            show(mechanism, measured[mechanism])
    if options.json:
        print(json.dumps(measured))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mechanisms", nargs="+", choices=list(peers.ATTENTION), default=list(peers.ATTENTION))
    parser.add_argument(
        "--lengths", type=int, nargs="+", default=[10, 25, 50, 100, 200], help="target tokens per sentence"
    )
    parser.add_argument("--batch", type=int, default=64, help="sentences per batch in the tables by length")
    parser.add_argument("--source", type=int, default=20, help="source tokens per sentence where they do not grow")
    parser.add_argument("--ratio", type=float, default=1.0, help="source tokens per target token where both grow")
    parser.add_argument("--batches", type=int, nargs="+", default=[32, 64, 128, 256, 512], help="sentences")
    parser.add_argument("--length", type=int, default=20, help="target tokens per sentence in the table by batch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    return parser.parse_args()


def in_a_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def times(mechanism: str, shapes: list[Shape], rounds: int, threads: int) -> tuple[float, dict[Shape, float]]:
    """Seconds of an update: that of one token, and those of the shapes."""
    step = make_update(mechanism, threads)
    one = Shape(1, 1, 1)
    batches = {shape: random_batch(shape) for shape in (one, *shapes)}
    seconds: dict[Shape, list[float]] = {shape: [] for shape in batches}
    for _ in range(rounds + 1):  # the first round is not counted
        for shape, batch in batches.items():
            started = time.perf_counter()
            step(batch)
            seconds[shape].append(time.perf_counter() - started)
    medians = {shape: statistics.median(rounds[1:]) for shape, rounds in seconds.items()}
    return medians.pop(one), medians


def memory(mechanism: str, shape: Shape, threads: int) -> Memory:
    """What an update needs beyond the weights and Adam's averages: by the system's count, and by the allocator's."""
    step = make_update(mechanism, threads)
    step(random_batch(Shape(32, 2, 2)))  # makes Adam's averages
    step.train_state.optimizer.zero_grad()
    batch = random_batch(shape)
    before = peak_memory()
    step(batch)
    process = peak_memory() - before
    step.train_state.optimizer.zero_grad()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step(batch)
    events = sorted(profiler.profiler.kineto_results.events(), key=lambda event: event.start_ns())
    changes = [event.nbytes() for event in events if event.name() == "[memory]"]
    return Memory(max(accumulate(changes)), process, max(changes))


class Update(NamedTuple):
    """Calls make an update."""

    train_state: TrainState
    config: TrainingConfig

    def __call__(self, batch: Batch) -> None:
        update(self.train_state, [batch], self.config, self.config.learning_rate, global_step=0)


def make_update(mechanism: str, threads: int) -> Update:
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    config = configured(mechanism)
    model = build_model(config.model, SOURCE_TYPES, TARGET_TYPES)
    return Update(new_train_state(model, config.training), config.training)


def configured(mechanism: str) -> Config:
    return peers.configured(load_config(peers.CONFIG), mechanism)


def gradient_bytes(mechanism: str) -> int:
    with torch.device("meta"):
        model = build_model(configured(mechanism).model, SOURCE_TYPES, TARGET_TYPES)
    return sum(weight.nbytes for weight in model.parameters())


def random_batch(shape: Shape) -> Batch:
    sources = torch.randint(4, SOURCE_TYPES, (shape.batch, shape.source - 1)).tolist()  # EOS is added
    targets = torch.randint(4, TARGET_TYPES, (shape.batch, shape.target - 1)).tolist()
    return collate([Example(source, target) for source, target in zip(sources, targets, strict=True)])


def row(shape: Shape, seconds: float, fixed: float, memory: Memory, gradients: int) -> dict[str, float]:
    return {
        "batch": shape.batch,
        "source_length": shape.source,
        "target_length": shape.target,
        "update_ms": 1e3 * seconds,
        "us_per_token": 1e6 * seconds / shape.tokens,
        "variable_us_per_token": 1e6 * (seconds - fixed) / shape.tokens,
        "peak_mib": memory.peak / 2**20,
        "kib_per_token": (memory.peak - gradients) / 2**10 / shape.tokens,
        "process_mib": memory.process / 2**20,
        "largest_of_logits": memory.largest / (4 * shape.tokens * TARGET_TYPES),
    }


def show(mechanism: str, measured: dict[str, Any]) -> None:
    print(f"\n{mechanism}: fixed {measured['fixed_ms']:.1f} ms, gradients {measured['gradients_mib']:.1f} MiB")
    for name, title in TABLES.items():
        print(f"{title}:")
        print("{:>6}{:>8}{:>8}{:>9}{:>15}{:>15}{:>9}{:>9}{:>9}{:>9}".format(*COLUMNS))
        first = measured[name][0]
        for r in measured[name]:
            ratios = (r[key] / first[key] for key in ("us_per_token", "variable_us_per_token"))
            token, variable = (
                f"{r[key]:8.1f} ({ratio:4.2f})"
                for key, ratio in zip(("us_per_token", "variable_us_per_token"), ratios, strict=True)
            )
            print(
                f"{r['batch']:6}{r['source_length']:8}{r['target_length']:8}{r['update_ms']:9.0f}{token}{variable}"
                f"{r['peak_mib']:9.1f}{r['kib_per_token']:9.1f}{r['process_mib']:9.1f}"
                f"{r['largest_of_logits']:9.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""What each piece of `nmt.fast` gains in whole updates: the time without the piece, divided by the time with all.

    python benchmarks/pieces.py
    python benchmarks/pieces.py --length 200 --batch 64 --precision bf16

The models and sizes are those of `peers.yaml`. All versions take turns, round after round, over the same batches of
Multi30k, or with `--length` over one batch of random sentences of that length; the gain is the median of the rounds'
ratios. Each piece is replaced by what the plain model does in its place, in one process with one thread.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import cycle, islice
from typing import Any
from unittest import mock

import peers
import torch
from torch import nn
from training import real_batches, with_precision

from nmt.build import build_model
from nmt.config.reading import load_config
from nmt.config.run import Config
from nmt.data.batching import Batch, Example, collate
from nmt.fast import modules, output_loss, torch_internals
from nmt.lab.machine import describe_machine
from nmt.model import cells, encoder, scores
from nmt.system.device import choose_device
from nmt.training.loss import BatchLoss
from nmt.training.update import TrainState, new_train_state, update

RECURRENCES = (cells.GRUCell, encoder.BidirectionalGRU)


def without(*kinds: type[nn.Module]) -> Any:
    """Leaves these modules of the model as they are."""
    others = {kind: faster for kind, faster in modules.FASTER.items() if kind not in kinds}
    return mock.patch.object(modules, "FASTER", others)


PIECES: Mapping[str, Callable[[], Any]] = {
    "all": lambda: without(),
    "without output layer and loss in chunks": lambda: mock.patch.object(
        output_loss.FastBatchLoss, "output_loss", BatchLoss.output_loss
    ),
    "without gradients of the GRU, written out": lambda: without(*RECURRENCES),
    "without one gradient for all steps": lambda: mock.patch.object(
        torch_internals, "has_backward_passes", return_value=False
    ),
    "without additive scores in blocks": lambda: without(scores.AdditiveScore),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=8, help="updates in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--precision", default="float32", choices=("float32", "bf16"))
    parser.add_argument("--length", type=int, help="random sentences of so many tokens on both sides")
    parser.add_argument("--batch", type=int, default=64, help="with --length: sentences")
    parser.add_argument("--mechanisms", nargs="+", default=list(peers.ATTENTION), choices=list(peers.ATTENTION))
    options = parser.parse_args()
    config = load_config(peers.CONFIG)
    examples, types = real_batches(config)
    if options.length is not None:
        examples = [random_batch(options.batch, options.length, types)]
    batches = list(map(collate, examples))
    print(f"{describe_machine(choose_device('cpu'))}; {options.precision}")
    for name in options.mechanisms:
        mechanism = with_precision(peers.configured(config, name), options.precision)
        runs = {piece: run_of(mechanism, types, piece, cycle(batches)) for piece in PIECES}
        for run in runs.values():
            run(2)
        rounds = [{piece: run(options.updates) for piece, run in runs.items()} for _ in range(options.rounds)]
        for piece in list(PIECES)[1:]:
            ratios = [measured[piece] / measured["all"] for measured in rounds]
            print(f"{name:<24} {piece:<44} {statistics.median(ratios):.2f}  ({min(ratios):.2f} to {max(ratios):.2f})")


def random_batch(size: int, length: int, types: tuple[int, int]) -> list[Example]:
    torch.manual_seed(1)
    source, target = (torch.randint(4, number, (size, length)).tolist() for number in types)
    return list(map(Example, source, target))


def run_of(config: Config, types: tuple[int, int], piece: str, batches: Iterator[Batch]) -> Callable[[int], float]:
    """A function that makes so many updates without a piece, and returns the seconds that they took."""
    torch.manual_seed(1)
    with PIECES[piece]():
        train_state = new_train_state(build_model(config.model, *types).train(), config.training)
    return partial(seconds, train_state, config, piece, batches)


def seconds(train_state: TrainState, config: Config, piece: str, batches: Iterator[Batch], updates: int) -> float:
    torch.set_num_threads(1)
    with PIECES[piece]():
        started = time.perf_counter()
        for batch in islice(batches, updates):
            update(train_state, [batch], config.training, config.training.learning_rate, global_step=0)
        return time.perf_counter() - started


if __name__ == "__main__":
    main()

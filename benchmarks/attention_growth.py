"""How the cost of attention grows with the length of the source: global and local scopes, side by side.

    python benchmarks/attention_growth.py
    python benchmarks/attention_growth.py --score general --wiring bahdanau
    python benchmarks/attention_growth.py --lengths 100 200 --rounds 9

For each source length S, every scope trains on the same batch of random pairs, in turn, round after round. Medians are
printed, and in parentheses their ratios to global attention:

    step     milliseconds of a training step: forward and backward pass of the whole model
    attend   milliseconds of its attention part: keys, and the T queries as the decoder asks them, forward and backward
    kept     MiB that autograd keeps between the two passes; the encoder's share is the same for all scopes
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import NamedTuple
from weakref import WeakSet

import torch
from torch import Tensor

from nmt.build import build_model
from nmt.config.model import ModelConfig
from nmt.data.batching import Batch, Example, collate
from nmt.fast.modules import replace_modules
from nmt.model.luong import LuongDecoder
from nmt.model.seq2seq import Seq2Seq
from nmt.training.loss import BatchLoss

SCOPES = ("global", "local_m", "local_p")
TYPES = 2000  # of either vocabulary


class Cost(NamedTuple):
    step: float
    attend: float
    kept: float


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    feeding = ", no input feeding" if options.no_feeding else ""
    print(
        f"{options.wiring}, {options.score}{feeding}; D = {options.window}, B = {options.batch}, T = {options.target}, "
        f"H = M = {options.size}; {options.threads} threads, torch {torch.__version__}"
    )
    print(f"{'':>4}" + "".join(f"{scope:^34}" for scope in SCOPES))
    print(f"{'S':>4}" + f"{'step':>13}{'attend':>13}{'kept':>8}" * len(SCOPES))
    for length in options.lengths:
        costs = measure(options, length)
        base = costs["global"]
        cells = [
            f"{c.step:6.0f} ({c.step / base.step:4.2f}){c.attend:6.0f} ({c.attend / base.attend:4.2f}){c.kept:8.1f}"
            for c in costs.values()
        ]
        print(f"{length:>4}" + "".join(cells), flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wiring", default="luong", choices=["bahdanau", "luong"])
    parser.add_argument("--score", default="additive")
    parser.add_argument("--no-feeding", action="store_true", help="Luong without input feeding: all queries at once")
    parser.add_argument("--window", type=int, default=10, help="D, in positions to each side")
    parser.add_argument("--batch", type=int, default=8, help="sentences")
    parser.add_argument("--target", type=int, default=50, help="target tokens per sentence")
    parser.add_argument("--size", type=int, default=256, help="of states and memory vectors")
    parser.add_argument("--lengths", type=int, nargs="+", default=[25, 50, 100, 200, 400, 800], help="S")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def measure(options: argparse.Namespace, length: int) -> dict[str, Cost]:
    draw = torch.randint(4, TYPES, (options.batch, length + options.target)).tolist()
    batch = collate([Example(row[: length - 1], row[length + 1 :]) for row in draw])
    models = {scope: model_of(options, scope) for scope in SCOPES}
    steps: dict[str, list[float]] = {scope: [] for scope in SCOPES}
    parts: dict[str, list[float]] = {scope: [] for scope in SCOPES}
    for _ in range(options.rounds + 1):  # the first round is not counted
        for scope, model in models.items():
            steps[scope].append(milliseconds_of_step(model, batch))
            parts[scope].append(milliseconds_of_attention(model, batch))
    return {
        scope: Cost(statistics.median(steps[scope][1:]), statistics.median(parts[scope][1:]), kept(model, batch))
        for scope, model in models.items()
    }


def model_of(options: argparse.Namespace, scope: str) -> Seq2Seq:
    attention = {"wiring": options.wiring, "score": options.score, "scope": scope, "window": options.window}
    config = ModelConfig.model_validate(
        {
            "embedding_size": options.size,
            "encoder": {"hidden_size": options.size // 2},
            "decoder": {"hidden_size": options.size},
            "attention": attention | {"input_feeding": not options.no_feeding},
        }
    )
    torch.manual_seed(1)
    model = build_model(config, TYPES, TYPES)
    replace_modules(model)
    return model


def milliseconds_of_step(model: Seq2Seq, batch: Batch) -> float:
    model.zero_grad()
    started = time.perf_counter()
    (BatchLoss(model, smoothing=0.1)(batch).smoothed / batch.target_tokens).backward()
    return 1000 * (time.perf_counter() - started)


def milliseconds_of_attention(model: Seq2Seq, batch: Batch) -> float:
    model.zero_grad()
    with torch.no_grad():
        encoded = model.encoder(batch.source, batch.source_lengths)
    encoded = encoded._replace(values=encoded.values.requires_grad_())
    sentences, steps = batch.target_input.shape
    queries = torch.randn(sentences, steps, model.decoder.bridge.out_features, requires_grad=True)
    t = torch.arange(steps).expand(sentences, -1)
    at_once = isinstance(model.decoder, LuongDecoder) and model.decoder.feed_gates is None
    started = time.perf_counter()
    memory = model.decoder.attention.prepare(encoded)
    contexts: list[Tensor] = []
    for part, when in zip(*(x.split(steps if at_once else 1, dim=1) for x in (queries, t)), strict=True):
        contexts.append(model.decoder.attention(part, memory, when)[0])
    torch.cat(contexts, dim=1).sum().backward()
    return 1000 * (time.perf_counter() - started)


class Saved:
    """A tensor that autograd has saved; it lives as long as the graph that needs it."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


def kept(model: Seq2Seq, batch: Batch) -> float:
    """MiB that the forward pass of a training step leaves for the backward pass, each storage counted once."""
    saved: WeakSet[Saved] = WeakSet()

    def pack(tensor: Tensor) -> Saved:
        held = Saved(tensor)
        saved.add(held)
        return held

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda held: held.tensor):
        loss = BatchLoss(model, smoothing=0.1)(batch).smoothed
    storages = [held.tensor.untyped_storage() for held in saved]
    del loss  # not before, or nothing would be kept
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values()) / 2**20


if __name__ == "__main__":
    main()

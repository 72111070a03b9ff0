"""How fast models train, in target tokens per second, compared with the processor's limit and with other toolkits.

    python benchmarks/training.py
    python benchmarks/training.py --plain --json
    python benchmarks/training.py --encoder 512 --peers PEERS --runners RUNNERS

Whole updates on Multi30k are timed, with the sizes and data of `peers.yaml`: padding, forward and backward pass,
clipping, Adam. They walk through the batches of an epoch, the same ones for each row. The mechanisms in each of the
`--precisions` (with `--plain` also by PyTorch's own functions) and the peers (`peers.py`) take turns, round after
round, and medians are printed. Tokens are those with a loss: end tokens count, padding does not.

The limit is the number of multiply-adds that the model needs (`multiply_adds`) at the rate of a product of two
2048 × 2048 float32 matrices, measured in every round: with PyTorch's own product (`@`), and with nmt's kernels.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, islice, product
from typing import Any, get_args

import peers
import torch
from torch import Tensor

from nmt.acceleration import Precision
from nmt.build import build_model
from nmt.config.reading import load_config
from nmt.config.run import Config
from nmt.data.batching import Example, collate
from nmt.data.training_set import load_training_set
from nmt.fast.products import multiply
from nmt.lab.machine import describe_machine
from nmt.registry import PrecisionOption
from nmt.system.device import choose_device
from nmt.training.prepare import batches_of, choose_precision
from nmt.training.update import TrainState, new_train_state, update

Batches = list[list[Example]]


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    config = load_config(peers.CONFIG, [f"model.encoder.hidden_size={options.encoder}"])
    batches, types = real_batches(config)
    needed = {name: multiply_adds(peers.configured(config, name), batches, types[1]) for name in peers.ATTENTION}
    rounds = peers.alternate(runs_of(options, config, batches, types), options.rounds)
    counted = {name: statistics.median(figures) for name, figures in rounds.items()}
    products = {name: counted.pop(name) for name in ("torch", "ours")}
    results = [result(name, speed, needed, products) for name, speed in counted.items()]
    about = {
        "machine": describe_machine(choose_device(options.device)),
        "threads": options.threads,
        "auto": choose_precision(config, choose_device(options.device)),
        "rounds": options.rounds,
        "updates": options.updates,
        "sizes": config.model.model_dump(mode="json", include={"embedding_size", "encoder", "decoder"})
        | {"source_types": types[0], "target_types": types[1], "batch_size": config.training.batch_size},
        "product_gflops": products,
        "multiply_adds_per_target_token": needed,
        "precisions": options.precisions,
        "target_tokens_per_second": counted,
    }
    if options.json:
        print(json.dumps(about | {"results": results}, indent=2))
    else:
        print_table(about, results)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", type=int, default=256, help="the encoder's hidden size, per direction")
    parser.add_argument("--updates", type=int, default=30, help="updates in a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--warm-up", type=int, default=30, help="updates that are not counted; on a GPU, two epochs meet every shape"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--mechanisms", nargs="+", default=list(peers.ATTENTION), choices=list(peers.ATTENTION))
    parser.add_argument("--precisions", nargs="+", default=["float32", "auto"], choices=get_args(PrecisionOption))
    parser.add_argument(
        "--plain", action="store_true", help="also time each mechanism with PyTorch's own functions alone"
    )
    parser.add_argument(
        "--peer-updates", type=int, default=60, help="updates of a peer in a round; its first 20 are not counted"
    )
    parser.add_argument("--json", action="store_true")
    peers.add_options(parser)
    return parser.parse_args()


def real_batches(config: Config) -> tuple[Batches, tuple[int, int]]:
    """The batches of an epoch, and the numbers of source and target types."""
    pairs = load_training_set(config.data)
    batches = [pairs.examples(places, "") for places in batches_of(pairs, config.training, epoch=0)]
    return batches, (len(pairs.source.vocabulary), len(pairs.target.vocabulary))


def with_precision(config: Config, precision: Precision) -> Config:
    training = config.training.model_copy(update={"precision": precision})
    return config.model_copy(update={"training": training})


def multiply_adds(config: Config, batches: Batches, target_types: int) -> float:
    """The multiply-adds of matrix products in an update, per target token: no padding, no activations, no optimizer.

    An update needs each product three times: forward, for the inputs' gradient, and for the weights'.
    """
    model, attention = config.model, config.model.attention
    e, h, m = model.embedding_size, model.decoder.hidden_size, 2 * model.encoder.hidden_size
    a = (attention.size or h) if attention.score == "additive" else h
    per_source = 2 * 3 * (m // 2) * (e + m // 2)  # encoder's gates, two directions
    per_source += m * a  # keys
    per_pair = a + m  # a query's score of a position, and its share of the context
    per_target = 3 * h * (e + h)  # gates of the embedding and of the state
    if attention.wiring == "bahdanau":
        readout = model.decoder.readout_size or e
        per_target += h * a + 3 * h * m + readout * (h + m + e + target_types)  # query, context, readout, output
    else:
        per_target += h * (m + h + target_types)  # h̃ and output
        per_target += 3 * h * h if attention.input_feeding else 0
    lengths = [(len(example.source) + 1, len(example.target) + 1) for batch in batches for example in batch]
    total = sum(per_source * s + per_target * t + per_pair * s * t for s, t in lengths)
    total += m * h * len(lengths)  # the decoder's first state
    return 3 * total / sum(t for _, t in lengths)


def runs_of(
    options: argparse.Namespace, config: Config, batches: Batches, types: tuple[int, int]
) -> dict[str, Callable[[], float]]:
    """What takes turns: the mechanisms, the peers, and the two products."""
    device = choose_device(options.device)
    runs: dict[str, Callable[[], float]] = {}
    for name in options.mechanisms:
        for precision, fast in product(options.precisions, (True, False) if options.plain else (True,)):
            mechanism = peers.configured(config, name)
            training = mechanism.training.model_copy(update={"precision": precision, "fast": fast})
            mechanism = mechanism.model_copy(update={"training": training})
            mechanism = with_precision(mechanism, choose_precision(mechanism, device))
            torch.manual_seed(1)
            model = build_model(mechanism.model, *types).to(device).train()
            train_state = new_train_state(model, mechanism.training)
            speed(train_state, mechanism, cycle(batches), options.warm_up)  # not counted
            train = partial(speed, train_state, mechanism, cycle(batches), options.updates)
            runs[f"{name}, {'nmt' if fast else 'plain'} {precision}"] = train
        for peer in peers.installed(options):
            if peer.name in (models := peers.MODELS[name]):
                runs[f"{name}, {peer.name}"] = partial(speed_of_peer, peer, models[peer.name], options)
    square = torch.randn(2048, 2048, device=device)
    runs["torch"] = partial(rate, lambda: square @ square, 2e-9 * 2048**3, device)
    runs["ours"] = partial(rate, lambda: multiply(square, square), 2e-9 * 2048**3, device)
    return runs


def speed(train_state: TrainState, config: Config, batches: Iterator[list[Example]], updates: int) -> float:
    """Target tokens per second over the next batches."""
    tokens, started = 0, time.perf_counter()
    for examples in islice(batches, updates):
        batch = collate(examples)
        update(train_state, [batch], config.training, config.training.learning_rate, global_step=0)
        tokens += batch.target_tokens
    return tokens / (time.perf_counter() - started)


def speed_of_peer(peer: peers.Peer, model: tuple[str, ...], options: argparse.Namespace) -> float:
    return peer.run("train", *model, options.peer_updates, threads=options.threads)["trg_tok_per_s"]


def rate(product: Callable[[], Tensor], giga: float, device: torch.device) -> float:
    """Of a product, in GFLOP/s."""
    seconds = []
    for _ in range(10):
        started = time.perf_counter()
        product()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - started)
    return giga / statistics.median(seconds)


def result(name: str, speed: float, needed: dict[str, float], products: dict[str, float]) -> dict[str, Any]:
    mechanism, _, program = name.partition(", ")
    tokens = {kernel: 1e9 * gflops / 2 / needed[mechanism] for kernel, gflops in products.items()}
    return {
        "mechanism": mechanism,
        "program": program,
        "target_tokens_per_second": speed,
        "fraction_of_limit": speed / tokens["torch"],
        "fraction_of_faster_limit": speed / max(tokens.values()),
    }


def print_table(about: dict[str, Any], results: list[dict[str, Any]]) -> None:
    sizes, products = about["sizes"], about["product_gflops"]
    print(
        f"Embedding {sizes['embedding_size']}, encoder 2 × {sizes['encoder']['hidden_size']}, decoder "
        f"{sizes['decoder']['hidden_size']}, {sizes['source_types']} source and {sizes['target_types']} target types, "
        f"batches of {sizes['batch_size']}; auto is {about['auto']}; {about['threads']} threads, {about['machine']}; "
        f"medians of {about['rounds']} rounds of {about['updates']} updates"
    )
    print(f"A product of 2048 × 2048: {products['torch']:.0f} GFLOP/s by PyTorch, {products['ours']:.0f} by ours\n")
    of_ours = [precision for precision in ("float32", "auto", "bf16") if precision in about["precisions"]]
    titles = "".join(f"{f'{precision}/this':>14}" for precision in of_ours)
    print(f"{'mechanism':<16}{'program':<16}{'tokens/s':>10}{'of limit':>10}{'of ours':>10}{titles}")
    speeds = about["target_tokens_per_second"]
    for r in results:
        ratios = (speeds[f"{r['mechanism']}, nmt {p}"] / r["target_tokens_per_second"] for p in of_ours)
        print(
            f"{r['mechanism']:<16}{r['program']:<16}{r['target_tokens_per_second']:>10,.0f}"
            f"{r['fraction_of_limit']:>10.2f}{r['fraction_of_faster_limit']:>10.2f}"
            + "".join(f"{ratio:>14.2f}" for ratio in ratios)
        )


if __name__ == "__main__":
    main()

"""How the cost of attention grows with the source: seconds and memory of a training step, global against local.

    python benchmarks/attention_growth.py
    python benchmarks/attention_growth.py --score general --wiring bahdanau

For each source length S it trains on B random pairs of S source and T target tokens, all scopes in turn, round after
round, and prints the median of each, and its ratio to global attention's: of a whole training step, and of its
attention part, which is the step's time minus that of the same model without attention. Memory is what autograd
keeps for the backward pass at its end.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch

from nmt.config_model import ModelConfig
from nmt.data.batching import Batch, Example, collate
from nmt.model.seq2seq import Seq2Seq, build_model
from nmt.training.update import batch_loss

SCOPES = ("global", "local_m", "local_p")
TYPES = 2000


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    print(f"{options.wiring}, {options.score}, D = {options.window}, B = {options.batch}, T = {options.target}")
    print(f"{'S':>5}  " + "  ".join(f"{scope:>8} {'ms':>6} {'ratio':>6} {'MiB':>7}" for scope in SCOPES))
    for length in options.lengths:
        batch = random_batch(options.batch, length, options.target)
        models = {scope: model_of(options, scope) for scope in SCOPES}
        steps, parts = {s: [] for s in SCOPES}, {s: [] for s in SCOPES}
        for _ in range(options.rounds + 1):
            for scope, model in models.items():
                steps[scope].append(seconds_of_step(model, batch))
                parts[scope].append(seconds_of_attention(model, batch))
        for name, times in (("step", steps), ("attention", parts)):
            median = {scope: statistics.median(times[scope][1:]) for scope in SCOPES}
            cells = [
                f"{'':>8} {1000 * median[s]:6.1f} {median[s] / median['global']:6.2f} {kept_mib(models[s], batch):7.1f}"
                for s in SCOPES
            ]
            print(f"{length:>5}  " + "  ".join(cells) + f"  {name}", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wiring", default="luong")
    parser.add_argument("--score", default="additive")
    parser.add_argument("--no-feeding", action="store_true")
    parser.add_argument("--window", type=int, default=10)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--target", type=int, default=50)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--lengths", type=int, nargs="+", default=[25, 50, 100, 200, 400, 800])
    return parser.parse_args()


def model_of(options: argparse.Namespace, scope: str) -> Seq2Seq:
    attention = {"wiring": options.wiring, "score": options.score, "scope": scope}
    if scope != "global":
        attention["window"] = options.window
    if options.no_feeding:
        attention["input_feeding"] = False
    config = ModelConfig.model_validate(
        {
            "embedding_size": options.size,
            "encoder": {"hidden_size": options.size // 2},
            "decoder": {"hidden_size": options.size},
            "attention": attention,
        }
    )
    torch.manual_seed(1)
    return build_model(config, TYPES, TYPES)


def random_batch(size: int, source: int, target: int) -> Batch:
    draw = torch.randint(4, TYPES, (size, source + target)).tolist()
    return collate([Example(row[: source - 1], row[source : source + target - 1]) for row in draw])


def seconds_of_step(model: Seq2Seq, batch: Batch) -> float:
    model.zero_grad()
    started = time.perf_counter()
    (batch_loss(model, batch, smoothing=0.1).smoothed / batch.target_tokens).backward()
    return time.perf_counter() - started


def seconds_of_attention(model: Seq2Seq, batch: Batch) -> float:
    """Keys, and T queries one by one, forward and backward."""
    attention = model.decoder.attention
    encoded = model.encoder(batch.source, batch.source_lengths)
    encoded = encoded._replace(values=encoded.values.detach().requires_grad_())
    queries = torch.randn(
        len(batch.source), batch.target_input.shape[1], model.decoder.rnn.recurrent[0].in_features, requires_grad=True
    )
    started = time.perf_counter()
    memory = attention.prepare(encoded)
    total = queries.new_zeros(())
    loop = getattr(model.decoder, "feed_gates", True) is not None
    if loop:
        for t, query in enumerate(queries.unbind(1)):
            context, _ = attention(query.unsqueeze(1), memory, torch.full((len(query), 1), t))
            total = total + context.sum()
    else:
        context, _ = attention(queries, memory, torch.arange(queries.shape[1]).expand(queries.shape[:2]))
        total = context.sum()
    total.backward()
    return time.perf_counter() - started


def kept_mib(model: Seq2Seq, batch: Batch) -> float:
    seen = {}

    def pack(x):
        seen[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        loss = batch_loss(model, batch, smoothing=0.1).smoothed
    del loss
    return sum(seen.values()) / 2**20


if __name__ == "__main__":
    main()

"""Which recurrence, given attention? Cells and deep encoders, with as many parameters, for as many updates or minutes.

    python benchmarks/recurrences.py --seeds 3                      # Multi30k, the updates of the recipe
    python benchmarks/recurrences.py --seeds 3 --equal minutes      # cheaper cells get more updates
    python benchmarks/recurrences.py --seeds 3 --recipe configs/quickstart.yaml

The encoder's hidden size is the multiple of 8 with which the whole model comes closest to the size of that with GRUs;
all else is the recipe's. With `--equal minutes` each one gets the updates that it makes in the time of the recipe's
with GRUs. That time is measured: the least CPU time of some rounds of the same batches, one thread, in turn.

Prints Markdown: means over the seeds, BLEU with its standard deviation, its difference to GRUs' with p of a paired
t-test, and the minutes and target tokens per second of training; then BLEU by source length, the means of all seeds.
Runs that have a result are skipped: repeat it to continue.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from nmt.build import build_empty, build_model
from nmt.components import CELLS
from nmt.config.reading import load_config
from nmt.config.run import Config
from nmt.data.batching import Example, collate
from nmt.data.training_set import load_training_set
from nmt.lab import result, runs
from nmt.lab.machine import describe_machine
from nmt.lab.seeds import Mechanism, difference, mean_and_deviation, with_seeds
from nmt.system.bundled import find_config
from nmt.system.device import choose_device
from nmt.training.interruption import StopSignals
from nmt.training.prepare import batches_of
from nmt.training.update import TrainState, new_train_state, update

BASE = "gru"
DEEP = {  # encoders of several layers: the cell, and settings of `model.encoder`
    "stacked": ("gru", {"layers": 2}),
    "gnmt": ("gru", {"layers": 3, "bidirectional_layers": 1, "residual": True}),  # Wu et al. 2016, section 3
    "bideep": ("deep_gru", {"layers": 2}),  # Miceli Barone et al. 2017
}
RECURRENCES: dict[str, tuple[str, dict[str, int]]] = {cell: (cell, {}) for cell in CELLS} | DEEP
COMMON = ["training.threads=1", "output_dir=checkpoints/recurrences"]
ROUNDS, BATCHES = 5, 16  # of the time of an update


@dataclass(frozen=True)
class Entry:
    """A key of `RECURRENCES`, its config with the recipe's updates, and the CPU seconds of an update."""

    name: str
    config: Config
    parameters: int
    seconds: float


def main() -> int:
    options = parse()
    torch.set_num_threads(1)
    entries = measured(options.recipe, options.recurrences, options.set)
    base = next(entry for entry in entries if entry.name == BASE)
    stop = StopSignals()
    configs = {entry.name: list(with_seeds(final(entry, base, options.equal), options.seeds)) for entry in entries}
    with stop.installed():
        failures = runs.run_all([c for same in zip(*configs.values(), strict=True) for c in same], options.jobs, stop)
    found = {}
    for name, seeded in configs.items():
        results = [result.read(path) for config in seeded if (path := result.path_of(config)).exists()]
        if results:
            found[name] = Mechanism(tuple(results))
    if BASE in found:
        print(describe_machine(choose_device("cpu")))
        print("\n".join([*table(entries, found, base), "", *by_length(found)]))
    return 130 if stop.requested else int(bool(failures))


def measured(recipe: str, names: Sequence[str], overrides: Sequence[str]) -> list[Entry]:
    """The config of each, of equal size, and what an update costs."""
    first = load_config(find_config(recipe), [*COMMON, *overrides])
    pairs = load_training_set(first.data)
    sizes = len(pairs.source.vocabulary), len(pairs.target.vocabulary)

    def parameters(name: str, width: int) -> int:
        cell, deep = RECURRENCES[name]
        encoder = first.model.encoder.model_copy(update={"hidden_size": width, **deep})
        model = first.model.model_copy(update={"cell": cell, "encoder": encoder})
        return sum(parameter.numel() for parameter in build_empty(model, *sizes).parameters())

    def of_equal_size(name: str) -> tuple[int, Config]:
        width = min(range(8, 1025, 8), key=lambda width: abs(parameters(name, width) - goal))
        cell, deep = RECURRENCES[name]
        encoder = [f"model.encoder.{field}={value}" for field, value in {"hidden_size": width, **deep}.items()]
        fields = [f"name={first.name}-{name}", f"model.cell={cell}", *encoder]
        return parameters(name, width), load_config(find_config(recipe), [*COMMON, *overrides, *fields])

    goal = parameters(BASE, first.model.encoder.hidden_size)
    chosen = {name: of_equal_size(name) for name in names}
    batches = [pairs.examples(places, "") for places in batches_of(pairs, first.training, epoch=0)[:BATCHES]]
    states = {}
    for name, (_, config) in chosen.items():
        torch.manual_seed(1)
        model = build_model(config.model, *sizes)
        states[name] = new_train_state(model, config.training, target_counts=pairs.target_counts)
    times: dict[str, list[float]] = {name: [] for name in chosen}
    for round_ in range(1 + ROUNDS):  # the first one warms up
        for name, state in states.items():
            seconds = one_round(state, batches, chosen[name][1])
            times[name] += [seconds] if round_ else []
    return [Entry(name, config, count, min(times[name])) for name, (count, config) in chosen.items()]


def one_round(state: TrainState, batches: Sequence[Sequence[Example]], config: Config) -> float:
    """The CPU seconds of an update."""
    begin = time.process_time()
    for number, batch in enumerate(batches):
        update(state, [collate(batch)], config.training, 1e-4, number)
    return (time.process_time() - begin) / len(batches)


def final(entry: Entry, base: Entry, equal: str) -> Config:
    """The config that is trained."""
    training, name = entry.config.training, f"{entry.config.name}-{equal}"
    if equal == "minutes":
        factor = base.seconds / entry.seconds
        lengths = {name: getattr(training, name) for name in ("max_updates", "validate_every")}
        scaled = {name: round(factor * length) for name, length in lengths.items() if length is not None}
        training = training.model_copy(update=scaled)
    return entry.config.model_copy(update={"name": name, "training": training})


def table(entries: Sequence[Entry], found: dict[str, Mechanism], base: Entry) -> list[str]:
    """A row for each."""
    heads = "", "encoder H", "parameters", "ms per update", "updates", "minutes", "tokens/s", "BLEU", "difference (p)"
    lines = ["| " + " | ".join([*heads, "perplexity", "entropy"]) + " |", "|---" + "|--:" * (len(heads) + 1) + "|"]
    for entry in entries:
        if (mechanism := found.get(entry.name)) is None:
            continue
        first = mechanism.first.config
        tested = None if entry is base else difference(mechanism, found[BASE])
        cells = [
            entry.name,
            f"{first.model.encoder.hidden_size}",
            f"{entry.parameters:,}",
            f"{1000 * entry.seconds:.0f}",
            f"{first.training.max_updates:,}" if first.training.max_updates else f"{first.training.max_epochs} epochs",
            f"{mean([r.minutes for r in mechanism.results]):.1f}",
            f"{mean([r.target_tokens_per_second or 0 for r in mechanism.results]):,.0f}",
            spread([r.bleu for r in mechanism.results if r.bleu is not None]),
            "–" if tested is None else f"{tested[0]:+.2f} ({'–' if tested[1] is None else f'{tested[1]:.3f}'})",
            f"{mean([r.perplexity for r in mechanism.results]):.3f}",
            "–" if mechanism.first.entropy is None else f"{mean([r.entropy or 0 for r in mechanism.results]):.2f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def by_length(found: dict[str, Mechanism]) -> list[str]:
    """BLEU by source length, the mean of the seeds'."""
    labels = [f"{bucket.label}, n = {bucket.count:,}" for bucket in found[BASE].first.by_length]
    lines = ["| BLEU by source length | " + " | ".join(labels) + " |", "|---" + "|--:" * len(labels) + "|"]
    for name, mechanism in found.items():
        columns = zip(*(result.by_length for result in mechanism.results), strict=True)
        means = [mean([bucket.bleu or 0 for bucket in column]) for column in columns]
        lines.append(f"| {name} | " + " | ".join(f"{one:.1f}" for one in means) + " |")
    return lines


def mean(values: Sequence[float]) -> float:
    return mean_and_deviation(values)[0]


def spread(values: Sequence[float]) -> str:
    average, deviation = mean_and_deviation(values)
    return f"{average:.2f}" if deviation is None else f"{average:.2f} ± {deviation:.2f}"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--recipe", default="configs/multi30k_fast.yaml", help="the config (default: configs/multi30k_fast.yaml)")
    add("--recurrences", nargs="+", default=list(CELLS), choices=list(RECURRENCES), help="default: the cells")
    add("--equal", choices=["updates", "minutes"], default="updates")
    add("--seeds", type=int, default=1)
    add("--jobs", type=int, default=1, help="runs at once")
    add("--set", action="append", default=[], metavar="FIELD=VALUE", help="another setting of every run")
    options = parser.parse_args()
    if BASE not in options.recurrences:
        parser.error(f"--recurrences needs {BASE}, which the others are compared with")
    if (
        options.equal == "minutes"
        and load_config(find_config(options.recipe), options.set).training.max_updates is None
    ):
        parser.error("--equal minutes needs a recipe with training.max_updates: epochs are too coarse")
    return options


if __name__ == "__main__":
    sys.exit(main())

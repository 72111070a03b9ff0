"""Several runs of one mechanism that differ in their seeds: their means, their spread, and a test against a base."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nmt.config.run import Config
from nmt.lab.mechanisms import is_plain
from nmt.lab.result import Result


class Mechanism(NamedTuple):
    """The results of one mechanism, in the order of their seeds."""

    results: tuple[Result, ...]

    @property
    def first(self) -> Result:
        return self.results[0]

    @property
    def name(self) -> str:
        """That of its runs without their seeds (see `with_seeds`)."""
        return self.first.name.removesuffix(f"-seed{self.first.config.training.seed}")

    @property
    def bleus(self) -> dict[int, float]:
        """By seed, where BLEU is defined."""
        return {one.config.training.seed: one.bleu for one in self.results if one.bleu is not None}


def with_seeds(config: Config, count: int) -> Iterator[Config]:
    """The config, and the same with each of the seeds that follow its own, in folders named after them."""
    for seed in range(config.training.seed, config.training.seed + count):
        name = config.name if seed == config.training.seed else f"{config.name}-seed{seed}"
        training = config.training.model_copy(update={"seed": seed})
        yield config.model_copy(update={"name": name, "training": training})


def mechanisms(results: Sequence[Result]) -> list[Mechanism]:
    """The results by mechanism: those that are alike except for name and seed, in the order of their seeds."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        alike = result.config.model_dump_json(exclude={"name": True, "training": {"seed"}})
        groups.setdefault(alike, []).append(result)
    return [Mechanism(tuple(sorted(group, key=lambda r: r.config.training.seed))) for group in groups.values()]


def base_of(compared: Sequence[Mechanism]) -> Mechanism | None:
    """What the others are tested against: the first with global attention and no variant; None if there is none."""
    attentive = (m for m in compared if m.first.config.model.attention.wiring != "none")
    return next((m for m in attentive if is_plain(m.first.config.model)), None)


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean, and the standard deviation of a sample of more than one."""
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else None


def difference(one: Mechanism, base: Mechanism) -> tuple[float, float | None] | None:
    """By how much the mean BLEU is above the base's over the seeds that both have, and p of a paired t-test.

    None if they share no seed; p is None if they share one only.
    """
    shared = sorted(one.bleus.keys() & base.bleus.keys())
    if not shared:
        return None
    differences = [one.bleus[seed] - base.bleus[seed] for seed in shared]
    return statistics.mean(differences), paired_p(differences)


def paired_p(differences: Sequence[float]) -> float | None:
    """The two-sided p of Student's t-test that the differences of n pairs have mean 0; None for one pair."""
    mean, deviation = mean_and_deviation(differences)
    if deviation is None:
        return None
    if deviation == 0:
        return 1.0 if mean == 0 else 0.0
    return two_sided_p(mean / (deviation / math.sqrt(len(differences))), len(differences) - 1)


def two_sided_p(t: float, freedom: int, steps: int = 2000) -> float:
    """P(|T| ≥ |t|) for Student's t with some degrees of freedom, by Simpson's rule over θ, with T = √ν tan θ."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    begin, end = math.atan(abs(t) / math.sqrt(freedom)), math.pi / 2
    width = (end - begin) / steps
    heights = [math.cos(begin + i * width) ** (freedom - 1) for i in range(steps)] + [0.0 if freedom > 1 else 1.0]
    total = heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2])
    return min(1.0, 2 * scale * total * width / 3)

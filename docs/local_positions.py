"""Where the centre of local-p's window stands while a model is trained, and what moves it.

    python docs/local_positions.py CONFIG [a.b=VALUE ...]

trains a config of the sample corpus with `scope: local_p` and prints the tables of docs/explanation/local-attention.md:

- *positions*, after every 89 updates (half an epoch): the mean distance from p_t to the gold position, in words; how
  many gold positions are more than D away; and u_t = v_pᵀ tanh(W_p h_t), as mean ± standard deviation;
- *by target position*, after the last update: the mean distance;
- *towards gold*, before the first update, after 445 and after the last one: of how many words the gradient moves p_t
  towards the gold position, by how far away that is;
- *gradients*, of 50 updates each: the mean norms of the gradients of v_p and W_p, in percent of the whole gradient's.

The words are those of every fourth validation pair that have a link. A word with several links counts with the mean of
their positions. The model is forced to write the reference, without dropout.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nmt import Translator
from nmt.cli import main
from nmt.data.batching import Batches, Example, collate
from nmt.evaluation.alignment import read_links
from nmt.model.seq2seq import Seq2Seq
from nmt.text.corpus import read_lines
from nmt.training import loop
from nmt.training.loop import Trainer
from nmt.training.loss import BatchLoss

SAMPLE = Path(__file__).parents[1] / "data" / "sample" / "validation"
HALF_EPOCH, MIDDLE, TOGETHER = 89, 445, 50  # updates
DISTANCES = [0, 1, 2, 5, 10, 20, np.inf]

Words = dict[str, NDArray[np.float64]]


def linked_pairs() -> Iterator[tuple[str, str, dict[int, float]]]:
    """The sample corpus's validation pairs, each with the gold positions of its target words that have one."""
    sources, targets = (read_lines(SAMPLE.with_suffix(end)) for end in (".de", ".en"))
    for source, target, links in zip(sources, targets, read_links(SAMPLE.with_suffix(".align")), strict=True):
        linked: dict[int, list[int]] = {}
        for s, t in links.possible:
            linked.setdefault(t, []).append(s)
        yield source, target, {t: sum(positions) / len(positions) for t, positions in linked.items()}


def centres_of(translator: Translator, source: str, target: str) -> list[float]:
    """p_t at each target position."""
    with _noting_centres(translator.model) as noted:
        translator.forced_attention([source], [target])
    return torch.cat(noted, dim=-1).flatten().tolist()


@contextmanager
def _noting_centres(model: Any) -> Iterator[list[Tensor]]:
    """What the scope's `centre` returns, in the order of its calls, with the gradients with respect to it."""
    scope = model.decoder.attention.scope
    centre: Callable[..., Tensor] = scope.centre
    noted: list[Tensor] = []

    def note(*arguments: Tensor) -> Tensor:
        noted.append(centre(*arguments))
        if noted[-1].requires_grad:
            noted[-1].retain_grad()
        return noted[-1]

    with patch.object(scope, "centre", note):
        yield noted


def words_of(trainer: Trainer) -> Words:
    """Each word's position, the length of its source, its gold position, p_t, and the gradient with respect to p_t."""
    model, pairs, rows = trainer.train_state.model, trainer.pairs, []
    model.eval()
    for source, target, gold in islice(linked_pairs(), 0, None, 4):
        example = Example(pairs.source.encode(source), pairs.target.encode(target))
        with _noting_centres(model) as noted:
            BatchLoss(model, smoothing=0.0)(collate([example])).smoothed.backward()
        found = torch.cat([torch.stack((p.detach(), p.grad)) for p in noted], dim=-1).flatten(1)  # type: ignore[arg-type]
        rows += [(t, len(example.source) + 1, position, *found[:, t].tolist()) for t, position in gold.items()]
    model.train()
    return dict(zip(("t", "length", "gold", "centre", "gradient"), np.array(rows).T, strict=True))


def learnt(words: Words, diagonal: bool) -> NDArray[np.float64]:
    """u_t: the logit of p_t without what it began with."""
    length = words["length"]
    begin = np.minimum(words["t"], length - 1) + 0.5 if diagonal else length / 2
    return _logit(words["centre"] / length) - _logit(begin / length)


def _logit(share: NDArray[np.float64]) -> NDArray[np.float64]:
    share = np.clip(share, 1e-7, 1 - 1e-7)  # where the sigmoid was rounded to 0 or 1
    return np.log(share) - np.log1p(-share)


def tell(trainer: Trainer, is_last: bool) -> None:
    """Print where the centres stand after this update."""
    update, scope = trainer.counters.update, trainer.train_state.model.decoder.attention.scope
    words = words_of(trainer)
    distance, u = np.abs(words["centre"] - words["gold"]), learnt(words, scope.initial_position == "diagonal")
    beyond = (distance > scope.window).mean()
    print(
        f"positions after {update}: distance {distance.mean():.1f}, more than D away {beyond:.0%}, "
        f"u {u.mean():.1f} ± {u.std():.1f}"
    )
    if is_last:
        for low in range(0, int(words["t"].max()) + 1, 10):
            chosen = (words["t"] >= low) & (words["t"] < low + 10)
            print(f"by target position, {low} to {low + 9}: {distance[chosen].mean():.1f}, {chosen.sum()} words")
    if is_last or update in (0, MIDDLE):
        right = words["gradient"] * (words["gold"] - words["centre"]) < 0  # training goes against the gradient
        for low, high in pairwise(DISTANCES):
            chosen = right[(distance >= low) & (distance < high)]
            if chosen.size:
                print(f"towards gold after {update}, {low} to {high}: {chosen.mean():.0%} of {chosen.size} words")


def shares(model: Seq2Seq) -> list[float]:
    """The norms of the gradients of v_p and W_p, in percent of the norm of the whole gradient."""
    whole = sum(float(weight.grad.square().sum()) for weight in model.parameters() if weight.grad is not None)
    scope = model.decoder.attention.scope
    own = [weight.grad for weight in (scope.v.weight, scope.hidden.weight)]
    return [0.0 if gradient is None else 100 * (float(gradient.square().sum()) / whole) ** 0.5 for gradient in own]


def run(config: str, overrides: Sequence[str]) -> int:
    """Train, and print the tables meanwhile."""
    make_update: Callable[[Trainer, Batches], None] = loop._make_update
    noted: list[list[float]] = []

    def watched(trainer: Trainer, batches: Batches) -> None:
        if trainer.counters.update == 0:
            tell(trainer, is_last=False)
        make_update(trainer, batches)
        noted.append(shares(trainer.train_state.model))
        if trainer.counters.update % HALF_EPOCH == 0:
            tell(trainer, is_last=trainer.counters.update == trainer.config.training.max_updates)

    with patch.object(loop, "_make_update", watched):
        code = main(["train", config, *(part for each in overrides for part in ("--set", each))])
    for first in range(0, len(noted), TOGETHER):
        v, hidden = np.mean(noted[first : first + TOGETHER], axis=0)
        print(f"gradients of updates {first + 1} to {first + TOGETHER}: v_p {v:.1f} %, W_p {hidden:.1f} %")
    return code


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))

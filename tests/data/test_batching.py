import random
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest
import torch

from nmt.data.batching import Example, collate, epoch_batches
from nmt.text.vocabulary import BOS, EOS, PAD

Unit = Literal["sentences", "tokens"]
UNITS: list[tuple[Unit, int]] = [("sentences", 1), ("sentences", 7), ("sentences", 5000), ("tokens", 40)]


def captions(count: int) -> list[Example]:
    """Ids of no meaning, with lengths like those of captions and their translations."""
    generator = random.Random(1)
    examples = []
    for _ in range(count):
        length = min(40, max(3, round(generator.lognormvariate(2.4, 0.33))))
        other = max(3, length + round(generator.gauss(0.6, 1.9)))
        examples.append(Example([9] * length, [9] * other))
    return examples


def lengths(examples: Sequence[Example]) -> tuple[np.ndarray, np.ndarray]:
    sides = [len(example.source) for example in examples], [len(example.target) for example in examples]
    return np.array(sides[0], dtype=np.int32), np.array(sides[1], dtype=np.int32)


def batches_of(examples: Sequence[Example], size: int, unit: Unit, seed: int, epoch: int) -> list[list[int]]:
    return [batch.tolist() for batch in epoch_batches(lengths(examples), size, unit, seed, epoch)]


def fill_rate(lengths: tuple[np.ndarray, np.ndarray], batches: Sequence[np.ndarray]) -> float:
    """Share of the padded batches' cells, both sides together, that hold a token."""
    ended = [side[indices] + 1 for indices in batches for side in lengths]
    return sum(int(x.sum()) for x in ended) / sum(int(x.max()) * len(x) for x in ended)


def cells(examples: Sequence[Example], batch: Sequence[int]) -> int:
    """Sentences times the longest side, end mark counted."""
    return len(batch) * max(max(len(examples[i].source), len(examples[i].target)) + 1 for i in batch)


@pytest.mark.parametrize(("unit", "size"), UNITS)
def test_every_pair_comes_exactly_once_an_epoch(unit: Unit, size: int) -> None:
    for count, epoch in ((0, 0), (1, 1), (2, 0), (500, 1)):
        examples = captions(count)
        batches = batches_of(examples, size, unit, seed=1, epoch=epoch)
        assert all(batches)
        assert sorted(i for batch in batches for i in batch) == list(range(count))
        assert all((len(batch) if unit == "sentences" else cells(examples, batch)) <= size for batch in batches)


def test_batches_are_as_large_as_fits() -> None:
    batches = batches_of(captions(500), 64, "sentences", seed=1, epoch=0)
    assert sorted(map(len, batches)) == [500 % 64, *[64] * (500 // 64)]
    examples = captions(2000)
    batches = batches_of(examples, 600, "tokens", seed=1, epoch=0)
    assert sum(cells(examples, batch) + 41 > 600 for batch in batches) >= 0.9 * len(batches)
    pairs = [Example([9] * 9, [9] * 9)] * 6
    assert sorted(map(len, batches_of(pairs, 20, "tokens", seed=1, epoch=0))) == [2, 2, 2]  # exactly
    longer = [*captions(100), Example([9] * 60, [9]), Example([9], [9] * 49), Example([9] * 49, [9] * 3)]
    over = [batch for batch in batches_of(longer, 49, "tokens", 1, 0) if cells(longer, batch) > 49]
    assert sorted(over) == [[100], [101], [102]]  # each is a batch of its own


@pytest.mark.parametrize(("unit", "size"), [("sentences", 8), ("tokens", 200)])
def test_seed_and_epoch_decide_the_batches_and_their_order(unit: Unit, size: int) -> None:
    examples = captions(3000)
    first = batches_of(examples, size, unit, seed=1, epoch=0)
    random.seed(99)
    assert batches_of(examples, size, unit, seed=1, epoch=0) == first
    others = [batches_of(examples, size, unit, seed, epoch) for seed, epoch in ((1, 1), (2, 0))]
    assert others[0] != others[1]
    for other in others:
        assert len(set(map(frozenset, first)) & set(map(frozenset, other))) < 0.1 * len(first)
    means = [np.mean([len(examples[i].target) for i in batch]) for batch in first]
    assert abs(np.corrcoef(np.arange(len(means)), means)[0, 1]) < 0.5  # they do not come by their lengths


def test_examples_of_like_length_share_a_batch() -> None:
    examples = captions(6000)
    for unit, size in (("sentences", 64), ("tokens", 1000)):
        assert fill_rate(lengths(examples), epoch_batches(lengths(examples), size, unit, seed=1, epoch=0)) > 0.9
    assert fill_rate(lengths(examples), np.split(np.arange(6000, dtype=np.int32), range(64, 6000, 64))) < 0.6
    few = [Example([9], [9, 9]), Example([9, 9, 9], [9, 9]), Example([9], [9])]
    # 4 + 2 of 2 × 4 and 3 + 3 of 2 × 3; then 2 of 2 and 2 of 2
    assert fill_rate(lengths(few), [np.array([1, 0]), np.array([2])]) == (6 + 6 + 4) / (8 + 6 + 4)


def test_marks_and_padding_stand_where_they_belong() -> None:
    batch = collate([Example([7], [5, 6]), Example([7, 8, 9], [5])])
    assert batch.source.tolist() == [[7, EOS, PAD, PAD], [7, 8, 9, EOS]]
    assert batch.source_lengths.tolist() == [2, 4]
    assert batch.target_input.tolist() == [[BOS, 5, 6], [BOS, 5, PAD]]
    assert batch.target_output.tolist() == [[5, 6, EOS], [5, EOS, PAD]]
    assert batch.target_lengths.tolist() == [3, 2]
    assert (batch.source_tokens, batch.target_tokens) == (2 + 4, 3 + 2)  # the end counts, beginning and padding do not
    assert torch.equal(batch.real, batch.target_output != PAD)
    assert batch.loss_positions.tolist() == [0, 1, 2, 3, 4]
    empty = collate([Example([], [])])
    assert empty.source.tolist() == empty.target_output.tolist() == [[EOS]]
    assert empty.target_input.tolist() == [[BOS]]
    assert empty.source.dtype == torch.int64
    on_device = {
        name for name, tensor in vars(batch.to(torch.device("meta"))).items() if tensor is not None and tensor.is_meta
    }
    assert on_device == {"source", "target_input", "target_output"}  # lengths stay on the CPU

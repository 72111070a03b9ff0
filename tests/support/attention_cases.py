"""Every valid combination of score, scope, variants and normalizer as an attention, and what it is tried on."""

from itertools import product

import pytest
import torch

from nmt.build import make_attention
from nmt.components import NORMALIZERS, SCOPES, SCORES
from nmt.config.model import AttentionConfig
from nmt.model.encoder import Encoded
from support.all_pairs import all_pairs
from support.tiny_models import ENDS, EXTRAS, LOCAL, randomise, tiny_options

LENGTHS = (4, 7, 1)
B, T, S, M, A, H = 3, 5, 7, 8, 10, 6

TOGETHER = ("hard", "key_value", "heads", "coverage")
EXTRA_SETS = [(), *((extra,) for extra in EXTRAS), TOGETHER]


def is_valid(score, extras, *_):
    return SCORES[score].reads_memory or extras in ((), ("hard",))


def parametrised(**axes):
    """Parametrizes a test by `case` (score, scope, set of extras, normalizer) and further axes, pairwise.

    Only local scopes have windows but the first.
    """
    names = tuple(axes)

    def valid(score, extras, scope, _, *values):
        window, windows = dict(zip(names, values, strict=True)).get("window"), axes.get("window", [None])
        return is_valid(score, extras) and (scope in LOCAL or window == windows[0])

    pairs = all_pairs(SCORES, EXTRA_SETS, SCOPES, NORMALIZERS, *axes.values(), valid=valid)
    cases = [((score, scope, extras, normalizer), *values) for score, extras, scope, normalizer, *values in pairs]
    ids = ["-".join([case[0], case[1], case[3], *case[2], *map(str, values)]) for case, *values in cases]
    return pytest.mark.parametrize(("case", *names), cases, ids=ids)


CASES = [
    (score, scope, extras, normalizer)
    for score, scope, extras, normalizer in product(SCORES, SCOPES, EXTRA_SETS, NORMALIZERS)
    if is_valid(score, extras)
]


def value_size(extras):
    return M // 2 if "key_value" in extras else M


def query_size(score, extras):
    return value_size(extras) if SCORES[score].equal_sizes_or else H


def make(case, window=2, seed=0):
    score, scope, extras, *normalizer = case
    settings = {"score": score, "scope": scope, "normalizer": normalizer[0] if normalizer else "softmax"}
    settings |= {k: v for extra in extras for k, v in EXTRAS[extra].items()}
    settings |= tiny_options(SCORES[score], size=A) | tiny_options(SCOPES[scope], window=window)
    attention = make_attention(AttentionConfig(**settings), query_size(score, extras), value_size(extras), ENDS)
    scale = 0.4 if "projected" in extras else 0.7  # three products in a row, which must not saturate the softmax
    randomise(attention.double(), seed, scale)
    attention.scope.normalizer.eval()  # without noise
    return attention


def draw(*shape, seed=1):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def encoded(values, lengths=LENGTHS):
    lengths = torch.tensor(lengths)
    mask = torch.arange(values.shape[1]) < lengths.unsqueeze(1)
    return Encoded(values, draw(len(values), M, seed=9), mask, lengths, source_of(values.shape[1]).expand_as(mask))


def source_of(length):
    """Some source ids: every third one ends a segment."""
    return torch.where(torch.arange(length) % 3 == 1, ENDS[0], 4)


def queries(case, *, batch=B, count=T, seed=2):
    return draw(batch, count, query_size(case[0], case[2]), seed=seed)


def steps(batch=B, count=T):
    """Target positions: another beginning for each sentence, so that local-m's windows differ."""
    return torch.arange(count) + torch.tensor([0, 3, 6]).repeat(batch)[:batch].unsqueeze(1)


def covered(attention, batch=B, count=T, length=S):
    return 2 * draw(batch, count, length, seed=7).abs() if attention.coverage else None


def run(attention, query, values=None, lengths=LENGTHS, t=None, coverage=None):
    """Context, and the weights of all positions."""
    values = draw(B, S, M) if values is None else values
    sizes = (*query.shape[:2], values.shape[1])
    coverage = covered(attention, *sizes) if coverage is None else coverage
    t = steps(*sizes[:2]) if t is None else t
    context, alignment = attention(query, attention.prepare(encoded(values, lengths)), t, coverage)
    return context, alignment.dense(values.shape[1])


def assert_gradients_are_those_of_finite_differences(gradients, inputs, objective, insensitive=(), saturates=False):
    """Each input is moved along a random direction, in which every entry of its gradient takes part.

    The gradient is 0 for insensitive inputs, and for no other unless attention saturates: all weight on one position.
    """
    step = 1e-6
    for number, ((name, tensor), gradient) in enumerate(zip(inputs.items(), gradients, strict=True)):
        is_zero = gradient.abs().max() < (1e-12 if name in insensitive else 1e-4)
        assert is_zero == (name in insensitive) or (saturates and is_zero), name
        direction, old = draw(*tensor.shape, seed=20 + number), tensor.detach().clone()
        values = []
        for side in (1, -1):
            with torch.no_grad():
                tensor.copy_(old + side * step * direction)
                values.append(objective().item())
        with torch.no_grad():
            tensor.copy_(old)
        expected = (values[0] - values[1]) / (2 * step)
        assert (gradient * direction).sum().item() == pytest.approx(expected, rel=1e-5, abs=1e-6), name

"""Every valid combination of score, scope and variants as an attention of its own, and what it is tried on."""

from itertools import product

import torch

from nmt.build import make_attention
from nmt.config.model import AttentionConfig
from nmt.model.encoder import Encoded
from nmt.model.scopes import SCOPES
from nmt.model.scores import SCORES
from support.tiny_models import COMBINATIONS, ENDS, EXTRAS, randomise, tiny_options

LENGTHS = (4, 7, 1)
B, T, S, M, A, H = 3, 5, 7, 8, 10, 6

TOGETHER = ("hard", "key_value", "heads", "coverage")
EXTRA_SETS = [(), *((extra,) for extra in EXTRAS), TOGETHER]
ALONE = ("projected",)  # what heads do as well: with each score it meets a scope, not every one


def pairwise():
    """One case for each score with each set of extras; the scopes take turns."""
    kinds = [kind for kind in product(SCORES, EXTRA_SETS) if SCORES[kind[0]].reads_memory or kind[1] in ((), ("hard",))]
    for number, (score, extras) in enumerate(kinds):
        yield score, list(SCOPES)[(number + number // len(SCOPES)) % len(SCOPES)], extras


def named(cases):
    return {"argvalues": cases, "ids": ["-".join([score, scope, *extras]) for score, scope, extras in cases]}


PAIRWISE_CASES = list(pairwise())
CASES = [
    (score, scope, extras)
    for (score, scope), extras in product(COMBINATIONS, EXTRA_SETS)
    if (SCORES[score].reads_memory or extras in ((), ("hard",)))
    and (extras != ALONE or (score, scope, extras) in PAIRWISE_CASES)
]


def value_size(extras):
    return M // 2 if "key_value" in extras else M


def query_size(score, extras):
    return value_size(extras) if SCORES[score].equal_sizes_or else H


def make(case, window=2, seed=0):
    score, scope, extras = case
    settings = {"score": score, "scope": scope, **{k: v for extra in extras for k, v in EXTRAS[extra].items()}}
    settings |= tiny_options(SCORES[score], size=A) | tiny_options(SCOPES[scope], window=window)
    attention = make_attention(AttentionConfig(**settings), query_size(score, extras), value_size(extras), ENDS)
    scale = 0.4 if "projected" in extras else 0.7  # three products in a row, which must not saturate the softmax
    randomise(attention.double(), seed, scale)
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

"""Beam search and its tree in JavaScript are those of Python. The tests run node."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.all_pairs import all_pairs

from nmt.decoding.beam_search import beam_search
from nmt.page.beam_tree import beam_tree
from nmt.text.vocabulary import BOS, EOS, PAD

SCRIPT = Path(__file__).with_name("search.mjs")
STATES, TYPES = 1009, 9


def in_javascript(**options: Any) -> dict[str, Any]:
    answer = subprocess.run(
        ["node", str(SCRIPT)], input=json.dumps(options), capture_output=True, text=True, check=True
    )
    return json.loads(answer.stdout)


def toy(seed: int, end_bonus: float) -> np.ndarray:
    """log p(next | history), a row for each history. Padding and the beginning are likely, and to be barred."""
    table = np.random.default_rng(seed).normal(0, 1.5, (STATES, TYPES))
    table[:, EOS] += end_bonus
    table[:, [PAD, BOS]] += 3
    return (table - np.log(np.exp(table).sum(axis=1, keepdims=True))).astype(np.float32)


@pytest.mark.parametrize(
    ("beam", "end_bonus", "prefix"),
    all_pairs([(1, 1.0), (2, 0.0), (5, 1.4), (7, 0.6)], [0.0, 2.0, -8.0], [(), (5, 7), (4, 4, 8, 6, 5)]),
    ids=str,
)
def test_hypotheses_and_tree(beam: tuple[int, float], end_bonus: float, prefix: tuple[int, ...]) -> None:
    beam_size, alpha = beam
    table = toy(beam_size, end_bonus)
    barred = torch.from_numpy(table).clone()
    barred[:, [PAD, BOS]] = -torch.inf

    def step(tokens: Any, state: Any, _: Any) -> Any:
        numbers = torch.where(tokens == BOS, 0, (state[0] * 31 + tokens * 7 + 1) % STATES)
        return barred[numbers], (numbers,)

    zero, watched = torch.zeros(1, dtype=torch.long), []
    [(_, expected)] = beam_search(
        step,
        (zero,),
        (zero,),
        prefix=torch.tensor([prefix], dtype=torch.long),
        bos=BOS,
        eos=EOS,
        beam_size=beam_size,
        alpha=alpha,
        max_length=8,
        n_best=beam_size,
        watch=watched.append,
    )
    tree = beam_tree(watched, expected, eos=EOS, beam_size=beam_size, alpha=alpha)
    answer = in_javascript(table=table.tolist(), beamSize=beam_size, alpha=alpha, maxLength=8, prefix=list(prefix))
    assert [tuple(one["ids"]) for one in answer["found"]] == [one.ids for one in expected]
    assert [one["score"] for one in answer["found"]] == pytest.approx([one.score for one in expected], abs=1e-5)
    assert len(answer["tree"]) == len(tree)
    for one, node in zip(answer["tree"], tree, strict=True):
        assert one == pytest.approx({**asdict(node), "score": node.score}, abs=1e-4)

"""The tree of a search against a beam in plain Python lists."""

import math

import numpy as np
import pytest
import torch
from support.toy_search import END, SENTENCES, START, WORDS, Toy, path_to

from nmt.decoding.beam_search import beam_search, length_penalty
from nmt.page.beam_tree import beam_tree


def tree_by_hand(toy, sentence, beam_size, max_length):
    """What becomes of each hypothesis that is looked at: its ids, with its log-probability and fate."""
    open_, fates, ended = [(0.0, ())], {}, 0
    for _ in range(max_length):
        grown = [
            (score + toy.next(sentence, ids)[token], (*ids, token)) for score, ids in open_ for token in (*WORDS, END)
        ]
        grown = sorted((one for one in grown if one[0] > -math.inf), reverse=True)
        open_ = [one for one in grown if one[1][-1] != END][:beam_size]
        for place, one in enumerate(grown[: 2 * beam_size]):
            fate = "finished" if one[1][-1] == END and place < beam_size else "kept" if one in open_ else "cut"
            fates[one[1]] = (pytest.approx(one[0], abs=1e-9), fate)
            ended += fate == "finished"
        if ended >= beam_size:
            break
    return fates


@pytest.mark.parametrize(("beam_size", "alpha"), [(1, 1.0), (2, 0.0), (5, 1.0)])
@pytest.mark.parametrize(("end_bonus", "barred"), [(0.0, None), (1.5, None), (-3.0, None), (0.0, 1)])
def test_every_hypothesis_is_in_the_tree_with_its_fate(end_bonus, barred, beam_size, alpha):
    toy = Toy(int(2 * end_bonus) % 5, end_bonus)
    if barred is not None:
        toy.table[:, barred] = -np.inf  # and so never looked at
    seen = set()
    for sentence in SENTENCES:
        watched, number = [], torch.tensor([[sentence]])
        options = {"beam_size": beam_size, "alpha": alpha, "max_length": 7, "n_best": beam_size}
        state = (torch.zeros_like(number),)
        [(_, found)] = beam_search(toy, state, (number,), bos=START, eos=END, watch=watched.append, **options)
        nodes = beam_tree(watched, found, eos=END, beam_size=beam_size, alpha=alpha)
        paths = [tuple(path_to(nodes, place)) for place in range(len(nodes))]
        expected = tree_by_hand(toy, sentence, beam_size, 7)
        assert {ids: (node.log_probability, node.fate) for ids, node in zip(paths, nodes, strict=True)} == expected
        assert len(set(paths)) == len(paths)
        for place, (ids, node) in enumerate(zip(paths, nodes, strict=True)):
            assert node.length == len(ids)
            assert node.penalty == length_penalty(len(ids), alpha)
            assert node.parent is None or node.parent < place
            seen.add(node.fate)
        ranks = {node.rank: (ids, node.score) for ids, node in zip(paths, nodes, strict=True) if node.rank is not None}
        assert [ranks[rank][0] for rank in range(len(found))] == [h.ids for h in found]
        assert [ranks[rank][1] for rank in range(len(found))] == pytest.approx([h.score for h in found], abs=1e-9)
    assert seen == {"kept", "cut", "finished"} or end_bonus < 0

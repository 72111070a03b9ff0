"""A toy for the search, whose next word depends on the sentence and on all words so far."""

import numpy as np
import torch

from nmt.decoding.beam_search import beam_search
from support.formulas import log_softmax

WORDS, END, START = (0, 1, 2), 3, 4
STATES = 1009  # a prime, so that histories seldom share a row of the table


class Toy:
    """log p(next | sentence, history), by a table; the state is a number that stands for the history."""

    def __init__(self, seed, end_bonus=0.0):
        table = np.random.default_rng(seed).normal(0, 1.5, (STATES, 4))
        table[:, END] += end_bonus
        self.table = np.stack([log_softmax(row) for row in table])
        self.rows_seen = []

    def __call__(self, tokens, state, memory):
        """The step closure: `state` is (N 1), `memory` (B 1) the sentence's number."""
        (numbers,), (sentences,) = state, memory
        rows = len(numbers) // len(sentences)
        assert len(numbers) == len(tokens) == rows * len(sentences)
        self.rows_seen.append(sentences[:, 0].tolist())
        numbers = torch.where(tokens == START, 0, (numbers[:, 0] * 31 + tokens * 7 + 1) % STATES)
        place = (numbers + 61 * sentences[:, 0].repeat_interleave(rows)) % STATES
        return torch.tensor(self.table)[place], (numbers.unsqueeze(1),)

    def next(self, sentence, ids):
        number = 0
        for token in ids:
            number = (number * 31 + token * 7 + 1) % STATES
        return self.table[(number + 61 * sentence) % STATES]

    def score(self, sentence, ids, alpha):
        total = sum(self.next(sentence, ids[:i])[token] for i, token in enumerate(ids))
        return total / ((5 + len(ids)) / 6) ** alpha


SENTENCES = (17, 400, 801)


def search(toy, sentences=SENTENCES, **options):
    numbers = torch.tensor(sentences).unsqueeze(1)
    options = {"beam_size": 3, "alpha": 0.0, "max_length": 6} | options
    return in_order(beam_search(toy, (torch.zeros_like(numbers),), (numbers,), bos=START, eos=END, **options))


def in_order(results):
    """The hypotheses of each sentence that a search results, in the order of the sentences."""
    return [hypotheses for _, hypotheses in sorted(results, key=lambda one: one[0])]


def path_to(nodes, place):
    """The ids of a hypothesis of a beam tree, first to last."""
    ids = []
    while place is not None:
        ids.append(nodes[place].token)
        place = nodes[place].parent
    return ids[::-1]

# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [raw]
# # ASSIGNMENT CONFIG
# init_cell: false
# check_all_cell: false
# export_cell: false
# tests:
#   ok_format: false

# %% [markdown]
# # Lesson 4. Looking at less: windows, and one position
#
# After this lesson you can
#
# - write local-m and local-p: a window of the source, its centre, and what happens at the ends of a sentence;
# - say why the weights of local-p sum to less than 1, and what the Gaussian is for;
# - explain, with gradients that you have measured, why local-p is hard to train, and what helps;
# - estimate a gradient through a sampled position (hard attention), and say what a baseline does;
# - count and measure what a window saves, and from which length of the source on.
#
# You need lesson 3 (Luong's decoder). The lesson takes about 45 minutes.
#
# Papers: **[L]** Luong, Pham, Manning 2015, *Effective approaches to attention-based neural machine translation* (arXiv
# 1508.04025). **[X]** Xu et al. 2015, *Show, attend and tell: neural image caption generation with visual attention*
# (arXiv 1502.03044). **[W]** Williams 1992, *Simple statistical gradient-following algorithms for connectionist
# reinforcement learning*.

# %%
# The address is set once, in tools/course.py; with nmt installed, this cell does nothing.
import importlib.util, subprocess, sys

if importlib.util.find_spec("nmt") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "@NMT_ADDRESS@"], check=True)

# %%
import math
import time
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import nano_nmt as nano
import numpy as np
import torch
from sacrebleu.metrics import BLEU
from torch import Tensor, nn

from nmt.course import check, quick

torch.set_num_threads(1)  # of matrices this small, a second thread computes none faster
_ = torch.manual_seed(4)

# %% [markdown]
# ## 1. A window
#
# Attention of the last lessons is *global*: at each target position $t$ it scores all $S$ source positions. For a
# source and a target of 50 tokens these are 2,500 scores. But to write one word, a few words of the source are nearly
# always enough. [L], section 3.2, therefore looks at a *window* only: at the positions $s$ with $|s - p_t| \le D$.
# $p_t$ is the centre of the window, $D$ (a number that we choose) its reach to each side. All other positions get
# weight 0.
#
# Positions here count from 0: the source of a sentence has the positions $0, …, S - 1$, and $S$ is the length of *that*
# sentence, including its end token </s>. In a batch, shorter sentences have padding behind position $S - 1$.
#
# At the ends of a sentence the window is cut off: only positions from 0 to $S - 1$ belong to it. It is not moved
# inwards.
#
# First the window as a mask. B is the number of sentences in the batch, `size` the number of positions of the longest.

# %% [raw]
# # BEGIN QUESTION
# name: q4_1
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 4.1.** `centre` (B) has the real number $p$ of each sentence, `lengths` (B) its $S$. Return a tensor (B
# size) of booleans: True where s is in [p − D, p + D] and in [0, S − 1]. `radius` is D.
#
# <details><summary>Hint</summary><code>torch.arange(size)</code> has the positions. Compare it with
# <code>centre.unsqueeze(1)</code>, which is (B 1). Join two conditions with <code>&amp;</code>.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def window(centre, lengths, size, radius):
    """Which positions are within `radius` of the centre, and no padding: (B size)."""
    # BEGIN SOLUTION
    positions = torch.arange(size)
    near = (positions - centre.unsqueeze(1)).abs() <= radius
    return near & (positions < lengths.unsqueeze(1))
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q4_1(window):
    import torch

    centre, lengths = torch.tensor([0.0, 3.2, 7.9, 4.0]), torch.tensor([8, 8, 8, 5])
    inside = [[0, 1, 2], [2, 3, 4, 5], [6, 7], [2, 3, 4]]
    rows = window(centre, lengths, 8, 2).tolist()
    assert [[s for s, value in enumerate(row) if value] for row in rows] == inside


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("4.1", window)

# %% [raw]
# # BEGIN QUESTION
# name: q4_2
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 4.2.** The softmax inside a window. `scores` is (B S), `inside` (B S) of booleans. The weights inside sum
# to 1, all others are exactly 0.
#
# <details><summary>Hint</summary>Positions outside must have no part in the sum in the softmax's denominator. Which
# score s has exp(s) = 0? <code>scores.masked_fill(mask, value)</code> fills where the mask is True.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def window_softmax(scores, inside):
    """The softmax over the positions inside; 0 elsewhere."""
    return scores.masked_fill(~inside, -math.inf).softmax(dim=1)  # SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q4_2(window_softmax):
    import torch

    scores = torch.tensor([[0.0, 1.0, 2.0, 50.0], [3.0, 3.0, 3.0, 3.0]])
    inside = torch.tensor([[True, True, True, False], [False, True, True, False]])
    weights = window_softmax(scores, inside)
    assert torch.allclose(weights[0, :3], torch.tensor([0.0, 1.0, 2.0]).softmax(0), atol=1e-6)
    assert weights[0, 3] == 0
    assert torch.allclose(weights[1], torch.tensor([0.0, 0.5, 0.5, 0.0]), atol=1e-6)


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("4.2", window_softmax)

# %% [markdown]
# **Local-m** (m for *monotonic*) puts the centre where the decoder is: $p_t = \min(t, S - 1)$. It assumes that both
# languages have nearly the same word order. The minimum is needed where a translation is longer than its source:
# without it the window would at last be empty.

# %% [raw]
# # BEGIN QUESTION
# name: q4_3
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 4.3 (a prediction).** Source and target have 50 tokens each, D = 10. How many scores does local-m compute
# for the whole sentence? (Global attention computes 2,500.) Give a whole number; do it on paper.
#
# <details><summary>Hint</summary>Most windows have 2D + 1 positions. The window at t = 0 has only D + 1, the next one
# D + 2, and so on. The same happens at the end.</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_4_3 = 940  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q4_3(answer_4_3):
    assert float(answer_4_3) == 940


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("4.3", answer_4_3)

# %%
t = torch.arange(50)
lengths = torch.full([50], 50)
counted = window(torch.minimum(t, lengths - 1).double(), lengths, 50, 10).sum()
print("positions in the windows of local-m:", counted.item())

# %% [markdown]
# ## 2. How far away is the word?
#
# The sample corpus comes with gold links: for each pair of sentences, which source word each target word translates. So
# we can ask, before any training, how large D must be. The figure has the share of links with |s − t| ≤ D.

# %%
corpus = {split: nano.read_corpus(Path("data"), split) for split in ("train", "validation", "test")}
links = [
    [tuple(map(int, link.split("-"))) for link in line.split()]
    for line in Path("data/validation.align").read_text().splitlines()
]  # of each pair: (source position, target position)
distances = np.array([abs(s - t) for line in links for s, t in line])
shares = [(distances <= radius).mean() for radius in range(13)]
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(shares, "o-")
axes.axhline(0.95, color="grey", linestyle=":")
axes.set(xlabel="D", ylabel="share of links", title="Links with |s − t| ≤ D, validation set")
axes.set_xticks(range(13))
axes.grid(alpha=0.3)

# %% [raw]
# # BEGIN QUESTION
# name: q4_4
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 4.4 (read the figure).** What is the smallest D with which the windows of local-m contain at least 95 % of
# the linked words?
#
# <details><summary>Hint</summary>The dotted line is at 95 %. <code>shares</code> has the values.</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_4_4 = 6  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q4_4(answer_4_4):
    assert float(answer_4_4) == 6


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("4.4", answer_4_4)

# %% [markdown]
# Which words are the farthest away? The pair below has the longest link among pairs of up to 15 source words.

# %%
pairs = [(max(abs(s - t) for s, t in line), i) for i, line in enumerate(links)]
_, i = max(pair for pair in pairs if len(nano.tokenize(corpus["validation"][pair[1]][0])) <= 15)
source_words, target_words = map(nano.tokenize, corpus["validation"][i])
print("".join(source_words), "→", "".join(target_words))
for s, t in sorted(links[i], key=lambda link: -abs(link[0] - link[1]))[:2]:
    print(f"position {s:2} → {t:2}:{source_words[s]} →{target_words[t]}")

# %% [markdown]
# German puts verbs last where English has them near the subject. A fixed centre cannot follow this, a predicted one
# can.

# %% [markdown]
# ## 3. Local-p: the centre is predicted
#
# [L], equations 9 and 10 (p for *predictive*):
#
# $$p_t = S \cdot \mathrm{sigmoid}(v_p^\top \tanh(W_p h_t)) \qquad \text{a real number between } 0 \text{ and } S$$
#
# $$\alpha_{ts} = \mathrm{softmax}_{[p_t - D,\, p_t + D]}(e_t)_s \cdot \exp\Bigl(-\frac{(s - p_t)^2}{2 \sigma^2}\Bigr),
# \qquad \sigma = \frac{D}{2}$$
#
# $h_t$ is the decoder's state of size $H$; $W_p$ ($H \times H$) and $v_p$ ($H$) are learnt. The softmax is over the
# window alone. Its result is multiplied by a Gaussian, which is 1 at $p_t$ and falls to $\exp(-2) = 0.14$ at the
# window's edges.

# %% [raw]
# # BEGIN QUESTION
# name: q4_5
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 4.5.** Equation 9 for B sentences: `hidden` (B H), `w_p` (H H), `v_p` (H), `lengths` (B). The result is
# (B).
#
# <details><summary>Hint</summary>W_p h for each row is <code>hidden @ w_p.T</code>. A matrix (B H) times a vector (H)
# is (B).</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def predicted_centre(hidden, w_p, v_p, lengths):
    """p = S · sigmoid(v_pᵀ tanh(W_p h))."""
    return lengths * torch.sigmoid(torch.tanh(hidden @ w_p.T) @ v_p)  # SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q4_5(predicted_centre):
    import torch

    hidden, w_p, v_p = torch.randn(3, 5), torch.randn(5, 5), torch.randn(5)
    lengths = torch.tensor([4, 9, 30])
    for b, p in enumerate(predicted_centre(hidden, w_p, v_p, lengths)):
        expected = lengths[b] / (1 + torch.exp(-(v_p @ torch.tanh(w_p @ hidden[b]))))
        assert torch.allclose(p, expected, atol=1e-4)


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("4.5", predicted_centre)

# %% [raw]
# # BEGIN QUESTION
# name: q4_6
# points: 2
# check_cell: false

# %% [markdown]
# **Exercise 4.6.** Equation 10: `scores` (B S), `centre` (B), `lengths` (B), `radius` D. Use your two functions. Do not
# normalise the product again.
#
# <details><summary>Hint</summary>2σ² = 2 (D/2)² = D²/2, so the exponent is −2 ((s − p) / D)².</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def local_p_weights(scores, centre, lengths, radius):
    """The softmax over the window, times the Gaussian: (B S)."""
    # BEGIN SOLUTION
    weights = window_softmax(scores, window(centre, lengths, scores.shape[1], radius))
    distance = torch.arange(scores.shape[1]) - centre.unsqueeze(1)
    return weights * torch.exp(-2 * (distance / radius) ** 2)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q4_6(local_p_weights):
    import math

    import torch

    scores = torch.randn(2, 9, dtype=torch.float64)
    weights = local_p_weights(scores, torch.tensor([4.4, 1.5]), torch.tensor([9, 4]), 2)
    for b, p, positions in ((0, 4.4, [3, 4, 5, 6]), (1, 1.5, [0, 1, 2, 3])):
        total = sum(math.exp(scores[b, s]) for s in positions)
        for s in range(9):
            gaussian = math.exp(-((s - p) ** 2) / (2 * 1.0**2))
            expected = math.exp(scores[b, s]) / total * gaussian if s in positions else 0
            assert math.isclose(weights[b, s], expected, abs_tol=1e-6)


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("4.6", local_p_weights)

# %% [raw]
# # BEGIN QUESTION
# name: q4_7
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 4.7 (a prediction).** All scores in a window are equal, D = 10, and p is a whole number in the middle of a
# long sentence. What do the 21 weights sum to? Give two decimals.
#
# First guess: is it nearer to 1, to 0.6 or to 0.1? Then compute it, with `math.exp` or with your function.
#
# <details><summary>Hint</summary>After the softmax each weight is 1/21. Multiply each by its Gaussian exp(−2 (d/10)²),
# for d = −10 … 10, and sum.</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_4_7 = 0.58  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q4_7(answer_4_7):
    assert abs(float(answer_4_7) - 0.58) < 0.001


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("4.7", answer_4_7)

# %%
figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
for p, label in ((20.0, "p = 20"), (1.5, "p = 1.5: cut off at the beginning"), (39.4, "p = 39.4: at the end")):
    [weights] = local_p_weights(torch.zeros(1, 40), torch.tensor([p]), torch.tensor([40]), 10)
    axes.plot(weights, "o-", markersize=3, label=f"{label}, sum {weights.sum():.2f}")
axes.set(xlabel="source position", ylabel="weight", title="Local-p with equal scores, S = 40, D = 10")
_ = axes.legend()

# %% [markdown]
# A context of local-p is therefore shorter than one of global attention, and at the ends of a sentence each weight is
# larger, because fewer positions share the softmax. The next layer can learn to live with both.
#
# Many programs normalise the product again. That changes the model: it is then a softmax of
# $e_{ts} - (s - p_t)^2 / (2\sigma^2)$, and a window far from all good words still gives a context of full length. In
# the paper's version the position of the best word in the window matters: at the edge it counts 0.14 times as much as
# at the centre.

# %% [markdown]
# ## 4. Why local-p is hard to train
#
# $p_t$ is learnt from the gradient of the loss, like all else. What does this gradient contain? Take one target word
# whose source word is at position 30 of $S = 40$. All other parameters are perfect: the score is 5 at position 30 and 0
# elsewhere, and the probability of the right word is $0.01 + 0.99\, \alpha_{30}$. Its loss is $-\log$ of that. Only $p$
# can be wrong.

# %% [raw]
# # BEGIN QUESTION
# name: q4_8
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 4.8 (a prediction).** D = 5, and the centre is at p = 12. What is the derivative of the loss with respect
# to p?
#
# - a) negative and small: a step to the right would make the loss a little smaller
# - b) exactly 0
# - c) negative and large, because the loss is large
#
# <details><summary>Hint</summary>From which positions to which does the window reach? On which weights does the loss
# depend?</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_4_8 = "b"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q4_8(answer_4_8):
    assert str(answer_4_8).strip().lower() == "b"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("4.8", answer_4_8)

# %%
centre = torch.linspace(0, 40, 401, requires_grad=True)
scores = torch.zeros(401, 40)
scores[:, 30] = 5
figure, (above, below) = plt.subplots(2, 1, figsize=(8, 4.5), sharex=True, layout="constrained")
for radius in (5, 10, 40):
    weights = local_p_weights(scores, centre, torch.full([401], 40), radius)
    loss = -torch.log(0.01 + 0.99 * weights[:, 30])
    [gradient] = torch.autograd.grad(loss.sum(), centre)
    above.plot(centre.detach(), loss.detach(), label=f"D = {radius}")
    below.plot(centre.detach(), gradient)
    print(f"D = {radius:2}: derivative at p = 12 is {gradient[120]:8.4f}, at p = 26 it is {gradient[260]:7.3f}")
above.axvline(30, color="grey", linestyle=":")
below.axvline(30, color="grey", linestyle=":")
above.set(ylabel="loss", title="Loss of one word against the centre p; its source word is at 30")
below.set(xlabel="p", ylabel="derivative")
_ = above.legend()

# %% [markdown]
# Outside of $D$ the loss is flat: nothing shows in which direction the word is. Inside, the derivative is large and
# points to the word. At the edge of the window the loss jumps, and a derivative does not show a jump. With $D = 40$ the
# window holds the whole source, and the derivative points to the word from everywhere.
#
# A second reason is where $p$ begins. Before training $v_p^\top \tanh(W_p h_t)$ is near 0, its sigmoid near ½, and
# $p_t$ near $S/2$: in the *middle* of the source for each $t$. For the first words of a long sentence this is wrong by
# $S/2$. And a third is the optimizer. Adam moves each element of $v_p$ by about the learning rate in its first updates,
# *however small the gradient is, and whether or not it has information*. All $H$ elements together can move
# $v_p^\top \tanh(…)$ by $H$ times the learning rate, in all sentences at once:

# %%
SIZE, RATE = 96, 0.003
logit = SIZE * RATE
print(f"largest change of the logit by one update: {logit:.2f}")
print(f"of p, for S = 30, from the middle: {30 * (1 / (1 + math.exp(-logit)) - 0.5):.1f} positions")

# %% [markdown]
# After ten such updates in one direction $p_t$ is at an end of the source, where the sigmoid is flat. Now for real
# models. The class has nano's components, and your functions for weights. Its state counts $t$. Three things can be
# set, to try remedies:
#
# - `scope`: "global", "local_m" or "local_p";
# - `diagonal`: $p_t = S \cdot \mathrm{sigmoid}(v_p^\top \tanh(W_p h_t) + d_t)$, where $d_t$ is such that $p_t = t + 1/2$
#   before training;
# - `wide`: in training $D$ begins with this and shrinks to `RADIUS` during the first half of the updates.

# %%
RADIUS, LONGEST, EPOCHS, BATCH = 3, 30, 1 if quick else 4, 16
german, english = (nano.Vocabulary([pair[side] for pair in corpus["train"]]) for side in (0, 1))
subset = {
    split: [pair for pair in pairs if len(nano.tokenize(pair[0])) <= LONGEST][: 48 if quick else 4000]
    for split, pairs in corpus.items()
}
ids = {split: [(german.encode(a), english.encode(b)) for a, b in pairs] for split, pairs in subset.items()}
print({split: len(pairs) for split, pairs in subset.items()}, "pairs of at most", LONGEST, "source tokens")


class State(NamedTuple):
    hidden: Tensor  # (B H)
    readout: Tensor  # (B H)
    t: Tensor  # (B) the target position


class Local(nano.Seq2Seq):
    """nano's model with Luong's wiring and the score general, scaled, which looks at a window."""

    def __init__(self, scope, diagonal=False, wide=0):
        super().__init__("luong", [len(german.tokens), len(english.tokens)], SIZE, SIZE, 0.1)
        self.scope, self.diagonal, self.wide = scope, diagonal, wide
        self.updates, self.half = 0, EPOCHS * len(ids["train"]) // BATCH // 2
        self.centres, self.distances = [], []  # of each step, and of each update: for the figures
        if scope == "local_p":
            self.w_p, self.v_p = nn.Linear(SIZE, SIZE, bias=False), nn.Linear(SIZE, 1, bias=False)

    def radius(self):
        """D: in training it may begin wide, and shrinks by the same factor in each update."""
        if self.training and self.wide and self.updates < self.half:
            return self.wide * (RADIUS / self.wide) ** (self.updates / self.half)
        return RADIUS

    def centre(self, hidden, t, lengths):
        diagonal = torch.minimum(t, lengths - 1).to(hidden.dtype)
        if self.scope == "local_m":
            return diagonal
        if not self.diagonal:
            return predicted_centre(hidden, self.w_p.weight, self.v_p.weight[0], lengths)
        learnt = self.v_p(torch.tanh(self.w_p(hidden))).squeeze(1)
        return lengths * torch.sigmoid(learnt + torch.logit((diagonal + 0.5) / lengths))

    def weights(self, scores, hidden, t, mask):
        lengths = mask.sum(dim=1)
        if self.scope == "global":
            return window_softmax(scores, mask)
        centre = self.centre(hidden, t, lengths)
        self.centres.append(centre)
        if self.scope == "local_m":
            return window_softmax(scores, window(centre, lengths, scores.shape[1], self.radius()))
        return local_p_weights(scores, centre, lengths, self.radius())

    def encode(self, source):
        state, memory = super().encode(source)
        return State(*state, torch.zeros(len(source), dtype=torch.long)), memory

    def step(self, embedded, state, memory):
        hidden = self.decoder(torch.cat([embedded, state.readout], dim=1), state.hidden)
        scores = (memory.keys @ hidden.unsqueeze(2)).squeeze(2) / math.sqrt(SIZE)  # (B S)
        weights = self.weights(scores, hidden, state.t, memory.mask)
        context = (weights.unsqueeze(1) @ memory.values).squeeze(1)
        readout = torch.tanh(self.readout(torch.cat([context, hidden], dim=1)))
        return State(hidden, readout, state.t + 1), weights

    def forward(self, source, target_input):
        self.centres = []
        self.updates += self.training
        readouts = super().forward(source, target_input)
        if self.training and self.centres:
            t, ends = torch.arange(len(self.centres)).unsqueeze(1), (source != nano.PAD).sum(dim=1) - 1
            self.distances.append((torch.stack(self.centres) - torch.minimum(t, ends)).abs().mean().item())
        return readouts


# %% [markdown]
# Four trainings with the same seed and 1,000 updates each, less than a minute each. D = 3 is small, as our sentences
# are short: by the figure of section 2, local-m with D = 3 misses about 20 % of the words.

# %%
kinds = {
    "global": ("global",),
    "local-m": ("local_m",),
    "local-p, as in the paper": ("local_p",),
    "local-p, diagonal and wide": ("local_p", True, LONGEST),
}
models = {}
for name, options in kinds.items():
    print(name)
    torch.manual_seed(1)
    models[name] = Local(*options)
    start = time.perf_counter()
    nano.train(models[name], ids["train"], ids["validation"], epochs=EPOCHS, batch_size=BATCH, rate=RATE)
    print(f"{time.perf_counter() - start:.0f} seconds\n")

# %%
bleu = BLEU(lowercase=True)
test = sorted(subset["test"], key=lambda pair: len(nano.tokenize(pair[0])))
groups = [(1, 10), (11, 20), (21, LONGEST)]
references = np.array([target for _, target in test], dtype=object)
lengths = np.array([len(nano.tokenize(source)) for source, _ in test])
print(f"BLEU of the test set, lower case{'':8} all " + "".join(f"{f'{a}-{b}':>8}" for a, b in groups))
table = {}
for name, model in models.items():
    outputs = []
    for i in range(0, len(test), 64):
        tokens, _ = nano.greedy_search(model.eval(), [german.encode(source) for source, _ in test[i : i + 64]])
        outputs += map(english.decode, tokens.tolist())
    outputs = np.array(outputs, dtype=object)
    chosen = [lengths > 0, *((a <= lengths) & (lengths <= b) for a, b in groups)]
    table[name] = [bleu.corpus_score(list(outputs[c]), [list(references[c])]).score for c in chosen]
    print(f"{name:36}" + "".join(f"{score:8.1f}" for score in table[name]))

# %% [raw]
# # BEGIN QUESTION
# name: q4_9
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 4.9 (read the table).** Which model has the lowest BLEU on the longest sentences?
#
# - a) global
# - b) local-m
# - c) local-p, as in the paper
# - d) local-p, diagonal and wide
#
# <details><summary>Hint</summary>It is the one whose windows begin where the longest sentences' first and last words
# are not.</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_4_9 = "c"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q4_9(answer_4_9):
    assert str(answer_4_9).strip().lower() == "c"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("4.9", answer_4_9)

# %% [markdown]
# Where do the centres stand? The models are forced to write the reference of some validation sentences. For each target
# word with a gold link we note p_t, the position of its source word (the mean, if there are several), and the
# derivative of the loss with respect to p_t.


# %%
def linked_words(model, count):
    """Rows of (target position, gold position, p_t, derivative of the loss with respect to p_t)."""
    rows = []
    model.eval()
    for (german_line, english_line), line in zip(corpus["validation"], links, strict=True):
        pair = german.encode(german_line), english.encode(english_line)
        words = [len(nano.tokenize(text)) + 1 for text in (german_line, english_line)]
        if words[0] - 1 > LONGEST or words != [len(side) for side in pair]:
            continue  # too long, or with a rare word, which is several tokens
        loss = nano.loss_of(model, [pair])
        derivatives = torch.autograd.grad(loss, model.centres)
        for t in {t for _, t in line}:
            gold = np.mean([s for s, target in line if target == t])
            rows.append((t, gold, model.centres[t].item(), derivatives[t].item()))
        if len(rows) >= count:
            break
    return np.array(rows)


figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
for axes, name in zip(panels, list(kinds)[2:], strict=True):
    rows = linked_words(models[name], 50 if quick else 1500)
    axes.plot([0, LONGEST], [0, LONGEST], color="grey", linewidth=0.8)
    axes.plot(rows[:, 1], rows[:, 2], ".", alpha=0.3)
    axes.set(xlabel="gold position", ylabel="p_t", title=name)
    distance, derivative = np.abs(rows[:, 1] - rows[:, 2]), rows[:, 3]
    towards = derivative * (rows[:, 1] - rows[:, 2]) < 0  # training moves p_t against its derivative
    print(f"{name}: mean distance {distance.mean():.1f}, more than D away {(distance > RADIUS).mean():.0%}")
    for low, high in ((0, 1), (1, RADIUS), (RADIUS, 2 * RADIUS), (2 * RADIUS, 99)):
        chosen = (distance >= low) & (distance < high) & (derivative != 0)
        if chosen.sum() >= 20:
            print(f"  distance {low} to {high}: {towards[chosen].mean():.0%} of {chosen.sum()} derivatives are right")

# %% [markdown]
# And where did the centres stand while the models were trained? In each update the class has noted the mean distance of
# p_t from the diagonal min(t, S − 1), which is never far from the right word in this corpus.

# %%
figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
for name in list(kinds)[2:]:
    distances = np.array(models[name].distances)
    width = min(10, len(distances))
    smooth = np.convolve(distances, np.ones(width) / width, mode="valid")  # means of 10 updates
    axes.semilogx(np.arange(len(smooth)) + width, smooth, label=name)
    marks = [n for n in (10, 30, 60, 100, 300, 1000) if n <= len(distances)]
    print(f"{name:28} distance", ", ".join(f"{smooth[n - width]:.1f} after {n}" for n in marks))
axes.set(xlabel="updates", ylabel="mean distance", title="Distance of p_t from the diagonal in training")
_ = axes.legend()

# %% [markdown]
# Read both together. In the paper's version the centres leave the middle within the first hundred updates, in the wrong
# direction: most end near the last word of their source. The mean distance doubles, and they do not return. With the
# remedies they leave the diagonal, too, but return soon: the window is still wide then, and the derivative points to
# the word from everywhere. The derivatives at the end of training show why there is no way back from far away: within D
# of the word most of them point to it (in the second model), beyond D they are hardly better than a coin, in both
# models. They are not exactly 0 as in our example, because other words in the window give some information, but they
# have no consistent direction. And in the first model most words are beyond D.
#
# The remedies do not change the idea: begin where p is nearly right, and begin with a window so wide that a wrong p
# costs little while the scores are learnt. nmt's page *Why local-p is hard to train* has longer trainings: on the whole
# sample corpus the paper's version ended at 56, 93 and 66 BLEU with three seeds; with these two remedies, a third one
# and a scale it ends at 98.6.

# %% [markdown]
# ## 5. One position: hard attention
#
# The smallest window is one position. In *hard* attention ([X], 4.1) the context is one value, $\bar h_{\hat s}$, and
# $\hat s$ is *sampled* with the probabilities $\alpha$. Then $\alpha$ has no direct influence on the output: only the
# choice has. The loss $L(\hat s)$ of a sample cannot be differentiated with respect to the scores. But its mean over
# all samples can, $J = \sum_s \alpha_s L(s)$, and the derivative of this mean is itself a mean over samples:
#
# $$\frac{\partial J}{\partial e} = \sum_s L(s) \frac{\partial \alpha_s}{\partial e}
# = \sum_s \alpha_s \cdot L(s) \frac{\partial \log \alpha_s}{\partial e}$$
#
# So one sample $\hat s$ gives an estimate of it: $L(\hat s)\, \partial \log \alpha_{\hat s} / \partial e$. With a
# softmax, $\partial \log \alpha_{\hat s} / \partial e_s$ is 1 if $s = \hat s$, else 0, minus $\alpha_s$. This is
# REINFORCE ([W]). One may subtract a number $b$ from the loss, the *baseline*:
# $(L(\hat s) - b)\, \partial \log \alpha_{\hat s} / \partial e$.

# %% [raw]
# # BEGIN QUESTION
# name: q4_10
# points: 2
# check_cell: false

# %% [markdown]
# **Exercise 4.10.** Write the estimate: `scores` (S), `losses` (S) with L(s), of which only `losses[sample]` may be
# used, `sample` is ŝ, `baseline` is b. The result is (S), one number for each score.
#
# <details><summary>Hint</summary>Begin with minus the weights, add 1 at the sample, multiply by the loss of the sample
# less the baseline. Mind the sign: this is the gradient of the loss; an optimizer goes against it.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def reinforce_gradient(scores, losses, sample, baseline):
    """(L(ŝ) − b) ∂ log α_ŝ / ∂e: (S)."""
    # BEGIN SOLUTION
    gradient = -scores.softmax(dim=0)
    gradient[sample] += 1
    return (losses[sample] - baseline) * gradient
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q4_10(reinforce_gradient):
    import torch

    scores = torch.randn(6, dtype=torch.float64, requires_grad=True)
    losses = torch.rand(6, dtype=torch.float64) + 1
    alpha = scores.softmax(0)
    [exact] = torch.autograd.grad((alpha * losses).sum(), scores)
    for baseline in (0.0, 1.3):
        estimates = [reinforce_gradient(scores.detach(), losses, s, baseline) for s in range(6)]
        mean = sum(weight * estimate for weight, estimate in zip(alpha.detach(), estimates, strict=True))
        assert torch.allclose(mean, exact)
    [derivative] = torch.autograd.grad(scores.log_softmax(0)[2], scores)
    assert torch.allclose(reinforce_gradient(scores.detach(), losses, 2, 0.5), (losses[2] - 0.5) * derivative)


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("4.10", reinforce_gradient)

# %% [raw]
# # BEGIN QUESTION
# name: q4_11
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 4.11 (a prediction).** What does a baseline change, if it does not depend on the sample?
#
# - a) the mean of the estimates over many samples
# - b) their variance
# - c) both
#
# <details><summary>Hint</summary>The baseline adds −b ∂ log α_ŝ/∂e. Its mean over the samples is the sum over s of
# −b α_s ∂ log α_s/∂e = −b ∂α_s/∂e. The weights sum to 1. What is the derivative of their sum?</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_4_11 = "b"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q4_11(answer_4_11):
    assert str(answer_4_11).strip().lower() == "b"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("4.11", answer_4_11)

# %% [markdown]
# Measured: S = 8 positions, position 3 has the smallest loss. The exact gradient comes from PyTorch. The baseline is
# the mean loss; [X] uses a moving average of the losses so far.

# %%
losses = torch.tensor([5.0, 5.2, 4.8, 4.0, 5.1, 4.9, 5.3, 5.0])
scores = torch.zeros(8, requires_grad=True)
[exact] = torch.autograd.grad((scores.softmax(dim=0) * losses).sum(), scores)
scores = scores.detach()
samples = torch.multinomial(scores.softmax(dim=0), 500 if quick else 5000, replacement=True)
print("exact gradient of score 3:", f"{exact[3]:.3f}")
for baseline in (0.0, losses.mean().item()):
    estimates = torch.stack([reinforce_gradient(scores, losses, sample, baseline) for sample in samples])
    error = (estimates - exact).square().sum(dim=1).mean().sqrt()
    mean = estimates[:, 3].mean()
    print(f"b = {baseline:.2f}: mean of the estimates for score 3 {mean:6.3f}, root mean square error {error:.2f}")

# %% [markdown]
# And what it means for learning: gradient descent on the scores with one sample per step, twenty times, without and
# with a baseline. The figure has the mean loss J, the mean over the twenty runs.

# %%
RUNS, STEPS = (2, 20) if quick else (20, 400)
figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
for name, rate in (("b = 0", 0.0), ("b = moving average of the losses", 0.1)):
    torch.manual_seed(4)
    means, hits = np.zeros(STEPS), 0
    for _ in range(RUNS):
        scores, baseline = torch.zeros(8), 0.0
        for i in range(STEPS):
            alpha = scores.softmax(dim=0)
            means[i] += (alpha * losses).sum().item() / RUNS
            sample = torch.multinomial(alpha, 1).item()
            scores = scores - 0.1 * reinforce_gradient(scores, losses, sample, baseline)
            baseline += rate * (losses[sample].item() - baseline)
        hits += scores.argmax().item() == 3
    axes.plot(means, label=name)
    print(f"{name:32} J after {STEPS} steps: {means[-1]:.2f}; {hits} of {RUNS} runs found position 3")
axes.set(xlabel="step", ylabel="J", title="Learning where to look, by one sample per step")
_ = axes.legend()

# %% [markdown]
# Both estimates are right in the mean. But without a baseline each sampled position is pushed down by its loss of about
# 5, the best one by 4. The positions that are not sampled gain from that by chance, and some runs end at a wrong
# position, whose weight is then so near 1 that hardly another is sampled. With a baseline, positions better than usual
# are pushed up, the others down. A real model has this noise at each target word. So programs often do without
# sampling: nmt's variant `hard` takes ŝ = argmax α, and in the backward pass the derivative of the softmax, as if the
# context had been the soft one (a *straight-through* estimator). This derivative is biased and has no noise. On
# Multi30k that cost 2.8 BLEU against soft attention (validation: 41.26 and 44.10, means of two and three seeds, nmt's
# `docs/ablation/multi30k`).

# %% [markdown]
# ## 6. What a window saves
#
# A window saves work only if the scores outside are *not computed*. Your `window_softmax` computes all and throws most
# away; that is right for learning, and saves nothing. To save, the keys of the window are gathered first: (B W H) with
# W = 2D + 1, from (B S H). Below, one step of the additive score and the softmax, for B = 16 sentences.


# %%
def milliseconds(function, *arguments, times=10):
    """The median of some runs."""
    function(*arguments)
    runs = []
    for _ in range(times):
        start = time.perf_counter()
        function(*arguments)
        runs.append(time.perf_counter() - start)
    return 1000 * float(np.median(runs))


v_a = torch.randn(SIZE)


def step_over(keys, query):
    scores = torch.tanh(query.unsqueeze(1) + keys) @ v_a
    return (scores.softmax(dim=1).unsqueeze(1) @ keys).squeeze(1)


def step_in_window(keys, query, centre, radius):
    first = (centre - radius).ceil().long().clamp(0, keys.shape[1] - 2 * radius - 1)
    positions = first.unsqueeze(1) + torch.arange(2 * radius + 1)
    return step_over(keys.gather(1, positions.unsqueeze(2).expand(-1, -1, keys.shape[2])), query)


sizes = [25, 50, 100, 200, 400] if quick else [25, 50, 100, 200, 400, 800, 1600]
times = {"global": [], "window, D = 10": []}
for size in sizes:
    keys, query, centre = torch.randn(16, size, SIZE), torch.randn(16, SIZE), torch.full([16], size / 2)
    times["global"].append(milliseconds(step_over, keys, query))
    times["window, D = 10"].append(milliseconds(step_in_window, keys, query, centre, 10))
    print(f"S = {size:4}: global {times['global'][-1]:6.2f} ms, window {times['window, D = 10'][-1]:6.2f} ms")
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for name, values in times.items():
    axes.loglog(sizes, values, "o-", label=name)
axes.set(xlabel="S", ylabel="milliseconds", title="One step of attention")
axes.set_xticks(sizes, sizes)
axes.minorticks_off()
_ = axes.legend()

# %% [markdown]
# The window's time does not grow with S. But gathering costs, too, and attention is only a part of a step: beside it
# are the GRU and the output layer, which is the largest. Sentences of 20 to 30 words gain nothing. Windows are for
# documents, for characters, for speech.
#
# ## Summary
#
# - A window is [p − D, p + D] cut off at 0 and S − 1, with S of each sentence. The softmax is inside it.
# - local-m: p = min(t, S − 1). local-p: p = S · sigmoid(v_pᵀ tanh(W_p h)), and a Gaussian after the softmax, not
#   normalised.
# - Only the Gaussian has a derivative for p. A word outside the window gives none; p begins in the middle; Adam's first
#   steps are large without information. A wide window at first and a start on the diagonal help.
# - Hard attention samples one position. REINFORCE estimates the gradient without bias; a baseline lowers its variance.
# - A window saves time only if its keys are gathered, and only for long sources.
#
# ## Exam questions

# %% [raw]
# # BEGIN QUESTION
# name: exam4_1
# manual: true
# points: 2
# check_cell: false

# %% [markdown]
# **1.** A program computes local-p with S = the padded length of the batch. Name two symptoms by which you would
# notice, without reading the code.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# A sentence is translated differently alone and in a batch with longer ones. Short sentences in a batch suffer most:
# their centres are predicted beyond their end, where there is only padding. Perplexity changes with the size of the
# batches.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: exam4_2
# manual: true
# points: 2
# check_cell: false

# %% [markdown]
# **2.** Another program rounds p_t to a whole number, takes the softmax over the window, and leaves out the Gaussian.
# What do v_p and W_p learn?

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# Nothing. Rounding has the derivative 0, and so has the choice of the window. p_t enters the loss by no other way than
# the Gaussian, so the gradients of v_p and W_p are 0, and the centre stays where it was initialized.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: exam4_3
# manual: true
# points: 2
# check_cell: false

# %% [markdown]
# **3.** Why can soft attention be trained by back-propagation alone, and hard attention with sampling cannot? What does
# REINFORCE need in place of the derivative of the loss, and what is the price?

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# With soft attention the context is a differentiable function of the weights. With sampling the weights decide only
# which position is drawn; the output is a step function of that draw. REINFORCE needs the value of the loss for the
# sampled position, and the derivative of log α at it. The price is the variance of the estimate, which a baseline makes
# smaller.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

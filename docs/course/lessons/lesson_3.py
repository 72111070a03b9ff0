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
# # Lesson 3. Luong's attention: after the step, and four ways to score
#
# After this lesson you can
#
# - say when attention is computed in Bahdanau's model and in Luong's, and what its query is in each;
# - write one step of Luong's decoder, with the attentional vector h̃ and with input feeding;
# - write the scores *dot*, *general*, *concat* and *additive*, and show that the last two are one;
# - say how large a dot product of random vectors is, and what dividing it by √H changes;
# - read from the entropy of the attention weights how a model's attention develops while it is trained.
#
# You need lesson 2 (scores, softmax, context) and a first course in PyTorch. The lesson takes about 45 minutes.
#
# Papers: **[B]** Bahdanau, Cho, Bengio 2015, *Neural machine translation by jointly learning to align and translate*
# (arXiv 1409.0473). **[L]** Luong, Pham, Manning 2015, *Effective approaches to attention-based neural machine
# translation* (arXiv 1508.04025). **[V]** Vaswani et al. 2017, *Attention is all you need* (arXiv 1706.03762).

# %%
# The address is set once, in tools/course.py; with nmt installed, this cell does nothing.
import importlib.util, subprocess, sys

if importlib.util.find_spec("nmt") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "@NMT_ADDRESS@"], check=True)

# %%
import math
import time
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import nano_nmt as nano
import numpy as np
import torch
from sacrebleu.metrics import BLEU
from torch import nn

from nmt.course import check, quick

torch.set_num_threads(1)  # with matrices this small, a second thread does not help
_ = torch.manual_seed(3)

# %% [markdown]
# ## 1. Before the step or after it
#
# At step $t$ the decoder predicts the target token $y_t$. It has the embedding $E y_{t-1}$ of the token before, the
# state of its recurrent network (here a GRU), and the encoder's states $\bar h_1, …, \bar h_S$, one for each source
# position $s$. These we also call *values*. Attention compares a *query* with each value. The softmax of the scores
# gives the weights $\alpha_{ts}$, and the *context* is the weighted sum $c_t = \sum_s \alpha_{ts} \bar h_s$. So far
# both papers agree. They differ in the order:
#
# | | Bahdanau ([B], 3.1 and A.2) | Luong ([L], section 3) |
# |---|---|---|
# | query | $s_{t-1}$, the state **before** the step | $h_t$, the state **after** the step |
# | attention is computed | before the GRU | after the GRU |
# | the GRU reads | $E y_{t-1}$ and $c_t$ | $E y_{t-1}$ and $\tilde h_{t-1}$ (*input feeding*, [L] 3.3) |
# | the output layer reads | $s_t$, $c_t$ and $E y_{t-1}$ | $\tilde h_t = \tanh(W_c [c_t; h_t])$ (equation 5) |
#
# [B] calls the decoder's state $s_t$, [L] calls it $h_t$; and $\bar h_s$ is what lesson 2 calls $h_s$. Here H is the size
# of the state, and M the size of a value: nano's encoder reads in both directions, so M = 2H. $E$ is the matrix of the
# embeddings, and in shapes E is the size of one. R is the size of $\tilde h_t$, the *attentional vector*. $[a; b]$ is $a$
# and $b$ joined to one vector. A shape is written (N H), which is short for N by H.

# %% [raw]
# # BEGIN QUESTION
# name: q3_1
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 3.1 (a prediction).** Two decoders, one of each kind, are about to make step t. All states are given. We
# change one thing: the token y_{t−1} that the step reads. In which decoder do the attention weights α_t change?
#
# - a) in Bahdanau's
# - b) in Luong's
# - c) in both
#
# Decide before you run the cells below.
#
# <details><summary>Hint</summary>Look at the row "query" of the table. When is y_{t−1} read?</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_3_1 = "b"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q3_1(answer_3_1):
    assert str(answer_3_1).strip().lower() == "b"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("3.1", answer_3_1)

# %% [markdown]
# Here it is measured, with two untrained models of `nano_nmt.py`. Each makes the first step twice, from the same state,
# with two different tokens.

# %%
source = torch.tensor([[11, 12, 13, 14, nano.EOS]])
for attention in ("bahdanau", "luong"):
    model = nano.Seq2Seq(attention, [20, 20], 16, 16, 0.0)
    state, memory = model.encode(source)
    _, weights_a = model.step(model.target_embedding(torch.tensor([5])), state, memory)
    _, weights_b = model.step(model.target_embedding(torch.tensor([6])), state, memory)
    print(f"{attention:9} largest change of a weight: {(weights_a - weights_b).abs().max().item():.6f}")

# %% [markdown]
# In Bahdanau's decoder the change is exactly 0: the query s_{t−1} was computed before y_{t−1} is read. So its weights for
# the next token do not depend on the token that was just written. In Luong's decoder they do.
#
# Many programs that are called "Bahdanau decoder" run the GRU first and use its new state as the query. That is Luong's
# wiring with another score. The measurement above detects it.

# %% [markdown]
# ## 2. One step of Luong's decoder
#
# [L], section 3, in the order of computation:
#
# 1. $h_t = \mathrm{GRU}([E y_{t-1}; \tilde h_{t-1}],\, h_{t-1})$: the new state. The attentional vector of the step
#    before is an *input*.
# 2. $c_t = \sum_s \alpha_{ts} \bar h_s$, where the weights come from the query $h_t$.
# 3. $\tilde h_t = \tanh(W_c [c_t; h_t])$: the attentional vector (equation 5). The output layer reads $\tilde h_t$
#    alone (equation 6).
#
# First step 3. $W_c$ has $R$ rows and $M + H$ columns: the first $M$ belong to the context, the others to the state.

# %% [raw]
# # BEGIN QUESTION
# name: q3_2
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 3.2.** Write equation 5 for N rows at once, one for each sentence of a batch: `context` is (N M), `hidden`
# (N H), `w_c` (R M+H). The result is (N R).
#
# <details><summary>Hint</summary><code>torch.cat([…], dim=1)</code> joins the vectors of each row. Row i of
# <code>x @ w.T</code> is the product of w with row i of x. <code>torch.tanh</code> is applied elementwise.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def attentional_vector(context, hidden, w_c):
    """h̃ = tanh(W_c [c; h])."""
    return torch.tanh(torch.cat([context, hidden], dim=1) @ w_c.T)  # SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q3_2(attentional_vector):
    import numpy as np
    import torch

    rng = np.random.default_rng(101)
    for _ in range(3):
        context, hidden, w_c = rng.normal(size=(4, 8)), rng.normal(size=(4, 3)), rng.normal(size=(6, 11)) / 3
        expected = np.tanh(np.hstack([context, hidden]) @ w_c.T)
        actual = attentional_vector(*map(torch.from_numpy, (context, hidden, w_c)))
        assert np.allclose(np.asarray(actual), expected)


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("3.2", attentional_vector)

# %% [raw]
# # BEGIN QUESTION
# name: q3_3
# points: 2
# check_cell: false

# %% [markdown]
# **Exercise 3.3.** Write the whole step. `embedded` is E y_{t−1} (N E), `hidden` is h_{t−1} (N H), `readout` is
# h̃_{t−1} (N R). Two of the arguments are functions: `rnn(inputs, state)` returns the RNN's new state, and
# `attend(query)` returns the context (N M) and the weights (N S). Return h_t, h̃_t and the weights.
#
# <details><summary>Hint</summary>Four lines: join the inputs, run the RNN, compute attention
# (<code>context, weights = attend(…)</code>), compute the attentional vector with your function. In which order do they
# come, and which of the two states does each line read?</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def luong_step(embedded, hidden, readout, rnn, attend, w_c):
    """h_t, h̃_t and α_t, from E y_{t−1}, h_{t−1} and h̃_{t−1}."""
    # BEGIN SOLUTION
    hidden = rnn(torch.cat([embedded, readout], dim=1), hidden)
    context, weights = attend(hidden)
    return hidden, attentional_vector(context, hidden, w_c), weights
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q3_3(luong_step):
    import torch

    generator = torch.Generator().manual_seed(102)
    embedded, hidden, readout = (torch.randn(2, 3, generator=generator, dtype=torch.float64) for _ in range(3))
    values = torch.randn(2, 5, 3, generator=generator, dtype=torch.float64)
    w_c, w_r = (torch.randn(3, 6, generator=generator, dtype=torch.float64) for _ in range(2))
    seen = []

    def rnn(inputs, state):
        seen.append((inputs, state))
        return torch.sin(inputs @ w_r.T + 2 * state)

    def attend(query):
        seen.append(query)
        weights = torch.softmax((query.unsqueeze(1) * values).sum(dim=2), dim=1)
        return (weights.unsqueeze(2) * values).sum(dim=1), weights

    new_hidden, new_readout, weights = luong_step(embedded, hidden, readout, rnn, attend, w_c)
    (inputs, state), query = seen
    assert torch.equal(inputs, torch.cat([embedded, readout], dim=1))
    assert torch.equal(state, hidden)
    assert torch.equal(query, new_hidden)
    assert torch.allclose(new_hidden, torch.sin(inputs @ w_r.T + 2 * hidden))
    context = (weights.unsqueeze(2) * values).sum(dim=1)
    assert torch.allclose(new_readout, torch.tanh(torch.cat([context, new_hidden], dim=1) @ w_c.T))


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("3.3", luong_step)

# %% [markdown]
# Your step computes what nano's own step computes. `model` is still the untrained Luong model from above.

# %%
embedded = model.target_embedding(torch.tensor([5]))
hidden, readout, weights = luong_step(
    embedded, state.hidden, state.readout, model.decoder, partial(model.attend, memory=memory), model.readout.weight
)
of_nano, _ = model.step(embedded, state, memory)
print("largest difference of h̃:", (readout - of_nano.readout).abs().max().item())

# %% [markdown]
# ## 3. Input feeding
#
# A Luong decoder without input feeding has $h_t = \mathrm{GRU}(E y_{t-1}, h_{t-1})$. [L] proposes to feed
# $\tilde h_{t-1}$ into the next step, so that the decoder has information about which source positions were used
# before.

# %% [raw]
# # BEGIN QUESTION
# name: q3_4
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 3.4 (a prediction).** *Without* input feeding, and with given target tokens (teacher forcing): which
# vectors of step t depend on c_{t−1}, the context of the step before?
#
# - a) h_t and h̃_t
# - b) h̃_t alone
# - c) neither
# - d) h_t alone
#
# <details><summary>Hint</summary>Draw an arrow from each vector to what is computed from it: E y_{t−1}, h_{t−1}, h_t,
# c_t, h̃_t. Follow the arrows that leave c_{t−1}.</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_3_4 = "c"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q3_4(answer_3_4):
    assert str(answer_3_4).strip().lower() == "c"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("3.4", answer_3_4)

# %% [markdown]
# We make two steps, and add a small vector to the first context. How much does each vector of the second step change?
# Without feeding, `luong_step` gets `readout[:, :0]`, which has no elements.

# %%
values = torch.randn(1, 7, 8)  # S = 7, M = 8
w_c = torch.randn(8, 16) / 4
inputs = torch.randn(2, 1, 8)  # two steps, N = 1, E = 8


def second_step(cell, size_fed, change):
    """h_2 and h̃_2, after `change` is added to c_1."""
    hidden, readout = torch.zeros(1, 8), torch.zeros(1, 8)
    for t in range(2):

        def attend(query, shift=change if t == 0 else 0.0):
            weights = (query @ values[0].T).softmax(dim=1)
            return weights @ values[0] + shift, weights

        hidden, readout, _ = luong_step(inputs[t], hidden, readout[:, :size_fed], cell, attend, w_c)
    return hidden, readout


with torch.no_grad():
    for name, size_fed in (("without feeding", 0), ("with feeding", 8)):
        cell = nn.GRUCell(8 + size_fed, 8)
        pairs = zip(second_step(cell, size_fed, 0.0), second_step(cell, size_fed, 0.1), strict=True)
        changes = [(after - before).abs().max().item() for before, after in pairs]
        print(f"{name:15}  h_2 changes by {changes[0]:.4f}, h̃_2 by {changes[1]:.4f}")

# %% [markdown]
# Without feeding, no result of attention at step t − 1 reaches step t. What has been translated already can only be
# inferred from the words themselves.
#
# This has an advantage, too. In training all states h_1 … h_T can be computed first, then all scores *in one product* of
# a (T H) and an (H S) matrix, and all contexts in another one. (Here M = H, for simplicity.) With feeding, step t needs
# h̃_{t−1}, so attention must be computed T times.

# %%
batch, length, size = 16, 15, 96
queries, keys = torch.randn(batch, length, size), torch.randn(batch, length, size)


def milliseconds(function, times=30):
    function()
    start = time.perf_counter()
    for _ in range(times):
        function()
    return 1000 * (time.perf_counter() - start) / times


one_by_one = milliseconds(lambda: [(q @ keys.mT).softmax(dim=2) @ keys for q in queries.split(1, dim=1)])
at_once = milliseconds(lambda: (queries @ keys.mT).softmax(dim=2) @ keys)
print(f"attention of {length} steps: one by one {one_by_one:.2f} ms, at once {at_once:.2f} ms")

# %% [markdown]
# ## 4. Four scores
#
# A score $e_{ts}$ says how well the query $h$ fits the value $v_s$ (that is $\bar h_s$). [L], section 3.1, compares
# three scores, and [B], A.1.2, has the fourth:
#
# | name | $e_s$ | parameters |
# |---|---|---|
# | dot | $h^\top v_s$, which needs $H = M$ | none |
# | general | $h^\top W_a v_s$ | $W_a$ (H M) |
# | concat | $v_a^\top \tanh(W_a [h; v_s])$ | $W_a$ (A H+M), $v_a$ (A) |
# | additive | $v_a^\top \tanh(W_a h + U_a v_s)$ | $W_a$ (A H), $U_a$ (A M), $v_a$ (A) |
#
# A is the size of the hidden layer in the score. The letter v has two meanings in the papers: $v_a$ is a parameter,
# $v_s$ is a value. In the functions below B is the number of sentences, T the number of queries of each, S the number
# of source positions: `query` is (B T H), `values` (B S M), and each result (B T S). No masks, no softmax, no scale:
# just scores.

# %% [raw]
# # BEGIN QUESTION
# name: q3_5
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 3.5.** The score dot. `query` is (B T H), `keys` (B S H).
#
# <details><summary>Hint</summary>A batched matrix product: (T H) times (H S), for each of B sentences.
# <code>keys.mT</code> swaps the last two dimensions.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def dot_scores(query, keys):
    """e_s = hᵀ k_s, (B T S)."""
    return query @ keys.mT  # SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q3_5(dot_scores):
    import torch

    query, keys = torch.randn(3, 2, 5), torch.randn(3, 4, 5)
    assert torch.allclose(dot_scores(query, keys), torch.einsum("bth,bsh->bts", query, keys), atol=1e-5)


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("3.5", dot_scores)

# %% [raw]
# # BEGIN QUESTION
# name: q3_6
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 3.6.** The score general. `w_a` is (H M). Use your `dot_scores`: which vectors must it get as keys?
#
# <details><summary>Hint</summary>hᵀ (W_a v_s) = hᵀ k_s with the key k_s = W_a v_s. Row s of <code>values @ w.T</code>
# is w times value s. The keys are the same for all queries: nano computes them once for each sentence.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def general_scores(query, values, w_a):
    """e_s = hᵀ W_a v_s, (B T S)."""
    return dot_scores(query, values @ w_a.T)  # SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q3_6(general_scores):
    import torch

    query, values, w_a = torch.randn(3, 2, 5), torch.randn(3, 4, 6), torch.randn(5, 6)
    expected = torch.einsum("bth,hm,bsm->bts", query, w_a, values)
    assert torch.allclose(general_scores(query, values, w_a), expected, atol=1e-4)


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("3.6", general_scores)

# %% [raw]
# # BEGIN QUESTION
# name: q3_7
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 3.7.** The score concat, as [L] writes it. `w_a` is (A H+M), `v_a` is (A). Each of the T queries is joined
# with each of the S values: first make (B T S H) of the queries and (B T S M) of the values.
#
# <details><summary>Hint</summary><code>query.unsqueeze(2).expand(-1, -1, values.shape[1], -1)</code> repeats each query
# S times, without copying. Do the same for the values, with <code>unsqueeze(1)</code>.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def concat_scores(query, values, w_a, v_a):
    """e_s = v_aᵀ tanh(W_a [h; v_s]), (B T S)."""
    # BEGIN SOLUTION
    left = query.unsqueeze(2).expand(-1, -1, values.shape[1], -1)  # (B T S H)
    right = values.unsqueeze(1).expand(-1, query.shape[1], -1, -1)  # (B T S M)
    return torch.tanh(torch.cat([left, right], dim=3) @ w_a.T) @ v_a
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q3_7(concat_scores):
    import torch

    query, values, w_a, v_a = torch.randn(2, 3, 4), torch.randn(2, 5, 6), torch.randn(7, 10), torch.randn(7)
    scores = concat_scores(query, values, w_a, v_a)
    for b, t, s in ((0, 0, 0), (1, 2, 4), (1, 0, 3)):
        expected = v_a @ torch.tanh(w_a @ torch.cat([query[b, t], values[b, s]]))
        assert torch.allclose(scores[b, t, s], expected, atol=1e-4)


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("3.7", concat_scores)

# %% [raw]
# # BEGIN QUESTION
# name: q3_8
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 3.8.** The score additive, as [B] writes it: `w_a` is (A H), `u_a` (A M), `v_a` (A). Do not repeat queries
# or values: multiply first, then add (B T 1 A) and (B 1 S A).
#
# <details><summary>Hint</summary>A dimension of size 1 is repeated by PyTorch when two tensors are added.
# <code>unsqueeze(2)</code> and <code>unsqueeze(1)</code> make such dimensions.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def additive_scores(query, values, w_a, u_a, v_a):
    """e_s = v_aᵀ tanh(W_a h + U_a v_s), (B T S)."""
    return torch.tanh((query @ w_a.T).unsqueeze(2) + (values @ u_a.T).unsqueeze(1)) @ v_a  # SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q3_8(additive_scores):
    import torch

    query, values, v_a = torch.randn(2, 3, 4), torch.randn(2, 5, 6), torch.randn(7)
    w_a, u_a = torch.randn(7, 4), torch.randn(7, 6)
    scores = additive_scores(query, values, w_a, u_a, v_a)
    for b, t, s in ((0, 0, 0), (1, 2, 4), (1, 0, 3)):
        expected = v_a @ torch.tanh(w_a @ query[b, t] + u_a @ values[b, s])
        assert torch.allclose(scores[b, t, s], expected, atol=1e-4)


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("3.8", additive_scores)

# %% [markdown]
# Split concat's matrix, here called $W$, after its first $H$ columns: $W [h; v_s] = W_a h + U_a v_s$. So the two names
# mean the same score. What differs is the work: concat multiplies each *pair* of query and value by $W$, additive each
# query and each value once.

# %%
batch, t, s, h, m, a = 16, 15, 15, 96, 192, 96
query, values, w, v_a = torch.randn(batch, t, h), torch.randn(batch, s, m), torch.randn(a, h + m), torch.randn(a)
w_general = torch.randn(h, m)
difference = concat_scores(query, values, w, v_a) - additive_scores(query, values, w[:, :h], w[:, h:], v_a)
print(f"largest difference of concat and additive: {difference.abs().max().item():.1e}")
print(f"numbers multiplied with W by concat:       {batch * t * s * (h + m):9,}")
print(f"numbers multiplied with W, U by additive:  {batch * (t * h + s * m):9,}")
for name, function in (
    ("dot", lambda: dot_scores(query, values[:, :, :h])),
    ("general", lambda: general_scores(query, values, w_general)),
    ("concat", lambda: concat_scores(query, values, w, v_a)),
    ("additive", lambda: additive_scores(query, values, w[:, :h], w[:, h:], v_a)),
):
    print(f"{name:9} {milliseconds(function):6.2f} ms")

# %% [markdown]
# dot and general are matrix products, which computers do fastest. concat and additive compute the tanh of B·T·S·A
# elements.

# %% [markdown]
# ## 5. How large is a dot product?
#
# Let $q$ and $k$ be vectors with $H$ elements, all independent, with mean 0 and variance 1. Each product $q_i k_i$ then
# has mean 0 and variance 1, too. Their sum is $q^\top k$.

# %% [raw]
# # BEGIN QUESTION
# name: q3_9
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 3.9 (a prediction).** What is the *standard deviation* of $q^\top k$ for $H = 64$? Give a whole number.
#
# <details><summary>Hint</summary>The variance of a sum of independent numbers is the sum of their variances. The
# standard deviation is the square root of the variance.</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_3_9 = 8  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q3_9(answer_3_9):
    assert float(answer_3_9) == 8


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("3.9", answer_3_9)

# %%
sizes = [4, 16, 64, 256, 1024]
deviations = []
for size in sizes:
    products = (torch.randn(10_000, size) * torch.randn(10_000, size)).sum(dim=1)
    deviations.append(products.std().item())
    print(
        f"H = {size:4}: standard deviation of qᵀk {deviations[-1]:6.2f}, of qᵀk / √H {deviations[-1] / size**0.5:.2f}"
    )

# %% [markdown]
# So the scores grow with $\sqrt H$. Dividing by $\sqrt H$, as [V] (3.2.1) does, keeps them at the same size for every
# $H$. Why does the size matter? The softmax of large scores puts nearly all of the weight on one position. How evenly
# the weights are spread is measured by their *entropy*, $-\sum_s \alpha_s \log \alpha_s$, here in nats (natural
# logarithm). It is $\log S$ if all weights are $1/S$, and 0 if one weight is 1.

# %% [raw]
# # BEGIN QUESTION
# name: q3_10
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 3.10.** The entropy of weights (… S) over their last dimension, in nats. A weight of 0 (padding has it)
# counts 0, which is the limit of α log α for α → 0.
#
# <details><summary>Hint</summary>In floating point 0 · log 0 is NaN. <code>torch.special.xlogy(x, y)</code> is x · log
# y, and 0 where x is 0. <code>clamp</code> with a tiny minimum inside the logarithm also works.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def entropy(weights):
    """−Σ_s α_s log α_s, in nats."""
    return -torch.special.xlogy(weights, weights).sum(dim=-1)  # SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q3_10(entropy):
    import math

    import torch

    weights = torch.tensor([[0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]])
    assert torch.allclose(entropy(weights), torch.tensor([math.log(4), 0.0, math.log(2)]), atol=1e-5)
    assert torch.allclose(entropy(weights.unsqueeze(0)), entropy(weights).unsqueeze(0))


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("3.10", entropy)

# %% [markdown]
# The next figure has the entropy of the softmax over $S = 15$ random scores on the left. On the right is the largest of
# the softmax's derivatives $\partial \alpha_i / \partial e_i = \alpha_i (1 - \alpha_i)$: the factors by which a gradient
# is multiplied on its way through the softmax to the scores. Where one weight is nearly 1 and the others are nearly
# 0, all these factors are nearly 0. Then the softmax is called *saturated*: even if the weight is on the wrong word,
# the gradient is too small to change that.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for name, scaled in (("qᵀk", False), ("qᵀk / √H", True)):
    entropies, factors = [], []
    for size in sizes:
        scores = dot_scores(torch.randn(200, 1, size), torch.randn(200, 15, size)) / (size**0.5 if scaled else 1)
        weights = scores.softmax(dim=2)
        entropies.append(entropy(weights).mean().item())
        factors.append((weights * (1 - weights)).max(dim=2).values.mean().item())
    left.semilogx(sizes, entropies, "o-", base=2, label=name)
    right.semilogx(sizes, factors, "o-", base=2, label=name)
    print(name, "entropies", [round(value, 2) for value in entropies])
    print(name, "factors  ", [round(value, 3) for value in factors])
left.axhline(math.log(15), color="grey", linestyle=":", label="log 15")
left.set(xlabel="H", ylabel="entropy in nats")
right.set(xlabel="H", ylabel="largest α (1 − α)", ylim=(0, 0.26))
left.legend()
right.legend()
figure.suptitle("Softmax over 15 random scores")

# %% [markdown]
# Random vectors are not a trained model. In nano the values are outputs of a GRU, between −1 and 1, and W_a begins with
# small elements: before training, the scores are small *with or without* the scale. So does the scale matter there?
# That is a question for an experiment.

# %% [markdown]
# ## 6. Four decoders, trained
#
# The data are the short sentences of the sample corpus. It is synthetic, so high scores show that training works, and say
# nothing about real text.

# %%
LONGEST, SIZE, EPOCHS = 14, 96, 1 if quick else 5
corpus = {split: nano.read_corpus(Path("data"), split) for split in ("train", "validation", "test")}
german, english = (nano.Vocabulary([pair[side] for pair in corpus["train"]]) for side in (0, 1))
short = {
    split: [pair for pair in pairs if len(nano.tokenize(pair[0])) <= LONGEST][: 64 if quick else None]
    for split, pairs in corpus.items()
}
ids = {split: [(german.encode(a), english.encode(b)) for a, b in pairs] for split, pairs in short.items()}
print({split: len(pairs) for split, pairs in short.items()}, "pairs of at most", LONGEST, "source tokens")

# %% [markdown]
# The decoder below is nano's, with *your* step and *your* scores. `memory.keys` are W_a h̄_s (or U_a h̄_s), which nano
# computes once for each sentence; so `dot_scores` of query and keys is general, and `additive_scores` gets the identity
# in place of U_a. In training, the mean entropy of the weights is recorded in each update. Padding gets the score −∞, as
# in lesson 2.


# %%
class Luong(nano.Seq2Seq):
    """nano's model with Luong's wiring, with the step and the scores of this lesson."""

    def __init__(self, score, scaled=True, feeding=True):
        super().__init__("luong", [len(german.tokens), len(english.tokens)], SIZE, SIZE, 0.1)
        self.score, self.scaled, self.feeding = score, scaled, feeding
        self.entropies, self.history = [], []
        if score == "additive":
            self.query = nn.Linear(SIZE, SIZE, bias=False)  # W_a
            self.v = nn.Linear(SIZE, 1, bias=False)  # v_a
        if not feeding:
            self.decoder = nn.GRUCell(SIZE, SIZE)

    def attend(self, query, memory):
        query = query.unflatten(0, (len(memory.keys), -1))  # (B K H), with K = 1 in training
        if self.score == "additive":
            scores = additive_scores(query, memory.keys, self.query.weight, torch.eye(SIZE), self.v.weight[0])
        else:
            scores = dot_scores(query, memory.keys) / (math.sqrt(SIZE) if self.scaled else 1)
        weights = scores.masked_fill(~memory.mask.unsqueeze(1), -math.inf).softmax(dim=2)
        if self.training:
            self.entropies.append(entropy(weights.detach()).mean().item())
        return (weights @ memory.values).flatten(0, 1), weights.flatten(0, 1)

    def step(self, embedded, state, memory):
        fed = state.readout if self.feeding else state.readout[:, :0]
        attend = partial(self.attend, memory=memory)
        hidden, readout, weights = luong_step(embedded, state.hidden, fed, self.decoder, attend, self.readout.weight)
        return nano.State(hidden, readout), weights

    def forward(self, source, target_input):
        self.entropies = []
        readouts = super().forward(source, target_input)
        if self.training:
            self.history.append(float(np.mean(self.entropies)))
        return readouts


torch.manual_seed(1)
untrained = Luong("general", scaled=False)
nano.loss_of(untrained, ids["train"][:64])
print(f"general without the scale, before training: mean entropy {untrained.history[0]:.2f} nats")

# %% [raw]
# # BEGIN QUESTION
# name: q3_11
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 3.11 (a prediction).** Before training, general *without* the scale has weights that are spread nearly
# evenly (see the line above: log 10 is 2.3). The scores are small. What will the mean entropy be after 50 updates?
#
# - a) still about 2: the scores grow slowly
# - b) below 0.6: most of the weight is on one position
# - c) about 1.3: half way
#
# <details><summary>Hint</summary>Adam moves each parameter by about the learning rate (0.003) in each update, whatever
# the size of its gradient. A score is a sum of H = 96 products. If all 96 change in the same direction, how fast does the
# sum change?</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_3_11 = "b"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q3_11(answer_3_11):
    assert str(answer_3_11).strip().lower() == "b"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("3.11", answer_3_11)

# %% [markdown]
# The next cell trains all four decoders. This takes about two minutes.

# %%
kinds = {
    "general, scaled": ("general",),
    "general, no scale": ("general", False),
    "additive": ("additive",),
    "general, scaled, no feeding": ("general", True, False),
}
models = {}
for name, options in kinds.items():
    print(name)
    torch.manual_seed(1)
    models[name] = Luong(*options)
    start = time.perf_counter()
    nano.train(models[name], ids["train"], ids["validation"], epochs=EPOCHS, batch_size=16, rate=0.003)
    print(f"{time.perf_counter() - start:.0f} seconds\n")

# %%
figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
for name, trained in models.items():
    width = min(10, len(trained.history))
    smooth = np.convolve(trained.history, np.ones(width) / width, mode="valid")  # means of 10 updates
    axes.semilogx(np.arange(len(smooth)) + width, smooth, label=name)
    marks = [n for n in (10, 50, 200, 1000) if n <= len(trained.history)]
    print(f"{name:28} entropy", ", ".join(f"{smooth[n - width]:.2f} after {n}" for n in marks))
axes.set(xlabel="updates", ylabel="mean entropy in nats", title="How evenly attention is spread")
_ = axes.legend()

# %% [markdown]
# Without the scale the scores move √H ≈ 10 times as fast for the same change of the parameters. After fifty updates,
# when the model has hardly learnt which words belong together, its softmax is nearly saturated: each query puts most of
# its weight on one position, which can only be the right one by chance, and the gradients that could move it are small.
# With the scale the weights stay spread until the model has learnt which words belong together; then they become sharp,
# too. The
# additive score needs no scale: each element of its tanh is between −1 and 1, and v_a begins with small elements.
#
# So the scale does two things. It makes the size of the scores independent of H ([V]'s reason), and it slows the scores
# down against the other parameters, which is what counts here.

# %%
bleu = BLEU(lowercase=True)
lengths = np.array([len(nano.tokenize(source)) for source, _ in short["test"]])
groups = [(1, 8), (9, 11), (12, LONGEST)]
print(f"BLEU of the test set, lower case{'':18} all " + "".join(f"{f'{a}-{b}':>8}" for a, b in groups))
table = {}
for name, trained in models.items():
    outputs = np.array(nano.translate(trained, german, english, [source for source, _ in short["test"]]), dtype=object)
    references = np.array([target for _, target in short["test"]], dtype=object)
    chosen = [np.full(len(lengths), True), *((a <= lengths) & (lengths <= b) for a, b in groups)]
    table[name] = [bleu.corpus_score(list(outputs[c]), [list(references[c])]).score for c in chosen]
    print(f"{name:46}" + "".join(f"{score:8.1f}" for score in table[name]))

# %%
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, scores in table.items():
    axes.plot([f"{a}-{b}" for a, b in groups], scores[1:], "o-", label=name)
axes.set(xlabel="source tokens", ylabel="BLEU", title="BLEU by source length")
_ = axes.legend()

# %% [raw]
# # BEGIN QUESTION
# name: q3_12
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 3.12 (read the figure).** Compare *general, scaled* with *general, no scale*. For which sentences does the
# missing scale cost the most BLEU?
#
# - a) for the shortest
# - b) for the longest
# - c) for all about the same
#
# <details><summary>Hint</summary>Subtract the two rows of the table, group by group. Why might it be so? Think of how
# many positions a wrong, saturated softmax can choose from.</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_3_12 = "b"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q3_12(answer_3_12):
    assert str(answer_3_12).strip().lower() == "b"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("3.12", answer_3_12)

# %% [markdown]
# Last, the weights themselves, for one sentence of the test set: with the scale, without it, and with the additive
# score.

# %%
line = max((source for source, _ in short["test"][:40]), key=len)
figure, panels = plt.subplots(1, 3, figsize=(12, 4.5), layout="constrained")
for axes, name in zip(panels, list(kinds)[:3], strict=True):
    source_ids = german.encode(line)
    [translation], [weights] = nano.greedy_search(models[name].eval(), [source_ids])
    axes.imshow(weights.numpy(), cmap="Greys", vmin=0, vmax=1)
    axes.set_xticks(range(len(source_ids)), [german.tokens[i] for i in source_ids], rotation=90)
    axes.set_yticks(range(len(translation)), [english.tokens[i] for i in translation])
    axes.set_title(name)

# %% [markdown]
# Look at the rows of *no scale*: most are one black square. Is it where it should be? One run with one seed is no proof
# of a difference between two models; lesson 6 has what is missing. In `docs/ablation` of nmt three seeds were trained
# longer with all sentences, and found the same order: 98.43 BLEU with the scale, 91.67 without (p = 0.008).

# %% [markdown]
# ## Summary
#
# - Bahdanau's query is the state *before* the step, Luong's the state *after* it. A decoder with an additive score and
#   the new state as its query is Luong's.
# - Luong's output layer reads the attentional vector h̃_t = tanh(W_c [c_t; h_t]). With input feeding h̃_{t−1} is an
#   input of the next step; it is not the recurrent state. Without feeding no step depends on earlier attention, so in
#   training attention can be computed for all steps at once.
# - dot, general and additive differ in parameters and in work. concat is additive, written with one matrix.
# - A dot product of H independent elements has a standard deviation of √H. Dividing by √H keeps the softmax from
#   saturating. nano without the scale is nearly saturated after fifty updates, and translates much worse.
#
# ## Exam questions

# %% [raw]
# # BEGIN QUESTION
# name: exam3_1
# manual: true
# points: 2
# check_cell: false

# %% [markdown]
# **1.** A program is called "Bahdanau attention". Its step reads: `state = gru(embedding, state)`, then `context =
# attend(state)`, then `logits = output(cat([state, context]))`. Name three differences from [B], and say which paper's
# wiring it resembles.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# The query is the new state, not the one before the step. The GRU does not read the context. The output layer does not
# read E y_{t−1}. It resembles Luong's wiring without input feeding, and without the tanh layer of equation 5.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: exam3_2
# manual: true
# points: 2
# check_cell: false

# %% [markdown]
# **2.** With input feeding, attention for T target positions cannot be computed at once in training, although all
# target tokens are known. Why not? What is gained in return?

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# h_t is computed from h̃_{t−1}, which is computed from c_{t−1}. So the query of step t exists only after the attention
# of step t − 1. Without feeding the queries depend on the target tokens alone. What is gained: the decoder's state
# contains what was attended to before, so that it can, for example, avoid translating a word twice.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: exam3_3
# manual: true
# points: 2
# check_cell: false

# %% [markdown]
# **3.** Somebody says: "The score general needs no scale, because W_a is learnt and can become smaller." What is right
# about this, and what does the experiment of section 6 say against it?

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# Right: with and without the scale the model can represent the same functions, W_a only has to be smaller by √H. But
# training takes another way. Without the scale the same steps of the parameters change the scores √H times as much. In
# the experiment the softmax was nearly saturated after fifty updates. In a saturated softmax the factors α(1 − α) are
# near 0, so the gradient that would make W_a smaller is near 0 as well.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

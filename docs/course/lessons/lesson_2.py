# %% [raw]
# # ASSIGNMENT CONFIG
# init_cell: false
# check_all_cell: false
# export_cell: false
# tests:
#   ok_format: false

# %% [markdown]
# # Lesson 2. Bahdanau: attention
#
# After this lesson you can
#
# 1. say why one vector per sentence is too little, and what attention computes instead;
# 2. write the three steps of attention, scores, weights and context, with the shapes of all tensors;
# 3. say what padding is, and mask it at the right place with the right value;
# 4. put attention into a decoder as Bahdanau, Cho and Bengio did in 2015, with the previous state as the query;
# 5. read a heat map of attention weights;
# 6. measure with the alignment error rate how well the weights agree with the links between words, and say what this
#    number does not show.
#
# **You need** lesson 1: what an encoder, a decoder, a GRU, teacher forcing and BLEU are. Section 1 repeats the most
# important points. The lesson takes 45 minutes, without the three exam questions at the end. All of it runs on a laptop
# without a GPU; the longest cell trains for one to three minutes.
#
# [B] is [Bahdanau, Cho, Bengio 2015](https://arxiv.org/abs/1409.0473), the paper that this lesson is about. The lesson
# builds on `nano_nmt.py`, which lies beside this notebook: a translation model in one file.
#
# Before you begin, or at the end: [train attention in your browser](../../how-to/train-in-the-browser.md), and watch how a
# matrix of weights becomes sharp.

# %%
# The address is set once, in tools/course.py; with nmt installed, this cell does nothing.
import importlib.util, subprocess, sys

if importlib.util.find_spec("nmt") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "@NMT_ADDRESS@"], check=True)

# %%
import math
from pathlib import Path

import matplotlib.pyplot as plt
import nano_nmt as nano
import sacrebleu
import torch

from nmt.course import check, quick

torch.manual_seed(2)

# %% [markdown]
# ## 1. From one vector to a weighted sum
#
# A translation model reads a German sentence and writes an English one. Its two halves, with the letters that this
# lesson uses for sizes, are:
#
# - The **encoder**, a bidirectional GRU, turns $S$ tokens into $S$ vectors $h_1, \dots, h_S$. A token is a word, a piece of a
#   rare word, or a punctuation mark. The vector $h_s$ is about token $s$ and what stands around it: one half comes from
#   reading the sentence forwards up to $s$, the other from reading it backwards down to $s$. So it has $2H$ numbers, if
#   a GRU's state has $H$.
# - The **decoder**, another GRU, writes one token at each step $t = 1, \dots, T$. Its state is $s_t$, with $H$ numbers.
#   The probabilities of the token $y_t$ are computed from $s_t$ and two other vectors (section 6). Then $y_t$ is read at
#   step $t + 1$.
#
# Careful: $s$ alone, or as an index, is a source position. $s_t$, with a time index, is the decoder's state. Both letters
# are those of [B].
#
# In lesson 1 the decoder had one vector $c$ for the whole sentence: the encoder's last states. That is as much room for
# 50 words as for 5, and the translations of long sentences were bad.
#
# **Attention** keeps all $h_s$. At each step it computes a new vector $c_t$, the *context*, as a weighted sum of them:
#
# $$c_t = \sum_{s=1}^{S} \alpha_{ts} \, h_s \qquad \alpha_{ts} \ge 0, \quad \sum_s \alpha_{ts} = 1 \qquad \text{([B]
# equation 5)}$$
#
# The number $\alpha_{ts}$ is the *weight* of source position $s$ at step $t$. Where $\alpha_{ts}$ is near 1, $c_t$ is
# nearly $h_s$. The weights are not stored anywhere: they are computed from the decoder's state and from $h_s$, for each
# sentence and each step anew. What is learnt are the matrices that this computation uses.
#
# The computation has three steps. The rest of the lesson is about these three lines:
#
# | step | formula | result | section |
# |---|---|---|---|
# | 1. score | $e_{ts} = v_a^\top \tanh(W_a s_{t-1} + U_a h_s)$ | any number for each $s$ | 2 |
# | 2. weight | $\alpha_{ts} = \exp(e_{ts}) \,/\, \sum_{s'} \exp(e_{ts'})$ | a number from 0 to 1 for each $s$ | 3 |
# | 3. context | $c_t = \sum_s \alpha_{ts} h_s$ | one vector | 4 |
#
# $v_a$ is a vector, and $v_a^\top x$ is its dot product with the vector $x$. $W_a$ and $U_a$ are matrices; the index $a$
# stands for *alignment*. In the denominator, $s'$ runs over all source positions, because $s$ is taken already.
#
# Here are all three with plain numbers, for three positions and vectors of two numbers. The scores are made up.

# %%
h = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])  # (S 2): one row for each source position
e = torch.tensor([0.0, 2.0, 1.0])  # (S): made-up scores
alpha = e.exp() / e.exp().sum()
print("weights", alpha, "sum", alpha.sum().item())
print("context", alpha[0] * h[0] + alpha[1] * h[1] + alpha[2] * h[2])

# %% [markdown]
# Position 2 has the highest score, so the context is most like its vector `[0, 1]`.
#
# Now real tensors. The next cell reads the sample corpus, makes the two vocabularies, and encodes two sentences with a
# model that is not trained yet. Sentences of a batch differ in length. The shorter ones are filled up with a token
# `<pad>`, the *padding*, so that the batch is a rectangle. `memory` holds what attention reads: the vectors $h_s$ of the
# batch (`values`), $U_a h_s$ (`keys`, section 2) and the mask (`mask`), which is `True` at real tokens and `False` at
# padding. A shape is written (B S 2H), which is short for B by S by 2H.


# %%
def short(pairs):
    """The pairs with at most 25 German words: they train faster."""
    return [(german, english) for german, english in pairs if len(german.split()) <= 25]


training, validation, test = (nano.read_corpus(Path("data"), split) for split in ("train", "validation", "test"))
if quick:
    training, validation, test = training[:300], validation[:20], test[:20]
training, validation = short(training), short(validation)
source = nano.Vocabulary([german for german, _ in training])
target = nano.Vocabulary([english for _, english in training])
sizes = [len(source.tokens), len(target.tokens)]

model = nano.Seq2Seq("bahdanau", sizes, embedding=128, hidden=128, dropout=0.1).eval()
lines = ["Gestern hat die Ente unter dem Baum gestanden.", "Ein Hund schläft."]
state, memory = model.encode(nano.pad([source.encode(line) for line in lines]))
print("values", tuple(memory.values.shape), "the vectors h_s: (B S 2H)")
print("keys  ", tuple(memory.keys.shape), "U_a h_s: (B S H)")
print("state ", tuple(state.hidden.shape), "s_0: (B H)")
print(memory.mask.int())

# %% [markdown]
# $B = 2$ is the number of sentences, $S$ the number of source tokens of the longer one (its last token is `</s>`, the end
# of the sentence), $H = 128$. In the second row of the mask, the zeros are padding.

# %% [markdown]
# ## 2. Scores
#
# The score $e_{ts}$ says how well source position $s$ fits what the decoder is about to write at step $t$. It is computed
# from two vectors: the *query*, which is the decoder's state, and $h_s$.
#
# $$e_{ts} = v_a^\top \tanh(W_a\, q + U_a\, h_s) \qquad q = s_{t-1} \qquad \text{([B] appendix A.1.2)}$$
#
# | symbol | what it is | shape |
# |---|---|---|
# | $q$ | the query: the state $s_{t-1}$, computed one step earlier | (H) |
# | $h_s$ | the encoder's vector of position $s$ | (2H) |
# | $W_a$ | a learnt matrix | (H H) |
# | $U_a$ | a learnt matrix | (H 2H) |
# | $v_a$ | a learnt vector | (H) |
#
# Read it from the inside. $W_a q$ and $U_a h_s$ bring query and source vector to the same size, $H$. They are added, and
# $\tanh$ is applied to each of the $H$ sums. The product with $v_a$ makes one number of them. This is a neural network
# with one hidden layer, whose input is the pair $(q, h_s)$. Because the two are added, it is called the *additive* score.
# $W_a$, $U_a$ and $v_a$ are the same for all $s$ and $t$, so a sentence may have any length.
#
# Two remarks on speed. $U_a h_s$ does not depend on $t$: it is computed once for each sentence, and called the *keys*.
# And no loop runs over the positions: with one more axis, PyTorch adds $W_a q$ to all keys of a sentence at once.

# %% [raw]
# # BEGIN QUESTION
# name: q2_1
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 2.1.** Write the score for a whole batch: from one query for each sentence and the keys of all its positions,
# one score for each position. `keys` holds $U_a h_s$ already. `W` is $W_a$, and `v` is $v_a$.
#
# <details><summary>Hint</summary>
#
# A query is a row of `query`. $W_a q$ for all rows at once is `query @ W.T`, of shape (B H). `x.unsqueeze(1)` turns
# (B H) into (B 1 H), which can be added to (B S H). `torch.tanh` is applied elementwise. And `y @ v` sums over the last
# axis of `y`, each component times that of `v`.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def additive_scores(query, keys, W, v):
    """Scores (B S) from queries (B H), keys (B S H), a matrix W (H H) and a vector v (H)."""
    scores = torch.tanh((query @ W.T).unsqueeze(1) + keys) @ v  # SOLUTION
    return scores


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q2_1(additive_scores):
    import numpy as np
    import torch

    for seed in (21, 22):
        rng = np.random.default_rng(seed)
        query, keys, W, v = (rng.normal(size=size) for size in ((2, 3), (2, 7, 3), (3, 3), 3))
        expected = [
            [sum(v[i] * np.tanh(W[i] @ query[b] + keys[b, s, i]) for i in range(3)) for s in range(7)] for b in range(2)
        ]
        result = additive_scores(*map(torch.from_numpy, (query, keys, W)), torch.from_numpy(v))
        assert tuple(result.shape) == (2, 7)
        assert np.abs(result.numpy() - expected).max() < 1e-5


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("2.1", additive_scores)

# %% [markdown]
# ## 3. Weights: a softmax, and a mask
#
# Scores are any numbers. Weights have to be positive and to sum to 1 over the source positions. The *softmax* makes them
# so ([B] equation 6):
#
# $$\alpha_{ts} = \frac{\exp(e_{ts})}{\sum_{s'=1}^{S} \exp(e_{ts'})}$$
#
# - $\exp$ is positive, so each weight is; the division makes their sum 1.
# - Only differences of scores count: 5 added to all scores of a sentence changes no weight, since $\exp(5)$ cancels.
# - One score that is 3 above another one gives a weight that is $\exp(3) \approx 20$ times as large.
#
# In a tensor (B S) the sum runs over the axis of $s$, which is `dim=1`. With `dim=0` it would run over the *sentences* of
# the batch. No error is raised; the model just learns badly.
#
# **Padding.** A score is also computed at padding, because the batch is a rectangle. It means nothing, but the softmax
# does not distinguish it from a real one. What does that cost?

# %% [raw]
# # BEGIN QUESTION
# name: q2_2
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 2.2: a prediction.** A sentence of 3 tokens is padded to length 6. All six scores are 0, and the mask is
# forgotten. What share of the total weight, from 0 to 1, do the three padding tokens get together? Write your answer into
# the next cell **before** you run the one after it.
#
# <details><summary>Hint</summary>
#
# What is $\exp(0)$? The sum in the denominator has six terms.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_2_2 = 0.5  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q2_2(answer_2_2):
    assert float(answer_2_2) == 0.5


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("2.2", answer_2_2)
print(torch.zeros(6).softmax(dim=0)[3:].sum().item())

# %% [markdown]
# So a sentence's context would depend on the amount of its padding, that is, on the *other* sentences of its batch. Alone
# and in a batch, the same sentence could get different translations.
#
# The cure is to set the scores of padding to $-\infty$ before the softmax: $\exp(-\infty)$ is exactly 0, in the numerator
# and in the denominator, so padding gets weight 0 and the weights of the real tokens are those that they would have
# alone. Two mistakes are common:
#
# - A score of 0 instead of $-\infty$ is a score like any other: $\exp(0) = 1$.
# - Setting *weights* to 0 after the softmax leaves a sum that is below 1: padding has already taken its share, in the
#   denominator.

# %% [raw]
# # BEGIN QUESTION
# name: q2_3
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 2.3.** Write the weights for a batch. The mask is `True` at real tokens.
#
# <details><summary>Hint</summary>
#
# `x.masked_fill(where, value)` returns a copy of `x`, with `value` at all positions where `where` is `True`. `~mask` is
# `True` at padding. `x.softmax(dim=…)` is the softmax over one axis. `-math.inf` is $-\infty$.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def attention_weights(scores, mask):
    """Weights (B S), which sum to 1 over the source positions, from scores (B S) and a mask (B S)."""
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=1)  # SOLUTION
    return weights


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q2_3(attention_weights):
    import numpy as np
    import torch

    for seed in (23, 24):
        scores = np.random.default_rng(seed).normal(size=(4, 6))
        expected, lengths = np.zeros((4, 6)), [6, 1, 4, 3]
        for b, n in enumerate(lengths):
            expected[b, :n] = np.exp(scores[b, :n]) / np.exp(scores[b, :n]).sum()
        result = attention_weights(torch.from_numpy(scores), torch.arange(6) < torch.tensor(lengths).unsqueeze(1))
        assert np.abs(result.numpy() - expected).max() < 1e-6


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("2.3", attention_weights)

# %% [markdown]
# ## 4. Context
#
# The context is the sum of the encoder's vectors, each times its weight: $c_t = \sum_s \alpha_{ts} h_s$. It has the size
# of one $h_s$, whatever the length of the sentence. If all weights are equal, it is the mean of the $h_s$. If one weight
# is 1, it is that $h_s$.
#
# All of this can be differentiated. So the gradient of the loss reaches $v_a$, $W_a$ and $U_a$ through the weights. If
# more weight on `Ente` makes `duck` more probable, the gradient raises the score of `Ente`. So attention is learnt from
# pairs of sentences alone: nobody has to say which German word belongs to which English one.

# %% [raw]
# # BEGIN QUESTION
# name: q2_4
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 2.4.** Write the contexts of a batch. In the shapes, $M = 2H$ is the size of one $h_s$.
#
# <details><summary>Hint</summary>
#
# `weights.unsqueeze(2)` is (B S 1). Times `values`, it multiplies each vector by its weight. Then sum over the axis of the
# source positions. Or use the product of matrices: `weights.unsqueeze(1) @ values` is (B 1 S) @ (B S M), which gives
# (B 1 M). Then `.squeeze(1)` removes the axis of size 1.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def context_vectors(weights, values):
    """Contexts (B M) from weights (B S) and the encoder's vectors (B S M)."""
    contexts = (weights.unsqueeze(2) * values).sum(dim=1)  # SOLUTION
    return contexts


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q2_4(context_vectors):
    import numpy as np
    import torch

    rng = np.random.default_rng(25)
    weights, values = rng.dirichlet(np.ones(5), size=3), rng.normal(size=(3, 5, 4))
    result = context_vectors(torch.from_numpy(weights), torch.from_numpy(values))
    for b in range(3):
        assert np.abs(result[b].numpy() - weights[b] @ values[b]).max() < 1e-6


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("2.4", context_vectors)


# %% [markdown]
# Your three functions are attention. The next cell puts them into the model in place of its own, and compares the two.
# For the two sentences from section 1, weights and contexts are equal up to rounding. (`self.query.weight` is $W_a$;
# `self.v.weight` is $v_a$, as a matrix with one row.)


# %%
class WithMyAttention(nano.Seq2Seq):
    """The model of nano_nmt.py, with attention from this notebook."""

    def attend(self, query, memory):
        scores = additive_scores(query, memory.keys, self.query.weight, self.v.weight[0])
        weights = attention_weights(scores, memory.mask)
        return context_vectors(weights, memory.values), weights


mine = WithMyAttention("bahdanau", sizes, embedding=128, hidden=128, dropout=0.1).eval()
mine.load_state_dict(model.state_dict())
with torch.no_grad():
    (context, weights), (context_2, weights_2) = mine.attend(state.hidden, memory), model.attend(state.hidden, memory)
print("largest difference of a weight: ", (weights - weights_2).abs().max().item())
print("largest difference of a context:", (context - context_2).abs().max().item())


# %% [markdown]
# ## 5. Heat maps, before training
#
# A *heat map* draws the weights: a row for each step $t$, so for each token that is written, and a column for each source
# token. White is weight 0, black is weight 1, and each row sums to 1.


# %%
def draw(weights, columns, rows, title):
    """A heat map of weights, one row per target token, one column per source token."""
    _, axes = plt.subplots(figsize=(6, 5), layout="constrained")
    axes.imshow(weights, cmap="Greys", vmin=0, vmax=1)
    axes.set_xticks(range(len(columns)), columns, rotation=90)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_title(title)
    plt.show()


# %% [raw]
# # BEGIN QUESTION
# name: q2_5
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 2.5: a prediction.** The model is not trained: all its matrices hold small random numbers. What will its heat
# map look like?
#
# - "a": dark along the diagonal, since translations mostly follow the order of the source;
# - "b": the same light grey nearly everywhere, each weight near $1/S$;
# - "c": one black cell in each row, at a random position.
#
# Answer **before** you run the cell that draws it.
#
# <details><summary>Hint</summary>
#
# Before training, the components of $v_a$ are about 0.1 in size, with both signs; those of $\tanh$ are between −1 and 1. So
# the products of the two mostly cancel in the sum. How far apart, then, are the scores of two positions? And which weights
# follow from scores that are nearly equal?
#
# </details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_2_5 = "b"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q2_5(answer_2_5):
    assert str(answer_2_5).strip().lower() == "b"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("2.5", answer_2_5)


# %%
@torch.no_grad()
def forced_weights(model, line, translation):
    """Attention weights (T S), a row for each token of the translation, which is read as in training."""
    state, memory = model.encode(nano.pad([source.encode(line)]))
    rows = []
    for token in [nano.BOS, *target.encode(translation)[:-1]]:
        state, weights = model.step(model.target_embedding(torch.tensor([token])), state, memory)
        rows.append(weights)
    return torch.cat(rows)


def tokens_of(vocabulary, line):
    return [vocabulary.tokens[i].strip() for i in vocabulary.encode(line)]


line, translation = "Gestern hat die Ente unter dem Baum gestanden.", "Yesterday, the duck stood under the tree."
columns, rows = tokens_of(source, line), tokens_of(target, translation)
draw(forced_weights(model, line, translation), columns, rows, "not trained")

# %% [markdown]
# An untrained model weights all positions nearly alike: its context is about the mean of the $h_s$, at each step the same.
# That is a good start. No position is excluded, so each gets some gradient.
#
# `forced_weights` uses *teacher forcing*: at each step the decoder reads the reference's token, not its own best one. So
# the rows belong to a given translation, and the heat maps of two models can be compared.

# %% [markdown]
# ## 6. The whole step
#
# Where in the decoder is attention? In [B] it comes **before** the GRU (section 3.1 and A.2.2). Step $t$ has three lines:
#
# 1. $c_t$ = attention with the query $s_{t-1}$, the *previous* state;
# 2. $s_t = \text{GRU}([E y_{t-1};\; c_t],\; s_{t-1})$: the GRU reads the embedding of the previous token and the context;
# 3. $g_t = \tanh(W_g [s_t;\; c_t;\; E y_{t-1}])$, from which the output layer computes the probabilities of $y_t$.
#
# $E$ is the matrix of the embeddings, and $E y_{t-1}$ is the row of the token that was written last. $[a;\, b]$ joins two
# vectors end to end. $W_g$ is a learnt matrix. (For $g_t$, [B] uses another function of the same three vectors;
# `nano_nmt.py` has $\tanh$.) At $t = 1$, $y_0$ is `<s>`, and $s_0$ is computed from the encoder's last states by a learnt
# layer with $\tanh$.
#
# In shapes, E is the size of an embedding, and V the number of English tokens:
#
# | tensor | shape | tensor | shape |
# |---|---|---|---|
# | $E y_{t-1}$ | (B E) | $s_t$ | (B H) |
# | $c_t$ | (B 2H) | $g_t$ | (B E) |
# | the GRU's input $[E y_{t-1};\; c_t]$ | (B E+2H) | the output layer's result | (B V) |
#
# The query is not $s_t$: the GRU needs $c_t$ to compute $s_t$, so $s_t$ does not exist yet. This has a consequence. At
# step 3, for example, the query is $s_2$, whose GRU has read $y_1$. The token $y_2$ enters only in line 2, together with
# $c_3$. Luong's model, in lesson 3, computes attention *after* the GRU. So do many programs that are called "Bahdanau".

# %% [raw]
# # BEGIN QUESTION
# name: q2_6
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 2.6.** Write the first two lines of the step. `attend(query)` returns a context and weights;
# `gru(inputs, state)` returns the new state. Here `state` is a tensor, $s_{t-1}$. (In `nano_nmt.py` it is an object with
# two tensors; the next section passes you its `state.hidden`.)
#
# <details><summary>Hint</summary>
#
# `context, weights = …` unpacks the two results of `attend`. `torch.cat([a, b], dim=1)` joins (B E) and (B M) to
# (B E+M). The embedding comes first.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def bahdanau_step(embedded, state, attend, gru):
    """The new state (B H), the context (B M) and the weights (B S), from embeddings (B E) and the previous state (B H)."""
    context, weights = attend(state)  # SOLUTION
    new_state = gru(torch.cat([embedded, context], dim=1), state)  # SOLUTION
    return new_state, context, weights


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q2_6(bahdanau_step):
    import torch

    queries, inputs = [], []

    def attend(query):
        queries.append(query)
        return query[:, :2] * 3, query[:, 2:]

    def gru(read, state):
        inputs.append((read, state))
        return state + read.sum(dim=1, keepdim=True)

    embedded, state = torch.rand(3, 4), torch.rand(3, 5)
    new_state, context, weights = bahdanau_step(embedded, state, attend, gru)
    read = torch.cat([embedded, state[:, :2] * 3], dim=1)
    assert len(queries) == len(inputs) == 1
    assert torch.equal(queries[0], state)
    assert torch.equal(inputs[0][0], read)
    assert torch.equal(inputs[0][1], state)
    assert torch.allclose(new_state, state + read.sum(dim=1, keepdim=True))
    assert torch.equal(context, state[:, :2] * 3)
    assert torch.equal(weights, state[:, 2:])


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("2.6", bahdanau_step)

# %% [markdown]
# ## 7. Training
#
# The next cell builds a model with *your* attention and *your* step, and trains it with `nano.train`. The loss is the mean
# of $-\log p(y_t)$, with teacher forcing. The training takes one to three minutes. The perplexity, which it prints, is
# $\exp$ of the loss: 2 means that the model is as unsure as between two equally probable tokens.


# %%
class Bahdanau(WithMyAttention):
    """… and with the step from this notebook, too."""

    def step(self, embedded, state, memory):
        hidden, context, weights = bahdanau_step(
            embedded, state.hidden, lambda query: self.attend(query, memory), self.decoder
        )
        readout = torch.tanh(self.readout(torch.cat([hidden, context, embedded], dim=1)))
        return nano.State(hidden, readout), weights


torch.manual_seed(2)
mine = Bahdanau("bahdanau", sizes, embedding=128, hidden=128, dropout=0.1)
encoded = [
    [(source.encode(german), target.encode(english)) for german, english in split] for split in (training, validation)
]
nano.train(mine, *encoded, epochs=1 if quick else 4, batch_size=32, rate=0.004)

# %% [markdown]
# Does it translate? The next cell translates the test set's sentences with up to 25 words by greedy search, which takes the
# most probable token at each step. It prints three translations, and BLEU.

# %%
mine.eval()
pairs = short(test)
ids, _ = nano.greedy_search(mine, [source.encode(german) for german, _ in pairs])
outputs = [target.decode(row) for row in ids.tolist()]
for (german, english), output in list(zip(pairs, outputs, strict=True))[:3]:
    print(f"German:    {german}\nReference: {english}\nModel:     {output}\n")
print(sacrebleu.corpus_bleu(outputs, [[english for _, english in pairs]], lowercase=True))

# %% [markdown]
# The sample corpus is generated from a small grammar. So a BLEU near 100 shows that the model has learnt this grammar. It
# says nothing about real text.
#
# ## 8. The heat map, after training

# %%
draw(forced_weights(mine, line, translation), columns, rows, "trained here")

# %% [markdown]
# No two training runs are alike, so the exercise is about a stored heat map: the same sentence, from a similar
# model.

# %%
stored = torch.tensor(
    [
        [94, 4, 1, 0, 0, 0, 0, 0, 0, 1],  # Yesterday
        [63, 18, 11, 1, 0, 0, 0, 3, 1, 3],  # ,
        [5, 3, 86, 2, 0, 0, 0, 1, 1, 2],  # the
        [0, 0, 0, 100, 0, 0, 0, 0, 0, 0],  # duck
        [2, 4, 1, 0, 5, 2, 1, 85, 0, 0],  # stood
        [1, 0, 2, 0, 39, 28, 26, 2, 2, 0],  # under
        [1, 0, 1, 0, 22, 45, 24, 2, 4, 1],  # the
        [0, 0, 0, 0, 0, 0, 100, 0, 0, 0],  # tree
        [13, 4, 0, 0, 2, 2, 1, 8, 47, 23],  # .
        [0, 0, 0, 0, 0, 0, 0, 0, 8, 92],  # </s>
    ]
)
stored_columns = ["Gestern", "hat", "die", "Ente", "unter", "dem", "Baum", "gestanden", ".", "</s>"]
stored_rows = ["Yesterday", ",", "the", "duck", "stood", "under", "the", "tree", ".", "</s>"]
draw(stored / 100, stored_columns, stored_rows, "stored")

# %% [raw]
# # BEGIN QUESTION
# name: q2_7
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 2.7: a figure to read.** Which column is darkest in the row `stood`? Answer with its position $s$, counted from
# 0: `Gestern` is 0.
#
# <details><summary>Hint</summary>
#
# German has two verb parts in this sentence: the auxiliary `hat` in second place, and the participle at the end. Look along
# the row `stood`, and then count the columns from the left.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_2_7 = 7  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q2_7(answer_2_7):
    assert int(answer_2_7) == 7


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("2.7", answer_2_7)

# %% [markdown]
# The English past tense `stood` is one word, the German perfect is two, `hat … gestanden`, with the sentence between them.
# The weight goes to the participle, far from the diagonal: the decoder takes the verb's meaning from there, and puts it
# where English needs it. A model with one vector has to carry `gestanden` in it; a model with attention can look it up.
#
# Look at the other rows, too. Most rows have one dark cell, for example `Yesterday`, `duck` and `tree`. The comma has no
# German counterpart. Its weight is spread more widely, but most of it (0.63) lies on `Gestern`, where the decoder was one
# step before. And the row `under` is grey over `unter dem Baum`: each $h_s$ also holds what stands around position $s$, so
# the vectors of neighbours can replace each other.
#
# ## 9. The alignment error rate
#
# A heat map shows one sentence. To measure many, the weights are turned into *links*. A link is a pair (source position,
# target position), counted from 0: `(7, 4)` links `gestanden` and `stood`. All links of a sentence and its translation are
# their *alignment*. The links from the weights are compared with the right ones, the *gold links*. Usually people make
# these; in this corpus, they come from the grammar that generated the sentences.
#
# The rule from weights to links is: each target word is linked to the source word with the largest weight in its row.

# %% [raw]
# # BEGIN QUESTION
# name: q2_8
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 2.8.** Write the links of a matrix of weights, as a list of pairs of whole numbers, one for each row.
#
# <details><summary>Hint</summary>
#
# `weights.argmax(dim=1).tolist()` is the list of the columns in which the rows are largest. `enumerate` numbers them.
# Careful: `list(enumerate(…))` has pairs (t, s), the wrong way round.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def best_links(weights):
    """The links [(s, t), …] for t = 0, 1, …, from weights (T S): a row per target word, a column per source word."""
    links = [(s, t) for t, s in enumerate(weights.argmax(dim=1).tolist())]  # SOLUTION
    return links


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q2_8(best_links):
    import torch

    weights = torch.tensor([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.0, 0.1, 0.9], [0.2, 0.6, 0.2]])
    assert [tuple(map(int, link)) for link in best_links(weights)] == [(2, 0), (0, 1), (2, 2), (1, 3)]


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("2.8", best_links)

# %% [markdown]
# Let $A$ be the links of the model. The people who annotate real text often disagree, so there are two sets of gold links
# ([Och and Ney 2003](https://aclanthology.org/J03-1002/)): the *sure* ones $S$, and the *possible* ones $P$, which include
# the sure ones. A good model has all sure links, and none that is not possible. This is measured by the *alignment error
# rate* (AER):
#
# $$\text{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}$$
#
# - $|A|$ is the number of links in $A$; $A \cap S$ are the links that are in both.
# - AER 0 is perfect: all of $A$ is possible, and all of $S$ is in $A$. AER 1 means that no link of $A$ is possible.
# - A sure link that is missing makes the AER larger, and so does a link that is not possible. A link that is possible and
#   not sure does no harm.
#
# ($S$ is a set of links here, and the number of source positions elsewhere: both letters are those of the papers.)

# %% [raw]
# # BEGIN QUESTION
# name: q2_9
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 2.9.** Write the alignment error rate of three sets of pairs.
#
# <details><summary>Hint</summary>
#
# For Python's sets, `a & b` is the intersection and `len(a)` the number of elements.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def alignment_error_rate(links, sure, possible):
    """The AER of a set of links, given the sets of sure and of possible gold links."""
    rate = 1 - (len(links & sure) + len(links & possible)) / (len(links) + len(sure))  # SOLUTION
    return rate


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q2_9(alignment_error_rate):
    sure = {(0, 0), (1, 1), (3, 2)}
    possible = sure | {(2, 2), (2, 3)}
    assert abs(alignment_error_rate(sure, sure, possible)) < 1e-9
    assert abs(alignment_error_rate({(0, 0), (2, 2), (4, 1)}, sure, possible) - 0.5) < 1e-9
    assert abs(alignment_error_rate({(4, 4)}, sure, possible) - 1) < 1e-9


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("2.9", alignment_error_rate)

# %% [markdown]
# Now measure your model, on 200 sentences of the test set. In the sample corpus all gold links are sure ones, so $P = S$.
# One thing is left to do: gold links are between *words*, but the weights are those of *tokens*, since rare words are
# split. So `word_weights` adds the weights of the tokens of each source word, and takes the mean over the tokens of each
# target word. `</s>` is left out.
#
# For comparison, the cell also prints the AER of two methods that have learnt nothing: the model without training, and
# "the diagonal", which links words at the same relative position.


# %%
def word_weights(weights, line, translation):
    """Weights (words of the translation, words of the line) from weights of tokens (T S)."""

    def parts(vocabulary, text):  # (words, tokens): 1 where a token is a part of a word
        return torch.block_diag(*[torch.ones(1, len(vocabulary.split(word))) for word in nano.tokenize(text)])

    rows, columns = parts(target, translation), parts(source, line)
    return rows / rows.sum(dim=1, keepdim=True) @ weights[:-1, :-1] @ columns.T


def diagonal(rows, columns):
    """Weights 1 where source and target word have the same relative position."""
    best = torch.linspace(0, columns - 1, rows).round().long()
    return torch.nn.functional.one_hot(best, columns)


def number_links(links, sentence):
    """Links with the sentence's number, so that those of a whole corpus are one set."""
    return {(sentence, s, t) for s, t in links}


gold_lines = Path("data/test.align").read_text(encoding="utf-8").split("\n")
gold, links = set(), {"trained": set(), "not trained": set(), "diagonal": set()}
for number, ((german, english), gold_line) in enumerate(zip(test, gold_lines, strict=False)):
    if (german, english) in pairs[:200]:
        gold |= number_links((map(int, link.split("-")) for link in gold_line.split()), number)
        for name, network in (("trained", mine), ("not trained", model)):
            weights = word_weights(forced_weights(network, german, english), german, english)
            links[name] |= number_links(best_links(weights), number)
        links["diagonal"] |= number_links(best_links(diagonal(*weights.shape)), number)
for name in links:
    print(f"AER {alignment_error_rate(links[name], gold, gold):.3f} {name}")

# %% [markdown]
# After the whole training the AER is well below 0.2, and that of the diagonal about 0.5. The weights of the model
# without training are nearly equal, so their largest one is an accident.
#
# **What the AER does not show.** The AER is not the share of wrong links: a gold link that is missing also counts. And one
# link per target word can never reach an AER of 0 here. In the sentence above, `hat` and `gestanden` both belong to
# `stood`, which gets only one link; and the comma gets a link, which must be wrong. The stored heat map has 9 links, and
# there are 9 gold links. 8 of its links are right, so its AER is $1 - 16/18 \approx 0.11$.
#
# On the 200 sentences, no choice of one link per target word has an AER below 0.045. Your model translates nearly all
# sentences correctly, and still its AER is a tenth or more. Both are true, because attention weights are not made to be
# links:
#
# - Each $h_s$ also holds the words around $s$. Weight on a neighbour, or on `</s>`, may do just as well.
# - The weights at step $t$ come from $s_{t-1}$, which is computed *before* $y_t$ is chosen, even before $y_{t-1}$ is read.
#   So the weights cannot depend on the word that is then written.
# - Where $y_t$ follows from the words before it, such as an article or the full stop, the context hardly matters, and
#   nothing in the loss makes its weights sharp.
#
# So: a low AER shows that the weights follow the words. A high one does not show that the translations are bad; for
# that, compare translations (lesson 6). And a dark cell shows where the context came from, not why the word was chosen.

# %% [markdown]
# ## Summary
#
# - Without attention the decoder gets one vector for all sentences, long or short. With attention it gets, at each step, a
#   context: the sum of the encoder's $h_s$, weighted for this step.
# - Score, weight, context: $e_{ts} = v_a^\top\tanh(W_a s_{t-1} + U_a h_s)$; a softmax over the source positions;
#   $c_t = \sum_s \alpha_{ts} h_s$. The keys $U_a h_s$ are computed once per sentence. The scores are computed for all
#   $S \cdot T$ pairs of positions, so the work for attention grows with the product of the two lengths.
# - Padding's scores are set to $-\infty$ before the softmax. Then a sentence has the same weights alone and in any batch.
# - In Bahdanau's model attention comes before the GRU: its query is the previous state, and the GRU reads $[E y_{t-1}; c_t]$.
# - Attention is learnt from pairs of sentences, through the gradient, without any links. Before training all weights are
#   nearly equal.
# - The AER compares the links of the largest weights with gold links. It measures the weights, not the translations.
#
# ## Exam questions
#
# Answer each in five to ten sentences, without running anything.

# %% [raw]
# # BEGIN QUESTION
# name: exam_1
# manual: true

# %% [markdown]
# **1.** A model gives a sentence one translation alone, and another one in a batch with longer sentences. What was
# probably forgotten in its attention, and how does the other sentences' length get into the translation? Two people mend
# it: one sets the scores of padding to 0, the other sets the weights of padding to 0 after the softmax. What is wrong with
# each, and what is right?

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# The mask was forgotten. The sentence is padded to the length of the longest one in the batch; the softmax also gives
# weight to padding, so the weights of the real tokens become smaller, by an amount that depends on the number of padding
# tokens. The context, the states and the probabilities change with them. A score of 0 is no small score: its share is
# exp(0) = 1, more than that of each real token with a negative score. Setting weights to 0 after the softmax removes
# padding from the sum of vectors, but its exp has been in the denominator: the remaining weights sum to less than 1, and
# still depend on the amount of padding. Right: scores of minus infinity at padding, before the softmax. exp(−∞) = 0 in the
# numerator and in the denominator, so the real tokens have the weights that they have alone.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: exam_2
# manual: true

# %% [markdown]
# **2.** Write down one step of Bahdanau's decoder for a batch of B sentences: from $s_{t-1}$ and $y_{t-1}$ to the vector
# from which the probabilities of $y_t$ are computed. Give the shape of each tensor. What is computed only once per
# sentence, and how does the work of attention grow with $S$ and $T$? Why can the query not be $s_t$?

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# Query: s_{t−1} (B H). Scores e = tanh(W_a s_{t−1} + U_a h) · v_a: W_a s_{t−1} is (B H), seen as (B 1 H); keys U_a h are
# (B S H); the sum is (B S H) and the scores (B S). Mask: −∞ at padding. Weights: softmax over S, (B S). Context: the
# weighted sum of h (B S 2H), so (B 2H). New state: s_t = GRU([E y_{t−1}; c_t], s_{t−1}), from (B E+2H) and (B H) to (B H).
# Readout: g_t = tanh(W_g [s_t; c_t; E y_{t−1}]), (B E). The encoder's vectors h and the keys U_a h are computed once per sentence.
# Scores, weights and context are computed for each of T steps over all S positions: S · T scores. The GRU reads c_t in
# order to compute s_t, and c_t is computed from the query: with s_t as the query each would need the other first.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: exam_3
# manual: true

# %% [markdown]
# **3.** A model's translations are right, its AER is 0.25, and in its heat maps the rows of articles and of the full stop
# are grey over several words. A colleague says: "The attention is wrong in a quarter of the cases, so a quarter of the
# words are translated by luck." Give three reasons why this does not follow. What does a low AER show? Why did the model
# learn links at all, though its training data has none?

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# (1) Each h_s also holds the words around s, so weight on neighbours can give a context that is as good. (2) The weights of
# step t come from s_{t−1}, before y_t is chosen: they need not point at the word that is written. (3) Some words follow
# from the words before them (articles, the full stop): the state and the embedding of y_{t−1} suffice, and the loss does
# not make the weights sharp. (4) The AER is not the share of wrong links: missing links count, too, and where a word has
# two gold links or none, one link per target word cannot be right. Besides, it uses only the largest weight of each row,
# and says nothing about the output. A low AER shows that the largest weights mostly agree with the gold links. The
# weights are computed by differentiable functions with learnt parameters, so the gradient of −log p(y_t) reaches v_a, W_a
# and U_a: where more weight on a position makes the right word more probable, training increases its score.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

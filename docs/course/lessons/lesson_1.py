# %% [raw]
# # ASSIGNMENT CONFIG
# init_cell: false
# check_all_cell: false
# export_cell: false
# tests:
#   ok_format: false

# %% [markdown]
# # Lesson 1. A sentence becomes a vector
#
# After this lesson you can
#
# 1. turn sentences into ids, and a batch of sentences into one tensor and a mask;
# 2. write one step of a GRU, and say what its two gates do;
# 3. run a GRU over a batch in both directions, so that padding changes no vector;
# 4. say what a decoder computes at each step, and what it reads in training and in translation;
# 5. compute the loss of a batch without its padding, and say how large it is before training;
# 6. say what a translation model without attention loses, and in which sentences.
#
# **You need** Python, and from PyTorch tensors, `nn.Module` and `backward()`. You need no knowledge of linguistics or of
# machine translation. The lesson takes 45 minutes, without the exam questions, on a laptop without a GPU. One cell
# trains two models, for about two minutes.
#
# [B] is [Bahdanau, Cho, Bengio 2015](https://arxiv.org/abs/1409.0473). The lesson builds on `nano_nmt.py`, which lies
# beside this notebook: a translation model in one file. You write its main functions once more, and then train with
# yours.

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
import torch
from sacrebleu.metrics import BLEU

from nmt.course import check, quick

torch.manual_seed(1)

# %% [markdown]
# ## 1. Words become numbers
#
# The model reads a German sentence and writes an English one. It computes with numbers, so text is turned into numbers
# first, in three steps:
#
# 1. The text is cut into **tokens**: words and punctuation marks.
# 2. Each token is replaced by its number in a list of all tokens, the **vocabulary**. The number is the token's **id**.
# 3. Each id is replaced by a vector. All vectors lie in a matrix $E$ with one row per token, and the id is the number
#    of the row. The vector is the token's **embedding**. $E$ is learnt, like all matrices of the model. (In shapes, E
#    is the size of an embedding.)
#
# The course has a small corpus: 10,000 German texts with their English translations. It was generated from a grammar,
# so that a model learns it in minutes. German and English have a vocabulary each, which is made from the training
# sentences.

# %%
corpus = {split: nano.read_corpus(Path("data"), split) for split in ("train", "validation", "test")}
source = nano.Vocabulary([german for german, _ in corpus["train"]])
target = nano.Vocabulary([english for _, english in corpus["train"]])
sizes = [len(source.tokens), len(target.tokens)]
print("German tokens:", sizes[0], "  English tokens:", sizes[1])

german, english = corpus["test"][5]
print(german, "\n", english)
for vocabulary, line in ((source, german), (target, english)):
    print([(i, vocabulary.tokens[i]) for i in vocabulary.encode(line)])

# %% [markdown]
# Note three things in the output:
#
# - All is in lower case, and the space before a word belongs to its token. So joined tokens are the text again.
# - The last id is 3, `</s>`. This token is the *end of the sentence* (in code `nano.EOS`). A decoder that writes it has
#   finished: without it, no translation would ever end.
# - Three more tokens are not words either: `<unk>` for an unknown character (id 0), `<pad>` (id 1, section 2)
#   and `<s>`, the beginning of a sentence (id 2, section 5).
#
# A word that is rare or not in the training text has no id of its own. It is split into shorter tokens, at worst into
# characters. *Dachs*, a badger, is in no training sentence:

# %%
print([source.tokens[i] for i in source.encode("Ein Dachs schläft im Garten.")])

# %% [markdown]
# ## 2. Sentences become a batch: padding and a mask
#
# Computing with one sentence at a time is slow. So $B$ sentences are computed together, as one tensor of ids. A tensor
# is a rectangle, but sentences differ in length. Let $S$ be the length of the longest one. The shorter ones are filled
# up to $S$ with the id of `<pad>`, the **padding**. A second tensor, the **mask**, marks where the tokens are: it
# is `True` at tokens and `False` at padding. Both have the shape (B S), which is short for B by S: a row for each
# sentence, a column for each position.
#
# Padding is only there because of the tensor's shape. So one rule holds for all that follows, and it is the source of
# half of the mistakes in such models: **padding must change no result**. A sentence has the same vectors and the same
# translation alone and in any batch.

# %% [raw]
# # BEGIN QUESTION
# name: q1_1
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 1.1.** Write a function that turns lists of ids into one tensor of ids and its mask.
#
# <details><summary>Hint</summary>
#
# `max(len(ids) for ids in sentences)` is $S$. A list times a number repeats it: `[padding] * 3`. Append that to each
# sentence, so that its length is $S$. A row of the mask is as many `True` as the sentence has ids, and then
# `False`.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def pad_and_mask(sentences, padding):
    """Ids (B S), filled up with `padding`, and a mask (B S), from a list of lists of ids."""
    longest = max(len(ids) for ids in sentences)
    padded = [ids + [padding] * (longest - len(ids)) for ids in sentences]  # SOLUTION
    mask = [[True] * len(ids) + [False] * (longest - len(ids)) for ids in sentences]  # SOLUTION
    return torch.tensor(padded), torch.tensor(mask)


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q1_1(pad_and_mask):
    import torch

    ids, mask = pad_and_mask([[7, 8, 3], [3], [9, 9, 9, 9, 3]], 1)
    assert ids.tolist() == [[7, 8, 3, 1, 1], [3, 1, 1, 1, 1], [9, 9, 9, 9, 3]]
    assert mask.tolist() == [[True, True, True, False, False], [True] + [False] * 4, [True] * 5]
    assert mask.dtype == torch.bool
    ids, mask = pad_and_mask([[5, 2]], 6)
    assert ids.tolist() == [[5, 2]]
    assert mask.tolist() == [[True, True]]


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("1.1", pad_and_mask)

# %% [markdown]
# The next cell makes a batch of two sentences with your function. At each 0 of the mask the model computes something that
# nobody needs. So batches are made of sentences of similar length (`nano.epoch_batches`).

# %%
lines = ["Zwei Hunde schlafen unter dem Baum.", "Der Mann lacht."]
ids, mask = pad_and_mask([source.encode(line) for line in lines], nano.PAD)
print(ids, mask.int(), sep="\n")

# %% [markdown]
# ## 3. A GRU reads one token after the other
#
# The embedding of a token is the same wherever the token stands. The meaning of a sentence also depends on the order. A
# **recurrent network** reads the embeddings one by one, and keeps a **state**: a vector $h$ of $H$ numbers. At each
# position a new state is computed from the next embedding $x$ and the state before. So the state after position $s$
# depends on all tokens up to $s$.
#
# The **GRU** (gated recurrent unit, [Cho et al. 2014](https://arxiv.org/abs/1406.1078)) is a recurrent network that can
# keep parts of its state unchanged over many positions. With $\sigma(a) = 1/(1+e^{-a})$, which lies between 0 and 1,
# and $\odot$ for the elementwise product of two vectors, the GRU's equations are:
#
# $$\begin{aligned}
# r &= \sigma(W_r x + b_r + U_r h + d_r) && \text{reset gate} \\
# z &= \sigma(W_z x + b_z + U_z h + d_z) && \text{update gate} \\
# n &= \tanh(W_n x + b_n + r \odot (U_n h + d_n)) && \text{new values} \\
# h' &= (1 - z) \odot n + z \odot h && \text{new state}
# \end{aligned}$$
#
# Read it from the last line. The new state is a mixture: where $z$ is near 1, the old state is kept; where it is near
# 0, the element is replaced by that of $n$. And $r$ says how much of the old state goes into $n$: where $r$ is 0, $n$
# depends on the new token alone. Both gates are computed from $x$ and $h$, so they differ from token to token.
#
# | symbol | what it is | shape |
# |---|---|---|
# | $x$, $h$ | the embedding, and the state before | $(E)$, $(H)$ |
# | $W_r, W_z, W_n$ | matrices, stored one below the other as `W` | $(H \times E)$ each, $(3H \times E)$ together |
# | $U_r, U_z, U_n$ | matrices, stored as `U` | $(H \times H)$ each, $(3H \times H)$ together |
# | $b$, $d$ | vectors that are added, in the same order: $r$, $z$, $n$ | $(H)$ each, $(3H)$ together |
#
# These are PyTorch's equations. Papers differ in two details: in [B] (appendix A.1.1), $z$ and $1 - z$ are swapped, and
# $r$ is multiplied with $h$ *before* the matrix $U_n$. Both are called a GRU, but the weights of one do not work in the
# other.

# %% [raw]
# # BEGIN QUESTION
# name: q1_2
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 1.2.** Write one step of the GRU, for a batch: row $i$ of `x` and of `h` belongs to sentence $i$.
#
# <details><summary>Hint</summary>
#
# For all rows at once, $W x + b$ is `x @ W.T + b`, with shape (B 3H). `a.chunk(3, dim=1)` cuts that into three parts of
# shape (B H): those of $r$, $z$ and $n$. Do the same for $U h + d$. Keep the two apart, since $r$ is multiplied with
# only one of them. `torch.sigmoid` and `torch.tanh` are applied elementwise.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def gru_step(x, h, W, U, b, d):
    """The new states (B H) from embeddings (B E), states (B H), W (3H E), U (3H H), b (3H) and d (3H)."""
    # BEGIN SOLUTION NO PROMPT
    x_r, x_z, x_n = (x @ W.T + b).chunk(3, dim=1)
    h_r, h_z, h_n = (h @ U.T + d).chunk(3, dim=1)
    r = torch.sigmoid(x_r + h_r)
    z = torch.sigmoid(x_z + h_z)
    n = torch.tanh(x_n + r * h_n)
    # END SOLUTION
    new = (1 - z) * n + z * h  # SOLUTION
    return new


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q1_2(gru_step):
    import numpy as np
    import torch

    rng = np.random.default_rng(12)
    x, h, W, U, b, d = (rng.normal(size=size) for size in ((2, 3), (2, 4), (12, 3), (12, 4), 12, 12))
    result = gru_step(*map(torch.from_numpy, (x, h, W, U, b, d))).numpy()
    for i in range(2):
        for j in range(4):
            a = [W[j + 4 * g] @ x[i] + b[j + 4 * g] for g in range(3)]
            u = [U[j + 4 * g] @ h[i] + d[j + 4 * g] for g in range(3)]
            r, z = (1 / (1 + np.exp(-a[g] - u[g])) for g in range(2))
            assert abs(result[i, j] - ((1 - z) * np.tanh(a[2] + r * u[2]) + z * h[i, j])) < 1e-6


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("1.2", gru_step)

# %% [markdown]
# The same weights in PyTorch's own GRU give the same state:

# %%
cell = torch.nn.GRUCell(5, 4)
x, h = torch.randn(2, 5), torch.randn(2, 4)
with torch.no_grad():
    new = gru_step(x, h, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    print("largest difference:", (new - cell(x, h)).abs().max().item())

# %% [markdown]
# ## 4. The encoder: both directions, and a mask at work
#
# A GRU that reads from left to right has, at position $s$, read only tokens $1 … s$. German often has its verb at the
# end, so what stands to the right matters, too. A **bidirectional** GRU is two GRUs with different weights:
#
# - the first reads forwards, from position 1 to $S$; its states are $\overrightarrow{h}_1, …, \overrightarrow{h}_S$;
# - the second reads backwards, from $S$ to 1; its states are $\overleftarrow{h}_S, …, \overleftarrow{h}_1$.
#
# Both begin with a state of zeros. For each position, the two states are joined end to end:
# $h_s = [\overrightarrow{h}_s;\, \overleftarrow{h}_s]$, with $2H$ numbers ([B] section 3.2).
#
# At its last step each direction has read the whole sentence: the forward one at the last position, the backward one at
# the first. The vector of the whole sentence is $c = [\overrightarrow{h}_S;\, \overleftarrow{h}_1]$. With it, the
# sentence has become a vector.
#
# Now for padding. The state must be the same as if there were none. A simple way: compute a step at all positions, and
# **keep the old state wherever the mask is `False`**. Read forwards, the state of the last token is then carried
# through the padding to position $S$. Read backwards, the padding comes first, and the state is still zero when the
# sentence's last token is read.

# %% [raw]
# # BEGIN QUESTION
# name: q1_3
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 1.3.** Write the loop over the positions, for both directions. `step(x, h)` returns new states (B H), such
# as your GRU. `states[:, s]` of the result belongs to position $s$, in both directions.
#
# <details><summary>Hint</summary>
#
# `range(S)` counts upwards, `reversed(range(S))` downwards. `torch.where(condition, a, b)` takes from `a` where the
# condition is `True`, else from `b`. `mask[:, s]` has the shape (B), and `mask[:, s].unsqueeze(1)` the shape (B 1),
# which broadcasts with (B H).
#
# </details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def read(step, embedded, mask, state, backwards):
    """States (B S H) at all positions, and the last one computed (B H).

    `embedded` is (B S E), `mask` (B S), and `state` (B H) is the state before the first step.
    """
    states = [state] * embedded.shape[1]
    positions = range(embedded.shape[1])
    if backwards:
        positions = reversed(positions)
    for s in positions:
        state = torch.where(mask[:, s].unsqueeze(1), step(embedded[:, s], state), state)  # SOLUTION
        states[s] = state
    return torch.stack(states, dim=1), state


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q1_3(read):
    import numpy as np
    import torch

    rng = np.random.default_rng(13)
    embedded, start, lengths = rng.normal(size=(3, 6, 2)), rng.normal(size=(3, 2)), [2, 6, 4]
    mask = torch.arange(6) < torch.tensor(lengths).unsqueeze(1)
    for backwards in (False, True):
        states, last = read(
            lambda x, h: 3 * x - 0.25 * h, torch.from_numpy(embedded), mask, torch.from_numpy(start), backwards
        )
        for i, n in enumerate(lengths):
            h = start[i]
            for s in reversed(range(n)) if backwards else range(n):
                h = 3 * embedded[i, s] - 0.25 * h
                assert np.abs(states[i, s].numpy() - h).max() < 1e-6
            assert np.abs(last[i].numpy() - h).max() < 1e-6


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("1.3", read)

# %% [raw]
# # BEGIN QUESTION
# name: q1_4
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 1.4: a prediction.** Somebody forgets the mask: it is `True` everywhere, and padding is read like a token.
# A short sentence is encoded alone, and then in a batch with a longer one. Which of the short sentence's vectors are
# different?
#
# - "a": all of them;
# - "b": only the last state of the forward direction;
# - "c": the last state of the forward direction, and all states of the backward direction;
# - "d": none, since the padding comes after the sentence.
#
# Write your answer **before** you run the cell after it.
#
# <details><summary>Hint</summary>
#
# In which order are the positions of `Der Mann lacht . </s> <pad> <pad> <pad>` read, forwards and backwards? A state
# depends on what has been read before it, and on nothing else.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_1_4 = "c"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q1_4(answer_1_4):
    assert str(answer_1_4).strip().lower() == "c"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("1.4", answer_1_4)


# %%
def read_both(model, ids, mask):
    """Per direction the states (B S H) and the last one (B H), by the functions of this notebook."""
    gru, names = model.encoder, ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    embedded = model.source_embedding(ids)
    start = embedded.new_zeros(len(ids), gru.hidden_size)
    for backwards, suffix in ((False, "_l0"), (True, "_l0_reverse")):
        weights = [getattr(gru, name + suffix) for name in names]
        yield read(lambda x, h, w=weights: gru_step(x, h, *w), embedded, mask, start, backwards)


model = nano.Seq2Seq("none", sizes, embedding=96, hidden=96, dropout=0.1).eval()
short = source.encode("Der Mann lacht.")
n = len(short)
alone, batch = pad_and_mask([short], nano.PAD), pad_and_mask([short, source.encode(lines[0])], nano.PAD)
with torch.no_grad():
    for title, use in (("with the mask", lambda mask: mask), ("mask forgotten", torch.ones_like)):
        for name, one, two in zip(
            ("forward ", "backward"),
            read_both(model, alone[0], use(alone[1])),
            read_both(model, batch[0], use(batch[1])),
            strict=True,
        ):
            states, last = ((a[0][:n] - b[0][:n]).abs().max().item() for a, b in zip(one, two, strict=True))
            print(f"{title}, {name}: states of the tokens differ by {states:.6f}, the last one by {last:.6f}")

# %% [markdown]
# With the mask nothing differs. Without it, the forward states at the tokens are still right, because the padding comes
# later; but the one that goes into $c$ is taken after the padding. All backward states are wrong: that GRU has read the
# padding first. Such a model trains all the same, and its translations of a sentence depend on which others are in the
# batch.
#
# PyTorch's `nn.GRU` has no mask. It gets the lengths instead, in a *packed* sequence (`nano.Seq2Seq.encode`). The
# result is the same:


# %%
class HandWritten(nano.Seq2Seq):
    """nano's model without attention, with the encoder of this notebook."""

    def encode(self, source):
        mask = source != nano.PAD
        (_, last), (_, first) = read_both(self, source, mask)
        final = self.dropout(torch.cat([last, first], dim=1))  # (B 2H): c
        hidden = torch.tanh(self.bridge(final))  # section 5
        state = nano.State(hidden, hidden.new_zeros(len(source), self.readout.out_features))
        return state, nano.Memory(final.unsqueeze(1), hidden.unsqueeze(1), mask[:, :1])


mine = HandWritten("none", sizes, embedding=96, hidden=96, dropout=0.1).eval()
mine.load_state_dict(model.state_dict())
with torch.no_grad():
    c, c_of_nano = mine.encode(batch[0])[1].values[:, 0], model.encode(batch[0])[1].values[:, 0]
print("c has the shape", tuple(c.shape), "and differs from nano's by", (c - c_of_nano).abs().max().item())

# %% [markdown]
# ## 5. The decoder
#
# The decoder writes the translation $y_1, …, y_T$, a token at each step $t$. It is a GRU as well, with a state $s_t$ of
# $H$ numbers. (Careful: $s$ alone is a source position, $s_t$ with a time index is the decoder's state. Both letters are
# those of [B].) At each step the decoder computes a probability for each of the $V$ tokens of the English vocabulary. The
# probability of a whole translation is the product of those of its tokens. Here $x$ is the source sentence, and no longer
# an embedding:
#
# $$p(y_1, …, y_T \mid x) = \prod_{t=1}^{T} p(y_t \mid y_1, …, y_{t-1}, x)$$
#
# In `nano_nmt.py` with `attention="none"`, the computation is this. ($[a; b]$ joins two vectors end to end. $W_s$, $W_g$,
# $b_s$, $b_g$ and $b_o$ are learnt. For $E$, the English embeddings are used.)
#
# | | | |
# |---|---|---|
# | before the first step | $s_0 = \tanh(W_s\, c + b_s)$ | $c$ has $2H$ numbers, $s_0$ has $H$ |
# | the state | $s_t = \text{GRU}([E y_{t-1};\, c],\; s_{t-1})$ | reads the last token's embedding, and $c$ again |
# | the readout | $g_t = \tanh(W_g [s_t;\, c;\, E y_{t-1}] + b_g)$ | $g_t$ has as many numbers as an embedding |
# | one number per token | $a_t = W_o\, g_t + b_o$ | the *logits*, $V$ of them; $W_o$ is the matrix $E$ once more |
# | probabilities | $p(y_t = v) = \exp(a_{tv}) / \sum_{v'} \exp(a_{tv'})$ | the *softmax* of the logits |
#
# The source appears in only one place: **the vector $c$, the same at each step**. All that the decoder gets of a
# sentence is $2H$ numbers, for 5 tokens and for 50.
#
# **Teacher forcing.** Which token is $y_{t-1}$? In translation it is what the decoder has written one step before. In
# training it is the token of the *reference*, the translation in the corpus, whatever the decoder would have written.
# So in training the decoder reads the reference moved by one position. At step 1 there is no token before; it reads
# `<s>`, the beginning:
#
# | step | 1 | 2 | 3 | 4 | 5 |
# |---|---|---|---|---|---|
# | reads | `<s>` | two | dogs | sleep | . |
# | is to predict | two | dogs | sleep | . | `</s>` |

# %% [raw]
# # BEGIN QUESTION
# name: q1_5
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 1.5.** Write what the decoder reads, from a batch of references. The shape stays (B T).
#
# <details><summary>Hint</summary>
#
# `target[:, :-1]` is all columns but the last. `torch.full_like(target[:, :1], beginning)` is a first column.
# `torch.cat([a, b], dim=1)` joins them. In short sentences, `</s>` is then read where padding is to be
# predicted. That does no harm, since these steps do not count in the loss (section 6).
#
# </details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def decoder_inputs(target, beginning):
    """The ids that the decoder reads (B T), from the ids that it is to predict (B T)."""
    inputs = torch.cat([torch.full_like(target[:, :1], beginning), target[:, :-1]], dim=1)  # SOLUTION
    return inputs


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q1_5(decoder_inputs):
    import torch

    target = torch.tensor([[5, 6, 7, 3], [8, 3, 1, 1]])
    inputs = decoder_inputs(target, 2)
    assert tuple(inputs.shape) == (2, 4)
    assert inputs[0].tolist() == [2, 5, 6, 7]
    assert inputs[1, :2].tolist() == [2, 8]
    assert target.tolist() == [[5, 6, 7, 3], [8, 3, 1, 1]]


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("1.5", decoder_inputs)

# %% [markdown]
# ## 6. The loss, without padding
#
# Training makes the references probable. The loss of one token is $-\log p(y_t)$, with the natural logarithm: 0 if the
# token has probability 1, and the larger the less probable it is. The loss of a batch is the **mean over all tokens of
# its references**. Padding is no token. It is left out of the sum, and out of the number by which the sum is divided.

# %% [raw]
# # BEGIN QUESTION
# name: q1_6
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 1.6: a prediction.** A model that is not trained gives nearly the same probability to all English tokens.
# Their number was printed in section 1. How large is the loss? Give it with one decimal, **before** you run the cell
# after the next exercise.
#
# <details><summary>Hint</summary>
#
# Of $V$ tokens with equal probabilities, each has $1/V$. What is $-\log(1/V)$? `math.log` is the natural logarithm.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_1_6 = 6.3  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q1_6(answer_1_6):
    assert round(float(answer_1_6), 1) == 6.3


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("1.6", answer_1_6)

# %% [raw]
# # BEGIN QUESTION
# name: q1_7
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 1.7.** Write the mean of $-\log p(y_t)$ over all tokens of a batch that are not padding.
#
# <details><summary>Hint</summary>
#
# `logits.log_softmax(dim=2)` is $\log p$ for all tokens of the vocabulary, (B T V).
# `x.gather(2, target.unsqueeze(2)).squeeze(2)` picks those of the references, (B T). `x[target != padding]` is a list
# of the numbers at the real tokens.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def token_loss(logits, target, padding):
    """The mean loss, one number, from logits (B T V) and the ids to predict (B T)."""
    # BEGIN SOLUTION NO PROMPT
    log_p = logits.log_softmax(dim=2).gather(2, target.unsqueeze(2)).squeeze(2)
    # END SOLUTION
    loss = -log_p[target != padding].mean()  # SOLUTION
    return loss


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q1_7(token_loss):
    import numpy as np
    import torch

    rng = np.random.default_rng(17)
    logits, target = 3 * rng.normal(size=(3, 4, 5)), np.array([[2, 4, 0, 3], [0, 3, 1, 1], [3, 1, 1, 1]])
    losses = [
        np.log(np.exp(logits[i, t]).sum()) - logits[i, t, target[i, t]]
        for i in range(3)
        for t in range(4)
        if target[i, t] != 1
    ]
    result = token_loss(torch.from_numpy(logits), torch.from_numpy(target), 1)
    assert abs(float(result) - sum(losses) / 7) < 1e-6


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("1.7", token_loss)

# %% [markdown]
# The next cell builds the loss of a batch of pairs from your functions, and puts it in place of `nano.loss_of`, which
# `nano.train` calls. It is tried with the untrained model. The second line is the loss with padding, for comparison.


# %%
def loss_of(model, pairs, reduction="mean", label_smoothing=0.0):
    """In place of nano.loss_of: the functions of this notebook, and no label smoothing."""
    ids, _ = pad_and_mask([ids for ids, _ in pairs], nano.PAD)
    target, real = pad_and_mask([ids for _, ids in pairs], nano.PAD)
    logits = model.output(model(ids, decoder_inputs(target, nano.BOS)))
    loss = token_loss(logits, target, nano.PAD)
    return loss * real.sum() if reduction == "sum" else loss


nano.loss_of = loss_of
pairs = [(source.encode(german), target.encode(english)) for german, english in corpus["validation"][:64]]
with torch.no_grad():
    print("loss:", loss_of(mine, pairs).item(), "  log V:", math.log(sizes[1]))
    references, _ = pad_and_mask([ids for _, ids in pairs], nano.PAD)
    logits = mine.output(mine(nano.pad([ids for ids, _ in pairs]), decoder_inputs(references, nano.BOS)))
    print("with padding:", torch.nn.functional.cross_entropy(logits.flatten(0, 1), references.flatten()).item())
print("padding in this batch:", f"{(references == nano.PAD).float().mean().item():.0%}")

# %% [markdown]
# More than two thirds of this batch are padding, since its sentences were not sorted by length. Before training, the
# two losses hardly differ. In training they would: "padding follows padding" is the easiest thing to learn. A loss with
# padding soon looks excellent, and it changes with the batch size.
#
# Instead of the loss $L$, people often give the **perplexity**, $e^L$. A model with perplexity 4 is as unsure as one
# that chooses among 4 equally probable tokens. Before training it is about $V$.
#
# ## 7. Training, with and without attention
#
# Two models are trained with your loss, on texts of at most 40 German tokens. They differ in one thing:
#
# - **none**: your encoder. $c$ is the same at all steps.
# - **attention**: at each step $t$, the decoder gets a vector $c_t$ of its own, a weighted sum of *all* states
#   $h_1, …, h_S$. How the weights are computed is the subject of lesson 2. Here it only matters that $c_t$ is not one
#   fixed vector.
#
# Both have the same sizes ($H = 96$), and are trained on the same sentences, three times on each (three *epochs*).

# %% [raw]
# # BEGIN QUESTION
# name: q1_8
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 1.8: a prediction.** Both models translate the test set. By how much will the model without attention be
# worse, in sentences of different length?
#
# - "a": by the same amount for all lengths;
# - "b": most in the shortest sentences, which say least;
# - "c": more, the longer the sentences are.
#
# <details><summary>Hint</summary>
#
# How many numbers does $c$ have for a sentence of 5 tokens, and for one of 40?
#
# </details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_1_8 = "c"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q1_8(answer_1_8):
    assert str(answer_1_8).strip().lower() == "c"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("1.8", answer_1_8)

# %% [markdown]
# The training takes about two minutes. Read on in the meantime.
#
# `nano.train` goes over the pairs in batches of 32. For each batch it computes the loss, its gradient by `backward()`,
# and one update of all matrices by Adam. After each epoch it prints the perplexity of the validation pairs, which are
# not trained on. Watch these numbers: 1 would be perfect.
#
# Afterwards the test set is translated by *greedy search*: at each step the most probable token is written, and read in
# the next step, until `</s>`. (Lesson 5 has better ways.) Translations are compared with the references by **BLEU**, a
# number from 0 to 100: roughly, the share of its sequences of one to four words that also occur in the reference
# (lesson 6).


# %%
def encoded(split, longest=40):
    """The pairs of a split with at most so many German tokens, as ids, the shortest first."""
    pairs = [(source.encode(german), target.encode(english)) for german, english in corpus[split]]
    return sorted((pair for pair in pairs if len(pair[0]) <= longest), key=lambda pair: len(pair[0]))


training, validation, test = map(encoded, ("train", "validation", "test"))
if quick:
    training, validation, test = training[::40], validation[::20], test[::20]
print(len(training), "training pairs,", len(test), "test pairs")

models = {}
for name, kind, attention in (("none", HandWritten, "none"), ("attention", nano.Seq2Seq, "bahdanau")):
    print(name)
    torch.manual_seed(1)
    models[name] = kind(attention, sizes, embedding=96, hidden=96, dropout=0.1)
    nano.train(models[name], training, validation, epochs=1 if quick else 3, batch_size=32, rate=0.004)
    models[name].eval()

# %% [markdown]
# The next cell prints three translations of each model. What does the model without attention get right, and what wrong?


# %%
def translations(model, pairs):
    """English lines, by greedy search."""
    rows = []
    for i in range(0, len(pairs), 64):
        rows += nano.greedy_search(model, [ids for ids, _ in pairs[i : i + 64]])[0].tolist()
    return list(map(target.decode, rows))


outputs = {name: translations(model, test) for name, model in models.items()}
for i in (len(test) // 10, len(test) // 2, len(test) - 1):
    print("\nGerman:   ", source.decode(test[i][0]), "\nReference:", target.decode(test[i][1]))
    for name, lines in outputs.items():
        print(f"{name + ':':10}", lines[i])

# %% [markdown]
# The model without attention writes correct English, with about the right content at the beginning: a decoder is above
# all a model of its language. But nouns are wrong, and the later part of long texts is invented.
#
# The next cell prints one translation of the model without attention, step by step. A line has the three most probable
# tokens with their probabilities. The first of them is written, and read in the next step.


# %%
@torch.no_grad()
def print_steps(model, ids):
    """The decoder's steps in greedy search."""
    state, memory = model.encode(nano.pad([ids]))
    token = nano.BOS
    for step in range(1, 30):
        state, _ = model.step(model.target_embedding(torch.tensor([token])), state, memory)
        best = model.output(state.readout)[0].softmax(dim=0).topk(3)
        print(f"{step:3}", *(f"{target.tokens[i]:>14} {p:.2f}" for p, i in zip(*best, strict=True)))
        token = best.indices[0].item()
        if token == nano.EOS:
            break


ids = test[len(test) // 10][0]
print(source.decode(ids))
print_steps(models["none"], ids)

# %% [markdown]
# Most steps are clear: `in`, `the`, the full stop. They follow from the English words before. But where a noun or an
# adjective is to be written, the probabilities are spread over several words: that a noun follows is clear, but not which
# one.

# %% [markdown]
# ## 8. What the lack of attention costs, by length
#
# BLEU of both models for four groups of test sentences, by the number of German tokens:

# %%
groups = [(1, 10), (11, 20), (21, 30), (31, 40)]


def bleu_by_length(lines):
    """BLEU of each group."""
    scores = []
    for first, last in groups:
        rows = [i for i, (ids, _) in enumerate(test) if first <= len(ids) <= last]
        references = [target.decode(test[i][1]) for i in rows]
        scores.append(BLEU(lowercase=True).corpus_score([lines[i] for i in rows], [references]).score)
    return scores


def draw(scores, title):
    """A line for each model, a point for each group of lengths."""
    for name, values in scores.items():
        plt.plot([f"{first} to {last}" for first, last in groups], values, marker="o", label=name)
    plt.xlabel("German tokens")
    plt.ylabel("BLEU")
    plt.ylim(0, 100)
    plt.title(title)
    plt.legend()
    plt.show()


scores = {name: bleu_by_length(lines) for name, lines in outputs.items()}
for name, values in scores.items():
    print(f"{name:9}", *(f"{value:6.1f}" for value in values))
draw(scores, "trained here")

# %% [markdown]
# No two training runs are alike, so the exercise is about a stored figure, of models that were trained as yours were.

# %%
stored = {"none": [48.6, 26.6, 16.5, 12.0], "attention": [95.3, 90.9, 91.1, 88.0]}
draw(stored, "stored")

# %% [raw]
# # BEGIN QUESTION
# name: q1_9
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 1.9: a figure to read.** In the stored figure, which is the first group in which attention has more than
# four times the BLEU of the model without it? Answer with the largest length of the group: 10, 20, 30 or 40.
#
# <details><summary>Hint</summary>
#
# Read both lines at each group, as well as you can. Four times 25 would be 100.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_1_9 = 30  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q1_9(answer_1_9):
    assert int(answer_1_9) == 30


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("1.9", answer_1_9)

# %% [markdown]
# This is what attention was invented for. [Cho et al. 2014](https://arxiv.org/abs/1409.1259) found that models like
# this one fail on long sentences, and [B] (figure 2) that attention removes the fall. More numbers in $c$ help only a
# little: a longer sentence always comes.
#
# With attention the line is nearly flat: at each step, $c_t$ can be computed from the positions that matter for this step.
#
# ## 9. What is left in the vector
#
# How much of a long sentence is in $c = [\overrightarrow{h}_S;\, \overleftarrow{h}_1]$? Measure it: one token is
# exchanged for another one, and $c$ is computed again. The more it changes, the more of this token is in it. Below,
# this is done with the trained model without attention, for each position of the training sentences with 20 tokens, and
# for both halves of $c$.

# %% [raw]
# # BEGIN QUESTION
# name: q1_10
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 1.10: a prediction.** Which token changes the forward half $\overrightarrow{h}_S$ most, on average?
#
# - "a": one of the first ones, since the state was built up from them;
# - "b": one of the last ones, since fewer steps have been made after them;
# - "c": all alike, since the GRU's gates can keep everything.
#
# Answer **before** you run the next cell. Then find your answer in the figure, and look at the other half, too.
#
# <details><summary>Hint</summary>
#
# At each step the state is mixed: $(1 - z) \odot n + z \odot h$. After $k$ more steps, what is left of the old state
# has been multiplied $k$ times with a $z$ that is below 1.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_1_10 = "b"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q1_10(answer_1_10):
    assert str(answer_1_10).strip().lower() == "b"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("1.10", answer_1_10)


# %%
@torch.no_grad()
def changes(model, ids):
    """How much each half of c changes with each token but the last two: the mean distance. All sentences have S tokens."""
    halves = [model.encode(ids)[1].values[:, 0].chunk(2, dim=1)]
    for s in range(ids.shape[1] - 2):  # not the full stop and </s>, which all sentences have
        other = ids.clone()
        other[:, s] = ids[:, s].roll(1)  # the token at this position of another sentence
        halves.append(model.encode(other)[1].values[:, 0].chunk(2, dim=1))
    return [[(x[i] - halves[0][i]).norm(dim=1).mean().item() for x in halves[1:]] for i in (0, 1)]


same_length = [ids for ids in (source.encode(german) for german, _ in corpus["train"]) if len(ids) == 20]
for name, values in zip(("forward half", "backward half"), changes(models["none"], nano.pad(same_length)), strict=True):
    plt.plot(range(1, len(values) + 1), values, marker="o", label=name)
plt.xlabel("position of the exchanged token")
plt.ylabel("mean change")
plt.xticks(range(1, 19))
plt.legend()
plt.show()

# %% [markdown]
# Each half depends most on what its GRU has read last: the forward half on the end, the backward half on the beginning.
# The two complement each other. That is one reason for two directions, and also why [B] computes $s_0$ from
# $\overleftarrow{h}_1$ (appendix A.2.2): the translation begins with the beginning. For the same reason, models without
# attention were made to read the source backwards ([Sutskever et al. 2014](https://arxiv.org/abs/1409.3215)). But all
# of it must share $2H$ numbers.
#
# The states $h_1, …, h_S$ at all positions are computed anyway, and each is mostly about the tokens near it. A model
# without attention throws them away. Lesson 2 uses them.
#
# ## Summary
#
# - Text becomes tokens, ids and embeddings. `</s>` ends a sentence; rare words are split.
# - A batch is a tensor with padding, and a mask. Padding must change no result: the GRU keeps its state there, and the
#   loss leaves it out.
# - A GRU mixes, at each position and for each element of its state, the old and a new value; its gates are
#   computed from the token and the state.
# - The encoder reads in both directions. Without attention, its two last states are all that the decoder gets.
# - The decoder computes the probabilities of the next token. In training it reads the reference, moved by one position;
#   in translation, what it has written.
# - The loss is the mean of $-\log p$ over the real tokens, about $\log V$ before training. Perplexity is $e$ to the
#   power of it.
# - Without attention, BLEU falls with the length of the sentence, since $c$ has $2H$ numbers for any length.
#
# ## Exam questions
#
# Answer without looking back. Two or three sentences are enough.

# %% [raw]
# # BEGIN QUESTION
# name: q1_exam_1
# manual: true
# points: 2

# %% [markdown]
# **1.** A program computes its loss as the mean over all B·T positions of a batch, with the padding. Its validation
# loss is 0.8. The same model has a loss of 1.6 in your program. Explain the difference, and say why 0.8 changes with
# the batch size.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# The mean includes positions where padding is predicted from padding. The model learns that at once, so their loss is
# nearly 0, while they count in the denominator: if half of the positions are padding, 1.6 becomes about 0.8. How much
# padding a batch has depends on which sentences are in it, and so on the batch size. The mean over real tokens does not
# depend on it.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: q1_exam_2
# manual: true
# points: 2

# %% [markdown]
# **2.** A fellow student says: "Long sentences are bad because $c$ is too small. I shall take $H = 1000$ instead of
# attention." What would this improve, and what problem remains?

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# A larger $c$ can hold more, so longer sentences get better, at the price of larger matrices and more time and data for
# training. But its size is still the same for every sentence, so at some length it is too small again. Also,
# information from a token has to pass through all steps between it and the end of the sentence, and is mixed at each of
# them. With attention the number of vectors grows with the sentence, and each position is reached directly.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: q1_exam_3
# manual: true
# points: 2

# %% [markdown]
# **3.** What does the decoder read at step $t$ in training, and what in translation? Name an advantage of teacher
# forcing, and a problem that follows from the difference.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# In training it reads the reference's token $y_{t-1}$, in translation the token that it has written itself at step
# $t - 1$. With teacher forcing each step learns from a right beginning, from the first batch on, when the model's
# output is still random; and all inputs are known in advance. The problem: in training the decoder never reads its own
# mistakes. After the first wrong token it is in a situation that it was not trained for (exposure bias, lesson 5).

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

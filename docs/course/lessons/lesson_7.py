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
# # Lesson 7. Which word comes from which?
#
# After this lesson you can
#
# - say what a word alignment is, and compute precision, recall and AER of its links;
# - write IBM model 1 and its training by expectation maximisation;
# - read links from attention weights, and say which step's row belongs to a word;
# - write the loss of guided alignment, and say what it changes;
# - say what links are used for, and where they mislead.
#
# You need lesson 2 (attention weights, links, AER). The lesson takes about an hour.
#
# Papers: **[Br]** Brown et al. 1993, *The mathematics of statistical machine translation*. **[O]** Och and Ney 2003, *A
# systematic comparison of various statistical alignment models*. **[C]** Chen et al. 2016, *Guided alignment training
# for topic-aware neural machine translation*. **[Li]** Liu et al. 2016, *Neural machine translation with supervised
# attention*.

# %%
# The address is set once, in tools/course.py; with nmt installed, this cell does nothing.
import importlib.util, subprocess, sys

if importlib.util.find_spec("nmt") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "@NMT_ADDRESS@"], check=True)

# %%
from pathlib import Path

import nano_nmt as nano
import numpy as np
import torch

import nmt
from nmt.align.lexicon import lexical_links
from nmt.constraints.translator import ConstrainedTranslator
from nmt.course import check, quick
from nmt.data.store import Rows

torch.set_num_threads(1)  # of matrices this small, a second thread computes none faster
_ = torch.manual_seed(7)

# %% [markdown]
# ## 1. Links, and how good they are
#
# A *link* (s, t) says that source word s and target word t translate each other. Positions count from 0. A *word
# alignment* of a sentence pair is a set of links. A word may have several links: `hat` and `gegessen` both belong to
# "ate". A word may also have none, such as a German comma where English has no comma.
#
# In the sample corpus the grammar that made the sentences also wrote the right links, the *gold links*. The file has a
# line for each pair, with links as `s-t`. Words are those of spaCy's rules; for these sentences nano's `tokenize`
# splits alike.


# %%
def read_split(split):
    """Pairs of lists of words, each with its set of gold links."""
    lines = Path("data", f"{split}.align").read_text(encoding="utf-8").split("\n")
    gold = [{tuple(map(int, link.split("-"))) for link in line.split()} for line in lines]
    return list(zip(nano.read_corpus(Path("data"), split), gold, strict=False))


LONGEST = 12
corpus = {
    split: [x for x in read_split(split) if len(nano.tokenize(x[0][0])) <= LONGEST]
    for split in ("train", "validation", "test")
}
(german_line, english_line), gold_links = corpus["test"][0]
german_words, english_words = ([w.strip() for w in nano.tokenize(line)] for line in (german_line, english_line))
print(" ".join(german_words), "|", " ".join(english_words))
print(", ".join(f"{german_words[s]}–{english_words[t]}" for s, t in sorted(gold_links)))

# %% [markdown]
# [O] (section 5) compares a program's links A with two gold sets: the sure links S, and the possible links P, which
# include S.
#
# $$\text{precision} = \frac{|A \cap P|}{|A|} \qquad \text{recall} = \frac{|A \cap S|}{|S|} \qquad
# \text{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}$$
#
# The sample's links are all sure, so P = S. Then AER is 1 − F₁, one minus the harmonic mean of precision and recall.

# %% [raw]
# # BEGIN QUESTION
# name: q7_1
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 7.1.** Return precision, recall and AER of a set of links. All three arguments are sets of pairs.
#
# <details><summary>Hint</summary><code>a &amp; b</code> is the intersection of two sets. One of the three is about sure
# links only, one about possible links only.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def link_scores(links, sure, possible):
    """Precision, recall, AER."""
    # BEGIN SOLUTION
    in_sure, in_possible = len(links & sure), len(links & possible)
    return in_possible / len(links), in_sure / len(sure), 1 - (in_sure + in_possible) / (len(links) + len(sure))
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q7_1(link_scores):
    sure, possible = {(0, 0), (1, 2), (3, 1)}, {(0, 0), (1, 2), (3, 1), (2, 2), (4, 4)}
    expected = 3 / 5, 2 / 3, 1 - (2 + 3) / (5 + 3)
    actual = link_scores({(0, 0), (1, 2), (2, 2), (5, 5), (0, 1)}, sure, possible)
    assert all(abs(a - b) < 1e-9 for a, b in zip(actual, expected, strict=True))
    assert [round(float(x), 9) for x in link_scores(sure, sure, possible)] == [1, 1, 0]


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("7.1", link_scores)

# %% [markdown]
# ## 2. IBM model 1
#
# How can a program learn links without gold links? *IBM model 1* ([Br] section 4) has one table, $p(t \mid s)$: the
# probability of each target word t for a source word s. It says that each target word is made from one source word, and
# that all source positions are equally likely beforehand. If the table were known, the probability that target word
# $t_j$ comes from $s_i$ would be
#
# $$q_{ji} = \frac{p(t_j \mid s_i)}{\sum_{i'} p(t_j \mid s_{i'})}$$
#
# We leave out the *empty word*, a source word that stands for "none"; section 4 comes back to it.

# %% [raw]
# # BEGIN QUESTION
# name: q7_2
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 7.2.** `table` (source words, target words) holds $p(t \mid s)$. `source` (S) and `target` (T) are the ids
# of a pair's words. Return q (T S), in NumPy or in PyTorch: `check` gives tensors, the rest of the lesson arrays, and
# `table[a, b]` is the same for both.
#
# <details><summary>Hint</summary><code>table[source[None, :], target[:, None]]</code> is (T S). Each row has to sum to
# 1.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def link_probabilities(table, source, target):
    """q (T S): the probability that each target word comes from each source word."""
    # BEGIN SOLUTION
    p = table[source[None, :], target[:, None]]
    return p / p.sum(1)[:, None]
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q7_2(link_probabilities):
    import torch

    table = torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]], dtype=torch.float64)
    q = link_probabilities(table, torch.tensor([1, 0, 1]), torch.tensor([2, 0]))
    expected = torch.tensor([[0.8, 0.25, 0.8], [0.1, 0.5, 0.1]], dtype=torch.float64)
    assert torch.allclose(torch.as_tensor(q), expected / expected.sum(dim=1, keepdim=True))


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("7.2", link_probabilities)

# %% [markdown]
# But the table is not known: the links would be needed to count it. *Expectation maximisation* (EM) goes round. It
# starts from a table in which all words are equally likely. Then it repeats two steps:
#
# - **E step**: compute q of each pair with the table. Add $q_{ji}$ to the count of the words $(s_i, t_j)$.
# - **M step**: the new $p(t \mid s)$ is the count of (s, t), divided by the sum of the counts of s.
#
# No step makes the training text less probable ([Br] section 4.2).

# %% [raw]
# # BEGIN QUESTION
# name: q7_3
# points: 2
# check_cell: false

# %% [markdown]
# **Exercise 7.3.** Write one iteration. `pairs` is a list of (source ids, target ids). Return the new table. A source
# word that is in no pair gets a row of zeros. Use NumPy inside (`np.asarray` makes an array of a tensor).
#
# <details><summary>Hint</summary>A word may come twice in a sentence. <code>counts[rows, columns] += q</code> then adds
# only once; <code>np.add.at(counts, (rows, columns), q)</code> adds each.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def em_iteration(table, pairs):
    """The table after an E step over all pairs and an M step."""
    # BEGIN SOLUTION
    table = np.asarray(table)
    counts = np.zeros_like(table)
    for source, target in pairs:
        source, target = np.asarray(source), np.asarray(target)
        np.add.at(counts, (source[None, :], target[:, None]), link_probabilities(table, source, target))
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q7_3(em_iteration):
    import numpy as np

    generator = np.random.default_rng(107)
    table = generator.dirichlet(np.ones(5), size=4)
    pairs = [(generator.integers(0, 3, size=4), generator.integers(0, 5, size=6)) for _ in range(3)]
    counts = np.zeros((4, 5))
    for source, target in pairs:
        for t in target:
            total = sum(table[s, t] for s in source)
            for s in source:
                counts[s, t] += table[s, t] / total
    expected = np.array([row / row.sum() if row.sum() else row for row in counts])
    assert np.allclose(np.asarray(em_iteration(table, pairs)), expected)


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("7.3", em_iteration)

# %% [markdown]
# Try it on three pairs: `rote Äpfel` / "red apples", `rote Autos` / "red cars", `neue Autos` / "new cars". At the start
# all entries of a row are 1/4. Before you run the cell: what is p(red | rote) after the *first* iteration?


# %%
def numbered(sentences):
    """Lists of words as arrays of ids, and the words by their ids."""
    words = sorted({word for sentence in sentences for word in sentence})
    ids = {word: number for number, word in enumerate(words)}
    return [np.array([ids[word] for word in sentence]) for sentence in sentences], words


def train_model_1(pairs, sizes, iterations):
    table = np.full(sizes, 1 / sizes[1])
    for _ in range(iterations):
        table = em_iteration(table, pairs)
    return table


toy_source, toy_german = numbered([["rote", "äpfel"], ["rote", "autos"], ["neue", "autos"]])
toy_target, toy_english = numbered([["red", "apples"], ["red", "cars"], ["new", "cars"]])
for iterations in (1, 2, 5, 20):
    table = train_model_1(list(zip(toy_source, toy_target, strict=True)), (4, 4), iterations)
    row = table[toy_german.index("rote")]
    print(
        f"{iterations:2} iterations:",
        ", ".join(f"p({w} | rote) = {p:.2f}" for w, p in zip(toy_english, row, strict=True)),
    )

# %% [markdown]
# After the first iteration it is 0.5: `rote` meets "red" in both of its pairs, "apples" and "cars" in one each. Later
# the source words of a pair compete: the larger p(cars | autos) becomes, the smaller is the count of `rote` and "cars".
# The same on pairs of the sample corpus, with an AER against their gold links:

# %%
sample = corpus["train"][: 200 if quick else 2000]
sides = [[[w.strip() for w in nano.tokenize(pair[side])] for pair, _ in sample] for side in (0, 1)]
(source_ids, german_list), (target_ids, english_list) = map(numbered, sides)
word_pairs = list(zip(source_ids, target_ids, strict=True))
table = train_model_1(word_pairs, (len(german_list), len(english_list)), 5)
for word in ("hund", "liest", "und"):
    row = table[german_list.index(word)] if word in german_list else np.zeros(len(english_list))
    print(f"{word:6}", ", ".join(f"{english_list[i]} {row[i]:.2f}" for i in np.argsort(-row)[:4]))


def number_links(links, sentence):
    """Links with the sentence's number, so that those of a whole corpus are one set."""
    return {(sentence, s, t) for s, t in links}


gold = set().union(*(number_links(links, n) for n, (_, links) in enumerate(sample)))
of_model_1 = set()
for number, pair in enumerate(word_pairs):
    best = np.asarray(link_probabilities(table, *pair)).argmax(axis=1)
    of_model_1 |= number_links({(int(s), t) for t, s in enumerate(best)}, number)
print("model 1: precision {:.3f}, recall {:.3f}, AER {:.3f}".format(*link_scores(of_model_1, gold, gold)))

# %% [markdown]
# Model 1 knows no order: of two `der` in a sentence it cannot choose. Later models look at positions, too; in an *HMM*
# a link depends on where the one before it pointed. One also learns both directions and joins their links
# (*symmetrisation*, [O] section 4). `nmt align SOURCE TARGET` prints such links.
#
# ## 3. Links from attention
#
# Attention weights $\alpha_{ts}$ were not trained to be links, but can be read as such: link each target word to the
# source word with the largest weight. Row t has the weights of the step that *predicts* target word t: before this step
# the decoder has read the words up to t − 1. The last row predicts `</s>`, and the last column is the weight of the
# source's `</s>`; neither is a word.

# %% [raw]
# # BEGIN QUESTION
# name: q7_4
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 7.4.** `weights` (T+1, S+1) are those of the words and `</s>`. Return the best source position of each of
# the T target words, among the S source words: T whole numbers.
#
# <details><summary>Hint</summary>Cut off the last row and the last column, then <code>argmax</code> over the
# columns.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def attention_links(weights):
    """For each target word the source word with the largest weight (T)."""
    return weights[:-1, :-1].argmax(1)  # SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q7_4(attention_links):
    import torch

    torch.manual_seed(107)
    for size in ((5, 4), (3, 7), (6, 6)):
        weights = torch.rand(*size, dtype=torch.float64).softmax(dim=1)
        weights[0, -1] = 2  # the largest, but no word
        expected = [max(range(size[1] - 1), key=lambda s: weights[t, s]) for t in range(size[0] - 1)]
        assert [int(x) for x in attention_links(weights)] == expected


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("7.4", attention_links)

# %% [markdown]
# There is another row that one could take for word t: row t + 1, of the step that *reads* it. Its query is computed
# from the state after the word, so it has seen which word it is. In transformers such a shift helps (Chen et al. 2020).

# %% [raw]
# # BEGIN QUESTION
# name: q7_5
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 7.5 (a prediction).** In an RNN with Bahdanau's or Luong's attention, what does the AER do if row t + 1 is
# taken for word t?
#
# - a) It hardly changes: both steps look at the same word.
# - b) It becomes far worse.
# - c) It becomes better, since the word is known by then.
#
# <details><summary>Hint</summary>What does the step that reads word t have to predict, and which source word does it
# need for that?</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_7_5 = "b"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q7_5(answer_7_5):
    assert str(answer_7_5).strip().lower() == "b"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("7.5", answer_7_5)

# %% [markdown]
# To measure it we need a model. `Aligned` is nano's model; it also keeps the weights of a batch, which section 4 needs.
# `token_weights` gives the weights of a pair under teacher forcing. nano splits rare words into pieces: `word_weights`
# adds the columns of a word's pieces, and takes the mean of their rows, as in lesson 2.


# %%
class Aligned(nano.Seq2Seq):
    """nano's model, with the attention weights of the last batch (B T S)."""

    def forward(self, source, target_input):
        state, memory = self.encode(source)
        readouts, weights = [], []
        for embedded in self.target_embedding(target_input).unbind(dim=1):
            state, alpha = self.step(embedded, state, memory)
            readouts.append(state.readout)
            weights.append(alpha)
        self.weights = torch.stack(weights, dim=1)
        return torch.stack(readouts, dim=1)


german, english = (nano.Vocabulary([pair[side] for pair, _ in read_split("train")]) for side in (0, 1))
sizes = {"train": 100 if quick else 2500, "validation": 20 if quick else 100, "test": 20 if quick else 200}
ids = {
    split: [(german.encode(a), english.encode(b)) for (a, b), _ in corpus[split][:size]]
    for split, size in sizes.items()
}


@torch.no_grad()
def token_weights(model, pair):
    """The weights (T+1, S+1) of a pair's tokens and </s>, while the model reads the target."""
    model(nano.pad([pair[0]]), nano.pad([[nano.BOS, *pair[1][:-1]]]))
    return model.weights[0]


def word_weights(weights, line, translation):
    """The weights (T+1, S+1) of words and </s>, from those of tokens and </s>."""

    def pieces(vocabulary, text):  # (words + 1, tokens + 1): 1 where a token is a part of a word
        blocks = [torch.ones(1, len(vocabulary.split(word))) for word in nano.tokenize(text)]
        return torch.block_diag(*blocks, torch.ones(1, 1))

    rows, columns = pieces(english, translation), pieces(german, line)
    return rows / rows.sum(dim=1, keepdim=True) @ weights @ columns.T


def error_rates(model):
    """The AER on the test pairs, with the row that predicts a word, and with the row that reads it."""
    gold, links = set(), {"predicts": set(), "reads": set()}
    for number, (((line, translation), gold_links), pair) in enumerate(zip(corpus["test"], ids["test"], strict=False)):
        weights = word_weights(token_weights(model, pair), line, translation)
        for row, shifted in (("predicts", weights), ("reads", torch.cat([weights[1:], weights[-1:]]))):
            best = {(int(s), t) for t, s in enumerate(attention_links(shifted))}
            links[row] |= number_links(best, number)
        gold |= number_links(gold_links, number)
    return {row: link_scores(links[row], gold, gold)[2] for row in links}


def new_model():
    torch.manual_seed(7)
    return Aligned("bahdanau", [len(german.tokens), len(english.tokens)], 64, 64, 0.1)


EPOCHS = 1 if quick else 4
plain = new_model()
nano.train(plain, ids["train"], ids["validation"], epochs=EPOCHS, batch_size=16, rate=0.004)
for row, rate in error_rates(plain).items():
    print(f"AER {rate:.3f} with the row of the step that {row} the word")

# %% [markdown]
# The step that reads word t has to predict word t + 1, and its weights are where that word comes from. So a shift gives
# each word its neighbour's link. An error of one step in a program that prints alignments shows nowhere else: the
# translations are right.
#
# ## 4. Guided alignment
#
# Now links are an input of training. For each pair let A (T S) be 1 at links and 0 elsewhere; a row with several links
# is divided by their number. [C] and [Li] add to the loss the cross-entropy between A and the weights:
#
# $$L = -\frac{1}{N} \sum_{t} \sum_{s} A_{ts} \log \alpha_{ts}$$
#
# N is the number of rows that have a link, in the whole batch. Rows without a link have no part in it. Each row is the
# same loss as that of a predicted word, with source positions in the place of the vocabulary. So its gradient with
# respect to the scores is as simple: $(\alpha_{ts} - A_{ts}) / N$ in each row with links, since $\alpha$ is their
# softmax.

# %% [raw]
# # BEGIN QUESTION
# name: q7_6
# points: 2
# check_cell: false

# %% [markdown]
# **Exercise 7.6.** Write it in PyTorch, so that `backward()` works. `weights` and `links` are (B T S). Padding has
# weight 0 and no link: it must not make the loss NaN.
#
# <details><summary>Hint</summary>0 · log 0 is NaN, and so is its gradient. Replace weights by 1 where there is no link,
# before the logarithm: <code>weights.where(links &gt; 0, 1)</code>.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def guided_loss(weights, links):
    """The cross-entropy between links and weights, a mean over the rows that have links."""
    # BEGIN SOLUTION
    rows = (links.sum(dim=2) > 0).sum()
    return -(links * weights.where(links > 0, 1).log()).sum() / rows
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q7_6(guided_loss):
    import math

    import torch

    torch.manual_seed(117)
    scores = torch.randn(2, 4, 5, dtype=torch.float64)
    scores[1, :, 3:] = -math.inf
    scores.requires_grad_()
    weights = scores.softmax(dim=2)
    links = torch.zeros(2, 4, 5, dtype=torch.float64)
    links[0, 0, 1] = links[0, 2, 0] = links[1, 1, 2] = 1
    links[0, 3, 1] = links[0, 3, 4] = 0.5
    loss = guided_loss(weights, links)
    expected = weights[0, 0, 1] * weights[0, 2, 0] * weights[1, 1, 2] * (weights[0, 3, 1] * weights[0, 3, 4]).sqrt()
    assert abs(float(loss) + float(expected.log()) / 4) < 1e-9
    loss.backward()
    linked = links.sum(dim=2, keepdim=True) > 0
    assert torch.allclose(scores.grad, (weights.detach() - links) * linked / 4)


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("7.6", guided_loss)

# %% [markdown]
# Is the gradient that of the formula? PyTorch's `backward()` computes it without knowing the formula.

# %%
scores = torch.randn(1, 3, 4, dtype=torch.float64, requires_grad=True)
links = torch.tensor([[[0, 1, 0, 0], [0, 0, 0, 0], [0.5, 0, 0.5, 0]]], dtype=torch.float64)
loss = guided_loss(scores.softmax(dim=2), links)
if isinstance(loss, torch.Tensor):
    loss.backward()
    formula = (scores.detach().softmax(dim=2) - links) * (links.sum(dim=2, keepdim=True) > 0) / 2
    print(f"loss {loss.item():.4f}, largest difference of the gradients {(scores.grad - formula).abs().max():.1e}")

# %% [markdown]
# Where do the links come from? Not from gold links: real text has none. They are learnt from the training text alone,
# by two HMMs that start as model 1 (`lexical_links`; `training.guided_alignment: {}` in a config of nmt).
#
# A target word without a link is a question. Without a loss its weights may lie anywhere, and reading links from the
# largest weight gives it a wrong one. [Br] has the empty word for this. The source's `</s>` can serve as it: each
# sentence has it, it is the same in all of them, and the model attends to it anyway where no word is needed. So such a
# word is linked to `</s>`, and the last column becomes the probability that there is no link: nmt prints none for a
# word that attends most to `</s>`.


# %%
def rows_of(sentences):
    """Ids without </s>, one sentence after the other."""
    values = np.array([i for sentence in sentences for i in sentence[:-1]], dtype=np.int32)
    return Rows(values, np.array([len(sentence) - 1 for sentence in sentences], dtype=np.int32))


tokens = [[token.strip() for token in vocabulary.tokens] for vocabulary in (german, english)]
learnt = lexical_links(*(rows_of([pair[side] for pair in ids["train"]]) for side in (0, 1)), tokens=tuple(tokens))
targets = {}
for number, (source, target) in enumerate(ids["train"]):
    matrix = torch.zeros(len(target), len(source))
    for s, t in learnt[number]:
        matrix[t, s] = 1
    matrix[matrix.sum(dim=1) == 0, -1] = 1  # no link: </s> is the empty word
    targets[tuple(source), tuple(target)] = matrix / matrix.sum(dim=1, keepdim=True)

loss_of = nano.loss_of


def loss_with_links(model, pairs, **options):
    """nano's loss, and in training half of the guided loss."""
    loss = loss_of(model, pairs, **options)
    if not model.training:
        return loss
    links = torch.zeros_like(model.weights)
    for row, (source, target) in zip(links, pairs, strict=True):
        row[: len(target), : len(source)] = targets[tuple(source), tuple(target)]
    return loss + 0.5 * guided_loss(model.weights, links)


guided = new_model()
try:
    nano.loss_of = loss_with_links
    nano.train(guided, ids["train"], ids["validation"], epochs=EPOCHS, batch_size=16, rate=0.004)
finally:
    nano.loss_of = loss_of
for name, model in (("plain", plain), ("guided", guided)):
    print(f"{name:6} AER {error_rates(model)['predicts']:.3f}")

# %% [markdown]
# The perplexities of both trainings can be compared: in validation there is no guided loss. With these small models and
# few pairs, the guided training was behind after one epoch (18.7 against 15.3) and ahead after four (3.4 against 3.8),
# for one seed. A model without links has to learn from the words alone which positions matter; with links it learns
# both sooner. These are figures of nmt itself, on the whole sample corpus:

# %%
MEASURED = {  # nmt train quickstart, sample corpus, test split, seed 1; BLEU is that of validation after 2 of 5 epochs
    "without": {"AER in %": 14.0, "AER in %, shifted by one step": 85, "BLEU after 2 epochs": 54.6},
    "guided by links of the training text": {"AER in %": 6.6, "BLEU after 2 epochs": 73.2},
}
for name, figures in MEASURED.items():
    print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in figures.items()))

# %% [markdown]
# ## 5. What links are used for
#
# | task | what links do | command |
# |---|---|---|
# | markup | put tags around the aligned words | `nmt translate --markup` |
# | glossary | say where in the sentence a term is due | `nmt translate --glossary terms.tsv` |
# | placeholders and names | say where what is kept belongs | `nmt translate --keep names.txt` |
# | words left out | source words to which little attention went | below |
#
# **Markup.** The tags leave the sentence, it is translated, and the tags return. A tag around the source words *first*
# to *last* returns around the target words that are linked to them, from the smallest to the largest position.

# %% [raw]
# # BEGIN QUESTION
# name: q7_7
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 7.7.** `links` is a list of (source, target) pairs. Return the first and the last target position that is
# linked to the source words `first` to `last` (both included) as a list of two, or the empty list if there is none.
#
# <details><summary>Hint</summary>Collect the target positions in a list first; <code>min</code> and <code>max</code> of
# an empty list raise an error.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def target_span(links, first, last):
    """[first, last] of the target words linked to a span of source words, or []."""
    # BEGIN SOLUTION
    positions = [t for s, t in links if first <= s <= last]
    return [min(positions), max(positions)] if positions else []
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q7_7(target_span):
    links = [(0, 3), (1, 1), (2, 5), (2, 2), (4, 0)]
    assert list(target_span(links, 1, 2)) == [1, 5]
    assert list(target_span(links, 0, 0)) == [3, 3]
    assert list(target_span(links, 0, 4)) == [0, 5]
    assert list(target_span(links, 3, 3)) == []


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("7.7", target_span)

# %% [markdown]
# Your function with the bundled model, and `markup=True`, which also handles nested tags, attributes and entities:

# %%
translator = nmt.Translator.load()
sentence = "Ein Mann in einem blauen Hemd steht auf einer Leiter."
[translation] = translator.translate([sentence])
words = translation.text.split()
print(" ".join(f"{sentence.split()[s]}–{words[t]}" for s, t in translation.alignment))
span = target_span(translation.alignment, 5, 5)
if span:
    first, last = span
    print(" ".join([*words[:first], f"<b>{' '.join(words[first : last + 1])}</b>", *words[last + 1 :]]))
tagged = sentence.replace("einem blauen Hemd", "<b>einem <i>blauen</i> Hemd</b>")
print(ConstrainedTranslator.load().translate([tagged], markup=True)[0].text)

# %% [markdown]
# **Words left out.** The *coverage* of a source word is the sum of its weights over all steps. We cut a piece off a
# right translation, and compare.

# %%
sentence = "Zwei Kinder spielen mit einem roten Ball im Garten."
whole = "Two children are playing with a red ball in the yard."
for cut in ("in the yard", "red"):
    versions = [whole, whole.replace(f" {cut}", "")]
    before, after = (weights.sum(dim=0) for weights in translator.forced_attention([sentence] * 2, versions))
    print(f"without {cut!r}, the coverage falls most at:")
    pieces = translator.source.surfaces(sentence)
    for i in (after - before)[:-1].argsort()[:4].tolist():
        print(f"    {pieces[i].replace('▁', ''):8} {before[i]:.2f} → {after[i]:.2f}")

# %% [markdown]
# `⇧` belongs to the word after it: it says that the word begins with a capital letter. The model finds the place of the
# missing "in the yard": the coverage of `garten` falls. But without "red" it is not `roten` whose coverage falls, but
# `ball`, the word beside it. This model was trained without guided links: a few steps already look at the next word. So
# whoever flags missing words by coverage has to measure how often the flag is right.
#
# ## Summary
#
# - Links join words that translate each other. AER compares them with sure and possible gold links.
# - Model 1 learns a table of word translations from pairs alone, by EM. It knows no order.
# - A word's row is that of the step which predicts it. One step later belongs to the next word.
# - Guided alignment adds the cross-entropy between links and weights. Its gradient is weights minus links. `</s>` is
#   the empty word.
# - Links place tags and terms. The coverage of source words hints at what was left out.
#
# ## To read
#
# - [Br] section 4 has model 1; models 2 to 5 add positions, and how many words a word makes. Vogel et al. 1996,
#   *HMM-based word alignment in statistical translation*. [O] compares them all, and joins directions.
# - Fraser and Marcu 2007, *Measuring word alignment quality for statistical machine translation*: AER beside BLEU.
# - [C], [Li], and Mi et al. 2016, *Supervised attentions for neural machine translation*: one idea, three papers of one
#   year.
# - Koehn and Knowles 2017, *Six challenges for neural machine translation*, section 3.5: attention that is no
#   alignment. Chen et al. 2020, *Accurate word alignment induction from neural machine translation*: the shift in
#   transformers.
#
# ## Open questions

# %% [raw]
# # BEGIN QUESTION
# name: exam7_1
# manual: true
# points: 2
# check_cell: false

# %% [markdown]
# **1.** The links that guide the training were learnt from the same text by a simpler model, and have errors. How can
# attention have a lower AER than they have? When would you expect the opposite?

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# Attention sees the whole sentence on both sides, and is also trained by the words that it has to predict. A wrong link
# that is not regular (a rare word, chance) is hard to learn, and the loss of the words is against it: the model
# averages over such errors. Regular errors are learnt like the truth: for example, if the links of all articles are
# wrong in the same way, or if the text is small, so that the model learns its links by heart. Then attention copies
# them. A large weight of the guided loss makes this worse.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: exam7_2
# manual: true
# points: 2
# check_cell: false

# %% [markdown]
# **2.** Somebody wants to use coverage to find words that a translation left out. Plan a measurement that shows whether
# this works: the data, the figures, the choice of the threshold. What could make the result look better than it is?

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# Take pairs of a validation and a test set, delete a word (or a phrase) from some of the references, and compute the
# attention with the target as it then is. A flag is right if it is on the source word that was linked to the deleted
# one. Report how many deletions are found, at a fixed share of false alarms on words that were not left out. Choose the
# threshold on the validation set alone. It looks better than it is if only nouns are deleted, if a flag on a neighbour
# counts, if threshold and result are of the same sentences, or since references with a deleted word are not the errors
# that models make: they omit whole clauses, and write something fluent in their place.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

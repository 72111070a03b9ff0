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
# # Lesson 6. Is it better?
#
# After this lesson you can
#
# - compute BLEU by hand for one sentence, and for a corpus with your own function that agrees with sacreBLEU;
# - read sacreBLEU's signature, and say which figures may be compared and which may not;
# - say how much two trainings differ that differ in their seed only;
# - write paired bootstrap resampling, and say what its result covers and what it does not;
# - draw BLEU by source length with intervals, and read a table of an ablation critically.
#
# You need lesson 1 (training, BLEU by length). The lesson takes about 45 minutes.
#
# Papers: **[P]** Papineni et al. 2002, *BLEU: a method for automatic evaluation of machine translation*. **[K]** Koehn
# 2004, *Statistical significance tests for machine translation evaluation*. **[S]** Post 2018, *A call for clarity in
# reporting BLEU scores* (sacreBLEU).

# %%
# The address is set once, in tools/course.py; with nmt installed, this cell does nothing.
import importlib.util, subprocess, sys

if importlib.util.find_spec("nmt") is None:
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "@NMT_ADDRESS@"], check=True)

# %%
import math
import time
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import nano_nmt as nano
import numpy as np
import torch
from sacrebleu.metrics import BLEU

from nmt.course import check, quick

torch.set_num_threads(1)  # of matrices this small, a second thread computes none faster
_ = torch.manual_seed(6)

# %% [markdown]
# ## 1. BLEU of one sentence, by hand
#
# BLEU ([P]) compares a *hypothesis* (the program's translation) with a *reference* (a person's). It counts *n-grams*: n
# tokens in a row, for n = 1, 2, 3, 4. The *precision* $p_n$ is the share of the hypothesis' n-grams that are in the
# reference, too. Each n-gram counts at most as often as it comes in the reference: the count is *clipped*. Otherwise
# "the the the" would have a precision of 1.
#
#     reference:  the old man is reading a long letter to the two girls .
#     hypothesis: the man is reading the long letter to the the girls .

# %% [raw]
# # BEGIN QUESTION
# name: q6_1
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 6.1 (on paper).** How many of the hypothesis' 12 tokens match, with clipping?
#
# <details><summary>Hint</summary>"the" comes four times in the hypothesis. How often does it come in the
# reference?</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_6_1 = 10  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q6_1(answer_6_1):
    assert float(answer_6_1) == 10


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("6.1", answer_6_1)

# %% [raw]
# # BEGIN QUESTION
# name: q6_2
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 6.2.** Write it for any n. `hypothesis` and `reference` are lists of tokens. Return two whole numbers: the
# clipped matches, and the number of n-grams of the hypothesis (0 if it is shorter than n).
#
# <details><summary>Hint</summary>Make a <code>Counter</code> of tuples for each side. For two counters,
# <code>a &amp; b</code> has the smaller of both counts.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def clipped_matches(hypothesis, reference, n):
    """How many n-grams of the hypothesis match, and how many there are."""
    # BEGIN SOLUTION
    counts = [Counter(tuple(side[i : i + n]) for i in range(len(side) - n + 1)) for side in (hypothesis, reference)]
    return sum((counts[0] & counts[1]).values()), sum(counts[0].values())
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q6_2(clipped_matches):
    a, b = ["x", "y", "x", "y", "x", "z"], ["y", "x", "y", "z", "x"]
    assert tuple(clipped_matches(a, b, 1)) == (5, 6)
    assert tuple(clipped_matches(a, b, 2)) == (2, 5)
    assert tuple(clipped_matches(a, b, 3)) == (1, 4)
    assert tuple(clipped_matches(["x"], b, 2)) == (0, 0)


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("6.2", clipped_matches)

# %%
reference = ["the", "old", "man", "is", "reading", "a", "long", "letter", "to", "the", "two", "girls", "."]
hypothesis = ["the", "man", "is", "reading", "the", "long", "letter", "to", "the", "the", "girls", "."]
for n in (1, 2, 3, 4):
    matches, total = clipped_matches(hypothesis, reference, n)
    print(f"p_{n} = {matches}/{total} = {matches / total:.3f}")

# %% [markdown]
# A precision alone rewards short hypotheses: "the man" would have $p_1 = 1$. So BLEU has a *brevity penalty*. With $c$
# the length of the hypothesis and $r$ that of the reference,
#
# $$\mathrm{BP} = \begin{cases} 1 & c \ge r \\ \exp(1 - r / c) & c < r \end{cases} \qquad\qquad
# \mathrm{BLEU} = 100 \cdot \mathrm{BP} \cdot (p_1\, p_2\, p_3\, p_4)^{1/4}$$

# %% [raw]
# # BEGIN QUESTION
# name: q6_3
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 6.3.** The brevity penalty of a hypothesis with `hypothesis` tokens and a reference with `reference` tokens
# (two numbers).
#
# <details><summary>Hint</summary>exp(1 − r/c) is above 1 where c &gt; r. <code>min</code> or an <code>if</code> keeps
# it at 1.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def brevity_penalty(hypothesis, reference):
    """1, or less if the hypothesis is shorter."""
    return min(1.0, math.exp(1 - reference / hypothesis))  # SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q6_3(brevity_penalty):
    import math

    assert brevity_penalty(10, 10) == 1
    assert brevity_penalty(30, 10) == 1
    assert math.isclose(brevity_penalty(10, 15), math.exp(-0.5))


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("6.3", brevity_penalty)

# %% [raw]
# # BEGIN QUESTION
# name: q6_4
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 6.4.** What is the BLEU of the hypothesis above? From 0 to 100, with one decimal. Use your functions or a
# pocket calculator.
#
# <details><summary>Hint</summary>c = 12, r = 13. The four precisions are printed above. A product to the power of 1/4
# is <code>(…) ** 0.25</code>.</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_6_4 = 32.3  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q6_4(answer_6_4):
    assert abs(float(answer_6_4) - 32.3) < 0.01


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("6.4", answer_6_4)

# %% [markdown]
# Of 12 words, 10 are right, and BLEU is 32. It is no percentage of right words: one wrong word spoils up to four
# 4-grams.
#
# ## 2. BLEU of a corpus
#
# BLEU of one sentence is seldom used: it is 0 as soon as no 4-gram matches. For a corpus the matches and the totals are
# *summed over all sentences first*, for each n, and so are the lengths. Then there is one division, one brevity
# penalty.

# %% [raw]
# # BEGIN QUESTION
# name: q6_5
# points: 2
# check_cell: false

# %% [markdown]
# **Exercise 6.5.** Write it: `hypotheses` and `references` are lists of lists of tokens. Return a number from 0 to 100
# (and 0 if some $p_n$ is 0).
#
# <details><summary>Hint</summary>For each n, sum the pairs from <code>clipped_matches</code> over the sentences. Then
# <code>math.exp</code> of the mean of the four logarithms, or the product to the power of 1/4.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def corpus_bleu(hypotheses, references):
    """BLEU of a corpus, from 0 to 100."""
    # BEGIN SOLUTION
    product = 1.0
    for n in (1, 2, 3, 4):
        counts = [clipped_matches(a, b, n) for a, b in zip(hypotheses, references, strict=True)]
        product *= sum(matches for matches, _ in counts) / max(1, sum(total for _, total in counts))
    return 100 * brevity_penalty(sum(map(len, hypotheses)), sum(map(len, references))) * product**0.25
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q6_5(corpus_bleu):
    import random

    from sacrebleu.metrics import BLEU

    random.seed(106)
    references = [random.choices("abcdefg", k=k) for k in (7, 12, 20, 31)]
    hypotheses = [[*line[:3], "z", *line[4:-1]] for line in references]
    expected = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(
        [" ".join(line) for line in hypotheses], [[" ".join(line) for line in references]]
    )
    assert abs(corpus_bleu(hypotheses, references) - expected.score) < 1e-6
    assert abs(corpus_bleu(references, references) - 100) < 1e-6


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("6.5", corpus_bleu)

# %% [markdown]
# ## 3. Some systems to compare
#
# Two systems, Luong's and Bahdanau's attention as in `nano_nmt.py`, each trained three times with the seeds 1, 2 and 3.
# The models are small, the sentences short, the training brief: six trainings in about three minutes.

# %% [raw]
# # BEGIN QUESTION
# name: q6_6
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 6.6 (a prediction).** Three trainings of the *same* system on the same data differ in their seed only. How
# far apart are the best and the worst of the three in BLEU on the test set?
#
# - a) 0: the data decide
# - b) less than 0.1
# - c) more than 0.5
#
# <details><summary>Hint</summary>What does the seed decide? List everything in <code>nano.train</code> and in the model
# that is random.</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_6_6 = "c"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q6_6(answer_6_6):
    assert str(answer_6_6).strip().lower() == "c"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("6.6", answer_6_6)

# %%
LONGEST, SIZE, EPOCHS, SEEDS = 12, 96, 1 if quick else 5, (1, 2, 3)
corpus = {split: nano.read_corpus(Path("data"), split) for split in ("train", "validation", "test")}
german, english = (nano.Vocabulary([pair[side] for pair in corpus["train"]]) for side in (0, 1))
short = {
    split: [pair for pair in pairs if len(nano.tokenize(pair[0])) <= LONGEST][: 48 if quick else None]
    for split, pairs in corpus.items()
}
ids = {split: [(german.encode(a), english.encode(b)) for a, b in pairs] for split, pairs in short.items()}
test = sorted(short["test"], key=lambda pair: len(nano.tokenize(pair[0])))
references = [target for _, target in test]
print({split: len(pairs) for split, pairs in short.items()}, "pairs of at most", LONGEST, "source tokens")

# %%
bleu = BLEU(lowercase=True)
outputs = {}
for system in ("luong", "bahdanau"):
    for seed in SEEDS:
        torch.manual_seed(seed)
        model = nano.Seq2Seq(system, [len(german.tokens), len(english.tokens)], SIZE, SIZE, 0.1)
        start = time.perf_counter()
        nano.train(model, ids["train"], ids["validation"], epochs=EPOCHS, batch_size=16, rate=0.003)
        outputs[system, seed] = nano.translate(model, german, english, [source for source, _ in test])
        score = bleu.corpus_score(outputs[system, seed], [references]).score
        print(f"{system}, seed {seed}: BLEU {score:.2f}, {time.perf_counter() - start:.0f} seconds\n")

# %% [markdown]
# First, does your function agree with sacreBLEU? Both get the same tokens, in lower case.


# %%
def tokens_of(lines):
    return [[token.strip() for token in nano.tokenize(line)] for line in lines]


tokens = tokens_of(outputs["luong", 1])
ours = corpus_bleu(tokens, tokens_of(references))
joined = [" ".join(line) for line in tokens], [[" ".join(line) for line in tokens_of(references)]]
theirs = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(*joined).score
print(f"your corpus_bleu {ours:.4f}, sacreBLEU {theirs:.4f}")

# %% [markdown]
# ## 4. One output, many figures
#
# A BLEU is a property of a translation *and* of how it was computed. sacreBLEU ([S]) prints the latter as a
# *signature*: `nrefs` is the number of references, `case` is `mixed` (as it is) or `lc` (lower-cased), `tok` the
# tokeniser that splits hypothesis and reference (`13a` is the usual one), `smooth` what is done if some $p_n$ is 0, and
# the version.
#
# Here is one output of one model, scored in four ways.

# %%
raw = outputs["luong", 1], [references]
ways = {
    "a) raw text": (BLEU(), raw),
    "b) raw text, lower-cased": (BLEU(lowercase=True), raw),
    "c) the model's own tokens": (BLEU(tokenize="none", force=True), joined),
    "d) characters": (BLEU(tokenize="char", lowercase=True), raw),
}
for name, (metric, (hypotheses, lists)) in ways.items():
    print(f"{name:26} BLEU {metric.corpus_score(hypotheses, lists).score:6.2f}   {metric.get_signature()}")
print(f"\nthe model writes: {raw[0][-1]}\nthe reference is: {references[-1]}")

# %% [markdown]
# No word of the translation has changed. nano writes lower case only, and a) punishes that: a reader would, too. d) is
# highest, since most characters of a wrong word may be right. c) is the trap: the text was lower-cased and split
# *before* sacreBLEU saw it, so its signature says `case:mixed`, and cannot say how the text was split. In this corpus
# of simple sentences c) equals b), because nano splits as 13a does; with real text it does not. `tok:none` is the
# warning. Where rare words were replaced by `<unk>` in the reference as well, the figure rises further, since `<unk>`
# matches `<unk>`.

# %% [raw]
# # BEGIN QUESTION
# name: q6_7
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 6.7 (read the table).** A paper reports `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.4.0` on the
# same test set. Which of the four figures may stand beside it?
#
# <details><summary>Hint</summary>All fields must be equal; a difference in the version is usually harmless.</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_6_7 = "a"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q6_7(answer_6_7):
    assert str(answer_6_7).strip().lower() == "a"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("6.7", answer_6_7)

# %% [markdown]
# ## 5. Another test set would give another figure
#
# Our test set is a sample of all sentences that could have been asked. How much would the figure change with another
# sample? We cannot collect new ones, but we can draw from those we have, *with replacement*: a *resample* has as many
# sentences as the test set, some of them twice or more, others not at all. Many resamples show how BLEU varies. This is
# the *bootstrap*. [K] uses it for BLEU.
#
# BLEU of a resample needs no new counting: for each sentence we keep ten numbers (four of matches, four of n-grams, the
# two lengths) and sum those of the sentences drawn. `bleu_of_sums` makes BLEU of such sums.


# %%
def statistics(lines):
    """(N 10): of each sentence 4 numbers of matches, 4 of n-grams, and the lengths of both sides."""
    rows = []
    for hypothesis, reference in zip(tokens_of(lines), tokens_of(references), strict=True):
        counts = [clipped_matches(hypothesis, reference, n) for n in (1, 2, 3, 4)]
        rows.append([*(a for a, _ in counts), *(b for _, b in counts), len(hypothesis), len(reference)])
    return torch.tensor(rows, dtype=torch.float64)


def bleu_of_sums(sums):
    """(…) BLEU, from (… 10)."""
    precisions = sums[..., :4] / sums[..., 4:8].clamp(min=1)
    return 100 * torch.exp(precisions.log().mean(dim=-1) + (1 - sums[..., 9] / sums[..., 8]).clamp(max=0))


rows = {key: statistics(lines) for key, lines in outputs.items()}
indices = torch.randint(len(test), (50 if quick else 1000, len(test)))  # (R N): R resamples
resampled = bleu_of_sums(rows["luong", 1][indices].sum(dim=1))  # (R)
low, high = resampled.quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
of_all = bleu_of_sums(rows["luong", 1].sum(dim=0))
print(f"luong, seed 1: BLEU {of_all:.1f}, 95 % of the resamples {low:.1f} to {high:.1f}")

# %% [markdown]
# The interval is wide: the test set is small. But to compare two systems we need not know how hard the sentences are,
# since both translate the same ones. In *paired* bootstrap resampling both systems get the *same* resample, and one
# counts in how many resamples A has the higher BLEU. If A wins in at least 95 % of them, [K] calls the difference
# significant at 95 %.

# %% [raw]
# # BEGIN QUESTION
# name: q6_8
# points: 2
# check_cell: false

# %% [markdown]
# **Exercise 6.8.** `a` and `b` (N 10) are the statistics of both systems, `indices` (R N) has the sentences of each
# resample, `score` is a function like `bleu_of_sums`. Return the share of resamples in which A is better than B.
#
# <details><summary>Hint</summary><code>a[indices]</code> is (R N 10). Sum over the sentences, score the sums, compare.
# <code>(x &gt; y).double().mean()</code> is a share.</details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def paired_bootstrap(a, b, indices, score):
    """The share of resamples in which A has the higher score."""
    # BEGIN SOLUTION
    wins = score(a[indices].sum(dim=1)) > score(b[indices].sum(dim=1))
    return wins.double().mean()
    # END SOLUTION


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q6_8(paired_bootstrap):
    import torch

    torch.manual_seed(108)
    a, b = torch.rand(30, 10, dtype=torch.float64), torch.rand(30, 10, dtype=torch.float64)
    indices = torch.randint(30, (100, 30))

    def score(sums):
        return sums[..., 0] / sums[..., 1]

    wins = [score(a[row].sum(dim=0)) > score(b[row].sum(dim=0)) for row in indices]
    assert abs(float(paired_bootstrap(a, b, indices, score)) - sum(map(bool, wins)) / 100) < 1e-9


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("6.8", paired_bootstrap)

# %% [markdown]
# Now each pair of our six trainings. Look at the rows in which both trainings are of *one* system, too.

# %%
keys = list(outputs)
scores = {key: bleu_of_sums(rows[key].sum(dim=0)).item() for key in keys}
print(f"{'A':14}{'B':14}{'BLEU of A':>10}{'of B':>8}   A wins")
for i, a in enumerate(keys):
    for b in keys[i + 1 :]:
        share = paired_bootstrap(rows[a], rows[b], indices, bleu_of_sums)
        mark = " *" if max(share, 1 - share) >= 0.95 else ""
        names = [f"{system} {seed}" for system, seed in (a, b)]
        print(f"{names[0]:14}{names[1]:14}{scores[a]:10.1f}{scores[b]:8.1f}   {share:6.1%}{mark}")

# %% [raw]
# # BEGIN QUESTION
# name: q6_9
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 6.9.** One training of system A wins against one training of system B in 99 % of the resamples. What has
# been shown?
#
# - a) System A is better than system B, whatever the seed.
# - b) This trained model of A is better than this trained model of B, on sentences like those of the test set.
# - c) A is better than B on any text.
#
# <details><summary>Hint</summary>What was drawn at random in the test, and what was always the same?</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_6_9 = "b"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q6_9(answer_6_9):
    assert str(answer_6_9).strip().lower() == "b"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("6.9", answer_6_9)

# %% [markdown]
# In the table even two seeds of *one* system mostly differ "significantly", and no system is better than itself. There
# are two sources of chance: the *sentences* of the test set, and the *seed* of the training. The bootstrap covers the
# first. For the second one has to train again. With a few seeds one compares the means of both systems with the spread:

# %%
figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
for height, system in enumerate(("luong", "bahdanau")):
    values = np.array([scores[system, seed] for seed in SEEDS])
    axes.plot(values, [height] * len(values), "o", markersize=8, alpha=0.6)
    for seed in SEEDS:
        sampled = bleu_of_sums(rows[system, seed][indices].sum(dim=1)).numpy()
        level = height + 0.12 * seed
        axes.plot(np.quantile(sampled, [0.025, 0.975]), [level, level], color="grey", linewidth=1)
    print(f"{system:9} mean {values.mean():.1f}, standard deviation over the seeds {values.std(ddof=1):.1f}")
axes.set_yticks([0, 1], ["luong", "bahdanau"])
axes.set(xlabel="BLEU", title="Points: three seeds. Lines: 95 % of the resamples of each", ylim=(-0.3, 1.6))
_ = axes.grid(alpha=0.3, axis="x")

# %% [markdown]
# How large the spread over the seeds is depends on the training. The briefer it is, the larger the spread, since one
# seed is earlier than another. In nmt's comparison of mechanisms (section 7) it is 0.1 to 0.3 BLEU for most systems
# above 98, and 19 for one of them. Whoever reports one training of each system reports its seed, too.
#
# ## 6. BLEU by source length
#
# This project draws BLEU by source length everywhere, as [B] did to show what attention is good for. The groups are
# small samples. What does that do to their figures?

# %% [raw]
# # BEGIN QUESTION
# name: q6_10
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 6.10 (a prediction).** The interval of a group is 8 BLEU wide. How many times as many sentences would be
# needed to make it 4 BLEU wide? Give a whole number.
#
# <details><summary>Hint</summary>The standard deviation of a mean of n independent values goes with 1/√n. BLEU is
# nearly such a mean.</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_6_10 = 4  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q6_10(answer_6_10):
    assert float(answer_6_10) == 4


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("6.10", answer_6_10)


# %%
def interval(statistics, n, times=50 if quick else 1000):
    """Where 95 % of the BLEU of resamples of n sentences lie."""
    drawn = statistics[torch.randint(len(statistics), (times, n))].sum(dim=1)
    return bleu_of_sums(drawn).quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()


for n in (15, 30, 60, 120, 240):
    low, high = interval(rows["luong", 1], n)
    print(f"{n:4} sentences: {low:5.1f} to {high:5.1f}, width {high - low:5.1f}")

# %%
lengths = np.array([len(nano.tokenize(source)) for source, _ in test])
groups = [(1, 6), (7, 8), (9, 10), (11, LONGEST)]
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
for shift, system in ((-0.06, "luong"), (0.06, "bahdanau")):
    centres, bars = [], []
    for a, b in groups:
        chosen = torch.from_numpy((a <= lengths) & (lengths <= b))
        group = rows[system, 1][chosen]
        centres.append(bleu_of_sums(group.sum(dim=0)).item())
        bars.append(interval(group, len(group)))
        low, high = bars[-1]
        print(f"{system:9} {a:2}-{b:2}: {len(group):3} sentences, BLEU {centres[-1]:5.1f} ({low:.1f} to {high:.1f})")
    spread = np.abs(np.array(bars).T - np.array(centres))
    axes.errorbar(np.arange(len(groups)) + shift, centres, yerr=spread, fmt="o-", capsize=3, label=system)
axes.set_xticks(range(len(groups)), [f"{a}-{b}" for a, b in groups])
axes.set(xlabel="source tokens", ylabel="BLEU", title="BLEU by source length, with 95 % intervals")
_ = axes.legend()

# %% [markdown]
# Without the bars one would see crossings and dips, and explain them. With the bars it is clear which of them may be
# chance.
#
# ## 7. Reading an ablation
#
# An *ablation* changes one thing at a time and compares. The table is a part of nmt's `docs/ablation/README.md`: the
# whole sample corpus, 1,780 updates each, BLEU of the test set with three seeds (`docs/ablation/results`). The score is
# general without a scale, except in the first two rows. "No feeding" is without input feeding; "paper's local-p" is
# that of lesson 4.

# %%
ablation = {
    "bahdanau, additive": [99.075, 98.833, 98.868],
    "luong, additive": [99.201, 99.286, 99.146],
    "luong, general": [90.623, 91.671, 92.705],
    "luong, general, no feeding": [95.604, 95.942, 95.748],
    "luong, general, hard": [92.559, 94.468, 91.949],
    "luong, general, paper's local-p": [56.043, 92.983, 65.780],
}


def p_value(a, b):
    """Of a paired, two-sided t-test of three pairs: the t-distribution with 2 degrees of freedom, in closed form."""
    differences = np.array(a) - np.array(b)
    t = differences.mean() / (differences.std(ddof=1) / math.sqrt(3))
    return 1 - abs(t) / math.sqrt(t**2 + 2)


for name, values in ablation.items():
    print(f"{name:33} {np.mean(values):6.2f} ± {np.std(values, ddof=1):5.2f}")
print()
for a, b in (
    ("luong, additive", "bahdanau, additive"),
    ("luong, general, no feeding", "luong, general"),
    ("luong, general, paper's local-p", "luong, general"),
    ("luong, general, hard", "luong, general"),
):
    difference = np.mean(ablation[a]) - np.mean(ablation[b])
    print(f"{a} − {b}: {difference:+.2f}, p = {p_value(ablation[a], ablation[b]):.3f}")

# %% [raw]
# # BEGIN QUESTION
# name: q6_11
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 6.11.** p is the probability of a difference at least as large if both systems were equally good. Which
# sentence does the table support, with p < 0.05 as the limit?
#
# - a) With the additive score, Luong's wiring is better than Bahdanau's.
# - b) Without input feeding, general learns more in these 1,780 updates.
# - c) The paper's local-p is as good as global attention, since p is above 0.05.
# - d) Hard attention is better than soft attention.
#
# <details><summary>Hint</summary>p above the limit means only: not shown. A large spread makes p large, too.</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_6_11 = "b"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q6_11(answer_6_11):
    assert str(answer_6_11).strip().lower() == "b"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("6.11", answer_6_11)

# %% [raw]
# # BEGIN QUESTION
# name: q6_12
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 6.12.** The whole table compares 25 mechanisms with one baseline. Suppose that all 25 were exactly as good
# as the baseline. How many would be below p = 0.05 on average? Give two decimals.
#
# <details><summary>Hint</summary>If nothing differs, each single comparison is below 0.05 with probability
# 0.05.</details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_6_12 = 1.25  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS


# %%
# HIDDEN
def test_q6_12(answer_6_12):
    assert abs(float(answer_6_12) - 1.25) < 0.001


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("6.12", answer_6_12)

# %% [markdown]
# So who compares many things must expect a "significant" one by chance, and report how many were compared. The same
# holds for choosing the best of many trainings, or the best of many epochs, on the test set: choose on the validation
# set.
#
# A checklist for a table of results:
#
# 1. Which test set, which signature? Is the text raw, with capital letters and without `<unk>`?
# 2. Was the same budget (updates, data, tuning) spent on each row?
# 3. How many seeds, and how large is their spread? How many sentences, and how wide is the interval?
# 4. How many rows were compared, and on which set was chosen?
# 5. Is the corpus one on which the difference *can* show? On a synthetic corpus many systems are near 100.
#
# ## Summary
#
# - BLEU: clipped precisions for n = 1 … 4, their geometric mean, a brevity penalty. For a corpus, counts are summed
#   first.
# - Figures are comparable only with the same signature on the same raw references. `tok:none` says: somebody tokenised.
# - Two sources of chance: the test sentences (paired bootstrap) and the seed (train several times).
# - An interval narrows with 1/√n: groups by length are small, draw their intervals.
# - "Not significant" is not "equal", and of many comparisons some pass by chance.
#
# ## Exam questions

# %% [raw]
# # BEGIN QUESTION
# name: exam6_1
# manual: true
# points: 2
# check_cell: false

# %% [markdown]
# **1.** A hypothesis consists of the reference, written twice. What are $p_1$, roughly, and the brevity penalty? Which
# property of BLEU keeps its score from being 100?

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# $p_1$ is 1/2: each word counts at most as often as it comes in the reference, so half of the words do not match. The
# other precisions are about 1/2, too. The brevity penalty is 1, since the hypothesis is longer. Clipping keeps the
# score at about 50: BLEU punishes long hypotheses by their precision.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: exam6_2
# manual: true
# points: 2
# check_cell: false

# %% [markdown]
# **2.** Why must the bootstrap be *paired*? Two systems have overlapping 95 % intervals, and yet A wins in 99 % of the
# paired resamples. How can both be true?

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# Each interval mostly shows how hard the sentences of a resample are. Hard sentences lower the BLEU of both systems
# together, which cancels in the difference when both get the same sentences. A may be a little better on nearly every
# resample, while both vary much more from resample to resample.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: exam6_3
# manual: true
# points: 2
# check_cell: false

# %% [markdown]
# **3.** "Our model has 41.3 BLEU, the one of Smith et al. has 39.8, so ours is better." Name four things to know before
# you believe it.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# Whether test set and references are the same, and raw. Whether both signatures agree (case, tokeniser, smoothing). How
# many seeds were trained, and their spread. Whether the difference is above what other test sentences would give
# (paired bootstrap, which needs the other system's outputs). Also: the same data and budget, and what was chosen on the
# test set.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

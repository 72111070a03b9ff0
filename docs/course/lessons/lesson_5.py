# %% [raw]
# # ASSIGNMENT CONFIG
# init_cell: false
# check_all_cell: false
# export_cell: false
# tests:
#   ok_format: false

# %% [markdown]
# # Lesson 5. Finding a sentence
#
# After this lesson you can
#
# 1. say why the most probable sentence cannot be found by trying all, and why greedy search misses it;
# 2. write one step of beam search, with the shapes of all tensors;
# 3. compute the probability of a given sentence, and say with it whether the search or the model is to blame for a
#    wrong translation;
# 4. say why wider beams can make translations worse, and correct it with a length penalty;
# 5. say what exposure bias is, measure it, and train with scheduled sampling.
#
# **You need** lessons 1 and 2: decoder, teacher forcing, attention. The lesson takes 45 minutes, on a laptop without a
# GPU. Two cells train for about a minute each.
#
# Papers: [Wu et al. 2016](https://arxiv.org/abs/1609.08144) for the length penalty, [Bengio et al.
# 2015](https://arxiv.org/abs/1506.03099) for scheduled sampling, [Stahlberg and Byrne
# 2019](https://arxiv.org/abs/1908.10090) for search errors and model errors.

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

torch.manual_seed(5)

# %% [markdown]
# ## 1. A model is not yet a translation
#
# A translation model computes probabilities. For a source sentence $x$, the probability of a translation
# $y = y_1, …, y_T$ is
#
# $$p(y \mid x) = \prod_{t=1}^{T} p(y_t \mid y_1, …, y_{t-1}, x)$$
#
# where $y_T$ is `</s>`, the end of the sentence. To translate is to look for the most probable $y$. This is a
# **search**, and no part of the model.
#
# Trying all sentences is impossible: a vocabulary of $V = 500$ tokens makes $500^{10} \approx 10^{27}$ sentences of ten
# tokens. **Greedy search** takes the most probable token at each step, and never goes back. It computes $T$ steps. But
# is the most probable next token part of the most probable sentence?
#
# Here is a model so small that you can compute everything by hand. It has two words, `a` and `b`, and `</s>`. Its
# sentences have at most two words. The table lists $p(y_t \mid y_1, …, y_{t-1})$ for each beginning:
#
# | beginning | next is `a` | `b` | `</s>` |
# |---|---|---|---|
# | (nothing) | 0.5 | 0.4 | 0.1 |
# | `a` | 0.3 | 0.3 | 0.4 |
# | `b` | 0.05 | 0.05 | 0.9 |
# | any two words | 0 | 0 | 1 |

# %% [raw]
# # BEGIN QUESTION
# name: q5_1
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 5.1: by hand, before you run the next cell.** Greedy search begins with `a`, since 0.5 is the largest.
# Which probability has the most probable of *all* sentences? Give it with two decimals.
#
# <details><summary>Hint</summary>
#
# There are seven sentences. The probability of `a </s>` is 0.5 · 0.4. Compute that of the others, at least of those
# whose first factor is not too small.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_5_1 = 0.36  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q5_1(answer_5_1):
    assert round(float(answer_5_1), 2) == 0.36


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("5.1", answer_5_1)

# %%
TOY = {
    (): {"a": 0.5, "b": 0.4, "</s>": 0.1},
    ("a",): {"a": 0.3, "b": 0.3, "</s>": 0.4},
    ("b",): {"a": 0.05, "b": 0.05, "</s>": 0.9},
}


def all_sentences(beginning=(), p=1.0):
    """All sentences of the small model with their probabilities."""
    for token, factor in TOY.get(beginning, {"</s>": 1.0}).items():
        if token == "</s>":
            yield p * factor, " ".join([*beginning, token])
        else:
            yield from all_sentences((*beginning, token), p * factor)


for p, sentence in sorted(all_sentences(), reverse=True):
    print(f"{p:.2f}  {sentence}")

# %% [markdown]
# Greedy search writes `a </s>`. The sentence `b </s>` is nearly twice as probable, but its first word was not the most
# probable one. That is a **search error**: the search missed a sentence that the model prefers.
#
# ## 2. A model that makes mistakes
#
# For the rest of the lesson we need a model. It has Bahdanau's attention (lesson 2), and it is deliberately trained too
# little: on 6,000 short pairs of the sample corpus, four times each. A perfect model would leave nothing to look for.
# The training takes about a minute.

# %%
corpus = {split: nano.read_corpus(Path("data"), split) for split in ("train", "validation", "test")}
source = nano.Vocabulary([german for german, _ in corpus["train"]])
target = nano.Vocabulary([english for _, english in corpus["train"]])
sizes = [len(source.tokens), len(target.tokens)]


def encoded(split, number):
    """The first pairs with at most 25 German tokens, as ids, the shortest first."""
    pairs = [(source.encode(german), target.encode(english)) for german, english in corpus[split]]
    return sorted([pair for pair in pairs if len(pair[0]) <= 25][:number], key=lambda pair: len(pair[0]))


training, validation, test = encoded("train", 6000), encoded("validation", 500), encoded("test", 500)
if quick:
    training, validation, test = training[::30], validation[::20], test[::20]
sources, references = zip(*test, strict=True)


def trained(model):
    """The model after its training; each model of this lesson is trained alike."""
    nano.train(model, training, validation, epochs=1 if quick else 4, batch_size=32, rate=0.004)
    return model.eval()


torch.manual_seed(5)
model = trained(nano.Seq2Seq("bahdanau", sizes, embedding=96, hidden=96, dropout=0.1))


# %%
def bleu(outputs):
    """BLEU of lists of ids."""
    lines = [target.decode(ids) for ids in outputs]
    return BLEU(lowercase=True).corpus_score(lines, [[target.decode(ids) for ids in references]]).score


def without_padding(rows):
    return [[i for i in row if i != nano.PAD] for row in rows]


def greedy(model):
    """Greedy translations of the test set, as lists of ids."""
    outputs = []
    for i in range(0, len(sources), 64):
        outputs += without_padding(nano.greedy_search(model, sources[i : i + 64])[0].tolist())
    return outputs


outputs = greedy(model)
for i in (len(test) // 4, len(test) // 2):
    for title, line in (("German", source.decode(sources[i])), ("Reference", target.decode(references[i]))):
        print(f"{title + ':':11}{line}")
    print("Greedy:   ", target.decode(outputs[i]), "\n")
print(f"BLEU of {len(test)} translations: {bleu(outputs):.1f}")

# %% [markdown]
# ## 3. The probability of a given sentence
#
# A model can do more than write. It gives *any* sentence a probability, also the reference's. The decoder reads the
# sentence as in training (teacher forcing), and at each step one looks up the probability of the token that comes next
# in this sentence.
#
# Instead of the product one computes the sum of logarithms. A product of many probabilities can be too small for a
# floating-point number, the sum of their logarithms cannot. And the order is the same: the sentence with the larger
# product has the larger sum.
#
# In shapes, B is the number of sentences, T that of the steps of the longest one, and V that of English tokens. *Logits*
# are the numbers from which the softmax computes probabilities.

# %% [raw]
# # BEGIN QUESTION
# name: q5_2
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 5.2.** Write $\log p(y \mid x)$ for a batch of sentences, from the logits of their steps. Sentences of a
# batch differ in length, and padding is no token.
#
# <details><summary>Hint</summary>
#
# `logits.log_softmax(dim=2)` is (B T V). `x.gather(2, target.unsqueeze(2)).squeeze(2)` picks the numbers of the
# sentences' tokens, (B T). `x.masked_fill(where, 0)` sets those at padding to 0. Then sum over the steps, not over the
# sentences.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def sentence_log_p(logits, target, padding):
    """Log-probabilities (B) of sentences, from logits (B T V) and ids (B T) with padding behind the shorter ones."""
    # BEGIN SOLUTION NO PROMPT
    log_p = logits.log_softmax(dim=2).gather(2, target.unsqueeze(2)).squeeze(2)
    # END SOLUTION
    total = log_p.masked_fill(target == padding, 0).sum(dim=1)  # SOLUTION
    return total


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q5_2(sentence_log_p):
    import numpy as np
    import torch

    rng = np.random.default_rng(52)
    logits, target = 3 * rng.normal(size=(3, 4, 6)), np.array([[5, 4, 0, 3], [3, 1, 1, 1], [2, 3, 1, 1]])
    result = sentence_log_p(torch.from_numpy(logits), torch.from_numpy(target), 1)
    assert tuple(result.shape) == (3,)
    for i, n in enumerate((4, 1, 2)):
        p = [np.exp(logits[i, t, target[i, t]]) / np.exp(logits[i, t]).sum() for t in range(n)]
        assert abs(result[i].item() - np.log(np.prod(p))) < 1e-6


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("5.2", sentence_log_p)


# %%
@torch.no_grad()
def log_p_of(model, sentences):
    """The log-probabilities of sentences, lists of ids, as translations of the test set."""
    values = []
    for i in range(0, len(sources), 64):
        ids = nano.pad(sentences[i : i + 64])
        inputs = torch.cat([torch.full_like(ids[:, :1], nano.BOS), ids[:, :-1]], dim=1)
        logits = model.output(model(nano.pad(sources[i : i + 64]), inputs))
        values.append(sentence_log_p(logits, ids, nano.PAD))
    return torch.cat(values)


log_p_references = log_p_of(model, references)
log_p_greedy = log_p_of(model, outputs)
print(
    f"mean log p of the greedy translations {log_p_greedy.mean():.2f}, of the references {log_p_references.mean():.2f}"
)
print("references that are more probable than the greedy translation:", (log_p_references > log_p_greedy).sum().item())

# %% [markdown]
# The last number counts search errors: for these sentences the model has a more probable translation, which was not found.
#
# ## 4. Beam search
#
# **Beam search** keeps the $K$ most probable beginnings instead of one. They are called *hypotheses*, and $K$ is the
# *beam size*. At each step
#
# 1. each of the $K$ hypotheses is continued with each of the $V$ tokens: $K \cdot V$ candidates, with the
#    log-probability
#
# $$\log p(\text{hypothesis}) + \log p(\text{token} \mid \text{hypothesis})$$
#
# 2. of all $K \cdot V$ candidates of a sentence, the $K$ best are kept. A hypothesis can have several of its
#    continuations among them, or none.
#
# For each candidate that is kept one must know its **parent**, the hypothesis that was continued, and its **token**.
# With the parent's number, everything that belongs to a hypothesis is moved along: its tokens, and the state of its
# decoder.

# %% [raw]
# # BEGIN QUESTION
# name: q5_3
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 5.3.** Write the choice of the best, for a batch. The number of hypotheses that come in may differ from
# `beam`: at the first step there is only one.
#
# <details><summary>Hint</summary>
#
# `log_p.unsqueeze(2) + log_next` is (B K V). `x.flatten(1)` makes (B K·V) of it: first the $V$ candidates of hypothesis
# 0, then those of hypothesis 1, and so on. `x.topk(n)` returns the $n$ largest values of each row and their positions.
# Which hypothesis does position $i$ belong to? `//` divides without remainder, `%` is the remainder.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def beam_step(log_p, log_next, beam):
    """The best candidates of each sentence: their log-probabilities, parents and tokens, (B beam) each, the best first.

    `log_p` (B K) belongs to the hypotheses, `log_next` (B K V) to the tokens that may follow them.
    """
    best, position = (log_p.unsqueeze(2) + log_next).flatten(1).topk(beam)  # SOLUTION
    parent = position // log_next.shape[2]  # SOLUTION
    token = position % log_next.shape[2]  # SOLUTION
    return best, parent, token


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q5_3(beam_step):
    import numpy as np
    import torch

    rng = np.random.default_rng(53)
    for size, beam in (((2, 1, 7), 4), ((3, 4, 7), 4), ((2, 3, 5), 2)):
        log_p, log_next = 2 * rng.normal(size=size[:2]), 2 * rng.normal(size=size)
        result = [x.numpy() for x in beam_step(torch.from_numpy(log_p), torch.from_numpy(log_next), beam)]
        for i in range(size[0]):
            candidates = [(log_p[i, k] + log_next[i, k, v], k, v) for k in range(size[1]) for v in range(size[2])]
            for j, (value, parent, token) in enumerate(sorted(candidates, reverse=True)[:beam]):
                assert abs(result[0][i, j] - value) < 1e-6
                assert (result[1][i, j], result[2][i, j]) == (parent, token)


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("5.3", beam_step)

# %% [markdown]
# The next cell makes two steps with the small model of section 1 and a beam of 2.

# %%
words = ["a", "b", "</s>"]
first = torch.tensor([[[TOY[()][word] for word in words]]]).log()  # (1 1 3): one sentence, one empty hypothesis
log_p, parent, token = beam_step(torch.zeros(1, 1), first, 2)
beginnings = [words[i] for i in token[0].tolist()]
print("after step 1:", [(f"{p:.2f}", word) for p, word in zip(log_p[0].exp().tolist(), beginnings, strict=True)])

second = torch.tensor([[[TOY[(beginning,)][word] for word in words] for beginning in beginnings]]).log()  # (1 2 3)
log_p, parent, token = beam_step(log_p, second, 2)
for p, i, j in zip(log_p[0].exp().tolist(), parent[0].tolist(), token[0].tolist(), strict=True):
    print(f"after step 2: {p:.2f}", beginnings[i], words[j])

# %% [markdown]
# The next cell has the whole search, with your step. Two things in it are new:
#
# - **Hypotheses that have ended.** After `</s>` nothing may follow, and the log-probability must stay as it is. So from
#   then on padding is the only token allowed, with probability 1: its logarithm is 0, and that of all other tokens
#   $-\infty$.
# - **States.** `x.unflatten(0, (B, K))[sentence, parent]` gives each new hypothesis the state of its parent. Without
#   this, a hypothesis would go on with the state of the one that had its position in the beam before.
#
# The search ends when all hypotheses have ended, and returns all $K$ of each sentence.


# %%
@torch.no_grad()
def beam_search(model, sources, beam):
    """For each source a list of `beam` translations: pairs of log-probability and ids, the most probable first."""
    state, memory = model.encode(nano.pad(sources))
    sentence = torch.arange(len(sources)).unsqueeze(1)  # (B 1)
    ids = torch.full([len(sources), 1, 1], nano.BOS)  # (B K t)
    log_p = torch.zeros(len(sources), 1)  # (B K)
    longest = 2 * max(map(len, sources)) + 10
    while ids.shape[2] <= longest and not (ended := (ids == nano.EOS).any(dim=2)).all():
        state, _ = model.step(model.target_embedding(ids[:, :, -1].flatten()), state, memory)
        log_next = model.output(state.readout).log_softmax(dim=1).unflatten(0, log_p.shape)  # (B K V)
        log_next[ended] = -math.inf
        log_next[ended, nano.PAD] = 0.0
        log_p, parent, token = beam_step(log_p, log_next, beam)
        state = nano.State(*(x.unflatten(0, ended.shape)[sentence, parent].flatten(0, 1) for x in state))
        ids = torch.cat([ids[sentence, parent], token.unsqueeze(2)], dim=2)
    rows = [without_padding(hypotheses) for hypotheses in ids[:, :, 1:].tolist()]
    return [list(zip(*both, strict=True)) for both in zip(log_p.tolist(), rows, strict=True)]


def search_all(model, beam):
    """The hypotheses of all test sentences."""
    return [
        hypotheses for i in range(0, len(sources), 64) for hypotheses in beam_search(model, sources[i : i + 64], beam)
    ]


one = search_all(model, 1)
print("a beam of 1 is greedy search:", [hypotheses[0][1] for hypotheses in one] == outputs)
i = len(test) // 4
print("\nReference:", target.decode(references[i]))
for value, ids in beam_search(model, [sources[i]], 5)[0]:
    print(f"{value:7.2f}  {target.decode(ids)}")

# %% [markdown]
# ## 5. Wider beams
#
# A wider beam compares more sentences, at about $K$ times the cost of greedy search. The next cell translates the test set
# with $K$ = 1, 2, 5 and 20, and takes of each sentence the hypothesis with the largest $\log p$.

# %% [raw]
# # BEGIN QUESTION
# name: q5_4
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 5.4: a prediction.** From $K$ = 1 to $K$ = 20, what happens to the mean $\log p$ of the translations, and
# to their BLEU?
#
# - "a": both rise with each wider beam: a better search finds better translations;
# - "b": $\log p$ rises with each wider beam, but BLEU falls in the end;
# - "c": $\log p$ falls, since more bad sentences are looked at; BLEU falls, too.
#
# Answer **before** you run the next cell.
#
# <details><summary>Hint</summary>
#
# The search maximises $\log p$; BLEU does not enter into it. All factors of $p$ are below 1: how do short sentences
# compare with long ones?
#
# </details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_5_4 = "b"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q5_4(answer_5_4):
    assert str(answer_5_4).strip().lower() == "b"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("5.4", answer_5_4)

# %%
beams = (1, 2, 5) if quick else (1, 2, 5, 20)
hypotheses = {beam: search_all(model, beam) for beam in beams}
found = {beam: [of_one[0][1] for of_one in hypotheses[beam]] for beam in beams}
length_of_references = sum(map(len, references))
print("  K   log p    BLEU   length / length of the references")
for beam in beams:
    log_p, length = log_p_of(model, found[beam]).mean(), sum(map(len, found[beam])) / length_of_references
    print(f"{beam:3}{log_p:8.2f}{bleu(found[beam]):8.1f}{length:8.3f}")

# %% [markdown]
# The search does what it should: it finds more probable sentences. But these are shorter and shorter. BLEU first rises,
# because errors of the search disappear, and then falls. [Koehn and Knowles 2017](https://arxiv.org/abs/1706.03872) saw
# the same in large systems (section 3.6).
#
# ## 6. Who is to blame: search or model?
#
# When a translation differs from the reference, compare the two by the model's measure:
#
# - $p(\text{reference}) > p(\text{output})$: a **search error**. The model prefers the reference, and the search missed
#   it.
# - otherwise a **model error**. The model prefers the wrong sentence. A perfect search would not find the reference
#   either.
#
# This has two limits. A translation can be good and differ from the reference. And in a sentence with a model error the
# search may have missed something, too: what is sure is only that the reference was not the best.

# %% [raw]
# # BEGIN QUESTION
# name: q5_5
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 5.5.** Write this rule for many sentences at once. The result is 0 where the output equals the reference, 1
# for a search error, and 2 for a model error.
#
# <details><summary>Hint</summary>
#
# `torch.where(condition, a, b)`, once inside another one; `a` and `b` may be plain numbers. Begin with `equal`.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def blame(log_p_reference, log_p_output, equal):
    """0, 1 or 2 for each sentence, (N), from log-probabilities (N) and whether output and reference are equal (N)."""
    kind = torch.where(equal, 0, torch.where(log_p_reference > log_p_output, 1, 2))  # SOLUTION
    return kind


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q5_5(blame):
    import torch

    reference, output = torch.tensor([-1.0, -5.0, -2.0, -2.0, -9.0]), torch.tensor([-1.0, -4.0, -3.0, -2.0, -8.0])
    equal = torch.tensor([True, False, False, True, False])
    assert blame(reference, output, equal).tolist() == [0, 2, 1, 0, 2]
    assert blame(output, reference, ~equal).tolist() == [2, 0, 0, 2, 0]


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("5.5", blame)


# %%
def count_errors(outputs):
    """How many outputs are right, search errors, and model errors."""
    equal = torch.tensor([list(a) == list(b) for a, b in zip(outputs, references, strict=True)])
    return blame(log_p_references, log_p_of(model, outputs), equal).bincount(minlength=3).tolist()


print("  K   right  search errors  model errors")
for beam in beams:
    print("{:3}{:8}{:15}{:14}".format(beam, *count_errors(found[beam])))

# %% [markdown]
# No two training runs are alike. The exercise is about these numbers, of another model that was trained as yours was:
#
# | K | right | search errors | model errors |
# |--:|--:|--:|--:|
# | 1 | 181 | 59 | 230 |
# | 2 | 195 | 28 | 247 |
# | 5 | 198 | 5 | 267 |
# | 20 | 195 | 0 | 275 |

# %% [raw]
# # BEGIN QUESTION
# name: q5_6
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 5.6: a table to read.** With a wider beam, the search errors nearly disappear. Why does the number of model
# errors *grow*, although the model is the same?
#
# - "a": the search finds wrong sentences that the model prefers to the reference, where a narrower beam found a less
#   probable one;
# - "b": with more hypotheses, the rounding errors of their sums grow;
# - "c": the model was trained with a beam of 1.
#
# <details><summary>Hint</summary>
#
# Take one sentence that is a search error with $K$ = 1. With $K$ = 20 its output is more probable. In which two cases
# is it no search error any more?
#
# </details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_5_6 = "a"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q5_6(answer_5_6):
    assert str(answer_5_6).strip().lower() == "a"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("5.6", answer_5_6)

# %% [markdown]
# So the model had these errors all along. Greedy search hid them, by not finding the most probable sentence.
#
# How bad can it be? The shortest of all sentences is the empty one: `</s>` at the first step, and nothing else. Its
# $\log p$ is a single summand.

# %% [raw]
# # BEGIN QUESTION
# name: q5_7
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 5.7: a prediction.** For how many test sentences is the empty translation more probable than the
# translation that a beam of 5 finds?
#
# - "a": for none: such a model would be useless;
# - "b": for fewer than one in a hundred;
# - "c": for more than two in a hundred.
#
# Answer **before** you run the next cell.
#
# <details><summary>Hint</summary>
#
# The mean $\log p$ of the translations was printed in section 5. A single token with probability 0.001 has
# $\log p \approx -7$.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_5_7 = "c"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q5_7(answer_5_7):
    assert str(answer_5_7).strip().lower() == "c"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("5.7", answer_5_7)

# %%
log_p_empty = log_p_of(model, [[nano.EOS]] * len(test))
for beam in beams:
    share = (log_p_empty > log_p_of(model, found[beam])).float().mean().item()
    empty = sum(ids == [nano.EOS] for ids in found[beam])
    print(f"K = {beam:2}: the empty sentence is better in {share:.0%} of the sentences, and was found {empty} times")
print(f"mean probability of </s> at the first step: {log_p_empty.exp().mean().item():.5f}")

# %% [markdown]
# No training sentence is empty, and `</s>` at the first step has a tiny probability. Yet a long sentence is a product
# of many factors, and if the model is unsure at five or six positions, the product is smaller still. Stahlberg and Byrne
# searched exactly, for all sentences of a large test set: for more than half of them, the most probable translation of
# a good model was the empty one.
#
# So it is *fortunate* that beam search is no exact search. At the first step `</s>` is not even among the 20 best
# tokens, so it does not find the empty sentence. What it finds is a better translation than the optimum of $p$. And
# where does the tiny probability come from? `nano.train` uses *label smoothing* (of 0.1): the model is
# trained to give a little probability to each token at each step, also to `</s>`.
#
# ## 7. A length penalty
#
# If $p$ prefers short sentences, hypotheses should be compared by something else. Wu et al. divide by a power of the
# length (equation 14):
#
# $$s(y) = \frac{\log p(y \mid x)}{lp(y)}, \qquad lp(y) = \frac{(5 + |y|)^\alpha}{(5 + 1)^\alpha}$$
#
# $|y|$ is the number of tokens of $y$. The exponent $\alpha$ is a constant, and not an attention weight. With
# $\alpha = 0$ we have $lp = 1$, and nothing changes. Since $\log p$ is negative, a division by a larger number makes it *larger*:
# the "penalty" is a bonus for length, and grows with $\alpha$. (The paper adds another term to $s$, for coverage.)

# %% [raw]
# # BEGIN QUESTION
# name: q5_8
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 5.8.** Write $s(y)$.
#
# <details><summary>Hint</summary>
#
# `**` is the power, and comes before `*` and `/`. `((5 + length) / 6) ** alpha` is $lp$.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def penalised(log_p, length, alpha):
    """The scores s(y), from log-probabilities and lengths, tensors of the same shape."""
    scores = log_p / ((5 + length) / 6) ** alpha  # SOLUTION
    return scores


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q5_8(penalised):
    import torch

    log_p, length = torch.tensor([[-6.0, -8.0], [-1.0, -3.5]]), torch.tensor([[7, 19], [1, 31]])
    for alpha in (0.0, 0.7, 1.0, 2.0):
        result = penalised(log_p, length, alpha)
        for i in range(2):
            for j in range(2):
                expected = log_p[i, j].item() * 6**alpha / (5 + length[i, j].item()) ** alpha
                assert abs(result[i, j].item() - expected) < 1e-5


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("5.8", penalised)

# %% [markdown]
# No new search is needed to try it: the $K$ hypotheses of each sentence are there, and only the choice among them
# changes. The next cell does it with your function for several $\alpha$.


# %%
def choose(hypotheses, alpha):
    """Of each sentence the hypothesis with the largest penalised score."""
    outputs = []
    for of_one in hypotheses:
        log_p, rows = zip(*of_one, strict=True)
        scores = penalised(torch.tensor(log_p), torch.tensor(list(map(len, rows))), alpha)
        outputs.append(rows[scores.argmax().item()])
    return outputs


alphas = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)


def draw(curves, lengths):
    """BLEU and the relative length, over α, a line for each beam."""
    _, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for ax, lines, label in zip(axes, (curves, lengths), ("BLEU", "length / length of the references"), strict=True):
        for beam, values in lines.items():
            ax.plot(alphas, values, marker="o", label=f"K = {beam}")
        ax.set_xlabel("α")
        ax.set_ylabel(label)
        ax.legend()
    axes[1].axhline(1, color="grey", linewidth=0.5)
    plt.show()


curves, lengths = {}, {}
for beam in beams:
    choices = [choose(hypotheses[beam], alpha) for alpha in alphas]
    curves[beam] = [bleu(outputs) for outputs in choices]
    lengths[beam] = [sum(map(len, outputs)) / length_of_references for outputs in choices]
    print(f"K = {beam:2}  BLEU  ", *(f"{value:6.1f}" for value in curves[beam]))
    print("        length", *(f"{value:6.2f}" for value in lengths[beam]))
draw(curves, lengths)

# %% [markdown]
# The exercise is about a stored figure, of the model of the stored table:

# %%
draw(
    {1: [77.8] * 6, 5: [79.4, 80.1, 80.1, 80.3, 80.1, 79.2], 20: [76.7, 78.7, 80.5, 81.0, 80.5, 78.2]},
    {1: [0.997] * 6, 5: [0.974, 0.984, 0.989, 0.997, 1.004, 1.012], 20: [0.93, 0.958, 0.984, 0.997, 1.007, 1.028]},
)

# %% [raw]
# # BEGIN QUESTION
# name: q5_9
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 5.9: a figure to read.** In the stored figure, which $\alpha$ gives the highest BLEU with $K$ = 20? Then
# say to yourself: how long are the translations there, compared with the references? And why is the line of $K$ = 1
# flat?
#
# <details><summary>Hint</summary>
#
# In the left half, look along the line of $K$ = 20. For the flat line: among how many hypotheses does $\alpha$ choose?
#
# </details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_5_9 = 1.5  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q5_9(answer_5_9):
    assert float(answer_5_9) == 1.5


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("5.9", answer_5_9)

# %% [markdown]
# With a good $\alpha$, a wide beam does no harm any more. The best $\alpha$ is about where the translations are as long
# as the references. It is chosen on the *validation* set, like everything that is chosen by BLEU; here we looked at the
# test set, for the lesson only.
#
# Greedy search keeps one hypothesis, so there is nothing to choose among; a wider beam leaves more to choose. An $\alpha$
# that is too large prefers sentences that are too long. Note that $\alpha$ corrects an error of the *model*.
# The search is as it was.
#
# ## 8. Exposure bias
#
# In training the decoder reads the reference (teacher forcing). In translation it reads what it has written, with its
# mistakes. It has never been **exposed** to them in training. So after one wrong token, does everything go wrong?
#
# That can be measured. The test references are read with teacher forcing. In each, *one* token is replaced by the wrong
# token that the model gave the highest probability there: a mistake that this model could make. Then compare the loss
# of the tokens after it with and without the mistake.

# %% [raw]
# # BEGIN QUESTION
# name: q5_10
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 5.10: a prediction.** By how much is the loss of a token higher, if it is 1, 2, 3, … tokens after the mistake?
#
# - "a": it grows with the distance: one mistake leads to the next;
# - "b": it is about the same for all tokens, up to the end of the sentence;
# - "c": it is largest directly after the mistake, and gone after a few tokens.
#
# Answer **before** you run the next cell.
#
# <details><summary>Hint</summary>
#
# After the mistake, the decoder reads right tokens again. Its state is computed at each step from the old one, the
# token, and attention.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_5_10 = "c"  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q5_10(answer_5_10):
    assert str(answer_5_10).strip().lower() == "c"


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("5.10", answer_5_10)


# %%
@torch.no_grad()
def harm(model, distances=8):
    """By how much the loss is higher, 1, 2, … tokens after a mistake; the mean over the test set."""
    generator = torch.Generator().manual_seed(5)
    total, number = torch.zeros(distances), torch.zeros(distances)
    for i in range(0, len(test), 64):
        rows = [pair for pair in test[i : i + 64] if len(pair[1]) > 3]
        ids, source_ids = nano.pad([ids for _, ids in rows]), nano.pad([ids for ids, _ in rows])
        inputs = torch.cat([torch.full_like(ids[:, :1], nano.BOS), ids[:, :-1]], dim=1)
        log_p = model.output(model(source_ids, inputs)).log_softmax(dim=2)
        wrong = log_p.scatter(2, ids.unsqueeze(2), -math.inf).argmax(dim=2)  # the best wrong token at each step
        place = torch.tensor([torch.randint(len(ids) - 2, (), generator=generator).item() for _, ids in rows])
        row = torch.arange(len(rows))
        with_mistake = inputs.clone()
        with_mistake[row, place + 1] = wrong[row, place]  # what is predicted at t is read at t + 1
        log_p_after = model.output(model(source_ids, with_mistake)).log_softmax(dim=2)
        more = (log_p - log_p_after).gather(2, ids.unsqueeze(2)).squeeze(2)
        for distance in range(1, distances + 1):
            t = place + distance
            real = t < (ids != nano.PAD).sum(dim=1)
            total[distance - 1] += more[row[real], t[real]].sum()
            number[distance - 1] += real.sum()
    return (total / number.clamp(min=1)).tolist()


def draw_harm(lines):
    for name, values in lines.items():
        plt.plot(range(1, len(values) + 1), values, marker="o", label=name)
    plt.xlabel("tokens after the mistake")
    plt.ylabel("how much higher the loss is (nats)")
    plt.ylim(bottom=0)
    plt.legend()
    plt.show()


teacher_forced = harm(model)
print(*(f"{value:.2f}" for value in teacher_forced))
draw_harm({"teacher forcing": teacher_forced})

# %% [markdown]
# One mistake makes the next token much harder. Then the decoder recovers: attention still shows it the whole source,
# and the tokens after the mistake are right. (In translation they need not be: a mistake can lead to another one.)
#
# **Scheduled sampling** (Bengio et al. 2015) lets the decoder read some of its mistakes in training. At each step, with
# probability $\varepsilon_i$ it reads the reference's token, else the one that it has computed itself. $i$ is the
# number of updates so far. In the beginning the model's tokens are nonsense, so $\varepsilon_i$ is near 1. Then it
# falls. One of the paper's schedules (section 2.4) is the **inverse sigmoid decay**:
#
# $$\varepsilon_i = \frac{k}{k + \exp(i/k)}$$
#
# The constant $k \ge 1$ says how late it falls. (It has nothing to do with the beam size $K$.)

# %% [raw]
# # BEGIN QUESTION
# name: q5_11
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 5.11.** Write $\varepsilon_i$ for a tensor of numbers of updates.
#
# <details><summary>Hint</summary>
#
# `torch.exp`. At $i = 0$ the result is $k/(k+1)$, nearly 1. If yours grows with $i$, or is $1/2$ at $i = 0$, compare
# with the formula.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION


# %%
def inverse_sigmoid(i, k):
    """The probability of reading the reference's token, after i updates (a tensor)."""
    epsilon = k / (k + torch.exp(i / k))  # SOLUTION
    return epsilon


# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q5_11(inverse_sigmoid):
    import math

    import torch

    i = torch.tensor([0.0, 3.0, 50.0, 400.0])
    for k in (2.0, 60.0):
        result = inverse_sigmoid(i, k)
        assert all(abs(a - k / (k + math.exp(b / k))) < 1e-5 for a, b in zip(result.tolist(), i.tolist(), strict=True))


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("5.11", inverse_sigmoid)

# %%
updates = 4 * math.ceil(6000 / 32)
i = torch.arange(updates)
for k in (50, 100, 150, 250):
    plt.plot(i, inverse_sigmoid(i, k), label=f"k = {k}")
plt.xlabel("updates")
plt.ylabel("probability of reading the reference")
plt.ylim(0, 1.05)
plt.legend()
plt.show()

# %% [raw]
# # BEGIN QUESTION
# name: q5_12
# points: 1
# check_cell: false

# %% [markdown]
# **Exercise 5.12: a figure to read.** The figure ends where this training does, after 752 updates. With which $k$ does
# the decoder read the reference in half of the steps at the end: 50, 100, 150 or 250?
#
# <details><summary>Hint</summary>
#
# Look at the right edge. Or compute: $\varepsilon_i = 1/2$ where $\exp(i/k) = k$, so at $i = k \log k$.
#
# </details>

# %% [raw]
# # BEGIN SOLUTION

# %%
answer_5_12 = 150  # SOLUTION

# %% [raw]
# # END SOLUTION

# %% [raw]
# # BEGIN TESTS

# %%
""" # BEGIN TEST CONFIG
hidden: true
"""  # END TEST CONFIG


def test_q5_12(answer_5_12):
    assert int(answer_5_12) == 150


# %% [raw]
# # END TESTS

# %% [raw]
# # END QUESTION

# %%
check("5.12", answer_5_12)

# %% [markdown]
# The next cell trains a model like that of section 2, with $k = 100$: after 460 updates the decoder reads the reference
# in half of the steps, at the end in 5 %. **Before** you run it: the perplexity is measured with the reference's tokens.
# Will that of the new model be better or worse? And in the figure, which line will begin lower?
#
# The training takes about as long as the first one. Each step must compute its token before the next one can begin.


# %%
class ScheduledSampling(nano.Seq2Seq):
    """In training, each step reads the reference's token with probability ε, else the model's best one."""

    k, updates = 100, 0

    def forward(self, source, target_input):
        if not self.training:
            return super().forward(source, target_input)
        epsilon = inverse_sigmoid(torch.tensor(float(self.updates)), self.k)
        self.updates += 1
        state, memory = self.encode(source)
        token, readouts = target_input[:, 0], []
        for reference in [*target_input.unbind(dim=1)[1:], None]:
            state, _ = self.step(self.target_embedding(token), state, memory)
            readouts.append(state.readout)
            if reference is not None:
                with torch.no_grad():
                    best = self.output(state.readout).argmax(dim=1)
                token = torch.where(torch.rand(len(token)) < epsilon, reference, best)
        return torch.stack(readouts, dim=1)


torch.manual_seed(5)
scheduled = trained(ScheduledSampling("bahdanau", sizes, embedding=96, hidden=96, dropout=0.1))

# %%
print("                       perplexity   BLEU: greedy   beam 5, α = 1")
for name, each in (("teacher forcing", model), ("scheduled sampling", scheduled)):
    perplexity = math.exp(-log_p_of(each, references).sum().item() / length_of_references)
    beam_5 = bleu(choose(search_all(each, 5), 1.0))
    print(f"{name:20}{perplexity:13.2f}{bleu(greedy(each)):15.1f}{beam_5:16.1f}")
lines = {"teacher forcing": teacher_forced, "scheduled sampling": harm(scheduled)}
for name, values in lines.items():
    print(f"{name:20}", *(f"{value:6.2f}" for value in values))
draw_harm(lines)

# %% [markdown]
# One run shows little, so here are three of each kind, with different random *seeds*, on the same data. The last column
# says by how much the loss is higher one token after a mistake, as in the figure:
#
# | seed | | perplexity (validation) | BLEU, greedy | one token after a mistake |
# |--:|---|--:|--:|--:|
# | 5 | teacher forcing | 1.63 | 77.8 | +1.30 |
# | 5 | scheduled sampling | 2.03 | 72.0 | +0.94 |
# | 6 | teacher forcing | 1.52 | 82.8 | +1.24 |
# | 6 | scheduled sampling | 1.88 | 75.1 | +0.94 |
# | 7 | teacher forcing | 1.41 | 85.6 | +1.25 |
# | 7 | scheduled sampling | 1.63 | 82.2 | +0.84 |
#
# What it shows, and what it does not:
#
# - **A mistake costs less** in the next token, with each seed: that is what scheduled sampling was made for. But look
#   closer: the loss *without* a mistake has risen, so there is less left to lose. With seed 6 it rose from 0.48 to
#   0.68; after a mistake the loss is 1.72 with teacher forcing, and 1.63 with scheduled sampling.
# - **Perplexity and translations are worse**, with each seed, the latter by 3 to 8 BLEU. The decoder has read fewer
#   right beginnings, and probably learnt less from the same pairs. This training is short, and the model was far from
#   having learnt all.
# - **One training run is not enough**: two runs of the *same* kind differ by up to 10 BLEU here. If the differences did
#   not have the same sign for all seeds, we could say nothing (lesson 6).
# - Exposure bias is small here to begin with: attention shows the decoder the whole source at each step, and after a
#   few tokens the mistake is gone. In a longer training of nmt's larger models on the sample corpus, reading the
#   reference in 80 % of the steps gave 99.24 BLEU (mean of three seeds, standard deviation 0.13), in all steps 99.21
#   (0.07): no difference.
#
# So scheduled sampling is worth trying and measuring, but it is not certain to help. Bengio et al. report gains
# on their tasks. If you have time, try a larger $k$ above.
#
# There is also an argument against it ([Huszár 2015](https://arxiv.org/abs/1511.05101)). The loss compares step $t$
# with token $t$ of the *reference*, also when the decoder has read other words before. If it has written `a dog` where
# the reference is `one dog`, all is well. If it has written `in the garden , a dog`, and the reference is
# `a dog … in the garden`, it is trained to write the words at the positions of the reference. Then the target is simply
# wrong.
#
# ## Summary
#
# - To translate is to search for a sentence with a large $p(y \mid x)$. Greedy search takes the best token at each
#   step, and misses better sentences.
# - Beam search keeps $K$ hypotheses. Of all $K \cdot V$ continuations the best $K$ are kept, with parent and token;
#   hypotheses that have ended stay as they are.
# - With teacher forcing the model gives any sentence its probability. If the reference's is larger than the output's,
#   the search is to blame, else the model.
# - Models prefer sentences that are too short, sometimes the empty one. Wide beams show it. A length penalty corrects
#   it, if $\alpha$ is chosen well.
# - In training the decoder never reads its mistakes (exposure bias). Scheduled sampling lets it; whether that helps has
#   to be measured.
#
# ## Exam questions
#
# Answer without looking back. Two or three sentences are enough.

# %% [raw]
# # BEGIN QUESTION
# name: q5_exam_1
# manual: true
# points: 2

# %% [markdown]
# **1.** In a translation system BLEU falls from 34.0 to 31.5 when the beam grows from 5 to 100. A colleague says: "The
# beam search has a bug." How do you find out whether it is a search error? What would you change?

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# Compare the model's $\log p$ of the outputs with both beams, and of the references. If the outputs of the wide beam
# have a larger $\log p$ than those of the narrow one, and than the references, the search does what it should, and the
# errors are the model's. (If $\log p$ fell, there would be a bug.) Look at the lengths: probably the outputs are too
# short. Then use a length penalty, with $\alpha$ chosen on the validation set, or stay at a beam of 5.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: q5_exam_2
# manual: true
# points: 2

# %% [markdown]
# **2.** Why does a length penalty as in section 7 change nothing in greedy search? And why does beam search without one
# end up with short sentences, the more so the wider the beam is?

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# The penalty ranks the hypotheses of a sentence when the search has ended. Greedy search has one, so there is nothing
# to rank. Without the penalty each further token makes the product smaller, since its factor is below 1. So sentences
# that end early have an advantage. Their beginnings are often not among the most probable ones; a wide beam keeps such
# beginnings, and a narrow one drops them before they end.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

# %% [raw]
# # BEGIN QUESTION
# name: q5_exam_3
# manual: true
# points: 2

# %% [markdown]
# **3.** What is exposure bias? Say how scheduled sampling changes training, and give one reason why it may not help.

# %% [raw]
# # BEGIN SOLUTION

# %% [markdown]
# In training the decoder reads the reference's tokens only, in translation its own, with mistakes, so it is then in
# states that it was not trained in. Scheduled sampling replaces the token that is read by the model's own one with a
# probability that grows during training. It may not help because the target stays the reference's token $t$, which need
# not be right after the other words; because fewer right beginnings are read; or because the model recovers from
# mistakes anyway, with attention to the whole source.

# %% [raw]
# # END SOLUTION

# %% [raw]
# # END QUESTION

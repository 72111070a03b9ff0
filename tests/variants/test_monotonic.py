"""Monotonic attention and MoChA: each step by its formula, hard ones by a pointer, with every score and wiring."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch
from support.attention_cases import draw
from support.runs import finish
from support.tiny_models import (
    DECODER_HIDDEN,
    FEEDINGS,
    SOURCES,
    TARGETS,
    encode,
    monotonic_model,
    tiny_codecs,
)

from nmt.components import CELLS, SCORES
from nmt.config.run import Config
from nmt.config.search import SearchConfig
from nmt.data.batching import Example, collate
from nmt.decoding.scoring import score
from nmt.fast import accelerate
from nmt.model.encoder import Encoded
from nmt.system.errors import UserError
from nmt.training.loss import BatchLoss
from nmt.translator import Translator
from nmt.variants.monotonic import WINDOW, chunk_weights, expected_stops, first_stop

CHUNKS = [1, 3]
MODELS = [(*feeding, name) for feeding, name in zip(FEEDINGS * 4, SCORES, strict=False)]


# The formulas, position by position


def stops_of(p, before):
    """Raffel et al. (2017), section 2.3: from where the last step has stopped, past all that is between, to stop."""
    passed = [[np.prod([1 - p[k] for k in range(start, s)]) for start in range(s + 1)] for s in range(len(p))]
    return np.array([p[s] * sum(before[start] * passed[s][start] for start in range(s + 1)) for s in range(len(p))])


def pointer(p, start):
    """Algorithm 1: the position of the stop, or None."""
    return next((s for s in range(start, len(p)) if p[s] >= 0.5), None)


def chunks_of(u, stops, chunk):
    """Chiu and Raffel (2018): a softmax over the positions of each chunk, by the probability that it ends there."""
    weights = np.zeros(len(u))
    for end, probability in enumerate(stops):
        begin = max(0, end - chunk + 1)
        powers = np.exp(u[begin : end + 1] - max(u[begin : end + 1]))
        weights[begin : end + 1] += probability * powers / powers.sum()
    return weights


@pytest.mark.parametrize("scale", [0.3, 2.0, 60.0])
def test_stops_and_chunks_are_those_of_the_formulas(scale):
    """Also where probabilities are 0 and 1, by which a closed form would divide."""
    energies, u = scale * draw(5, 9).double(), scale * draw(5, 9, seed=3).double()
    p = torch.sigmoid(energies).requires_grad_()
    before = draw(5, 9, seed=2).double().softmax(dim=-1)
    stops = expected_stops(p, before)
    weights = chunk_weights(u, stops, 4)
    for row in range(5):
        expected = stops_of(p[row].detach().numpy(), before[row].numpy())
        np.testing.assert_allclose(stops[row].detach(), expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(weights[row].detach(), chunks_of(u[row].numpy(), expected, 4), rtol=0, atol=1e-12)
    assert (stops.sum(dim=-1) <= 1 + 1e-12).all()
    torch.testing.assert_close(weights.sum(dim=-1), stops.sum(dim=-1))
    if scale < 10:
        inputs = [p.detach().requires_grad_(), before.requires_grad_(), u.requires_grad_()]
        assert torch.autograd.gradcheck(lambda p, before, u: chunk_weights(u, expected_stops(p, before), 4), inputs)


def test_hard_stops_are_expected_ones_of_probabilities_0_and_1():
    generator = torch.Generator().manual_seed(5)
    before = torch.eye(12, dtype=torch.float64)[0]
    for _ in range(40):
        is_stop = torch.rand(12, generator=generator) < 0.4
        hard = first_stop(is_stop, before).double()
        assert hard.equal(expected_stops(is_stop.double(), before))
        before = hard
    assert before.sum() == 0  # it has run to the end


# The attention of a model


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize(("wiring", "feeding", "name"), MODELS)
def test_each_step_is_the_formulas(wiring, feeding, name, chunk, training):
    """Sentence by sentence and step by step, from the scores of the model."""
    attention = monotonic_model(wiring, feeding, name, chunk).decoder.attention.train(training)
    lengths, query_size = torch.tensor([6, 4, 1]), DECODER_HIDDEN if SCORES[name].equal_sizes_or is None else 6
    values = draw(3, 6, 6).double()
    mask = torch.arange(6) < lengths.unsqueeze(1)
    encoded = Encoded(values, draw(3, 6).double(), mask, lengths, torch.full((3, 6), 4))
    memory = attention.prepare(encoded)
    kept = torch.zeros(3, 1, 6, dtype=torch.float64)
    before = [np.eye(1, int(length))[0] for length in lengths]
    for t in range(4):
        query = draw(3, 1, query_size, seed=t).double()
        contexts, alignment = attention(query, memory, torch.full((3, 1), t), kept)
        kept = alignment.added_to(kept)
        energies = attention.score(query, memory.keys) + attention.bias
        for b, length in enumerate(lengths.tolist()):
            p = (torch.sigmoid(energies[b, 0]) * memory.mask[b]).detach().numpy()[:length]
            before[b] = stops_of(p if training else (p >= 0.5).astype(float), before[b])
            expected = before[b]
            if chunk > 1:
                scores = attention.scope.score(query, memory.of_scope[0])[b, 0, :length].detach().numpy()
                expected = chunks_of(scores, before[b], chunk)
            np.testing.assert_allclose(kept[b, 0, :length].detach(), before[b], rtol=0, atol=1e-9)
            np.testing.assert_allclose(alignment.dense(6)[b, 0, :length].detach(), expected, rtol=0, atol=1e-9)
            assert (alignment.dense(6)[b, 0, length:] == 0).all()
            np.testing.assert_allclose(contexts[b, 0].detach(), expected @ values[b, :length].numpy(), atol=1e-9)


def test_search_takes_a_pointers_path_in_linear_time():
    """Three hypotheses of each sentence go their own ways. A step scores what it passes, and not the whole source."""
    attention, lengths, steps = monotonic_model().decoder.attention, torch.tensor([300, 41, 1]), 12
    mask = torch.arange(300) < lengths.unsqueeze(1)
    encoded = Encoded(draw(3, 300, 6).double(), draw(3, 6).double(), mask, lengths, torch.full((3, 300), 4))
    memory, queries = attention.prepare(encoded), 0.7 * draw(3, steps, 3, DECODER_HIDDEN).double()
    energies = attention.score(queries.flatten(1, 2), memory.keys).detach()
    attention.bias.data = -energies.quantile(0.9)  # only every tenth position is a stop
    p = torch.sigmoid(energies + attention.bias).unflatten(1, (steps, 3))
    counts = []  # of the scores that each call computes
    attention.score.register_forward_hook(lambda *arguments: counts.append(arguments[-1].numel()))
    kept, path = torch.zeros(3, 3, 300, dtype=torch.float64), dict.fromkeys(np.ndindex(3, 3), 0)
    for t in range(steps):
        contexts, alignment = attention(queries[:, t], memory, torch.full((3, 3), t), kept)
        kept = alignment.added_to(kept)
        for (b, k), last in path.items():
            path[b, k] = stop = None if last is None else pointer(p[b, t, k, : lengths[b]], last)
            expected = [] if stop is None else [stop]
            assert kept[b, k].nonzero().flatten().tolist() == expected
            torch.testing.assert_close(contexts[b, k], encoded.values[b, expected].sum(dim=0))
    assert any(stop is None for stop in path.values())
    assert any(stop is not None for stop in path.values())
    assert sum(counts) <= 3 * lengths.sum() + 9 * steps * WINDOW  # 1,890 of 32,400


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize(("wiring", "feeding", "name"), MODELS)
def test_a_model_scores_searches_and_learns_alike_in_any_batch(wiring, feeding, name, chunk):
    """Loss and gradients, plain and fast, are those of single sentences; so are translations, and what scoring says."""
    cells = sorted(CELLS)
    model = monotonic_model(wiring, feeding, name, chunk, cell=cells[len(name) % len(cells)])
    pairs = [Example([*source], target) for source, target in zip(SOURCES, TARGETS, strict=True)]
    [whole, *_] = gradients = [BatchLoss(model.train(), 0.1)(collate(pairs)).smoothed]
    alone = sum(BatchLoss(model, 0.1)(collate([pair])).smoothed for pair in pairs)
    fast = BatchLoss(monotonic_model(wiring, feeding, name, chunk, cell=cells[len(name) % len(cells)]).train(), 0.1)
    accelerate(fast, "float32")
    gradients += [alone, fast(collate(pairs)).smoothed]
    for loss in gradients:
        assert loss.item() == pytest.approx(whole.item(), rel=1e-6)
    parameters = [model.parameters(), model.parameters(), fast.model.parameters()]
    of_each = [
        torch.autograd.grad(loss, list(weights), allow_unused=True)
        for loss, weights in zip(gradients, parameters, strict=True)
    ]
    for other in of_each[1:]:
        for one, another in zip(of_each[0], other, strict=True):
            if one is not None and another is not None:
                torch.testing.assert_close(another, one, rtol=1e-4, atol=1e-7)
    model.eval()
    nll = [BatchLoss(model, 0.0)(collate([pair])).nll.item() for pair in pairs]
    assert [-s.log_probability for s in score(model, pairs, 3)] == pytest.approx(nll, rel=1e-6)
    weights = model.attention_weights(torch.tensor([[2, 10, 4, 7], [2, 6, 6, 4], [2, 9, 4, 4]]), *encode(model))
    assert (weights.sum(dim=2) <= 1 + 1e-9).all()
    if chunk == 1:
        for row in weights:
            stops = [step.nonzero().flatten().tolist() for step in row]
            assert all(len(stop) <= 1 for stop in stops)
            assert all(now == [] or (last and last <= now) for last, now in pairwise(stops))


def test_a_beam_carries_the_stops_of_its_hypotheses():
    """Greedy and beam search give each hypothesis the score that scoring gives it."""
    source, target = tiny_codecs()
    for wiring, feeding in FEEDINGS:
        model = monotonic_model(wiring, feeding, chunk=2, seed=3)
        translator = Translator(model, source, target, SearchConfig(beam_size=4, max_length=7, length_penalty=0))
        texts = ["a f h b", "d c b a e g a", "b"]
        for text, one in zip(texts, translator.translate(texts, n_best=4), strict=True):
            assert [t.text for t in translator.translate([text], n_best=4)[0].n_best] == [t.text for t in one.n_best]
            for found in one.n_best:
                if not found.is_cut:
                    [again] = translator.score([text], [found.text])
                    assert found.score == pytest.approx(again.log_probability, abs=1e-4)


# The config, and a run


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("normalizer: sparsemax", "normalizer .sparsemax. has no effect with monotonic, which makes the weights"),
        ("hard: true", "hard .true. has no effect with monotonic"),
        ("fertility: 2", "fertility .2. has no effect with monotonic"),
        ("coverage: true", "coverage .true. has no effect with monotonic"),
        ("scope: local_m", "scope: local_m with monotonic, .* set it to global"),
        ("heads: 2", "heads: 2 with monotonic, .* set it to 1"),
        ("projected: true", "projected: true with monotonic, .* set it to false"),
        ("wiring: none", "monotonic .* has no effect with wiring: none"),
    ],
)
def test_what_does_not_fit_is_refused(make_config: Callable[..., Config], fields: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_config(f"model.attention={{monotonic: {{chunk: 2}}, {fields}}}")


def test_minimum_risk_is_refused(make_config: Callable[..., Config]) -> None:
    with pytest.raises(UserError, match=r"minimum_risk with model.attention.monotonic: .* remove one of them"):
        make_config("model.attention={monotonic: {}}", "training.minimum_risk={likelihood: 1}")


@pytest.mark.parametrize("chunk", CHUNKS)
def test_a_model_learns_to_translate_word_by_word(make_config, corpus, chunk):
    """By what it reads at its stops: in search attention moves from word to word."""
    for path in corpus.glob("*.src"):
        words = path.read_text(encoding="utf-8").lower()
        path.with_suffix(".tgt").write_text(words, encoding="utf-8")
    sizes = [f"model.{side}={{hidden_size: 16, dropout: 0}}" for side in ("encoder", "decoder")]
    fields = ["model.embedding_size=16", "training.max_updates=200", "training.validate_every=200"]
    config = make_config(
        *sizes, *fields, f"model.attention={{monotonic: {{chunk: {chunk}}}}}", "training.batch_size=15"
    )
    translator = Translator.load(finish(config) / "last.safetensors", device="cpu")
    text = (corpus / "train.src").read_text(encoding="utf-8").splitlines()[:30]
    translations = translator.translate(text)
    right = [t.text == line.lower() for t, line in zip(translations, text, strict=True)]
    assert sum(right) >= 24

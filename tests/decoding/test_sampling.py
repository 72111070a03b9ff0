"""Drawing translations: the right distribution, and the same draws in any batch and process."""

import sys
from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch
from support.formulas import softmax
from support.tiny_models import SOURCES, WIRINGS, parametrised, tiny_model
from support.toy_search import END, START, WORDS, Toy, in_order

from nmt.config.reading import parse_config, to_yaml
from nmt.config.search import SearchConfig
from nmt.config.yaml_text import parse_yaml
from nmt.decoding.batches import decode
from nmt.decoding.sampling import sample, uniform_draws
from nmt.system.errors import UserError

SENTENCES = (17, 400)
SAMPLES = 20_000


def probability_of_next(toy, sentence, ids, temperature, top_k, top_p):
    """p^(1/T), normalised over the k likeliest words, or over the fewest of them with a total of at least top_p."""
    values = toy.next(sentence, ids) / temperature
    if top_k is not None:
        values = np.where(values >= np.sort(values)[-min(top_k, len(values))], values, -np.inf)
    probabilities = softmax(values)
    if top_p is not None:
        order = np.argsort(-probabilities)
        nucleus = order[: 1 + np.flatnonzero(np.cumsum(probabilities[order]) >= top_p)[0]]
        values = np.where(np.isin(np.arange(len(values)), nucleus), values, -np.inf)
    return softmax(values)


def all_sequences(longest):
    for length in range(longest):
        yield from ((*words, END) for words in product(WORDS, repeat=length))
    yield from product(WORDS, repeat=longest)


def search(toy, draws, sentences=SENTENCES, **options):
    numbers = torch.tensor(sentences).unsqueeze(1)
    options = {"alpha": 0.0, "temperature": 1.0, "top_k": None} | options
    return in_order(sample(toy, (torch.zeros_like(numbers),), (numbers,), draws, bos=START, eos=END, **options))


# With k cells of expected counts e and observed counts o, Σ (o − e)² / e has mean k − 1 and variance 2 (k − 1).
@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"),
    [
        *((1.0, None, None), (0.5, None, None), (2.0, 99, None), (1.0, 2, None), (0.7, 3, None)),
        *((1.0, None, 0.9), (1.5, 3, 0.95), (2.0, 99, 0.8)),
    ],
)
def test_samples_have_the_distribution_of_the_model(temperature: float, top_k: int | None, top_p: float | None) -> None:
    toy, longest = Toy(3), 3
    draws = uniform_draws([[5], [6]], SAMPLES, longest, seed=2)
    samples = search(toy, draws, temperature=temperature, top_k=top_k, top_p=top_p)
    for sentence, hypotheses in zip(SENTENCES, samples, strict=True):
        expected = {}
        for ids in all_sequences(longest):
            options = temperature, top_k, top_p
            steps = [probability_of_next(toy, sentence, ids[:i], *options)[t] for i, t in enumerate(ids)]
            expected[ids] = SAMPLES * np.prod(steps)
        counts = Counter(hypothesis.ids for hypothesis in hypotheses)
        assert counts.keys() <= {ids for ids, number in expected.items() if number > 0}
        assert sum(expected.values()) == pytest.approx(SAMPLES)
        cells = [(counts[ids], number) for ids, number in expected.items() if number >= 5]
        freedom = len(cells) - 1
        assert freedom >= 3
        assert sum((o - e) ** 2 / e for o, e in cells) < freedom + 4 * np.sqrt(2 * freedom)


def test_scores_are_those_of_the_model_whatever_the_temperature() -> None:
    toy = Toy(4)
    samples = search(toy, uniform_draws([[5], [6]], 20, 6, 1), temperature=3.0, top_k=3, alpha=0.6)
    for sentence, hypotheses in zip(SENTENCES, samples, strict=True):
        assert len({len(hypothesis.ids) for hypothesis in hypotheses}) > 1
        for ids, score in ((hypothesis.ids, hypothesis.score) for hypothesis in hypotheses):
            assert score == pytest.approx(toy.score(sentence, ids, 0.6))
            assert END not in ids[:-1]
            assert ids[-1] == END or len(ids) == 6


def test_the_extreme_draws_are_types_with_a_probability() -> None:
    log_probabilities = torch.tensor([[-torch.inf, 0.3, 0.3, -torch.inf]]).log_softmax(1).repeat(3, 1)

    def step(tokens, state, _):
        return log_probabilities[: len(tokens)].clone(), state

    draws, zeros = torch.tensor([0.0, 0.5, 1 - 2.0**-32], dtype=torch.float64).view(3, 1, 1), (torch.zeros(3, 1),)
    for temperature in (1.0, sys.float_info.min):  # equal probabilities stay equal
        options = {"bos": 0, "eos": 9, "alpha": 0.0, "temperature": temperature, "top_k": None}
        drawn = sample(step, zeros, zeros, draws, **options)
        assert [hypotheses[0].ids for _, hypotheses in drawn] == [(1,), (2,), (2,)]


@pytest.mark.parametrize("variant", **parametrised(WIRINGS))
def test_a_sentence_is_drawn_alike_in_any_batch(variant) -> None:
    model = tiny_model(variant)
    sources = [[*source, 4 + number] for number, source in enumerate(SOURCES * 2)]

    def drawn(sources, **options):
        options = {"sampling": {"temperature": 1.3, "seed": 7}, "max_length": 9} | options
        found = decode(model, sources, SearchConfig.model_validate(options), n_best=4, attention=False)
        return {place: [hypothesis.ids for hypothesis in each] for place, each in found}

    together = drawn(sources)
    assert drawn(sources, batch_size=1) == together
    assert drawn(sources[::-1], batch_size=2) == {len(sources) - 1 - place: ids for place, ids in together.items()}
    assert len({tuple(ids) for ids in together.values()}) > 1
    assert any(len(set(ids)) > 1 for ids in together.values())
    assert drawn(sources, sampling={"temperature": 1.3, "seed": 8}) != together
    greedy = drawn(sources, sampling={"top_k": 1})
    assert drawn(sources, sampling={"temperature": 1e-6}) == greedy != drawn(sources, sampling={"temperature": 1.0})
    searched = decode(model, sources, SearchConfig(beam_size=1, max_length=9, length_penalty=0), attention=False)
    assert {place: ids[0] for place, ids in greedy.items()} == {p: each[0].ids for p, each in searched}


def test_draws_are_the_same_in_every_process_and_version() -> None:
    drawn = uniform_draws([[4, 5], []], 1, 2, 3).flatten().tolist()
    assert drawn == [0.2959565478377044, 0.8421882586553693, 0.996793158352375, 0.5793969028163701]
    assert ((uniform_draws([[1]], 1, 100_000, 1) * 8).long().flatten().bincount() - 12_500).abs().max() < 500


def test_a_config_can_ask_for_it_and_a_translation_override_it(make_translator) -> None:
    config, drawing = make_translator("search.sampling={temperature: 3, seed: 5}", "search.max_length=8")
    kept = parse_config(parse_yaml(to_yaml(config), "config.yaml"), "config.yaml")  # as in a run's folder
    assert kept.search.sampling == config.search.sampling
    _, searching = make_translator("search.max_length=8", "search.beam_size=4")
    options = {"n_best": 4, "attention": False}
    texts = ["Ba De", "De Ba Ba"]

    def words(translator, **more):
        return [[each.text for each in one.n_best] for one in translator.translate(texts, **options, **more)]

    assert words(drawing) == words(searching, sampling={"temperature": 3, "seed": 5})
    assert words(drawing) != words(searching)
    assert words(drawing, beam_size=4) == words(searching)  # a beam size is for search
    assert words(drawing, sampling={"seed": 6}) == words(searching, sampling={"temperature": 3, "seed": 6})
    with pytest.raises(UserError, match="give one"):
        words(drawing, sampling={"seed": 6}, beam_size=4)

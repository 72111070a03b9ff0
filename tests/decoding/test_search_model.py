"""Search on real models against all sequences there are, the formulas, and training's own numbers."""

from itertools import cycle, product

import numpy as np
import pytest
import torch
from support import parameters
from support import tiny_models as tiny
from support.formulas import log_softmax

from nmt.config.search import SearchConfig
from nmt.data.batching import Example, collate
from nmt.decoding.beam_search import length_penalty
from nmt.decoding.ensemble import Ensemble
from nmt.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK
from nmt.translator import Translator

ENSEMBLE = tuple(tiny.Variant(wiring) for wiring in ("bahdanau", "luong", "none"))  # their states differ
STEPS = zip([ENSEMBLE, *tiny.EACH_ONCE], cycle([(1, 1.0), (2, 0.0)]), strict=False)


def name(value):
    return "ensemble" if value is ENSEMBLE else str(value)


def translator_of(variant, layers=1, **options):
    options = {
        "beam_size": 3,
        "length_penalty": 0.0,
        "max_length": 6,
        "precision": "float32",
        "block_repeats": False,
    } | options
    models = [tiny.tiny_model(v, layers, seed=i) for i, v in enumerate(variant if variant is ENSEMBLE else [variant])]
    return Translator(
        Ensemble(models) if variant is ENSEMBLE else models[0], *tiny.tiny_codecs(), SearchConfig(**options)
    )


def members_of(translator):
    return translator.model.members if isinstance(translator.model, Ensemble) else [translator.model]


def of_few_words(variant, **options):
    """A translator that writes four words and the unknown one, and all sequences of up to three tokens of these."""
    words = [UNK, *range(len(SPECIALS), len(SPECIALS) + 4)]
    sequences = [(*ids, EOS) for length in range(3) for ids in product(words, repeat=length)]
    sequences += product(words, repeat=3)  # cut off
    translator = translator_of(variant, max_length=3, beam_size=len(sequences), **options)
    with torch.no_grad():
        for model in members_of(translator):
            model.decoder.output.bias[words[-1] + 1 :] = -torch.inf
    return translator, sequences


def assert_ranked(translation, scores):
    """The translations are those with these scores, best first."""
    ranked = {tiny.ids_of(hypothesis): hypothesis.score for hypothesis in translation.n_best}
    assert list(ranked) == sorted(scores, key=lambda ids: -scores[ids])
    assert ranked == pytest.approx(scores, abs=1e-9)


@pytest.mark.parametrize(
    ("variant", "alpha"), [*zip([*tiny.WIRINGS, ENSEMBLE], cycle([0.0, 1.0]), strict=False)], ids=name
)
def test_a_wide_beam_finds_what_exhaustive_search_finds(variant, alpha):
    """By teacher-forced passes over all sequences; with a prefix, text or tokens, over all that begin with it."""
    translator, sequences = of_few_words(variant, length_penalty=alpha)
    for text, translation in zip(tiny.TEXTS, translator.translate(tiny.TEXTS, n_best=len(sequences)), strict=True):
        expected = dict(zip(sequences, forced(translator, text, sequences, alpha)[0], strict=True))
        assert_ranked(translation, expected)
        for beam_size in (1, 2, 4, 8):
            (narrow,) = translator.translate([text], beam_size=beam_size)
            assert narrow.score == pytest.approx(expected[tiny.ids_of(narrow)], abs=1e-9)
            assert narrow.score <= translation.score + 1e-9
    prefixes = {"k": (4,), "": (), ("m", "n"): (6, 7), "l l": (5, 5), ("<unk>",): (UNK,), ("<unk>", "k"): (UNK, 4)}
    translations = translator.translate(tiny.TEXTS, n_best=len(sequences), prefix=list(prefixes))
    for text, translation, prefix in zip(tiny.TEXTS, translations, prefixes.values(), strict=True):
        begun = [ids for ids in sequences if ids[: len(prefix)] == prefix]
        assert_ranked(translation, dict(zip(begun, forced(translator, text, begun, alpha)[0], strict=True)))
    for text, translation in zip(tiny.TEXTS, translator.translate(tiny.TEXTS, prefix="k k"), strict=True):
        (alone,) = translator.translate([text], prefix=["k k"])
        assert alone.tokens == translation.tokens
        assert alone.tokens[:2] == ["k", "k"]


def forced(translator, text, sequences, alpha):
    """Scores (log-probabilities by length penalty) and weights of a teacher-forced pass over one source's sequences.

    At each step an ensemble's probabilities are the mean of its models', and its weights of those with attention.
    """
    source = translator.source.encode(text)
    batch = collate([Example(source, list(ids[:-1])) for ids in sequences])
    everywhere, probabilities, weights = torch.arange(batch.target_input.numel()), [], []
    for model in members_of(translator):
        with torch.no_grad():
            features, alignment = model(batch.source, batch.source_lengths, batch.target_input, everywhere)
            probabilities.append(model.decoder.output(features).softmax(dim=1).view(*batch.target_input.shape, -1))
        weights += [alignment.dense(batch.source.shape[1])] * model.has_attention
    table = torch.stack(probabilities).mean(dim=0).log()
    totals = [sum(table[i, t, token].item() for t, token in enumerate(ids)) for i, ids in enumerate(sequences)]
    scores = [total / length_penalty(len(ids), alpha) for total, ids in zip(totals, sequences, strict=True)]
    return scores, torch.stack(weights).mean(dim=0) if weights else [None] * len(sequences)


@pytest.mark.parametrize(("variant", "layers", "alpha"), [(variant, *values) for variant, values in STEPS], ids=name)
def test_search_takes_the_steps_of_training(variant, layers, alpha):
    """The log-probability of each hypothesis, and its attention, are those of a teacher-forced pass over it."""
    translator = translator_of(variant, layers, length_penalty=alpha)
    for text, translation in zip(tiny.TEXTS, translator.translate(tiny.TEXTS, n_best=3), strict=True):
        sequences = [tiny.ids_of(hypothesis) for hypothesis in translation.n_best]
        assert len(sequences) == 3
        scores, alignment = forced(translator, text, sequences, alpha)
        assert [hypothesis.score for hypothesis in translation.n_best] == pytest.approx(scores, abs=1e-9)
        for hypothesis, ids, weights in zip(translation.n_best, sequences, alignment, strict=True):
            if weights is None:
                assert hypothesis.attention is None
            else:
                torch.testing.assert_close(hypothesis.attention, weights[: len(ids)], rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", **tiny.parametrised(tiny.VARIANTS))
def test_greedy_translation_is_that_of_the_formulas(variant):
    translator = translator_of(variant, beam_size=1, length_penalty=1.0)
    formula = parameters.decoder_weights(translator.model, variant)
    for text, translation in zip(tiny.TEXTS, translator.translate(tiny.TEXTS), strict=True):
        values, final = parameters.encode_alone(translator.model, [*translator.source.encode(text), EOS])
        state = formula.initial(values, final)
        ids, total = [], 0.0
        while len(ids) < 6 and EOS not in ids:
            logits, _, state = formula.step(ids[-1] if ids else BOS, state, values, final)
            log_probabilities = log_softmax(logits)
            log_probabilities[[PAD, BOS]] = -np.inf  # no sentence holds them
            ids.append(int(np.argmax(log_probabilities)))
            total += log_probabilities[ids[-1]]
        assert tiny.ids_of(translation) == tuple(ids)
        assert translation.score == pytest.approx(total / length_penalty(len(ids), 1.0), abs=1e-9)


@pytest.mark.parametrize(
    ("variant", "dtype"),
    [*product([ENSEMBLE, *tiny.EACH_ONCE], [torch.float64]), *product(tiny.WIRINGS, [torch.float32])],
    ids=name,
)
def test_translations_do_not_depend_on_the_batch(variant, dtype):
    tolerance = 1e-10 if dtype == torch.float64 else 1e-5
    translator = translator_of(variant, beam_size=4, length_penalty=1.0)
    translator.model.to(dtype)
    together = translator.translate(tiny.TEXTS, n_best=4)
    runs = [translator.translate(tiny.TEXTS, n_best=4, batch_size=size) for size in (1, 4)]
    runs.append(translator.translate(tiny.TEXTS[::-1], n_best=4)[::-1])
    for translations in runs:
        for one, other in zip(together, translations, strict=True):
            for a, b in zip(one.n_best, other.n_best, strict=True):
                assert (a.tokens, a.source_tokens, a.text) == (b.tokens, b.source_tokens, b.text)
                assert a.score == pytest.approx(b.score, abs=tolerance)
                if a.attention is not None:
                    torch.testing.assert_close(a.attention, b.attention, rtol=0, atol=tolerance)

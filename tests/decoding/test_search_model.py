"""Search on real models against all sequences there are, the formulas, and training's own numbers."""

from itertools import cycle, product

import numpy as np
import pytest
import torch
from support.all_pairs import all_pairs
from support.formulas import log_softmax
from support.tiny_models import (
    EACH_ONCE,
    TEXTS,
    VARIANTS,
    WIRINGS,
    decoder_weights,
    encode_alone,
    ids_of,
    parametrised,
    tiny_codecs,
    tiny_model,
)

from nmt.config.search import SearchConfig
from nmt.data.batching import Example, collate
from nmt.decoding.beam_search import length_penalty
from nmt.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK
from nmt.translator import Translator

EVERY = pytest.mark.parametrize("variant", **parametrised(VARIANTS))
LAYERED = [(variant, *values) for variant, values in zip(EACH_ONCE, cycle([(1, 1.0), (2, 0.0)]), strict=False)]


def translator_of(variant, layers=1, seed=0, **options):
    options = {"beam_size": 3, "length_penalty": 0.0, "max_length": 6, "precision": "float32"} | options
    return Translator(tiny_model(variant, layers, seed), *tiny_codecs(), SearchConfig(**options))


def of_few_words(variant, **options):
    """A translator that writes four words and the unknown one, and all sequences of up to three tokens of these."""
    words = [UNK, *range(len(SPECIALS), len(SPECIALS) + 4)]
    sequences = [(*ids, EOS) for length in range(3) for ids in product(words, repeat=length)]
    sequences += product(words, repeat=3)  # cut off
    translator = translator_of(variant, max_length=3, beam_size=len(sequences), **options)
    with torch.no_grad():
        translator.model.decoder.output.bias[words[-1] + 1 :] = -torch.inf
    return translator, sequences


def assert_ranked(translation, scores):
    """The translations are those with these scores, best first."""
    ranked = {ids_of(hypothesis): hypothesis.score for hypothesis in translation.n_best}
    assert list(ranked) == sorted(scores, key=lambda ids: -scores[ids])
    assert ranked == pytest.approx(scores, abs=1e-9)


@pytest.mark.parametrize(("variant", "alpha"), [*zip(WIRINGS, cycle([0.0, 1.0]), strict=False)], ids=str)
def test_a_wide_beam_finds_what_exhaustive_search_finds(variant, alpha):
    """By teacher-forced passes over all sequences; with a prefix, text or tokens, over all that begin with it."""
    translator, sequences = of_few_words(variant, length_penalty=alpha)
    for text, translation in zip(TEXTS, translator.translate(TEXTS, n_best=len(sequences)), strict=True):
        expected = dict(zip(sequences, forced(translator, text, sequences, alpha)[0], strict=True))
        assert_ranked(translation, expected)
        for beam_size in (1, 2, 4, 8):
            (narrow,) = translator.translate([text], beam_size=beam_size)
            assert narrow.score == pytest.approx(expected[ids_of(narrow)], abs=1e-9)
            assert narrow.score <= translation.score + 1e-9
    prefixes = {"k": (4,), "": (), ("m", "n"): (6, 7), "l l": (5, 5), ("<unk>",): (UNK,), ("<unk>", "k"): (UNK, 4)}
    translations = translator.translate(TEXTS, n_best=len(sequences), prefix=list(prefixes))
    for text, translation, prefix in zip(TEXTS, translations, prefixes.values(), strict=True):
        begun = [ids for ids in sequences if ids[: len(prefix)] == prefix]
        assert_ranked(translation, dict(zip(begun, forced(translator, text, begun, alpha)[0], strict=True)))
    for text, translation in zip(TEXTS, translator.translate(TEXTS, prefix="k k"), strict=True):
        (alone,) = translator.translate([text], prefix=["k k"])
        assert alone.tokens == translation.tokens
        assert alone.tokens[:2] == ["k", "k"]


def forced(translator, text, sequences, alpha):
    """Scores (log-probabilities by length penalty) and weights of a teacher-forced pass over one source's sequences."""
    source = translator.source.encode(text)
    batch = collate([Example(source, list(ids[:-1])) for ids in sequences])
    everywhere = torch.arange(batch.target_input.numel())
    with torch.no_grad():
        features, alignment = translator.model(batch.source, batch.source_lengths, batch.target_input, everywhere)
        logits = translator.model.decoder.output(features)
    table = logits.log_softmax(dim=1).view(*batch.target_input.shape, -1)
    totals = [sum(table[i, t, token].item() for t, token in enumerate(ids)) for i, ids in enumerate(sequences)]
    scores = [total / length_penalty(len(ids), alpha) for total, ids in zip(totals, sequences, strict=True)]
    return scores, alignment.dense(batch.source.shape[1])


@pytest.mark.parametrize(("variant", "layers", "alpha"), LAYERED, ids=str)
def test_search_takes_the_steps_of_training(variant, layers, alpha):
    """The log-probability of each hypothesis, and its attention, are those of a teacher-forced pass over it."""
    translator = translator_of(variant, layers, length_penalty=alpha)
    for text, translation in zip(TEXTS, translator.translate(TEXTS, n_best=3), strict=True):
        sequences = [ids_of(hypothesis) for hypothesis in translation.n_best]
        assert len(sequences) == 3
        scores, alignment = forced(translator, text, sequences, alpha)
        assert [hypothesis.score for hypothesis in translation.n_best] == pytest.approx(scores, abs=1e-9)
        for hypothesis, ids, weights in zip(translation.n_best, sequences, alignment, strict=True):
            if variant.wiring == "none":
                assert hypothesis.attention is None
            else:
                torch.testing.assert_close(hypothesis.attention, weights[: len(ids)], rtol=0, atol=1e-12)


@EVERY
def test_greedy_translation_is_that_of_the_formulas(variant):
    translator = translator_of(variant, beam_size=1, length_penalty=1.0)
    formula = decoder_weights(translator.model, variant)
    for text, translation in zip(TEXTS, translator.translate(TEXTS), strict=True):
        values, final = encode_alone(translator.model, [*translator.source.encode(text), EOS])
        state = formula.initial(values, final)
        ids, total = [], 0.0
        while len(ids) < 6 and EOS not in ids:
            logits, _, state = formula.step(ids[-1] if ids else BOS, state, values, final)
            log_probabilities = log_softmax(logits)
            log_probabilities[[PAD, BOS]] = -np.inf  # no sentence holds them
            ids.append(int(np.argmax(log_probabilities)))
            total += log_probabilities[ids[-1]]
        assert ids_of(translation) == tuple(ids)
        assert translation.score == pytest.approx(total / length_penalty(len(ids), 1.0), abs=1e-9)


@pytest.mark.parametrize(
    ("variant", "dtype"), [*product(EACH_ONCE, [torch.float64]), *product(WIRINGS, [torch.float32])], ids=str
)
def test_translations_do_not_depend_on_the_batch(variant, dtype):
    tolerance = 1e-10 if dtype == torch.float64 else 1e-5
    translator = translator_of(variant, beam_size=4, length_penalty=1.0)
    translator.model.to(dtype)
    together = translator.translate(TEXTS, n_best=4)
    runs = [translator.translate(TEXTS, n_best=4, batch_size=size) for size in (1, 4)]
    runs.append(translator.translate(TEXTS[::-1], n_best=4)[::-1])
    for translations in runs:
        for one, other in zip(together, translations, strict=True):
            for a, b in zip(one.n_best, other.n_best, strict=True):
                assert (a.tokens, a.source_tokens, a.text) == (b.tokens, b.source_tokens, b.text)
                assert a.score == pytest.approx(b.score, abs=tolerance)
                if a.attention is not None:
                    torch.testing.assert_close(a.attention, b.attention, rtol=0, atol=tolerance)


@pytest.mark.parametrize(("variant", "precision"), all_pairs(WIRINGS, ["int8", "bf16", "bf16 as on a GPU"]), ids=str)
def test_search_in_few_bits_takes_the_same_steps_but_for_rounding(variant, precision, monkeypatch):
    if precision == "bf16 as on a GPU":
        monkeypatch.setattr(torch, "autocast", lambda device, dtype, **_: torch.amp.autocast(device, dtype))
    translator = translator_of(variant, layers=2, precision=precision.split()[0])
    translator.model.float()
    rounding = 0.0
    for text, translation in zip(TEXTS, translator.translate(TEXTS, n_best=3), strict=True):
        sequences = [ids_of(hypothesis) for hypothesis in translation.n_best]
        scores, alignment = forced(translator, text, sequences, alpha=0.0)  # in float32
        assert [hypothesis.score for hypothesis in translation.n_best] == pytest.approx(scores, rel=2e-2)
        rounding += sum(abs(h.score - score) for h, score in zip(translation.n_best, scores, strict=True))
        for hypothesis, ids, weights in zip(translation.n_best, sequences, alignment, strict=True):
            if variant.wiring != "none":
                torch.testing.assert_close(hypothesis.attention, weights[: len(ids)], rtol=0, atol=2e-2)
    assert rounding > 1e-3


@pytest.mark.parametrize("variant", **parametrised(WIRINGS))
def test_the_translator_leaves_the_model_in_its_mode(variant):
    translator = translator_of(variant)
    expected = [t.tokens for t in translator.translate(TEXTS)]
    translator.model.train()
    assert [t.tokens for t in translator.translate(TEXTS)] == expected  # without dropout
    assert translator.model.training

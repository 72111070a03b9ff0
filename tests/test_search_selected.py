"""Search among selected words, against full search in a model to which all others are impossible."""

import pytest
import torch
from support.tiny_models import EMBEDDING, SOURCE_TYPES, TARGET_TYPES, WIRINGS, parametrised, tiny_codecs, tiny_model
from test_search_model import TEXTS

from nmt.config.search import SearchConfig
from nmt.kernels.packed import packed
from nmt.model.ensemble import Ensemble
from nmt.selection.lexical import Selection
from nmt.text.vocabulary import BOS, EOS, PAD, UNK
from nmt.translator import Translator

# Each source word allows two target words, and one is allowed everywhere.
LIKELIEST = [[4 + s % 7, 4 + 3 * s % 7] if s > EOS else [PAD, PAD] for s in range(SOURCE_TYPES)]
SELECTION = Selection(torch.tensor(LIKELIEST, dtype=torch.int16), torch.tensor([10], dtype=torch.int16))
SEARCH = SearchConfig(beam_size=4, length_penalty=1.0, max_length=6, vocabulary_selection=True)


def translator_of(model, selection=SELECTION):
    return Translator(model, *tiny_codecs(), SEARCH, selection)


def barred(model, text):
    """The same model, which cannot say what is not selected for a text."""
    ids = tiny_codecs()[0].encode(text)
    allowed = {UNK, EOS, 10}.union(*(LIKELIEST[i] for i in ids)) - {PAD, BOS}
    other = set(range(TARGET_TYPES)) - allowed
    members = model.models if isinstance(model, Ensemble) else [model]
    for member in members:
        with torch.no_grad():
            member.decoder.output.bias[list(other)] = -torch.inf
    return len(other) > 2


def make(variant, together):
    models = [tiny_model(variant, seed=seed) for seed in range(2 if together else 1)]
    return Ensemble(models) if together else models[0]


@pytest.mark.parametrize("together", [False, True], ids=["alone", "ensemble"])
@pytest.mark.parametrize("variant", **parametrised(WIRINGS))
def test_it_is_the_search_of_a_model_that_knows_no_other_words(variant, together):
    model = make(variant, together)
    limited = [barred(make(variant, together), text) for text in TEXTS]
    assert any(limited)
    found = translator_of(model).translate(TEXTS, n_best=4)
    for text, translation in zip(TEXTS, found, strict=True):
        reference = make(variant, together)
        barred(reference, text)
        (expected,) = translator_of(reference, None).translate([text], n_best=4)
        assert [h.tokens for h in translation.n_best] == [h.tokens for h in expected.n_best]
        assert [h.score for h in translation.n_best] == pytest.approx([h.score for h in expected.n_best], abs=1e-9)
        for one, other in zip(translation.n_best, expected.n_best, strict=True):
            assert (one.attention is None) is (other.attention is None)
            if one.attention is not None:
                torch.testing.assert_close(one.attention, other.attention, rtol=0, atol=1e-11)


@pytest.mark.parametrize("precision", ["float32", "bf16", "int8"])
def test_what_else_is_in_the_batch_changes_nothing(precision):
    translator = translator_of(make(WIRINGS[0], False).float())
    together = translator.translate(TEXTS, precision=precision, n_best=4)
    for size in (1, 4):
        for one, other in zip(
            together, translator.translate(TEXTS, precision=precision, n_best=4, batch_size=size), strict=True
        ):
            assert [h.tokens for h in one.n_best] == [h.tokens for h in other.n_best]
            assert [h.score for h in one.n_best] == pytest.approx([h.score for h in other.n_best], abs=1e-5)


def test_it_can_be_switched_off_and_forced_decoding_knows_nothing_of_it():
    model = make(WIRINGS[1], False)
    with_selection, without = translator_of(model), translator_of(model, None)
    expected = [t.text for t in without.translate(TEXTS)]
    assert [t.text for t in with_selection.translate(TEXTS)] != expected
    assert [t.text for t in with_selection.translate(TEXTS, vocabulary_selection=False)] == expected
    for one, other in zip(*(t.forced_attention(TEXTS, expected) for t in (with_selection, without)), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("precision", ["float32", "bf16", "int8"])
def test_a_packed_output_layer_keeps_the_selected_rows(precision):
    model = packed(make(WIRINGS[0], False).float(), precision)
    with torch.inference_mode():
        limited = model.limited(torch.tensor([3, 9, 0]))
        features = torch.randn(5, EMBEDDING)
        expected = model.decoder.output(features)[:, [3, 9, 0]]
        assert torch.equal(limited.decoder.output(features)[:, :3], expected)
    assert model.decoder.output.out_features == TARGET_TYPES
    assert limited.decoder.embedding is model.decoder.embedding

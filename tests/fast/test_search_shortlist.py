"""Search among a shortlist: the model's own search where all other tokens are impossible."""

import pytest
import torch
from support.tiny_models import SOURCE_TYPES, TARGET_TYPES, TEXTS, WIRINGS, parametrised, tiny_codecs, tiny_model

from nmt.config.search import SearchConfig
from nmt.data.shortlist import Shortlist
from nmt.decoding.ensemble import Ensemble
from nmt.text.vocabulary import BOS, EOS, PAD, UNK
from nmt.translator import Translator

# Each source token allows two target tokens, and one is allowed everywhere.
LIKELIEST = [[4 + s % 7, 4 + 3 * s % 7] if s > EOS else [PAD, PAD] for s in range(SOURCE_TYPES)]
SHORTLIST = Shortlist(torch.tensor(LIKELIEST, dtype=torch.int16), torch.tensor([10], dtype=torch.int16))
SEARCH = SearchConfig(beam_size=4, length_penalty=1.0, max_length=6, vocabulary_selection=True)


def translator_of(model, shortlist=SHORTLIST):
    return Translator(model, *tiny_codecs(), SEARCH, shortlist)


def allowed_in(text):
    """The ids that a translation of a text may have, in the order of the ids."""
    ids = tiny_codecs()[0].encode(text)
    return sorted({UNK, PAD, BOS, EOS, 10}.union(*(LIKELIEST[i] for i in ids)))


def restricted(model, allowed):
    """The model with −∞ as the logit of all other tokens."""
    with torch.no_grad():
        model.decoder.output.bias[[i for i in range(TARGET_TYPES) if i not in allowed]] = -torch.inf
    return model


@pytest.mark.parametrize("variant", **parametrised(WIRINGS))
def test_it_is_search_where_other_tokens_are_impossible(variant):
    texts = [text for text in TEXTS if text]
    for text, translation in zip(texts, translator_of(tiny_model(variant)).translate(texts, n_best=3), strict=True):
        plain = translator_of(restricted(tiny_model(variant), allowed_in(text)), None)
        [expected] = plain.translate([text], n_best=3)
        for one, other in zip(translation.n_best, expected.n_best, strict=True):
            assert one.tokens == other.tokens
            assert one.score == pytest.approx(other.score, abs=1e-9)


@pytest.mark.parametrize("precision", ["float32", "bf16", "int8"])
def test_a_translation_has_only_listed_tokens_whatever_its_batch(precision):
    translator = translator_of(tiny_model(WIRINGS[0]).float())
    together = translator.translate(TEXTS, precision=precision, attention=False)
    alone = translator.translate(TEXTS, precision=precision, attention=False, batch_size=1)
    for text, one, other in zip(TEXTS, together, alone, strict=True):
        ids = [EOS if token == "<eos>" else translator.target.vocabulary.encode([token])[0] for token in one.tokens]
        assert set(ids) <= set(allowed_in(text))
        if precision == "float32":
            assert one.tokens == other.tokens


def test_an_ensemble_of_one_model_twice_is_that_model():
    model = tiny_model(WIRINGS[0])
    one, two = (translator_of(models).translate(TEXTS) for models in (model, Ensemble([model, model])))
    assert [t.tokens for t in one] == [t.tokens for t in two]
    assert [t.score for t in one] == pytest.approx([t.score for t in two])
    for a, b in zip(one, two, strict=True):
        torch.testing.assert_close(a.attention, b.attention)


def test_a_prefix_may_have_any_token_and_without_fast_or_option_the_vocabulary_is_whole():
    model = tiny_model(WIRINGS[0])
    whole = [t.tokens for t in translator_of(model, None).translate(TEXTS)]
    assert [t.tokens for t in translator_of(model).translate(TEXTS)] != whole
    assert [t.tokens for t in translator_of(model).translate(TEXTS, vocabulary_selection=False)] == whole
    plain = Translator(model, *tiny_codecs(), SEARCH, SHORTLIST, fast=False)
    assert [t.tokens for t in plain.translate(TEXTS)] == whole

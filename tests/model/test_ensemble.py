"""An ensemble's search against the mean of its models' own probabilities."""

from itertools import product

import pytest
import torch
from support.tiny_models import TEXTS, VARIANTS, ids_of, tiny_codecs, tiny_model

from nmt.checkpoint.contents import Loaded
from nmt.config.run import Config
from nmt.config.search import SearchConfig
from nmt.data.batching import Example, collate
from nmt.decoding.ensemble import Ensemble
from nmt.system.errors import UserError
from nmt.text.codec import Codec
from nmt.text.vocabulary import EOS, SPECIALS, UNK, Vocabulary
from nmt.translator import Translator

ONE_OF_EACH = [next(v for v in VARIANTS if v.wiring == wiring) for wiring in ("bahdanau", "luong", "none")]
FEW = [UNK, *range(len(SPECIALS), len(SPECIALS) + 4)]


def models_of(count=3):
    """Of all wirings, so that their states differ."""
    models = [tiny_model(variant, 1 + i % 2, seed=i) for i, variant in enumerate(ONE_OF_EACH[:count])]
    for model in models:
        with torch.no_grad():
            model.decoder.output.bias[FEW[-1] + 1 :] = -torch.inf  # so few words that all sentences can be tried
    return models


def translator_of(model, **options):
    options = {"beam_size": 3, "length_penalty": 0.0, "max_length": 3, "precision": "float32"} | options
    return Translator(model, *tiny_codecs(), SearchConfig(**options))


def tables(model, source, sequences):
    """Each model's own log-probabilities (X T V) of the next token, by a teacher-forced pass."""
    batch = collate([Example(source, list(ids[:-1])) for ids in sequences])
    with torch.no_grad():
        everywhere = torch.arange(batch.target_input.numel())
        features, _ = model(batch.source, batch.source_lengths, batch.target_input, everywhere)
        return model.decoder.output(features).log_softmax(dim=1).view(*batch.target_input.shape, -1)


def test_a_wide_beam_finds_what_the_mean_probabilities_say():
    """Every sequence of up to three tokens, its probability the product of the steps' mean probabilities."""
    models = models_of()
    sequences = [(*ids, EOS) for length in range(3) for ids in product(FEW, repeat=length)]
    sequences += product(FEW, repeat=3)
    translator = translator_of(Ensemble(models), beam_size=len(sequences))
    for text, translation in zip(TEXTS, translator.translate(TEXTS, n_best=len(sequences)), strict=True):
        each = torch.stack([tables(model, translator.source.encode(text), sequences) for model in models])
        mean = each.exp().mean(dim=0).log()
        sums = [sum(mean[i, t, token].item() for t, token in enumerate(ids)) for i, ids in enumerate(sequences)]
        expected = dict(zip(sequences, sums, strict=True))
        found = {ids_of(hypothesis): hypothesis.score for hypothesis in translation.n_best}
        assert list(found) == sorted(expected, key=lambda ids: -expected[ids])
        assert found == pytest.approx(expected, abs=1e-9)


def test_batches_change_nothing():
    translator = translator_of(Ensemble(models_of()), max_length=6, length_penalty=1.0)
    expected = [t.tokens for t in translator.translate(TEXTS)]
    for batch_size in (1, 2, 5):
        assert [t.tokens for t in translator.translate(TEXTS, batch_size=batch_size)] == expected


def test_attention_is_the_mean_over_the_models_that_have_any():
    bahdanau, luong, none = models_of()
    translator = translator_of(Ensemble([bahdanau, luong, none]))
    assert translator.has_attention
    targets = ["" for _ in TEXTS]
    each = [translator_of(model).forced_attention(TEXTS, targets) for model in (bahdanau, luong)]
    for mean, one, other in zip(translator.forced_attention(TEXTS, targets), *each, strict=True):
        torch.testing.assert_close(mean, (one + other) / 2, rtol=0, atol=1e-12)
    assert not translator_of(Ensemble([none, none])).has_attention


def test_other_tokens_are_refused():
    models = models_of(2)
    source, target = tiny_codecs()
    config = Config.model_validate({"name": "tiny"})
    other = Codec(target.tokenizer, Vocabulary((*target.vocabulary.tokens[:-1], "other")))
    one, two = (Loaded(config, source, side, model, None) for side, model in zip((target, other), models, strict=True))
    with pytest.raises(UserError, match="a and b have different target tokens"):
        Translator.of({"a": one, "b": two})

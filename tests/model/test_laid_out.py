"""A model's forms for search: made once, equal to those that are made anew, and in the model's own mode."""

from collections import Counter

import pytest
import torch
from support.tiny_models import EACH_ONCE, SOURCE_WORDS, WIRINGS, parametrised, tiny_codecs, tiny_model

from nmt.config.search import SearchConfig
from nmt.kernels.switch import use
from nmt.model import laid_out, seq2seq
from nmt.model.laid_out import LaidOut
from nmt.model.seq2seq import Seq2Seq
from nmt.text.vocabulary import BOS, EOS
from nmt.translator import Translator

PRECISIONS = ["float32", "bf16", "int8"]


def scores(model):
    """The log-probabilities of a first step."""
    with torch.inference_mode():
        state, memory = model.encode(torch.tensor([[4, 5, 6, EOS], [7, 8, EOS, 0]]), torch.tensor([4, 3]))
        return model.log_probabilities(torch.tensor([BOS, BOS]), state, memory)[0]


@pytest.fixture
def made(monkeypatch):
    """How often a model was packed, and prepared for searches."""
    counts = Counter()

    def counted(name, function):
        def call(*arguments):
            counts[name] += 1
            return function(*arguments)

        return call

    monkeypatch.setattr(laid_out, "packed", counted("packed", laid_out.packed))
    monkeypatch.setattr(Seq2Seq, "for_search", counted("for_search", Seq2Seq.for_search))
    return counts


def test_a_form_is_made_once_and_again_for_the_first_long_search(made):
    model = tiny_model(WIRINGS[0]).float().eval()
    long = 2 * model.decoder.embedding.num_embeddings
    kept = LaidOut(model, torch.arange(6))
    with torch.inference_mode():
        for rows, precision, beam_size, choosing, packings, searches in [
            (5, "float32", 1, False, 1, 1),
            (5, "float32", 1, False, 1, 1),
            (long - 1, "float32", 1, False, 1, 1),
            (long, "float32", 1, False, 1, 2),
            (5, "float32", 1, False, 1, 2),
            (long + 1, "float32", 1, False, 1, 2),
            (5, "float32", 2, False, 1, 3),  # of beams there is another form
            (5, "float32", 3, False, 1, 3),
            (5, "float32", 3, True, 1, 4),  # and of searches among some types
            (6, "float32", 3, True, 1, 4),
            (5, "int8", 1, True, 2, 5),
            (6, "int8", 1, False, 2, 6),
            (6, "float32", 1, False, 2, 6),
        ]:
            found = kept.for_search(precision, rows, beam_size, choosing=choosing)
            assert made == {"packed": packings, "for_search": searches}
            assert (found.remainder is not None) == choosing
        assert kept.for_search("float32", 5, 1).inputs is not None


def test_a_translators_calls_share_a_form(made):
    model = tiny_model(WIRINGS[0]).float().eval()
    translator = Translator(model, *tiny_codecs(), SearchConfig(precision="int8", max_length=6))
    texts = [" ".join(SOURCE_WORDS[:3]), SOURCE_WORDS[4]]
    first, second = (translator.translate(texts, beam_size=2) for _ in range(2))
    assert [one.tokens for one in first] == [other.tokens for other in second]
    assert made == {"packed": 1, "for_search": 1}


@pytest.mark.parametrize("variant", **parametrised(EACH_ONCE[:6]))
@pytest.mark.parametrize("beam_size", [1, 2])
def test_a_form_is_the_one_that_is_made_anew(variant, beam_size):
    model = tiny_model(variant, 2).float().eval()
    kept = LaidOut(model)
    for kernels in ("fast", "plain", "fast"):
        for precision in (*PRECISIONS, *PRECISIONS):
            with torch.inference_mode(), use(kernels):
                found, anew = (x.for_search(precision, 10_000, beam_size) for x in (kept, LaidOut(model)))
                assert torch.equal(scores(found), scores(anew))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kernels", ["fast", "plain"])
@pytest.mark.parametrize("always", [None, torch.arange(6)], ids=["all", "estimating"])
def test_forms_have_the_models_mode_and_were_made_without_dropout(precision, kernels, always):
    model = tiny_model(WIRINGS[0]).float().train()
    for module in model.modules():
        if hasattr(module, "embedding_dropout"):
            module.embedding_dropout.numbers.p = 0.9
    with torch.inference_mode(), use(kernels):
        kept = LaidOut(model, always)
        for mode in (True, False, True):
            model.train(mode)
            found = kept.for_search(precision, 10_000, 1, choosing=True)
            assert {module.training for module in (*model.modules(), *found.modules())} == {mode}
        anew = LaidOut(model.eval(), always).for_search(precision, 10_000, 1, choosing=True)
        assert torch.equal(found.inputs, anew.inputs)


@pytest.mark.parametrize("kernels", ["fast", "plain"])
def test_what_fails_leaves_the_mode_alone_and_is_tried_again(kernels, monkeypatch):
    model = tiny_model(WIRINGS[0]).float().train()
    kept = LaidOut(model)
    with torch.inference_mode(), use(kernels):
        with monkeypatch.context() as patch:
            patch.setattr(seq2seq, "lay_out_now", lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                kept.for_search("float32", 10_000, 1)
        assert all(module.training for module in model.modules())
        assert kept.for_search("float32", 10_000, 1).inputs is not None

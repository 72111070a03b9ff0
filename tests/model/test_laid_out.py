"""A model's forms for search: made once, equal to those that are made anew, and in the model's own mode."""

from collections import Counter

import pytest
import torch
from support.tiny_models import PAIRWISE, WIRINGS, parametrised, tiny_model

from nmt.kernels.switch import use
from nmt.model import laid_out, seq2seq
from nmt.model.laid_out import LaidOut
from nmt.model.seq2seq import Seq2Seq
from nmt.text.vocabulary import BOS, EOS

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


def test_a_form_is_made_once_and_again_for_more_rows_alone(made):
    model = LaidOut(tiny_model(WIRINGS[0]).float().eval())
    with torch.inference_mode():
        for rows, precision, beam_size, packings, searches in [
            (5, "float32", 1, 1, 1),
            (5, "float32", 1, 1, 1),
            (4, "float32", 1, 1, 1),
            (6, "float32", 1, 1, 2),
            (5, "float32", 1, 1, 2),
            (5, "float32", 2, 1, 3),  # of beams there is another form
            (5, "float32", 3, 1, 3),
            (5, "int8", 1, 2, 4),
            (6, "float32", 1, 2, 4),
        ]:
            model.for_search(precision, rows, beam_size)
            assert made == {"packed": packings, "for_search": searches}


@pytest.mark.parametrize("variant", **parametrised(PAIRWISE[:6]))
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
def test_forms_have_the_models_mode_and_were_made_without_dropout(precision, kernels):
    model = tiny_model(WIRINGS[0]).float().train()
    for module in model.modules():
        if hasattr(module, "embedding_dropout"):
            module.embedding_dropout.numbers.p = 0.9
    with torch.inference_mode(), use(kernels):
        kept = LaidOut(model)
        for mode in (True, False, True):
            model.train(mode)
            found = kept.for_search(precision, 10_000, 1)
            assert {module.training for module in (*model.modules(), *found.modules())} == {mode}
        anew = LaidOut(model.eval()).for_search(precision, 10_000, 1)
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

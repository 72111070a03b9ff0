"""Models with latent attention in search, prepared for it, exported, and with forced attention."""

import numpy as np
import pytest
import torch
from export.test_graphs import BATCHES, compare, sessions
from latent.models import TOLERANCE, latent_model
from support.tiny_models import SOURCES, Variant, encode, tiny_codecs, tiny_model

from nmt.config.search import SearchConfig
from nmt.data.batching import pad_source
from nmt.decoding.ensemble import Ensemble
from nmt.export.graphs import trace
from nmt.fast import prepare_for_inference
from nmt.page.forced_attention import forcing
from nmt.page.steps import steps
from nmt.text.vocabulary import BOS
from nmt.translator import Translator


def test_a_beam_gives_hypotheses_the_scores_that_scoring_gives():
    source, target = tiny_codecs()
    texts = ["a f h b", "d c b a e g a", "b"]
    for model in (latent_model(seed=3), Ensemble([latent_model(seed=3), tiny_model(Variant("bahdanau"))])):
        translator = Translator(model, source, target, SearchConfig(beam_size=4, max_length=7, length_penalty=0))
        for text, one in zip(texts, translator.translate(texts, n_best=4), strict=True):
            assert [t.text for t in translator.translate([text], n_best=4)[0].n_best] == [t.text for t in one.n_best]
            for found in one.n_best:
                if not found.is_cut:
                    [again] = translator.score([text], [found.text])
                    assert found.score == pytest.approx(again.log_probability, abs=1e-4)


@pytest.mark.parametrize(("precision", "close"), [("float32", 1e-5), ("bf16", 0.05), ("int8", 0.1)])
def test_a_prepared_model_takes_the_models_steps(precision, close):
    model = latent_model("variational", layers=2, seed=3).float()
    with torch.inference_mode():
        other = prepare_for_inference(model, precision)
        (state, memory), (other_state, other_memory) = encode(model), encode(other)
        for token in (BOS, 5, 7):
            step, state = model.step(torch.full((3,), token), state, memory)
            found, other_state = other.step(torch.full((3,), token), other_state, other_memory)
            torch.testing.assert_close(found, step, rtol=close, atol=close)


@torch.no_grad()
def test_exported_graphs_give_the_models_numbers():
    model = latent_model("variational").float()
    graphs = trace(model)
    for sources in BATCHES:
        compare([model], sessions(graphs), sources)
    sizes = [sum(np.prod(tensor.dims) for tensor in graph.graph.initializer) for graph in graphs.values()]
    assert sum(sizes) < sum(p.numel() for name, p in model.named_parameters() if "inference" not in name) + 100


@torch.no_grad()
def test_forced_attention_reads_one_position_alone():
    model, source = latent_model(), SOURCES[0]
    state, memory = model.encode(*pad_source([source]))
    decoder = model.decoder
    first = decoder.rnn(decoder.embed(torch.tensor([BOS])), state.hidden)
    for position in range(len(source) + 1):
        vector = torch.tanh(decoder.combine(torch.cat([memory.values[0, position], decoder.rnn.top(first)[0]])))
        expected = torch.nn.functional.linear(vector, decoder.output.weight, decoder.output.bias).log_softmax(dim=0)
        forced = forcing(model, {0: position})
        torch.testing.assert_close(forced.step(torch.tensor([BOS]), state, memory)[0][0], expected, **TOLERANCE)
        token = int(expected[4:].argmax()) + 4
        [step] = steps(forced, source, [token])
        assert step.probability == pytest.approx(expected[token].exp().item())
        assert step.attention.weights[0].argmax() == position

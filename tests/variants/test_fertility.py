"""Coverage with fertilities, against the formulas."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from export.test_graphs import BATCHES, compare, sessions
from support import parameters
from support import tiny_models as tiny
from support.formulas import AttentionWeights
from support.formulas.gated import sigmoid
from support.runs import finish

from nmt.build import build_model
from nmt.components import SCORES
from nmt.config.model import ModelConfig
from nmt.config.search import SearchConfig
from nmt.data.batching import Example, collate, pad
from nmt.export.graphs import trace
from nmt.fast import accelerate
from nmt.page.forced_attention import forcing
from nmt.page.steps import steps
from nmt.system.errors import UserError
from nmt.text.vocabulary import EOS
from nmt.training.loss import BatchLoss
from nmt.translator import Translator

MOST = 1.7
CLOSE = {"rtol": 0, "atol": 1e-10}
NAMES = [name for name, score in SCORES.items() if score.reads_memory]
VARIANTS = [
    *(
        tiny.Variant(wiring, name, input_feeding=feeding, extra="coverage")
        for name in NAMES
        for wiring, feeding in tiny.FEEDINGS
    ),
    *(
        tiny.Variant("luong", name, scope, extra="coverage")
        for name in ("additive", "general")
        for scope in ("local_m", "local_p", "hierarchical")
    ),
]


@dataclass
class FertileFormula(AttentionWeights):
    """The formulas with one more parameter, `fertility.weight`."""

    def one_head(self, h, scored, averaged, t, coverage):
        fertilities = [MOST * sigmoid(self.of_score["fertility.weight"][0] @ v) for v in scored]
        return super().one_head(h, scored, averaged, t, coverage / np.array(fertilities))


def fertile_model(variant, seed=0, **more):
    config = tiny.config_of(variant)
    attention = config.attention.model_dump() | {"fertility": MOST} | more
    config = ModelConfig.model_validate(config.model_dump() | {"attention": attention})
    model = build_model(config, tiny.SOURCE_TYPES, tiny.TARGET_TYPES, tiny.ENDS).double().eval()
    tiny.randomise(model, seed)
    return model


def formula_of(model, variant):
    formula = parameters.decoder_weights(model, variant)
    of_score = {name.removeprefix("score."): value for name, value in formula.attention.of_score.items()}
    formula.attention = FertileFormula(**vars(formula.attention) | {"of_score": of_score})
    return formula


@pytest.mark.parametrize("variant", **tiny.parametrised(VARIANTS))
@pytest.mark.parametrize("heads", [{}, {"projected": True}])
def test_a_whole_pass_is_that_of_the_formulas(variant, heads):
    """Its gradient reaches the fertilities, plain and fast alike."""
    model, inputs = fertile_model(variant, **heads), tiny.decoder_inputs()
    formula = formula_of(model, variant)
    readouts, alignment = model.decoder(pad(inputs), *tiny.encode(model))
    logits, weights = model.decoder.logits(readouts), alignment.dense(8)
    for b, (source, tokens) in enumerate(zip(tiny.SOURCES, inputs, strict=True)):
        expected, alpha = formula.decode(tokens, *parameters.encode_alone(model, [*source, EOS]))
        count, positions = alpha.shape
        np.testing.assert_allclose(logits[b, :count].detach(), expected, **CLOSE)
        np.testing.assert_allclose(weights[b, :count, :positions].detach(), alpha, **CLOSE)
        assert (weights[b, :, positions:] == 0).all()
    pairs = zip(tiny.SOURCES, tiny.TARGETS, strict=True)
    batch = collate([Example([*source], target) for source, target in pairs])
    plain, fast = (BatchLoss(fertile_model(variant, **heads), 0.1) for _ in range(2))
    accelerate(fast, "float32")
    for losses in (plain, fast):
        losses(batch).smoothed.backward()
    assert plain.model.decoder.attention.score.fertility.weight.grad.abs().max() > 1e-6
    for one, other in zip(plain.parameters(), fast.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-6, atol=1e-9)


@torch.no_grad()
def test_it_is_explained_forced_exported_and_searched_with():
    variant = tiny.Variant("luong", "general", input_feeding=True, extra="coverage")
    model, source, target = fertile_model(variant), tiny.SOURCES[0], tiny.TARGETS[0]
    formula, (values, final) = formula_of(model, variant), parameters.encode_alone(model, [*source, EOS])
    _, alpha = formula.decode([2, *target[:-1]], values, final)
    for t, step in enumerate(steps(model, source, target)):
        np.testing.assert_allclose(step.attention.weights[0], alpha[t], **CLOSE)
        powers = np.exp(step.attention.scores[0].numpy())
        np.testing.assert_allclose(powers / powers.sum(), alpha[t], **CLOSE)
        np.testing.assert_allclose(step.attention.coverage, alpha[:t].sum(axis=0), **CLOSE)
    assert steps(forcing(model, {0: 3}), source, target)[0].attention.weights[0, 3] == 1
    for sources in BATCHES:
        compare([model.float()], sessions(trace(model.float())), sources)
    codecs, text = tiny.tiny_codecs(), "a f h b"
    translator = Translator(model, *codecs, SearchConfig(beam_size=4, max_length=7, length_penalty=0))
    for found in translator.translate([text], n_best=4)[0].n_best:
        if not found.is_cut:
            [again] = translator.score([text], [found.text])
            assert found.score == pytest.approx(again.log_probability, abs=1e-4)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("fertility: 2", r"fertility \(2\) has no effect without coverage; remove it, or set that to true"),
        ("fertility: 2, monotonic: {}", r"fertility \(2\) has no effect"),
        ("coverage: true, fertility: 0", "fertility: input should be greater than 0"),
        ("coverage: true, fertility: 2, score: location", "coverage: true with score: location, which has no keys"),
    ],
)
def test_what_does_not_fit_is_refused(make_config, fields, message):
    with pytest.raises(UserError, match=message):
        make_config(f"model.attention={{{fields}}}")


def test_a_run_keeps_them(make_config):
    config = make_config("model.attention={coverage: true, fertility: 2}")
    translator = Translator.load(finish(config) / "last.safetensors", device="cpu")
    assert translator.model.decoder.attention.score.most == 2
    assert "FertileScore" in repr(translator)

"""What all normalizers promise of any scores, what each promises of its own, and that a model learns with each."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.attention_cases import draw
from support.formulas import formula_of
from support.tiny_models import EACH_ONCE, Variant, tiny_codecs, tiny_model

from nmt.components import NORMALIZERS
from nmt.config.search import SearchConfig
from nmt.translator import Translator

SPARSE = ("sparsemax", "entmax15", "entmax")
EACH = pytest.mark.parametrize("name", NORMALIZERS)
SCORES = st.lists(st.floats(-50, 50).map(lambda score: round(score, 3)), min_size=1, max_size=12)


def make(name, **options):
    return NORMALIZERS[name](**options).double().eval()


def everywhere(scores):
    return torch.ones_like(scores, dtype=torch.bool)


@EACH
@given(scores=SCORES)
def test_weights_are_those_of_the_formula_and_padding_changes_nothing(name, scores):
    normalizer = make(name)
    parameters = {key: value.detach().numpy() for key, value in normalizer.named_parameters()}
    expected = formula_of("normalizers", name).weights(scores, parameters)
    padded = torch.tensor([*scores, 99.0, -99.0], dtype=torch.float64)
    inside = torch.arange(len(padded)) < len(scores)
    weights = normalizer(padded, inside).detach()
    np.testing.assert_allclose(weights[: len(scores)], expected, rtol=0, atol=1e-12)
    assert (weights[len(scores) :] == 0).all()
    if name == "sigmoid":
        assert 0 <= weights.sum() <= len(scores)
    else:
        assert weights.sum().item() == pytest.approx(1, abs=1e-12)
        moved = normalizer(padded + 7.5, inside).detach()
        torch.testing.assert_close(moved, weights, rtol=0, atol=1e-12)


@EACH
@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_low_precision_keeps_sums_and_zeros(name, precision):
    normalizer, scores = NORMALIZERS[name]().eval(), 3 * draw(40, 9)
    inside = torch.arange(9) < torch.arange(40).unsqueeze(1) % 10  # none at all in every tenth row
    weights = normalizer(scores.to(precision), inside)
    assert weights.dtype == precision
    expected = make(name)(scores.to(precision).double(), inside)
    torch.testing.assert_close(weights.double(), expected, rtol=0, atol=1e-5 if precision == torch.float32 else 4e-3)
    assert (weights[~inside] == 0).all()
    assert (weights[inside.expand_as(weights)] >= 0).all()
    assert ((weights == 0) <= ((expected < 1e-5) | ~inside)).all()


@EACH
@pytest.mark.parametrize("scores", [[-7.1] + 7 * [-9.1], [0.0] + 12 * [-2.0], [0.0] + 12 * [-1.0]])
def test_equal_scores_where_weights_become_0_are_rounded_alike(name, scores):
    single = torch.tensor(scores, requires_grad=True)
    weights = NORMALIZERS[name]().eval()(single, everywhere(single))
    expected = make(name)(single.detach().double(), everywhere(single))
    torch.testing.assert_close(weights.double(), expected, rtol=0, atol=2e-6)
    assert torch.autograd.grad(weights[0], single)[0].isfinite().all()


@EACH
def test_gradients_are_those_of_finite_differences_and_0_outside(name):
    normalizer, scores = make(name), (1.5 * draw(6, 7)).requires_grad_()
    inside = torch.arange(7) < torch.tensor([7, 5, 3, 2, 1, 0]).unsqueeze(1)
    assert torch.autograd.gradcheck(lambda x: normalizer(x, inside), [scores], atol=1e-6)
    weights = normalizer(scores, inside)
    gradients = torch.autograd.grad((weights * draw(6, 7, seed=2)).sum(), [scores, *normalizer.parameters()])
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert (gradients[0][~inside] == 0).all()
    if name in SPARSE:
        assert (weights[inside] == 0).any()
        assert (gradients[0][weights == 0] == 0).all()


@pytest.mark.parametrize("alpha", [1.02, 1.3, 1.5, 1.8, 1.98])
def test_the_gradient_of_alpha_is_that_of_finite_differences(alpha):
    normalizer, scores, of_weights = make("entmax", alpha=alpha), 1.5 * draw(6, 7), draw(6, 7, seed=2)
    assert normalizer.alpha.item() == pytest.approx(alpha, abs=1e-6)

    def objective(logit):
        normalizer.logit.data.copy_(logit)
        return (normalizer(scores, everywhere(scores)) * of_weights).sum()

    at = normalizer.logit.detach().clone()
    (gradient,) = torch.autograd.grad(objective(at), normalizer.logit)
    with torch.no_grad():
        expected = (objective(at + 1e-5) - objective(at - 1e-5)) / 2e-5
    assert gradient.item() == pytest.approx(expected.item(), rel=1e-5, abs=1e-7)


def test_the_higher_alpha_is_the_more_weights_are_0():
    scores = 2 * draw(200, 12)
    used = [
        (make("entmax", alpha=alpha)(scores, everywhere(scores)) > 0).sum().item() for alpha in (1.05, 1.3, 1.6, 1.98)
    ]
    assert used == sorted(used, reverse=True)
    assert used[0] > 2 * used[-1]
    weights = {name: make(name)(scores, everywhere(scores)) for name in ("softmax", "sparsemax", "entmax15", "entmax")}
    torch.testing.assert_close(weights["entmax"], weights["entmax15"], rtol=0, atol=1e-6)  # α's logit is float32
    assert (weights["softmax"] > 0).all()
    assert used[-1] >= (weights["sparsemax"] > 0).sum()


def test_a_gumbel_sample_is_drawn_from_the_softmax_and_only_in_training():
    torch.manual_seed(3)
    normalizer, scores = make("gumbel", gumbel_temperature=0.5), torch.tensor([0.0, 1.0, 2.0, 9.0]).double()
    inside, count = torch.tensor([True, True, True, False]), 40_000
    assert torch.equal(normalizer(scores, inside)[:3], (scores[:3] / 0.5).softmax(0))
    normalizer.train()
    chosen = normalizer(scores.expand(count, 4), inside).argmax(1).bincount(minlength=4) / count
    torch.testing.assert_close(chosen[:3].double(), scores[:3].softmax(0), rtol=0, atol=0.01)
    assert chosen[3] == 0


@EACH
def test_hard_attention_is_one_position_and_has_the_gradient_of_the_soft_weights(name):
    model = tiny_model(Variant("bahdanau", "general", extra="hard", normalizer=name))
    translator = Translator(model, *tiny_codecs(), SearchConfig(beam_size=2, max_length=6))
    (translation,) = translator.translate(["a b c d"])
    assert set(np.unique(translation.attention)) == {0.0, 1.0}
    assert (translation.attention.sum(dim=1) == 1).all()


def test_the_combinations_of_all_tests_have_every_normalizer():
    assert {variant.normalizer for variant in EACH_ONCE} == NORMALIZERS.keys()

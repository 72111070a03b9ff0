"""Steps as values, and attention that is forced, against the formulas in NumPy; explanations against the translator."""

import numpy as np
import pytest
import torch
from support.formulas import AttentionWeights, formula_of, halves, log_softmax
from support.parameters import decoder_weights, encode_alone
from support.tiny_models import (
    EACH_ONCE,
    POSITIONS,
    SOURCE_WORDS,
    VARIANTS,
    WIRINGS,
    Variant,
    parametrised,
    tiny_codecs,
    tiny_model,
)
from support.toy_search import path_to

from nmt.config.search import SearchConfig
from nmt.decoding.ensemble import Ensemble
from nmt.page.explanation import explain, forced_translator, read
from nmt.page.forced_attention import forcing
from nmt.page.steps import steps
from nmt.system.errors import UserError
from nmt.text.vocabulary import BOS, EOS, PAD
from nmt.translator import Translator

EVERY = pytest.mark.parametrize("variant", **parametrised(VARIANTS))
HEADS = [v for v in VARIANTS if v.extra == "heads"]
EACH = pytest.mark.parametrize("variant", **parametrised(list(dict.fromkeys(EACH_ONCE + HEADS))))
SOURCE, TARGET = [7, 6, 5, 4, 8, 10, 4], [10, 4, 7, 5, EOS]
SENTENCE = " ".join(SOURCE_WORDS[i - 4] for i in SOURCE)
FORCED = {1: 4, 3: 0, 8: 2}  # the last one never comes
CLOSE = {"rtol": 0, "atol": 1e-10}


class ForcedFormula(AttentionWeights):
    def one_head(self, h, scored, averaged, t, coverage):
        if t not in FORCED:
            return super().one_head(h, scored, averaged, t, coverage)
        return averaged[FORCED[t]], np.eye(len(averaged))[FORCED[t]]


def by_formula(model, variant, forced):
    """Of each step the states before and after, the weights, and the log-probabilities."""
    formula = decoder_weights(model, variant)
    if forced:
        formula.attention = ForcedFormula(**vars(formula.attention))
    values, final = encode_alone(model, [*SOURCE, EOS])
    state = formula.initial(values, final)
    for last in [BOS, *TARGET[:-1]]:
        before = state
        logits, weights, state = formula.step(last, state, values, final)
        query = (state if variant.wiring == "luong" else before).hidden[len(formula.layers) - 1]
        context, _ = formula.attention(query, values, final, before.t, before.coverage)
        yield formula, values, before, query, context, weights, log_softmax(logits)


def assert_same_steps(model, variant, forced):
    taken = steps(forcing(model, FORCED) if forced else model, SOURCE, TARGET, likeliest=4)
    for t, (step, expected) in enumerate(zip(taken, by_formula(model, variant, forced), strict=True)):
        formula, values, before, query, context, weights, log_probabilities = expected
        np.testing.assert_allclose(step.query, query, **CLOSE)
        np.testing.assert_allclose(step.context, context, **CLOSE)
        assert step.chosen == TARGET[t]
        assert step.probability == pytest.approx(np.exp(log_probabilities[TARGET[t]]), abs=1e-10)
        assert step.place == sum(log_probabilities > log_probabilities[TARGET[t]]) - sum(
            log_probabilities[[PAD, BOS]] > log_probabilities[TARGET[t]]
        )
        order = [int(i) for i in np.argsort(-log_probabilities) if i not in (PAD, BOS)][:4]
        assert [token for token, _ in step.likeliest] == order
        assert [p for _, p in step.likeliest] == pytest.approx(np.exp(log_probabilities[order]), abs=1e-10)
        if variant.wiring == "none":
            assert step.attention is None
            continue
        trace = step.attention
        np.testing.assert_allclose(trace.weights.mean(dim=0), weights, **CLOSE)
        np.testing.assert_allclose(trace.parts.sum(dim=0), context, **CLOSE)
        if variant.extra not in ("heads", "projected"):
            assert_scores(trace, variant, formula, values, before, query)
        assert (trace.coverage is not None) == (variant.extra == "coverage")
        if trace.coverage is not None:
            np.testing.assert_allclose(trace.coverage, before.coverage, **CLOSE)


def assert_scores(trace, variant, formula, values, before, query):
    attention = formula.attention
    score_of = formula_of("scores", variant.score).score
    scored = [halves(v)[0] if attention.key_value else v for v in values]
    covered = [None] * len(scored) if before.coverage is None else before.coverage
    known = POSITIONS if variant.score == "location" else len(scored)
    for s in range(known):
        expected = score_of(query, scored[s], s, attention.of_score, covered[s])
        assert trace.scores[0, s].item() == pytest.approx(expected, abs=1e-10)


@EVERY
def test_steps_are_those_of_the_formulas(variant):
    assert_same_steps(tiny_model(variant), variant, forced=False)


@EACH
def test_forced_attention_is_that_of_the_formulas(variant):
    if variant.wiring == "none":
        with pytest.raises(ValueError, match="no attention"):
            forcing(tiny_model(variant), FORCED)
    else:
        model = tiny_model(variant, layers=2)
        assert_same_steps(model, variant, forced=True)
        assert_same_steps(model, variant, forced=False)  # the model itself is as before


@pytest.mark.parametrize("scope", ["local_m", "local_p"])
def test_a_local_scope_says_where_it_looks(scope):
    for t, step in enumerate(steps(tiny_model(Variant("luong", scope=scope)), SOURCE, TARGET)):
        assert step.attention.window == 2
        centre = step.attention.centre.item()
        assert scope == "local_p" or centre == t
        inside = [abs(s - centre) <= 2 for s in range(len(SOURCE) + 1)]
        assert (step.attention.weights[0] > 0).tolist() == inside


def translator_of(variant, **options):
    options = {"beam_size": 3, "max_length": 6, "precision": "float32"} | options
    return Translator(tiny_model(variant), *tiny_codecs(), SearchConfig(**options))


@pytest.mark.parametrize("variant", **parametrised([*WIRINGS, Variant("luong", scope="hierarchical")]))
@pytest.mark.parametrize("prefix", [(), ("l", "q")])
def test_an_explanation_is_one_of_the_translation(variant, prefix):
    translator = translator_of(variant)
    found = explain(translator, SENTENCE, prefix=prefix)
    [expected] = translator.translate([SENTENCE], n_best=3, prefix=[prefix])
    assert [t.tokens for t in found.translation.n_best] == [t.tokens for t in expected.n_best]
    assert found.greedy.tokens == translator.translate([SENTENCE], beam_size=1, prefix=[prefix])[0].tokens
    assert tuple(found.translation.tokens[: len(prefix)]) == prefix
    tokens = translator.target.vocabulary.tokens
    best = next(place for place, node in enumerate(found.tree) if node.rank == 0)
    assert [tokens[i] for i in path_to(found.tree, best)] == found.translation.tokens
    assert found.tree[best].score == pytest.approx(found.translation.score, abs=1e-9)
    assert [tokens[step.chosen] for step in found.steps] == found.translation.tokens
    total = sum(np.log(step.probability) for step in found.steps)
    assert total == pytest.approx(found.tree[best].log_probability, abs=1e-9)
    if variant.wiring != "none":
        weights = torch.cat([step.attention.weights for step in found.steps])
        torch.testing.assert_close(weights, expected.attention, **CLOSE)
    assert found.translation.segments == expected.segments


def test_forced_attention_changes_the_search():
    translator = translator_of(WIRINGS[0], beam_size=1)
    explanation = explain(translator, SENTENCE, forced={1: 4, 3: 0})
    assert explanation.translation.tokens == explanation.greedy.tokens
    assert explanation.translation.score != pytest.approx(translator.translate([SENTENCE])[0].score, abs=1e-3)
    assert [step.place for step in explanation.steps] == [0] * len(explanation.steps)  # each the likeliest
    for t, s in ((1, 4), (3, 0)):
        assert explanation.steps[t].attention.weights.flatten().tolist() == np.eye(len(SOURCE) + 1)[s].tolist()


def test_a_text_that_someone_else_wrote_is_read_by_teacher_forcing():
    translator = translator_of(WIRINGS[2])
    tokens, taken = read(translator, SENTENCE, "q k never")
    assert tokens == ["q", "k", "never", "<eos>"]
    [weights] = translator.forced_attention([SENTENCE], ["q k never"])
    torch.testing.assert_close(torch.cat([step.attention.weights for step in taken]), weights, **CLOSE)
    assert read(translator, "  ", "q k") == ([], ())
    assert explain(translator, "").steps == explain(translator, "").tree == ()


def test_what_cannot_be_explained_is_refused():
    translator = translator_of(WIRINGS[0])
    several = Translator(Ensemble([translator.model] * 2), *tiny_codecs(), SearchConfig())
    for error, function, *arguments in (
        ("one checkpoint", explain, several, SENTENCE),
        ("one checkpoint", read, several, SENTENCE, "q"),
        *(
            ("positions 0 to 7", forced_translator, translator, SENTENCE, places)
            for places in ({0: 8}, {-1: 0}, {6: 0})
        ),
        ("6 tokens; at most 5", read, translator, SENTENCE, "k k k k k k"),
        ("not valid Unicode", explain, translator, "k \ud800"),
        ("not valid Unicode", read, translator, "k \ud800", "k"),
        ("not valid Unicode", read, translator, "k", "k \ud800"),
    ):
        with pytest.raises(UserError, match=error):
            function(*arguments)
    with pytest.raises(UserError, match="no attention"):
        explain(translator_of(WIRINGS[3]), SENTENCE, forced={0: 0})


def test_an_explanation_is_without_dropout_leaves_the_mode_and_has_the_threshold():
    translator = translator_of(WIRINGS[0])
    expected = explain(translator, SENTENCE)
    translator.model.train()
    for module in translator.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    sure = Translator(translator.model, translator.source, translator.target, translator.search, -1e9, 0.0)
    explanation = explain(sure, SENTENCE)
    assert [step.probability for step in explanation.steps] == [step.probability for step in expected.steps]
    assert translator.model.training
    assert explanation.translation.is_unlike_training
    assert not expected.translation.is_unlike_training

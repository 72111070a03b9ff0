"""The gradients of every score, scope and variant against finite differences of the same, in double precision."""

import torch
from support import attention_cases as cases

import nmt.model.attention


@cases.parametrised(count=[1, cases.T])  # with one query the windows are gathered, whatever the score
def test_gradients_are_those_of_finite_differences(case, count, monkeypatch):
    score, scope, extras, normalizer = case
    attention, query, values = (
        cases.make(case, window=1),
        cases.queries(case, count=count),
        cases.draw(cases.B, cases.S, cases.M),
    )
    coverage = cases.covered(attention, cases.B, count)
    inputs = dict(attention.named_parameters()) | {"query": query, "values": values}
    inputs |= {} if coverage is None else {"coverage": coverage}
    for tensor in (query, values, *([] if coverage is None else [coverage])):
        tensor.requires_grad_()
    of_context, of_weights = (
        cases.draw(cases.B, count, cases.value_size(extras), seed=3),
        cases.draw(cases.B, count, cases.S, seed=4),
    )

    def objective():
        context, weights = cases.run(attention, query, values, coverage=coverage)
        return (context * of_context).sum() + (weights * of_weights).sum()

    gradients = torch.autograd.grad(objective(), list(inputs.values()))
    if "hard" in extras:
        # Straight through: the objective is that of the one-hot weights moved by as much as the soft ones move.
        soft = []
        monkeypatch.setattr(
            nmt.model.attention, "_straight_through", lambda weights, _: soft.append(weights) or weights
        )
        objective()
        (at_first,) = soft
        largest = torch.zeros_like(at_first).scatter(-1, at_first.argmax(-1, keepdim=True), 1.0)
        moved = (largest * (at_first > 0) - at_first).detach()
        monkeypatch.setattr(nmt.model.attention, "_straight_through", lambda weights, _: weights + moved)
    insensitive = []
    if score == "linear" and normalizer != "sigmoid":  # the others cancel what all scores have in common
        insensitive += ["score.query.weight", "scope.score.query.weight"]
        insensitive += [] if scope == "local_p" else ["query", "heads.query.weight"]
    cases.assert_gradients_are_those_of_finite_differences(
        gradients, inputs, objective, insensitive, normalizer != "softmax"
    )

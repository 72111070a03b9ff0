"""The papers' formulas in plain NumPy: what the model and the search are compared with.

One sentence, one target position and one source position at a time: no batch, no padding, no mask, no window to gather.
Matrices bear the papers' names, and a GRU's are laid out as in `torch.nn.GRU`.
"""

import sys
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

from support.formulas.gated import gru, lstm


def softmax(scores):
    powers = np.exp(np.array(scores) - max(scores))
    return powers / powers.sum()


def log_softmax(logits):
    return logits - max(logits) - np.log(np.exp(logits - max(logits)).sum())


@dataclass
class OtherCell:
    """A layer of another cell: the input's W and b, the cell's name and parameters, and the sizes of its state."""

    w: np.ndarray
    b: np.ndarray
    name: str
    parameters: dict
    sizes: list

    def __call__(self, x, state):
        return formula_of("cells", self.name).step(self.w @ x + self.b, state, self.parameters)


def state_sizes(weights):
    """Of the tensors of a layer's state, the hidden state first."""
    if isinstance(weights, OtherCell):
        return weights.sizes
    size = weights[2].shape[1]
    return [size] * (len(weights[2]) // size - 2)


def first_state(vectors, layers):
    """The state that begins from the layers' vectors: those themselves, but of a cell with a formula `initial`."""
    of = [formula_of("cells", w.name) for w in layers if isinstance(w, OtherCell)]
    if not of or not hasattr(of[0], "initial"):
        return vectors
    states = [of[0].initial(*vectors[number :: len(layers)]) for number in range(len(layers))]
    return [tensor for tensors in zip(*states, strict=True) for tensor in tensors]


def cell(x, state, weights):
    """One step of a GRU, whose state is (h,), of an LSTM, whose state is (h, c), or of another cell."""
    if isinstance(weights, OtherCell):
        return weights(x, state)
    size = weights[2].shape[1]
    return (gru(x, *state, weights),) if len(weights[2]) == 3 * size else lstm(x, *state, weights)


@dataclass
class Between:
    """What is between layers: residual connections, and (weight, bias) of each layer's normalisation, if any."""

    residual: bool = False
    norms: list = field(default_factory=list)

    def outputs(self, hidden):
        """The layers' outputs from their hidden states, bottom first."""
        outputs = []
        for number, h in enumerate(hidden):
            output = h + outputs[-1] if self.residual and number else h
            if self.norms:
                weight, bias = self.norms[number]
                output = weight * (output - output.mean()) / np.sqrt(output.var() + 1e-5) + bias
            outputs.append(output)
        return outputs


def layered(x, states, layers, between=None):
    """One step of a stack of layers, of which each reads the new state of the one below.

    `states` are the layers' h, bottom first, and behind them those of their c, if they have any.
    """
    new = list(states)
    for number, weights in enumerate(layers):
        new[number :: len(layers)] = cell(x, states[number :: len(layers)], weights)
        x = (between or Between()).outputs(new[: number + 1])[-1]
    return new


def bidirectional(inputs, layers, between=None):
    """`layers` holds (forward weights, backward weights) from the bottom. Returns [→h_s; ←h_s] and [→h_last; ←h_0]."""
    hidden = [[] for _ in inputs]
    for forward, backward in layers:
        there, back = one_direction(inputs, forward), one_direction(inputs[::-1], backward)[::-1]
        hidden = [[*below, np.concatenate(both)] for below, *both in zip(hidden, there, back, strict=True)]
        inputs = [(between or Between()).outputs(states)[-1] for states in hidden]
    return np.stack(inputs), np.concatenate([there[-1], back[0]])


def one_direction(inputs, weights):
    state, outputs = first_state([np.zeros(size) for size in state_sizes(weights)], [weights]), []
    for x in inputs:
        state = cell(x, state, weights)
        outputs.append(state[0])
    return outputs


def self_attention(values, heads, p):
    """LayerNorm(v + MultiHead(v, v, v)), position by position and head by head; `p` holds the matrices by name."""
    matrices = [np.split(p[f"{name}.weight"], heads) for name in ("query", "key", "value")]
    new = []
    for v in values:
        contexts = []
        for w_q, w_k, w_v in zip(*matrices, strict=True):
            q = w_q @ v
            weights = softmax([q @ (w_k @ other) / np.sqrt(len(q)) for other in values])
            contexts.append(sum(weight * (w_v @ other) for weight, other in zip(weights, values, strict=True)))
        x = v + p["output.weight"] @ np.concatenate(contexts)
        deviation = np.sqrt(((x - x.mean()) ** 2).mean() + 1e-5)
        new.append(p["norm.weight"] * (x - x.mean()) / deviation + p["norm.bias"])
    return np.stack(new)


# Scores, scopes, normalizers and cells: a file each, found by name


def formula_of(family, name):
    """The NumPy module of a component: `support/formulas/FAMILY/NAME.py`, or that beside its plugin."""
    if plugin := sys.modules.get(f"nmt.config.plugins.{name}"):
        spec = spec_from_file_location(f"{name}_formula", Path(plugin.__file__).with_name(f"{name}_formula.py"))
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    return import_module(f"{__name__}.{family}.{name}")


def weights_over(scores, positions, normalized=softmax):
    """The weights of some positions, 0 at the others; 0 everywhere if there are none."""
    weights, chosen = np.zeros(len(scores)), [s for s in positions if scores[s] is not None]
    if chosen:
        weights[chosen] = normalized([scores[s] for s in chosen])
    return weights


def window_around(centre, window, source_length):
    return [s for s in range(source_length) if centre - window <= s <= centre + window]


def halves(v):
    """Of a memory vector [→h; ←h]: the half of each direction that is scored, and the half that is averaged."""
    (forward, backward), size = np.split(v, 2), len(v) // 4
    return np.concatenate([forward[:size], backward[:size]]), np.concatenate([forward[size:], backward[size:]])


class Memory(list):
    """A sentence's memory vectors, and the number of each position's segment: by default all have the same."""

    def __init__(self, vectors, segments=None):
        super().__init__(vectors)
        self.segments = [0] * len(self) if segments is None else list(segments)


@dataclass
class AttentionWeights:
    """`score`, `scope` and `normalizer` of the config, each with its parameters by their names in the module, and the
    scope's options; `scope` is `fixed` without attention. `heads` holds the matrices query, key, value and output.
    """

    score: str
    scope: str
    normalizer: str = "softmax"
    of_score: dict = field(default_factory=dict)
    of_scope: dict = field(default_factory=dict)
    of_normalizer: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)
    hard: bool = False
    key_value: bool = False
    coverage: bool = False
    count: int = 1
    heads: dict = field(default_factory=dict)

    def __call__(self, h, values, final, t, coverage=None):
        """Context and weights for the query of target position t of one sentence."""
        if self.scope == "fixed":
            return final, np.ones(1)
        pairs = [halves(v) if self.key_value else (v, v) for v in values]
        scored, averaged = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        self.options["segments"] = values.segments
        if not self.heads:
            return self.one_head(h, scored, averaged, t, coverage)
        contexts, weights = [], []
        matrices = (np.split(self.heads[name], self.count) for name in ("query", "key", "value"))
        for w_q, w_k, w_v in zip(*matrices, strict=True):
            keys, head_values = [w_k @ v for v in scored], [w_v @ v for v in averaged]
            context, weight = self.one_head(w_q @ h, keys, head_values, t, coverage)
            contexts.append(context)
            weights.append(weight)
        return self.heads["output"] @ np.concatenate(contexts), sum(weights) / self.count

    def one_head(self, h, scored, averaged, t, coverage):
        score_of = formula_of("scores", self.score).score
        features = [None] * len(scored) if coverage is None else coverage
        scores = [score_of(h, v, s, self.of_score, c) for s, (v, c) in enumerate(zip(scored, features, strict=True))]
        normalizer = formula_of("normalizers", self.normalizer)
        options = self.options | {"vectors": scored, "score_of": score_of}
        options["normalized"] = lambda some: normalizer.weights(some, self.of_normalizer)
        weights = formula_of("scopes", self.scope).weights(h, scores, t, self.of_scope, options)
        if self.hard and weights.any():
            weights = np.eye(len(weights))[np.argmax(weights)]
        return sum(weight * v for weight, v in zip(weights, averaged, strict=True)), weights


@dataclass
class DecoderState:
    """What a hypothesis carries from step to step."""

    hidden: list  # of each layer, and of each its memory cell
    fed: np.ndarray  # h̃ of Luong's input feeding
    t: int
    coverage: np.ndarray | None


@dataclass
class DecoderWeights:
    wiring: str
    input_feeding: bool
    attention: AttentionWeights
    embedding: np.ndarray
    w_s: np.ndarray
    b_s: np.ndarray
    layers: list  # of each layer's cell, whose first reads [E y; c] or [E y; h̃]
    w_y: np.ndarray
    b_y: np.ndarray
    w_c: np.ndarray | None = None  # Luong
    w_o: np.ndarray | None = None  # Bahdanau
    b_o: np.ndarray | None = None
    readout: str = "tanh"
    between: Between = field(default_factory=Between)

    def top(self, hidden):
        return self.between.outputs(hidden[: len(self.layers)])[-1]

    def initial(self, values, final):
        """The first state: the bridge of the final states, h̃ = 0, no coverage."""
        vectors = np.split(np.tanh(self.w_s @ final + self.b_s), len(self.w_s) // state_sizes(self.layers[0])[0])
        hidden = first_state(vectors, self.layers)
        coverage = np.zeros(len(values)) if self.attention.coverage else None
        return DecoderState(hidden, np.zeros_like(vectors[0]), 0, coverage)

    def step(self, y, state, values, final):
        """Logits, attention weights, new state."""
        word, hidden, fed = self.embedding[y], state.hidden, state.fed
        if self.wiring == "luong":
            hidden = layered(
                np.concatenate([word, fed]) if self.input_feeding else word, hidden, self.layers, self.between
            )
            context, weights = self.attention(self.top(hidden), values, final, state.t, state.coverage)
            fed = np.tanh(self.w_c @ np.concatenate([context, self.top(hidden)]))
            logits = self.w_y @ fed + self.b_y
        else:
            context, weights = self.attention(self.top(hidden), values, final, state.t, state.coverage)
            hidden = layered(np.concatenate([word, context]), hidden, self.layers, self.between)
            logits = self.w_y @ self.read(np.concatenate([self.top(hidden), context, word])) + self.b_y
        coverage = None if state.coverage is None else state.coverage + weights
        return logits, weights, DecoderState(hidden, fed, state.t + 1, coverage)

    def read(self, joined):
        """What the output layer of Bahdanau's wiring reads of [s; c; E y]."""
        if self.readout == "linear":
            return joined
        layer = self.w_o @ joined + self.b_o
        if self.readout == "maxout":
            return np.array([max(layer[2 * j], layer[2 * j + 1]) for j in range(len(layer) // 2)])
        return np.tanh(layer)

    def decode(self, tokens, values, final):
        """Logits (T V) and weights (T S) of a whole pass over the tokens that the decoder reads, BOS first."""
        state = self.initial(values, final)
        logits, weights = [], []
        for y in tokens:
            logit, weight, state = self.step(y, state, values, final)
            logits.append(logit)
            weights.append(weight)
        return np.stack(logits), np.stack(weights)

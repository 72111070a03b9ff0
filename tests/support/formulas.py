"""The papers' formulas in plain NumPy: what the model and the search are compared with.

One sentence, one target position and one source position at a time: no batch, no padding, no mask, no window to gather.
Matrices bear the papers' names, and a GRU's are laid out as in `torch.nn.GRU`.
"""

from dataclasses import dataclass, field

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(scores):
    powers = np.exp(np.array(scores) - max(scores))
    return powers / powers.sum()


def log_softmax(logits):
    return logits - max(logits) - np.log(np.exp(logits - max(logits)).sum())


def gru(x, h, weights):
    """One layer, one step: the equations in the documentation of `torch.nn.GRU`."""
    w_ih, b_ih, w_hh, b_hh = (np.split(matrix, 3) for matrix in weights)
    r = sigmoid(w_ih[0] @ x + b_ih[0] + w_hh[0] @ h + b_hh[0])
    z = sigmoid(w_ih[1] @ x + b_ih[1] + w_hh[1] @ h + b_hh[1])
    n = np.tanh(w_ih[2] @ x + b_ih[2] + r * (w_hh[2] @ h + b_hh[2]))
    return (1 - z) * n + z * h


def gru_layers(x, states, layers):
    """One step of a stack of layers, of which each reads the new state of the one below."""
    new = []
    for h, weights in zip(states, layers, strict=True):
        x = gru(x, h, weights)
        new.append(x)
    return new


def bidirectional_gru(inputs, layers):
    """`layers` holds (forward weights, backward weights) from the bottom. Returns [→h_s; ←h_s] and [→h_last; ←h_0]."""
    for forward, backward in layers:
        h, there = np.zeros(forward[2].shape[1]), []
        for x in inputs:
            h = gru(x, h, forward)
            there.append(h)
        h, back = np.zeros(backward[2].shape[1]), []
        for x in reversed(inputs):
            h = gru(x, h, backward)
            back.insert(0, h)
        inputs = [np.concatenate(both) for both in zip(there, back, strict=True)]
    return np.stack(inputs), np.concatenate([there[-1], back[0]])


# Scores of one source position


def additive_score(h, v, w_a, u_a, v_a):
    return v_a @ np.tanh(w_a @ h + u_a @ v)


def concat_score(h, v, w, v_a):
    return v_a @ np.tanh(w @ np.concatenate([h, v]))


def linear_score(h, v, w_a):
    return w_a @ np.concatenate([h, v])


def general_score(h, v, w_a):
    return h @ (w_a @ v)


def dot_score(h, v):
    return sum(h[i] * v[i] for i in range(len(h)))


def location_score(h, s, w_a):
    return (w_a @ h)[s]


# Scopes: the weights of all positions of a sentence, from their scores (None where there is none)


def predicted_position(h, source_length, w_p, v_p):
    return source_length * sigmoid(v_p @ np.tanh(w_p @ h))


def softmax_over(scores, positions):
    """The softmax over some positions, 0 at the others; 0 everywhere if there are none."""
    weights = np.zeros(len(scores))
    chosen = [s for s in positions if scores[s] is not None]
    if chosen:
        weights[chosen] = softmax([scores[s] for s in chosen])
    return weights


def window_around(centre, window, source_length):
    return [s for s in range(source_length) if centre - window <= s <= centre + window]


def local_m_weights(scores, t, window):
    centre = min(t, len(scores) - 1)
    return softmax_over(scores, window_around(centre, window, len(scores)))


def local_p_weights(scores, centre, window):
    sigma = window / 2
    weights = softmax_over(scores, window_around(centre, window, len(scores)))
    return np.array([w * np.exp(-((s - centre) ** 2) / (2 * sigma**2)) for s, w in enumerate(weights)])


def halves(v):
    """Of a memory vector [→h; ←h]: the half of each direction that is scored, and the half that is averaged."""
    forward, backward = np.split(v, 2)
    size = len(forward) // 2
    return np.concatenate([forward[:size], backward[:size]]), np.concatenate([forward[size:], backward[size:]])


@dataclass
class AttentionWeights:
    """`score` and `scope` of the config, with the matrices they need; `scope` is `fixed` without attention.

    `matrices` holds those of the score and the scope, `v_c` or `u_c` for coverage, and w_q, w_k, w_v, w_o of heads.
    """

    score: str
    scope: str
    matrices: dict = field(default_factory=dict)
    window: int | None = None
    hard: bool = False
    key_value: bool = False
    heads: int = 1

    def __call__(self, h, values, final, t, coverage=None):
        """Context and weights for the query of target position t of one sentence."""
        if self.scope == "fixed":
            return final, np.ones(1)
        pairs = [halves(v) if self.key_value else (v, v) for v in values]
        scored, averaged = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        if self.heads == 1:
            return self.one_head(h, scored, averaged, t, coverage)
        m, contexts, weights = self.matrices, [], []
        for w_q, w_k, w_v in zip(*(np.split(m[name], self.heads) for name in ("w_q", "w_k", "w_v")), strict=True):
            keys, head_values = [w_k @ v for v in scored], [w_v @ v for v in averaged]
            context, weight = self.one_head(w_q @ h, keys, head_values, t, coverage)
            contexts.append(context)
            weights.append(weight)
        return m["w_o"] @ np.concatenate(contexts), sum(weights) / self.heads

    def one_head(self, h, scored, averaged, t, coverage):
        scores = [self.score_of(h, v, s, 0.0 if coverage is None else coverage[s]) for s, v in enumerate(scored)]
        weights = self.normalised(h, scores, t)
        if self.hard and weights.any():
            weights = np.eye(len(weights))[np.argmax(weights)]
        return sum(weight * v for weight, v in zip(weights, averaged, strict=True)), weights

    def normalised(self, h, scores, t):
        match self.scope:
            case "global":
                return softmax_over(scores, range(len(scores)))
            case "local_m":
                return local_m_weights(scores, t, self.window)
            case "local_p":
                centre = predicted_position(h, len(scores), self.matrices["w_p"], self.matrices["v_p"])
                return local_p_weights(scores, centre, self.window)

    def score_of(self, h, v, s, c):
        """With coverage c the memory vector is [v; c], and the matrix that meets it has one more column."""
        m = self.matrices
        with_coverage = "v_c" in m
        match self.score:
            case "additive" | "concat" if with_coverage:
                u_a = np.concatenate([m["u_a"], m["v_c"][:, None]], axis=1)
                return additive_score(h, np.append(v, c), m["w_a"], u_a, m["v_a"])
            case "additive":
                return additive_score(h, v, m["w_a"], m["u_a"], m["v_a"])
            case "concat":
                return concat_score(h, v, np.concatenate([m["w_a"], m["u_a"]], axis=1), m["v_a"])
            case "linear":
                feature = [c] if with_coverage else []
                return linear_score(h, np.append(v, feature), np.append(m["w_a"], m["v_c"] if with_coverage else []))
            case "location":
                return location_score(h, s, m["w_a"]) if s < len(m["w_a"]) else None
        w_a = m["w_a"] if "general" in self.score else np.eye(len(h))
        if with_coverage:
            w_a, v = np.concatenate([w_a, m["v_c"][:, None]], axis=1), np.append(v, c)
        score = general_score(h, v, w_a) if "general" in self.score or with_coverage else dot_score(h, v)
        return score / np.sqrt(len(h)) if self.score.startswith("scaled") else score


@dataclass
class DecoderState:
    """What a hypothesis carries from step to step."""

    hidden: list  # of each layer
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
    layers: list  # of each layer's GRU, whose first reads [E y; c] or [E y; h̃]
    w_y: np.ndarray
    b_y: np.ndarray
    w_c: np.ndarray | None = None  # Luong
    w_o: np.ndarray | None = None  # Bahdanau
    b_o: np.ndarray | None = None

    def initial(self, values, final):
        """The first state: the bridge of the final states, h̃ = 0, no coverage."""
        hidden = np.split(np.tanh(self.w_s @ final + self.b_s), len(self.layers))
        coverage = np.zeros(len(values)) if "v_c" in self.attention.matrices else None
        return DecoderState(hidden, np.zeros_like(hidden[-1]), 0, coverage)

    def step(self, y, state, values, final):
        """Logits, attention weights, new state."""
        word, hidden, fed = self.embedding[y], state.hidden, state.fed
        if self.wiring == "luong":
            hidden = gru_layers(np.concatenate([word, fed]) if self.input_feeding else word, hidden, self.layers)
            context, weights = self.attention(hidden[-1], values, final, state.t, state.coverage)
            fed = np.tanh(self.w_c @ np.concatenate([context, hidden[-1]]))
            logits = self.w_y @ fed + self.b_y
        else:
            context, weights = self.attention(hidden[-1], values, final, state.t, state.coverage)
            hidden = gru_layers(np.concatenate([word, context]), hidden, self.layers)
            readout = np.tanh(self.w_o @ np.concatenate([hidden[-1], context, word]) + self.b_o)
            logits = self.w_y @ readout + self.b_y
        coverage = None if state.coverage is None else state.coverage + weights
        return logits, weights, DecoderState(hidden, fed, state.t + 1, coverage)

    def decode(self, tokens, values, final):
        """Logits (T V) and weights (T S) of a whole pass over the tokens that the decoder reads, BOS first."""
        state = self.initial(values, final)
        logits, weights = [], []
        for y in tokens:
            logit, weight, state = self.step(y, state, values, final)
            logits.append(logit)
            weights.append(weight)
        return np.stack(logits), np.stack(weights)

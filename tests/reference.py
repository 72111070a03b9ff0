"""What the model and the search are compared with: the papers' formulas in plain NumPy, and tiny models of every kind.

The formulas take one sentence, one target position and one source position at a time: no batch, no padding, no mask.
Matrices bear the papers' names, and a GRU's are laid out as in `torch.nn.GRU`. The second half of the file makes small
random models of every wiring, score and scope, and hands their parameters over under those names.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import torch

from nmt.config_model import ModelConfig
from nmt.data.batching import pad_source
from nmt.data.codec import Codec
from nmt.data.tokenizers import make_tokenizer
from nmt.data.vocabulary import BOS, SPECIALS, Vocabulary
from nmt.model.seq2seq import build_model

torch.set_num_threads(1)  # the tensors here are so small that threads would only wait for each other

# Formulas


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


def additive_score(h, v, w_a, u_a, v_a):
    return v_a @ np.tanh(w_a @ h + u_a @ v)


def concat_score(h, v, w, v_a):
    return v_a @ np.tanh(w @ np.concatenate([h, v]))


def general_score(h, v, w_a):
    return h @ (w_a @ v)


def dot_score(h, v):
    return sum(h[i] * v[i] for i in range(len(h)))


def predicted_position(h, source_length, w_p, v_p):
    return source_length * sigmoid(v_p @ np.tanh(w_p @ h))


def local_p_weights(scores, centre, window):
    inside = [s for s in range(len(scores)) if centre - window <= s <= centre + window]
    aligned = softmax([scores[s] for s in inside])
    sigma = window / 2
    weights = np.zeros(len(scores))
    for s, weight in zip(inside, aligned, strict=True):
        weights[s] = weight * np.exp(-((s - centre) ** 2) / (2 * sigma**2))
    return weights


@dataclass
class AttentionWeights:
    """`score` and `scope` of the config, with the matrices they need; `scope` is `fixed` without attention."""

    score: str
    scope: str
    matrices: dict = field(default_factory=dict)
    window: int = 0

    def __call__(self, h, values, final):
        """Context and weights for one query and one sentence."""
        if self.scope == "fixed":
            return final, np.ones(1)
        m = self.matrices
        match self.score:
            case "additive":
                scores = [additive_score(h, v, m["w_a"], m["u_a"], m["v_a"]) for v in values]
            case "concat":
                w = np.concatenate([m["w_a"], m["u_a"]], axis=1)
                scores = [concat_score(h, v, w, m["v_a"]) for v in values]
            case "general":
                scores = [general_score(h, v, m["w_a"]) for v in values]
            case "dot":
                scores = [dot_score(h, v) for v in values]
        if self.scope == "local_p":
            centre = predicted_position(h, len(values), m["w_p"], m["v_p"])
            weights = local_p_weights(scores, centre, self.window)
        else:
            weights = softmax(scores)
        return sum(weight * v for weight, v in zip(weights, values, strict=True)), weights


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

    def initial(self, final):
        """The states of all layers, and h̃ = 0."""
        states = np.split(np.tanh(self.w_s @ final + self.b_s), len(self.layers))
        return states, np.zeros_like(states[-1])

    def step(self, y, states, fed, values, final):
        """Logits, attention weights, new states, new h̃ (of Luong's wiring)."""
        word = self.embedding[y]
        if self.wiring == "luong":
            states = gru_layers(np.concatenate([word, fed]) if self.input_feeding else word, states, self.layers)
            context, weights = self.attention(states[-1], values, final)
            fed = np.tanh(self.w_c @ np.concatenate([context, states[-1]]))
            return self.w_y @ fed + self.b_y, weights, states, fed
        context, weights = self.attention(states[-1], values, final)
        states = gru_layers(np.concatenate([word, context]), states, self.layers)
        hidden = np.tanh(self.w_o @ np.concatenate([states[-1], context, word]) + self.b_o)
        return self.w_y @ hidden + self.b_y, weights, states, fed

    def decode(self, tokens, values, final):
        """Logits (T V) and weights (T S) of a whole pass over the tokens that the decoder reads, BOS first."""
        states, fed = self.initial(final)
        logits, weights = [], []
        for y in tokens:
            logit, weight, states, fed = self.step(y, states, fed, values, final)
            logits.append(logit)
            weights.append(weight)
        return np.stack(logits), np.stack(weights)


# Tiny models


@dataclass(frozen=True)
class Variant:
    """One combination of the attention's axes."""

    wiring: str
    score: str = "additive"
    scope: str = "global"
    input_feeding: bool = False

    def __str__(self):
        parts = [self.wiring, self.score, self.scope, "feeding"]
        return "-".join(parts[: 1 if self.wiring == "none" else 4 if self.input_feeding else 3])


SCORES = ("additive", "concat", "general", "dot")
SCOPES = ("global", "local_p")
BAHDANAU = [Variant("bahdanau", score, scope) for score, scope in product(SCORES, SCOPES)]
LUONG = [Variant("luong", score, scope) for score, scope in product(SCORES, SCOPES)]
LUONG_FEEDING = [Variant("luong", score, scope, True) for score, scope in product(SCORES, SCOPES)]
VARIANTS = [*BAHDANAU, *LUONG, *LUONG_FEEDING, Variant("none")]
WIRINGS = [Variant("bahdanau"), Variant("luong"), Variant("luong", input_feeding=True), Variant("none")]

SOURCE_WORDS = tuple("abcdefgh")
TARGET_WORDS = tuple("klmnopq")
SOURCE_TYPES, TARGET_TYPES = len(SPECIALS) + len(SOURCE_WORDS), len(SPECIALS) + len(TARGET_WORDS)
EMBEDDING, ENCODER_HIDDEN, DECODER_HIDDEN, ADDITIVE = 4, 3, 5, 7
WINDOW = 2

# B = 3, S = 8 (one sentence of EOS alone), T = 5: all different from each other, and from the sizes above.
SOURCES = [[4, 9, 11, 5], [7, 6, 5, 4, 8, 10, 4], []]
TARGETS = [[10, 4, 7, 5], [6, 6], [9]]


def parametrised(variants):
    return {"argvalues": variants, "ids": str}


def config_of(variant: Variant, layers: int = 1, window: int = WINDOW, **changes):
    values = {
        "embedding_size": EMBEDDING,
        "encoder": {"hidden_size": ENCODER_HIDDEN, "layers": layers},
        "decoder": {
            "hidden_size": 2 * ENCODER_HIDDEN if variant.score == "dot" else DECODER_HIDDEN,
            "layers": layers,
        },
        "attention": {
            "wiring": variant.wiring,
            "score": variant.score,
            "scope": variant.scope,
            "input_feeding": variant.input_feeding,
            "size": ADDITIVE,
            "window": window,
        },
    }
    return ModelConfig.model_validate(values | changes)


def randomise(module: torch.nn.Module, seed: int = 0, scale: float = 0.7) -> None:
    """All parameters from N(0, scale²), the biases too, which an initialisation leaves at 0."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0, scale, generator=generator)


def tiny_model(variant: Variant, layers: int = 1, seed: int = 0, window: int = WINDOW):
    """In double precision and evaluation mode."""
    model = build_model(config_of(variant, layers, window), SOURCE_TYPES, TARGET_TYPES).double().eval()
    randomise(model, seed)
    return model


def tiny_codecs():
    tokenizer = make_tokenizer("whitespace", "de", False)
    return (
        Codec(tokenizer, Vocabulary(SPECIALS + SOURCE_WORDS)),
        Codec(tokenizer, Vocabulary(SPECIALS + TARGET_WORDS)),
    )


def encode(model, sources: Sequence[Sequence[int]] = SOURCES):
    """The decoder's initial state and memory for some sentences, padded to a batch."""
    return model.encode(*pad_source(sources))


def decoder_inputs(targets: Sequence[Sequence[int]] = TARGETS):
    return [[BOS, *target] for target in targets]


def _array(tensor):
    return tensor.detach().numpy().copy()


def _linear(module):
    return _array(module.weight), _array(module.bias)


def attention_weights(attention, score: str, scope: str, window: int) -> AttentionWeights:
    matrices = {}
    if score in ("additive", "concat"):
        scorer = attention.score
        matrices |= {
            "w_a": _array(scorer.query.weight),
            "u_a": _array(scorer.memory.weight),
            "v_a": _array(scorer.v.weight)[0],
        }
    elif score == "general":
        matrices |= {"w_a": _array(attention.score.memory.weight)}
    if scope == "local_p":
        matrices |= {"w_p": _array(attention.scope.hidden.weight), "v_p": _array(attention.scope.v.weight)[0]}
    return AttentionWeights(score, scope, matrices, window)


def decoder_weights(model, variant: Variant, window: int = WINDOW) -> DecoderWeights:
    decoder = model.decoder
    if variant.wiring == "none":
        attention = AttentionWeights("", "fixed")
    else:
        attention = attention_weights(decoder.attention, variant.score, variant.scope, window)
    # The model keeps the first layer's W_ih in the two blocks that read the word and what attention gives.
    w_ih, b_ih = _linear(decoder.embedding_gates)
    if variant.wiring != "luong":
        w_ih = np.concatenate([w_ih, _array(decoder.context_gates.weight)], axis=1)
    elif variant.input_feeding:
        w_ih = np.concatenate([w_ih, _array(decoder.feed_gates.weight)], axis=1)
    inputs = [(w_ih, b_ih), *map(_linear, decoder.rnn.upper)]
    layers = [(*i, *_linear(r)) for i, r in zip(inputs, decoder.rnn.recurrent, strict=True)]
    (w_s, b_s), (w_y, b_y) = _linear(decoder.bridge), _linear(decoder.output)
    own = {}
    if variant.wiring == "luong":
        own["w_c"] = _array(decoder.combine.weight)
    else:
        own["w_o"], own["b_o"] = _linear(decoder.readout)
    return DecoderWeights(
        wiring=variant.wiring,
        input_feeding=variant.input_feeding,
        attention=attention,
        embedding=_array(decoder.embedding.weight),
        w_s=w_s,
        b_s=b_s,
        layers=layers,
        w_y=w_y,
        b_y=b_y,
        **own,
    )


def gru_weights(rnn: torch.nn.GRU):
    """For each layer (forward, backward): W_ih, b_ih, W_hh, b_hh."""
    return [
        tuple(
            tuple(
                _array(getattr(rnn, f"{kind}_l{layer}{direction}"))
                for kind in ("weight_ih", "bias_ih", "weight_hh", "bias_hh")
            )
            for direction in ("", "_reverse")
        )
        for layer in range(rnn.num_layers)
    ]


def encode_alone(model, source: Sequence[int]):
    """Values (S M) and final state of one sentence, by the formulas; `source` comes with its EOS."""
    embedding = _array(model.encoder.embedding.weight)
    return bidirectional_gru([embedding[i] for i in source], gru_weights(model.encoder.rnn))

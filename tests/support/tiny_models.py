"""Tiny random models of every wiring, score, scope, normalizer and variant."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, product

import pytest
import torch

from nmt.build import build_model
from nmt.components import CELLS, NORMALIZERS, SCOPES, SCORES
from nmt.config.model import ModelConfig
from nmt.data.batching import pad_source
from nmt.model.scopes import LocalScope
from nmt.registry import options_of
from nmt.text.codec import Codec
from nmt.text.tokenizers import TOKENIZERS
from nmt.text.vocabulary import BOS, SPECIALS, Vocabulary
from support.all_pairs import all_pairs

torch.set_num_threads(1)  # the tensors here are so small that threads would only wait for each other

# Tiny models


@dataclass(frozen=True)
class Variant:
    """One combination of the attention's axes; `extra` is one of EXTRAS, `other` one of OTHERS, or nothing."""

    wiring: str
    score: str = "additive"
    scope: str = "global"
    input_feeding: bool = False
    extra: str = ""
    other: str = ""
    normalizer: str = "softmax"

    def __str__(self):
        normalizer = "" if self.normalizer == "softmax" else self.normalizer
        axes = [self.score, self.scope, normalizer, "feeding" if self.input_feeding else "", self.extra]
        parts = [self.wiring, *([] if self.wiring == "none" else axes), self.other]
        return "-".join(part for part in parts if part)


EXTRAS = {
    "hard": {"hard": True},
    "key_value": {"key_value": True},
    "heads": {"heads": 2},
    "projected": {"projected": True},
    "coverage": {"coverage": True},
}
# What else a model may be made of: sections of its config.
OTHERS = {
    "maxout": {"decoder": {"readout": "maxout"}},
    "linear": {"decoder": {"readout": "linear"}},
    "self_attention": {"encoder": {"self_attention": 2}},
    **{cell: {"cell": cell} for cell in CELLS if cell != "gru"},
}
LOCAL = [name for name, scope in SCOPES.items() if issubclass(scope, LocalScope)]
# Each score, and each extra with the score that its paper used, or Luong's own
KINDS = [
    *((score, "") for score in SCORES),
    *(("additive" if extra == "coverage" else "general", extra) for extra in EXTRAS),
]
FEEDINGS = [("bahdanau", False), ("luong", False), ("luong", True)]
ADDED_CELLS = [cell for cell in CELLS if cell not in ("gru", "lstm")]
OTHER = [
    Variant("none"),
    *(Variant(wiring, other=readout) for wiring in ("bahdanau", "none") for readout in ("maxout", "linear")),
    Variant("bahdanau", "general", "local_p", extra="key_value", other="self_attention"),
    Variant("luong", input_feeding=True, other="self_attention"),
    *(Variant(wiring, other="lstm") for wiring in ("bahdanau", "luong", "none")),
    Variant("luong", "general", input_feeding=True, extra="coverage", other="lstm"),
    Variant("bahdanau", "additive", "local_p", other="lstm"),
    Variant("luong", "general", "local_m", extra="heads", other="lstm"),
    Variant("luong", "scaled_general", "hierarchical", extra="key_value", other="lstm"),
    Variant("luong", "additive", "local_m", other="self_attention"),
    Variant("bahdanau", "dot", extra="projected", other="maxout"),
    Variant("bahdanau", "general", "hierarchical", extra="heads", other="linear"),
    *(
        Variant(w, input_feeding=f, other=c)
        for c, (w, f) in zip(
            ADDED_CELLS, cycle([*FEEDINGS[1:], FEEDINGS[0]]), strict=False
        )  # lru not with bahdanau, where rounding grows
    ),
]


def crossed(*axes):
    """Variants that cover the pairs of wiring, score or extra, scope, normalizer, more axes; and OTHER with those."""
    spread = [
        (Variant(wiring, score, scope, feeding, extra, normalizer=normalizer), *values)
        for (wiring, feeding), (score, extra), scope, normalizer, *values in all_pairs(
            FEEDINGS, KINDS, SCOPES, NORMALIZERS, *axes
        )
    ]
    return [*spread, *((variant, *values) for variant, values in zip(OTHER, cycle(product(*axes)), strict=False))]


VARIANTS = [variant for (variant,) in crossed()]
# Each score, extra, scope, normalizer and wiring, for what they do not decide together
EACH_ONCE = [
    *(
        Variant(wiring, score, scope, feeding, extra, normalizer=normalizer)
        for (score, extra), (wiring, feeding), scope, normalizer in zip(
            KINDS, cycle(FEEDINGS), cycle(SCOPES), cycle(NORMALIZERS), strict=False
        )
    ),
    *OTHER,
]
WIRINGS = [Variant("bahdanau"), Variant("luong"), Variant("luong", input_feeding=True), Variant("none")]

SOURCE_WORDS = tuple("abcdefgh")
TARGET_WORDS = tuple("klmnopq")
SOURCE_TYPES, TARGET_TYPES = len(SPECIALS) + len(SOURCE_WORDS), len(SPECIALS) + len(TARGET_WORDS)
EMBEDDING, ENCODER_HIDDEN, DECODER_HIDDEN, ADDITIVE = 4, 3, 5, 7
WINDOW = 2
POSITIONS = 5  # that location knows: not all there are
OPTIONS = {"size": ADDITIVE, "positions": POSITIONS, "window": WINDOW}  # of parts; others keep their defaults
ENDS = (5, 7)  # source ids that end a segment

# B = 3, S = 8 (one sentence of EOS alone), T = 5: all different from each other, and from the sizes above.
SOURCES = [[4, 9, 11, 5], [7, 6, 5, 4, 8, 10, 4], []]
TARGETS = [[10, 4, 7, 5], [6, 6], [9]]
TEXTS = [
    " ".join(SOURCE_WORDS[i - len(SPECIALS)] for i in source)
    for source in (*SOURCES[:2], [4], [8, 8, 5], [11, 10, 9, 8, 7, 6, 5, 4], [5, 6])
]


def parametrised(variants):
    return {"argvalues": variants, "ids": str}


def each_crossed(**axes):
    """Parametrizes a test by `variant` and further axes, pairwise."""
    return pytest.mark.parametrize(("variant", *axes), crossed(*axes.values()), ids=str)


def tiny_options(part, **others):
    """Values for the options of a part that make it fit the tiny models."""
    values = OPTIONS | others
    return {field: values[field] for field in options_of(part).model_fields if field in values}


def config_of(variant: Variant, layers: int = 1, window: int = WINDOW, **changes):
    attention, encoder, decoder = {"wiring": variant.wiring}, ENCODER_HIDDEN, DECODER_HIDDEN
    if variant.wiring == "luong":
        attention["input_feeding"] = variant.input_feeding
    if variant.wiring != "none":
        axes = {"score": variant.score, "scope": variant.scope, "normalizer": variant.normalizer}
        options = tiny_options(SCORES[variant.score]) | tiny_options(SCOPES[variant.scope], window=window)
        attention |= axes | options | EXTRAS.get(variant.extra, {})
    if variant.extra == "key_value":
        encoder += 1
    if variant.extra == "heads" or SCORES[variant.score].equal_sizes_or:
        decoder = 2 * encoder
    other = OTHERS.get(variant.other, {})
    values = {
        "embedding_size": EMBEDDING,
        "encoder": {"hidden_size": encoder, "layers": layers} | other.get("encoder", {}),
        "decoder": {"hidden_size": decoder, "layers": layers} | other.get("decoder", {}),
        "attention": attention,
        "cell": other.get("cell", "gru"),
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
    model = build_model(config_of(variant, layers, window), SOURCE_TYPES, TARGET_TYPES, ENDS).double().eval()
    randomise(model, seed)
    return model


def monotonic_model(wiring="bahdanau", feeding=False, score="additive", chunk=1, seed=0, **changes):
    """With monotonic attention, in double precision and evaluation mode; `changes` replace fields of `model`."""
    config = config_of(Variant(wiring, score, input_feeding=feeding))
    attention = {k: v for k, v in config.attention.model_dump().items() if k not in ("normalizer", "hard", "coverage")}
    attention["monotonic"] = {"chunk": chunk, "noise": 0.0}
    sizes = {side: getattr(config, side).model_dump() | {"dropout": 0} for side in ("encoder", "decoder")}
    changes |= sizes | {"attention": attention, "embedding_dropout": 0}
    config = ModelConfig.model_validate(config.model_dump() | changes)
    model = build_model(config, SOURCE_TYPES, TARGET_TYPES, ENDS).double().eval()
    randomise(model, seed)
    return model


def tiny_codecs():
    tokenizer = TOKENIZERS["whitespace"].make("de", False, None)
    return (
        Codec(tokenizer, Vocabulary(SPECIALS + SOURCE_WORDS), language="de"),
        Codec(tokenizer, Vocabulary(SPECIALS + TARGET_WORDS), language="en"),
    )


def ids_of(translation):
    return tuple(tiny_codecs()[1].vocabulary.tokens.index(token) for token in translation.tokens)


def encode(model, sources: Sequence[Sequence[int]] = SOURCES):
    """The decoder's initial state and memory for some sentences, padded to a batch."""
    return model.encode(*pad_source(sources))


def decoder_inputs(targets: Sequence[Sequence[int]] = TARGETS):
    return [[BOS, *target] for target in targets]

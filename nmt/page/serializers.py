"""What the page's server answers: explanations as plain values, of which JSON is made."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module

from nmt.decoding.translation import Translation
from nmt.model.luong import LuongDecoder
from nmt.page.beam_tree import Node
from nmt.page.explanation import Explanation
from nmt.page.neighbours.index import Neighbour, seq2seq
from nmt.page.steps import DecodingStep
from nmt.plots.labels import token_labels
from nmt.system import bundled
from nmt.text.tokenizers import Tokenizer
from nmt.text.vocabulary import EOS_TOKEN
from nmt.text.words import word_numbers
from nmt.translator import Translator

TERMS = "for non-commercial research and education only, like its training text, Multi30k"  # of the bundled models


def of_model(number: str, name: str, translator: Translator, *, indexed: bool = False) -> dict[str, Any]:
    """What a page needs of a model; `indexed`: it has an index of neighbours."""
    search, (source, target) = translator.search, translator.languages
    decoder = seq2seq(translator).decoder
    vocabularies = [side.vocabulary.tokens for side in (translator.source, translator.target)]
    return {
        "id": number,
        "name": name,
        "source_language": source,
        "target_language": target,
        "terms": TERMS if Path(translator.name).resolve() in bundled.checkpoints() else None,
        "attention": translator.has_attention,
        "wiring": "luong" if isinstance(decoder, LuongDecoder) else "bahdanau" if translator.has_attention else "none",
        "score": _formula(getattr(decoder.attention, "score", None)),
        "scope": _formula(getattr(decoder.attention, "scope", None)),
        "neighbours": indexed,
        "beam_size": search.beam_size,
        "length_penalty": search.length_penalty,
        "max_length": search.max_length,
        "max_source_length": search.max_source_length,
        "unlike_below": translator.threshold,
        "unlike_above": translator.rarity_threshold,
        "source_words": len(translator.source.vocabulary),
        "target_words": len(translator.target.vocabulary),
        "vocabulary": hashlib.sha256(json.dumps(vocabularies).encode()).hexdigest()[:16],  # one for the same tokens
    }


def _formula(component: Module | None) -> str | None:
    """The formula that a score's or scope's docstring begins with, before the paper in parentheses."""
    first = " ".join((component.__doc__ or "").split("\n\n")[0].split()) if component else None
    return first and re.split(r" \([^()]*\)[.;]", f"{first}.", maxsplit=1)[0].removesuffix(".")


def of_translation(translation: Translation) -> dict[str, Any]:
    return {"text": translation.text, "tokens": translation.tokens, "score": translation.score}


def of_checked(translation: Translation) -> dict[str, Any]:
    """The same with attention, and with what there is to doubt."""
    attention = None if translation.attention is None else translation.attention.tolist()
    more: dict[str, Any] = {"source_tokens": translation.source_tokens, "attention": attention}
    more |= {"n_best": list(map(of_translation, translation.n_best))} if translation.n_best else {}
    return of_translation(translation) | more | translation.checks


def of_explanation(translator: Translator, explanation: Explanation) -> dict[str, Any]:
    """All of an explanation: its values rounded to what can be seen, its tokens also as people read them."""
    best = explanation.translation
    vocabulary = translator.target.vocabulary.tokens
    return {
        "source": of_tokens(translator.source.tokenizer, best.source_tokens),
        "target": of_tokens(translator.target.tokenizer, best.tokens),
        **of_translation(best),
        "source_rarity": best.source_rarity,
        "segments": list(best.segments or ()),
        "n_best": [of_translation(one) for one in (best.n_best or (best,)) if one.tokens],
        "greedy": of_translation(explanation.greedy),
        "steps": [of_step(step, vocabulary) for step in explanation.steps],
        "tree": of_tree(explanation.tree, vocabulary),
    }


def of_reading(translator: Translator, text: str, tokens: Sequence[str], steps: Sequence[DecodingStep]) -> Any:
    """The same of a translation that the model was made to write, which has no search."""
    source = [*translator.source.tokenize(text)[: translator.search.max_source_length], EOS_TOKEN]
    return {
        "source": of_tokens(translator.source.tokenizer, source if tokens else []),
        "target": of_tokens(translator.target.tokenizer, tokens),
        "tokens": list(tokens),
        "steps": [of_step(step, translator.target.vocabulary.tokens) for step in steps],
    }


def of_neighbour(translator: Translator, neighbour: Neighbour) -> dict[str, Any]:
    """A word in a training pair, and how like another it is."""
    return {
        "likeness": round(neighbour.likeness, 5),
        "place": neighbour.place,
        "source": of_tokens(translator.source.tokenizer, neighbour.source),
        "target": of_tokens(translator.target.tokenizer, neighbour.target),
    }


def of_tokens(tokenizer: Tokenizer, tokens: Sequence[str]) -> list[dict[str, Any]]:
    """Each token, its label, and the number of the word that it is part of."""
    numbers = word_numbers(tokens, tokenizer.pieces)
    labels = token_labels(tokens)
    return [
        {"token": token, "label": label.text, "kind": label.kind, "word": number}
        for token, label, number in zip(tokens, labels, numbers, strict=True)
    ]


def of_step(step: DecodingStep, vocabulary: Sequence[str]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "token": vocabulary[step.chosen],
        "probability": step.probability,
        "place": step.place,
        "likeliest": [{"token": vocabulary[token], "probability": p} for token, p in step.likeliest],
        "query": _numbers(step.query, 3),
        "context": _numbers(step.context, 3),
    }
    trace = step.attention
    if trace is None:
        return entry | {"weights": None}
    return entry | {
        "weights": _numbers(trace.weights.mean(dim=0)),
        "heads": _numbers(trace.weights) if len(trace.weights) > 1 else None,
        "scores": _numbers(trace.scores, 4),
        "parts": _numbers(trace.contributions, 4),
        "centre": None if trace.centre is None else _numbers(trace.centre, 3),
        "window": trace.window,
        "coverage": None if trace.coverage is None else _numbers(trace.coverage, 4),
    }


def of_tree(nodes: Sequence[Node], vocabulary: Sequence[str]) -> list[dict[str, Any]]:
    rounded = ("log_probability", "penalty", "score")
    return [
        asdict(node) | {"token": vocabulary[node.token]} | {name: round(getattr(node, name), 5) for name in rounded}
        for node in nodes
    ]


def _numbers(tensor: Tensor, digits: int = 6) -> Any:
    """Nested lists. What is not finite, which JSON has no name for, is as good as 0 here."""
    finite = torch.nan_to_num(tensor.double(), nan=0.0, posinf=0.0, neginf=0.0)
    return torch.round(finite, decimals=digits).tolist()

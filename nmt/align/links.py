"""Links between the words of sentence pairs: by a model's attention while it reads the target, or by the text alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float

from nmt.align.lexicon import lexical_links
from nmt.align.symmetrization import Symmetrization, symmetrize
from nmt.data.store import Rows
from nmt.decoding.word_alignment import Link, best_links
from nmt.evaluation.alignment import attend_words, word_pairs
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText

if TYPE_CHECKING:
    from nmt.translator import Translator


class Attended(NamedTuple):
    """A pair's links, and the attention of its words by the model, and by that of the opposite direction."""

    links: frozenset[Link]
    weights: Float[np.ndarray, "T S"]
    reverse_weights: Float[np.ndarray, "S T"] | None


def check_models(translator: Translator, reverse: Translator | None) -> None:
    """Raise `UserError` for a model without attention, and for one that is not the other's opposite."""
    for one in filter(None, (translator, reverse)):
        if not one.has_attention:
            raise UserError(f"{one.name} has no attention (model.attention.wiring: none): align with another model")
    if reverse is not None and reverse.languages != translator.languages[::-1]:
        of_reverse, of_model = ("→".join(one.languages) for one in (reverse, translator))
        raise UserError(f"--reverse {reverse.name} translates {of_reverse}, not the opposite of {of_model}")


def attended(
    translator: Translator,
    text: ParallelText,
    *,
    reverse: Translator | None = None,
    symmetrization: Symmetrization = "grow-diag-final-and",
) -> Iterator[Attended]:
    """The links of each pair between words that white space separates.

    Each target word is linked as by `best_links`; of `reverse`, each source word to target words, and both are
    symmetrised.
    """
    opposite = ParallelText(text.target, text.source)
    backward = _attend(reverse, opposite) if reverse is not None else iter([None] * len(text.source))
    for weights, of_reverse in zip(_attend(translator, text), backward, strict=True):
        links = best_links(weights, translator.guided)
        if of_reverse is not None:
            backward_links = best_links(of_reverse, reverse is not None and reverse.guided)
            links = symmetrize(links, frozenset((s, t) for t, s in backward_links), symmetrization)
        yield Attended(links, weights, of_reverse)


def _attend(translator: Translator, text: ParallelText) -> Iterator[Float[np.ndarray, "T S"]]:
    """The attention of each pair's target words to its source words; an empty side has none.

    A token's attention is that of the step that predicts it. The next step, which reads it, aligns far worse in models
    of both wirings, unlike in transformers (Chen et al. 2020, section 3).
    """
    return attend_words(translator, text, word_pairs(text, translator.languages, "whitespace"))


def of_text(text: ParallelText, symmetrization: Symmetrization = "grow-diag-final-and") -> Iterator[list[Link]]:
    """The links of each pair that its text alone teaches, between words that white space separates."""
    (source, source_words), (target, target_words) = (_as_ids(side) for side in (text.source, text.target))
    links = lexical_links(source, target, tokens=(source_words, target_words), symmetrization=symmetrization)
    return ([(s, t) for s, t in links[pair].tolist()] for pair in range(len(links)))


def _as_ids(sentences: Sequence[str]) -> tuple[Rows, list[str]]:
    """The words of some sentences, lower-cased, as ids, and the words by id."""
    ids: dict[str, int] = {}
    words = [sentence.lower().split() for sentence in sentences]
    values = [ids.setdefault(word, len(ids)) for sentence in words for word in sentence]
    return Rows(np.array(values, dtype=np.int32), np.array([*map(len, words)], dtype=np.int32)), list(ids)

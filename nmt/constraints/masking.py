"""Masks in a call of `translate`: what search must write for them, and the spans that return in their places.

Models that were trained with `data.protect` have masks in their vocabularies. Others read and write `<unk>` for each;
then attention says which is which (Luong et al. 2015, section 5.4): the largest weights first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from jaxtyping import Float
from torch import Tensor

from nmt.constraints.progress import Forms
from nmt.constraints.protect import Masked, in_order, mask
from nmt.decoding.translation import Translation
from nmt.system.errors import CONTROLS
from nmt.text.codec import Codec
from nmt.text.limits import Readable
from nmt.text.tokenizers.base import MASKS, Tokenizer
from nmt.text.vocabulary import UNK, UNK_TOKEN, without_end


def mask_ids(source: Codec, target: Codec) -> dict[str, int]:
    """The target ids of the masks that both vocabularies have."""
    ids = dict(zip(MASKS, target.vocabulary.encode(MASKS), strict=True))
    return {character: i for character, i in ids.items() if UNK not in (i, *source.vocabulary.encode([character]))}


@dataclass(frozen=True)
class Masking:
    """Texts with masks, and the model's ids of masks: none, if it writes `<unk>` for them."""

    texts: tuple[Masked, ...]
    ids: Mapping[str, int]
    target: Tokenizer

    @classmethod
    def of(
        cls, texts: Sequence[str], patterns: Sequence[re.Pattern[str]], ids: Mapping[str, int], target: Tokenizer
    ) -> Masking:
        masks = "".join(ids) or MASKS
        return cls(tuple(mask(text, patterns, masks, join=not ids) for text in texts), ids, target)

    @property
    def reserved(self) -> list[int]:
        """The target ids that are written for masks, and for nothing else."""
        return list(self.ids.values()) or [UNK]

    def constraints(self, sentences: Sequence[Readable]) -> tuple[list[list[Forms]], list[set[int]]]:
        """Of each sentence of the texts: one constraint for each mask that is read, and the ids whose order counts."""
        spans = iter([pair for text in self.texts for pair in zip(text.pairs, in_order(text.spans), strict=True)])
        constraints, ordered = list[list[Forms]](), list[set[int]]()
        for sentence in sentences:
            constraints.append([((self._id(token),),) for token in sentence.tokens if not _MASKS.isdisjoint(token)])
            of_sentence = [next(spans) for character in sentence.text if character in _MASKS]
            ordered.append({self.ids[character] for (character, _), is_next in of_sentence if is_next and self.ids})
        return constraints, ordered

    def restored(self, number: int, translation: Translation) -> Translation:
        """A translation of the text with this number, with spans in the places of its masks."""
        spans = iter(self.texts[number].spans)
        if not translation.sentences:
            return self._restored(translation, spans)
        parts = [self._restored(part, spans) for part in translation.sentences]
        return Translation.joined(parts, [*_gaps(translation.text, translation.sentences)])

    def _restored(self, sentence: Translation, spans: Iterator[str]) -> Translation:
        """A translation of a sentence that has the next of the spans."""
        count = sum(character in _MASKS for character in sentence.source)
        masked = Masked(sentence.source, tuple(islice(spans, count)))
        if not self.ids:
            tokens = _named(sentence)
            text = CONTROLS.sub("", self.target.detokenize([*without_end(tokens)]))
            sentence = replace(sentence, tokens=tokens, text=_spaced(text, sentence.source))
        sentence = replace(sentence, attention=_exact_attention(sentence))
        return replace(
            sentence,
            text=masked.restore([sentence.text])[0],
            tokens=masked.restore(sentence.tokens),
            source=masked.restore([sentence.source])[0],
            source_tokens=masked.restore(sentence.source_tokens),
            n_best=tuple(self._restored(one, iter(masked.spans)) for one in sentence.n_best),
        )

    def _id(self, token: str) -> int:
        return self.ids.get(token, UNK)


_MASKS = frozenset(MASKS)


def _gaps(text: str, sentences: Sequence[Translation]) -> Iterator[str]:
    """The white space between the sentences of a text."""
    for sentence in sentences[:-1]:
        rest = text[len(sentence.text) :]
        text = rest.lstrip()
        yield rest[: len(rest) - len(text)]


def _exact_attention(sentence: Translation) -> Float[Tensor, "T S"] | None:
    """The attention, in which a mask has the weight 1 at its place in the source: there is no doubt about that."""
    if sentence.attention is None:
        return None
    weights, places = sentence.attention.clone(), dict[str, list[int]]()
    for place, token in enumerate(sentence.source_tokens):
        for character in filter(_MASKS.__contains__, token):
            places.setdefault(character, []).append(place)
    for row, token in enumerate(sentence.tokens):
        of_mask = places.get(token[-1:], [])
        if of_mask and token[-1] in _MASKS:
            weights[row] = 0.0
            weights[row, of_mask.pop(0)] = 1.0
    return weights


def _spaced(text: str, source: str) -> str:
    """The text, with a blank between a mask and the letters beside it, unless letters are there in the source, too.

    A model that never read masks writes none. So is a blank behind a sign, if the source has one before the mask.
    """
    edges = {source[n]: (source[n - 1 : n], source[n + 1 : n + 2]) for n in range(len(source)) if source[n] in _MASKS}
    result = ""
    for piece in re.split(f"([{MASKS}])", text):
        last = result[-1:]
        if piece in edges:
            before = edges[piece][0]
            touches = (last.isalnum() or last in edges) and not before.isalnum()
            result += " " if touches or (before.isspace() and last and last in ",;:.!?") else ""
        elif last in edges and piece[:1].isalnum() and not edges[last][1].isalnum():
            result += " "
        result += piece
    return result


def _named(sentence: Translation) -> list[str]:
    """The tokens of a translation, with the source's masks for each `<unk>`."""
    sources = [n for n, token in enumerate(sentence.source_tokens) if not _MASKS.isdisjoint(token)]
    targets = [n for n, token in enumerate(sentence.tokens) if token == UNK_TOKEN]
    tokens, weights = list(sentence.tokens), sentence.attention
    links = list(zip(targets, sources, strict=False))
    if weights is not None:
        free = {*targets}, {*sources}
        links = []
        for _, t, s in sorted((-weights[t, s].item(), t, s) for t in targets for s in sources):
            if t in free[0] and s in free[1]:
                free[0].remove(t)
                free[1].remove(s)
                links.append((t, s))
    for t, s in links:
        tokens[t] = "".join(filter(_MASKS.__contains__, sentence.source_tokens[s]))
    return tokens

"""A translation as a value: text, tokens, score and attention, and how it is shown."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import one_hot

from nmt.decoding.word_alignment import Link, best_links, token_shares, word_attention
from nmt.system.errors import UserError
from nmt.system.wording import counted
from nmt.text.sentences import Sentences
from nmt.text.vocabulary import EOS_TOKEN, without_end
from nmt.text.words import joined, word_numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Translation:
    """One translation of one sentence, or of a text of several. In a notebook it shows text, score and attention.

    Both token lists end with `<eos>` (the hypothesis only if the search got that far), because attention does: it is
    (T S), a row per token and a column per source token, or None for a model without attention or if not asked for.
    `score` is the log-probability in nats divided by the length penalty. `n_best` holds the sentence's translations,
    this one first, if more than one was asked for. `segments` are the numbers of the source tokens' segments, from 0,
    if attention knows segments (`model.attention.scope: hierarchical`).

    What to doubt: `mean_log_probability` is that of the tokens, in nats, and `source_rarity` how rare the source's
    tokens are (`Codec.rarity`); `is_unlike_training` says whether one is beyond the checkpoint's threshold for it, and
    is None without one, with sampling, and behind a prefix. `is_source_cut` and
    `is_cut` say what was too long. `missing_numbers` are numbers of the source that the translation lacks,
    `new_numbers` those that only it has; `is_repetitive` says that words repeat, and not in the source. `doubts` has
    it in words, but for a source that was cut, which is reported when it is read.

    `source` is the text that was read. `sentences` are the translations of a text's sentences, if it has several. Then
    `score` is the sum of their log-probabilities, and only they have attention; the n-th of the `n_best` joins the n-th
    of each.
    """

    text: str
    tokens: list[str]
    source_tokens: list[str]
    score: float
    attention: Float[Tensor, "T S"] | None
    n_best: tuple[Translation, ...] = ()
    segments: tuple[int, ...] | None = None
    mean_log_probability: float = 0.0
    source_rarity: float = 0.0
    is_unlike_training: bool | None = None
    is_source_cut: bool = False
    missing_numbers: tuple[str, ...] = ()
    new_numbers: tuple[str, ...] = ()
    is_repetitive: bool = False
    sentences: tuple[Translation, ...] = ()
    source: str = ""
    guided: bool = False  # whether attention was trained by guided alignment

    @property
    def alignment(self) -> tuple[Link, ...] | None:
        """The links (source word, target word) between the words of `source` and `text`, which white space separates.

        They are counted from 0, and made from attention by `best_links`. None without attention.
        """
        if self.attention is None and not self.sentences:
            return None
        return tuple(sorted(best_links(self.word_weights, self.guided), key=lambda link: link[::-1]))

    @property
    def word_weights(self) -> Float[np.ndarray, "T S"]:
        """The attention of the words of `text` to those of `source`, of all `sentences`; 0 without attention."""
        blocks = []
        for part in self.sentences or (self,):
            source, target, tokens = part.source.split(), part.text.split(), without_end(part.tokens)
            weights = np.zeros((len(target), len(source)))
            if part.attention is not None and part.tokens:
                shares = token_shares(part.source_tokens[:-1], source), token_shares(tokens, target)
                weights = word_attention(part.attention.numpy()[: len(tokens)], *shares)
            blocks.append(torch.from_numpy(weights))
        return torch.block_diag(*blocks).numpy()

    @property
    def is_cut(self) -> bool:
        """Whether it, or one of its sentences, was cut off at `search.max_length`."""
        parts = self.sentences or (self,)
        return any(part.tokens[-1:] not in ([], [EOS_TOKEN]) for part in parts)

    @property
    def checks(self) -> dict[str, Any]:
        """What `doubts` is made of, as JSON has it."""
        return {
            "mean_log_probability": self.mean_log_probability,
            "source_rarity": self.source_rarity,
            "unlike_training": self.is_unlike_training,
            "source_cut": self.is_source_cut,
            "translation_cut": self.is_cut,
            "missing_numbers": list(self.missing_numbers),
            "new_numbers": list(self.new_numbers),
            "repetitive": self.is_repetitive,
        }

    @property
    def doubts(self) -> list[str]:
        """Why not to trust the translation, in a few words each."""
        reasons = {
            "unlike the training text": bool(self.is_unlike_training),
            f"cut off after {counted(len(self.tokens), 'token')} (max_length)": self.is_cut,
            f"numbers missing: {', '.join(self.missing_numbers)}": self.missing_numbers,
            f"new numbers: {', '.join(self.new_numbers)}": self.new_numbers,
            "words repeat": self.is_repetitive,
        }
        return [reason for reason, applies in reasons.items() if applies]

    @classmethod
    def joined(cls, sentences: Sequence[Translation], gaps: Sequence[str]) -> Translation:
        """The translation of a text whose sentences have these, with that white space between each two."""
        if len(sentences) == 1:
            return sentences[0]
        ranked = [sentence.n_best for sentence in sentences]
        count = max(map(len, ranked))
        n_best = [cls.joined([n_best[min(n, len(n_best) - 1)] for n_best in ranked], gaps) for n in range(count)]
        tokens = [token for sentence in sentences for token in sentence.tokens]
        score = sum(sentence.mean_log_probability * len(sentence.tokens) for sentence in sentences)
        unlike = {sentence.is_unlike_training for sentence in sentences}
        return cls(
            text="".join(chain(*zip((sentence.text for sentence in sentences), [*gaps, ""], strict=True))),
            tokens=tokens,
            source_tokens=[token for sentence in sentences for token in sentence.source_tokens],
            score=score,
            attention=None,
            n_best=tuple(n_best),
            mean_log_probability=score / max(len(tokens), 1),
            source_rarity=max(sentence.source_rarity for sentence in sentences),
            is_unlike_training=True in unlike if unlike != {None} else None,
            is_source_cut=any(sentence.is_source_cut for sentence in sentences),
            missing_numbers=tuple(number for sentence in sentences for number in sentence.missing_numbers),
            new_numbers=tuple(number for sentence in sentences for number in sentence.new_numbers),
            is_repetitive=any(sentence.is_repetitive for sentence in sentences),
            sentences=tuple(sentences),
            guided=sentences[0].guided,
            source="".join(chain(*zip((sentence.source for sentence in sentences), [*gaps, ""], strict=True))),
        )

    @property
    def levels(self) -> tuple[Float[Tensor, "T G"], Float[Tensor, "T S"]] | None:
        """Attention to segments, γ, and to tokens within each segment, β, where attention knows segments.

        `attention` is their product. Where a segment has weight 0, β is 0, too.
        """
        if self.attention is None or not self.segments:
            return None
        numbers = torch.tensor(self.segments)
        of_segments = self.attention.new_zeros(len(self.attention), int(numbers.max()) + 1)
        of_segments = of_segments.index_add(1, numbers, self.attention)
        return of_segments, torch.nan_to_num(self.attention / of_segments[:, numbers])

    def in_words(self) -> Translation:
        """The same translation with the pieces of each word joined: a word's attention is the sum over source pieces,
        and the mean over target pieces.
        """
        if self.attention is None or not self.tokens:
            return self
        numbers = source, target = word_numbers(self.source_tokens), word_numbers(self.tokens)
        columns, rows = (one_hot(torch.tensor(side)).to(self.attention) for side in numbers)
        return replace(
            self,
            tokens=joined(self.tokens, target),
            source_tokens=joined(self.source_tokens, source),
            attention=rows.T @ self.attention @ columns / rows.sum(dim=0).unsqueeze(1),
            segments=self.segments and tuple(self.segments[source.index(word)] for word in range(source[-1] + 1)),
        )

    def plot(self, path: str | Path | None = None, *, pieces: bool = False) -> Figure:
        """Draw the attention as a heat map: source words along the top, the translation's down the side.

        Words are those of `in_words`; with `pieces`, tokens are drawn as they are. Where it knows segments, and
        there are several, each of its two levels is a heat map.
        Returns the matplotlib figure, which a notebook shows; with `path` it is also written there, as .png, .svg or
        .pdf. Raises `UserError` if there is no attention to draw, the path has another suffix or cannot be written.
        """
        if self.sentences:
            raise UserError(f"this text has {len(self.sentences)} sentences: draw those in `sentences`, one by one")
        if self.attention is None:
            raise UserError("this translation has no attention: use a model with attention, and translate with it")
        if not self.tokens:
            raise UserError("the sentence is empty, so there is no attention to draw")
        from nmt.plots.heat_map import heat_maps
        from nmt.plots.style import save

        shown = self if pieces else self.in_words()
        panels = {"": shown.attention}
        if shown.segments is not None and shown.segments[-1] > 0 and shown.levels is not None:
            of_segments, within = shown.levels
            panels = {"Which sentence": of_segments[:, list(shown.segments)], "Which word of each sentence": within}
        matrices = [weights.numpy() for weights in panels.values() if weights is not None]
        is_joined = len(shown.tokens) + len(shown.source_tokens) < len(self.tokens) + len(self.source_tokens)
        notes = ["of a word: the sum over source pieces, the mean over target pieces"] if is_joined else []
        [figure] = heat_maps(matrices, shown.source_tokens, shown.tokens, titles=list(panels), notes=notes)
        if path is not None:
            save(figure, Path(path))
        return figure

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        if not self.tokens:
            return "<div><i>(empty sentence)</i></div>"
        if self.sentences:
            return "".join(sentence._repr_html_() for sentence in self.sentences)
        html = f"<div><b>{escape(self.text)}</b> (score {self.score:.2f})</div>"
        if self.attention is not None:
            from nmt.plots.style import render

            image = b64encode(render(self.plot(), "png")).decode()
            html += f'<img src="data:image/png;base64,{image}" alt="attention" style="max-width: 100%"/>'
        else:
            html += f"<div>tokens: {escape(' '.join(self.tokens))}</div>"
        ranked = "".join(f"<li>{escape(t.text)} ({t.score:.2f})</li>" for t in self.n_best)
        return f"{html}<ol>{ranked}</ol>" if ranked else html


def joined_texts(
    texts: Sequence[Sentences], translations: Iterable[tuple[int, Translation]]
) -> Iterator[tuple[int, Translation]]:
    """Each text's index and translation, once all its sentences have one; these are numbered through all texts."""
    owners = [number for number, text in enumerate(texts) for _ in text.sentences]
    of_texts: list[dict[int, Translation]] = [{} for _ in texts]
    for i, translation in translations:
        number = owners[i]
        parts = of_texts[number]
        parts[i] = translation
        if len(parts) == len(texts[number].sentences):
            yield number, Translation.joined([parts[k] for k in sorted(parts)], texts[number].gaps)

"""Strings in, translations out: text, tokens, score and attention as values."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt.checkpoint.contents import Loaded, check_same_tokens, load
from nmt.config.reading import override_search
from nmt.config.search import SearchConfig, SearchPrecision
from nmt.data.batching import Example, collate, pad_source
from nmt.kernels.linear import check_precision, products_in_bf16
from nmt.kernels.packed import packed
from nmt.model.ensemble import Ensemble
from nmt.model.seq2seq import Seq2Seq
from nmt.search import Hypothesis, beam_search, select
from nmt.system.device import choose_device, explaining_memory, keep_freed_memory
from nmt.system.errors import UserError
from nmt.text.codec import Codec
from nmt.text.unknown_words import copied, replacements
from nmt.text.vocabulary import BOS, EOS, EOS_TOKEN, PAD, UNK_TOKEN


@dataclass(frozen=True)
class Translation:
    """One translation of one sentence.

    Both token lists end with `<eos>` (the hypothesis only if the search got so far), because attention does: it is
    (T S), a row per token and a column per source token, or None for a model without attention or if not asked for.
    `score` is the log-probability in nats divided by the length penalty. `n_best` holds the sentence's translations,
    best first and this one among them, if more than one was asked for.
    """

    text: str
    tokens: list[str]
    source_tokens: list[str]
    score: float
    attention: Float[Tensor, "T S"] | None
    n_best: tuple[Translation, ...] = ()


@dataclass(frozen=True)
class _Wanted:
    """How to search, and what to make of what is found."""

    search: SearchConfig
    n_best: int
    replace_unk: bool
    dictionary: Mapping[str, str] | None
    attention: bool


class Translator:
    """A model (or an ensemble) with its codecs and the search settings that it was trained with."""

    def __init__(self, model: Seq2Seq | Ensemble, source: Codec, target: Codec, search: SearchConfig) -> None:
        self.model = model
        self.source = source
        self.target = target
        self.search = search

    @classmethod
    def load(cls, path: str | Path, *others: str | Path, device: str = "auto") -> Translator:
        """The translator in a checkpoint, or the ensemble of several, which searches as the first one says.

        Raises `UserError` if there is none, or no such device, or if the models' vocabularies differ.
        """
        on = choose_device(device)
        return cls.of({str(p): load(p, on) for p in (path, *others)})

    @classmethod
    def of(cls, loaded: Mapping[str, Loaded]) -> Translator:
        """The same of checkpoints that are loaded already, each with its path."""
        (path, first), *others = loaded.items()
        for other_path, other in others:
            check_same_tokens(path, first, other_path, other)
        models = [contents.model for contents in loaded.values()]
        model = Ensemble(models) if others else first.model
        return cls(model, first.source, first.target, first.config.search)

    @property
    def has_attention(self) -> bool:
        return self.model.has_attention

    def translate(
        self,
        sentences: Sequence[str],
        *,
        beam_size: int | None = None,
        length_penalty: float | None = None,
        max_length: int | None = None,
        batch_size: int | None = None,
        precision: SearchPrecision | None = None,
        n_best: int = 1,
        replace_unk: bool = False,
        dictionary: Mapping[str, str] | None = None,
        attention: bool = True,
    ) -> list[Translation]:
        """Translate sentences, in their order; None stands for the checkpoint's own setting.

        Sentences of like length share a batch, which changes no result (in few bits: none but by rounding). An empty
        sentence has an empty translation; of one with more tokens than `search.max_source_length` the rest is cut off,
        which standard error is told.
        `replace_unk` puts the raw source word with the largest attention weight in the place of each `<unk>`, or the
        word that `dictionary` has for it (`nmt.text.unknown_words.replacements` says how words are found);
        `attention=False` saves the time that the weights cost.

        Raises `UserError` for text that is no Unicode, and for options that do not fit: sizes below 1, `n_best` above
        the beam, `replace_unk` with a model that has no attention, `dictionary` without `replace_unk`, or a precision
        that the processor has not.
        """
        if isinstance(sentences, str):
            raise TypeError("translate takes a list of sentences, not one string")
        search = override_search(
            self.search,
            beam_size=beam_size,
            length_penalty=length_penalty,
            max_length=max_length,
            batch_size=batch_size,
            precision=precision,
        )
        wanted = _Wanted(search, n_best, replace_unk, dictionary, attention)
        self._check(wanted)
        keep_freed_memory()
        sources = self._encode(sentences)
        order = [i for i in longest_first(sources) if sources[i]]
        nothing = Translation("", [], [], 0.0, torch.zeros(0, 0) if attention and self.has_attention else None)
        translations = [replace(nothing, n_best=(nothing,) if n_best > 1 else ())] * len(sentences)
        bf16, device = search.precision == "bf16", self.model.device.type
        autocast = torch.autocast(device, torch.bfloat16, enabled=bf16 and device != "cpu")
        with _without_dropout(self.model), products_in_bf16(bf16), autocast:
            model = packed(self.model, search.precision)
            for begin in range(0, len(order), search.batch_size):
                chosen = order[begin : begin + search.batch_size]
                with explaining_memory(partial(_too_large, len(chosen), len(sources[chosen[0]]), search)):
                    batch = self._translate_batch(
                        model, [sentences[i] for i in chosen], [sources[i] for i in chosen], wanted
                    )
                for i, translation in zip(chosen, batch, strict=True):
                    translations[i] = translation
        return translations

    def _encode(self, sentences: Sequence[str]) -> list[list[int]]:
        """The sentences' ids, not more than the search takes; what is cut off is said on standard error."""
        limit = self.search.max_source_length
        for number, sentence in enumerate(sentences, start=1):
            if any("\ud800" <= character <= "\udfff" for character in sentence):  # what is left of bytes, as a rule
                raise UserError(f"sentence {number} is no valid Unicode text: give text in UTF-8")
        sources = [self.source.encode(sentence) for sentence in sentences]
        for sentence, ids in zip(sentences, sources, strict=True):
            if len(ids) > limit:
                begin = " ".join(sentence[:40].split())
                print(
                    f"cut off after {limit} of {len(ids)} tokens (search.max_source_length): {begin} …", file=sys.stderr
                )
                del ids[limit:]
        return sources

    def _check(self, wanted: _Wanted) -> None:
        check_precision("search.precision", wanted.search.precision, self.model.device)
        n_best, beam_size = wanted.n_best, wanted.search.beam_size
        if not 1 <= n_best <= beam_size:
            raise UserError(f"n_best ({n_best}) must lie between 1 and beam_size ({beam_size}); widen the beam")
        if wanted.replace_unk and not self.has_attention:
            raise UserError("replace_unk needs attention, and this model has none (model.attention.wiring: none)")
        if wanted.dictionary is not None and not wanted.replace_unk:
            raise UserError("dictionary serves replace_unk alone: ask for replace_unk too, or leave dictionary out")

    def forced_attention(self, sources: Sequence[str], targets: Sequence[str]) -> list[Float[Tensor, "T S"]]:
        """The attention with which the model would write the given target texts: one matrix per pair, in their order.

        A teacher-forced pass: T are the target's tokens and `<eos>`, S the source's tokens and `<eos>`. Row t is the
        attention of the step that predicts target token t, and so has read only those before it.

        Raises `UserError` if the model has no attention, ValueError if the numbers of sentences differ.
        """
        if not self.has_attention:
            raise UserError("forced attention: this model has no attention (model.attention.wiring: none)")
        examples = [
            Example(self.source.encode(s), self.target.encode(t)) for s, t in zip(sources, targets, strict=True)
        ]
        order = sorted(range(len(examples)), key=lambda i: (-len(examples[i].source), -len(examples[i].target)))
        matrices: dict[int, Tensor] = {}
        with _without_dropout(self.model), torch.inference_mode():
            for begin in range(0, len(order), self.search.batch_size):
                chosen = order[begin : begin + self.search.batch_size]
                padded, lengths = pad_source([examples[i].source for i in chosen])
                state, memory = self.model.encode(padded.to(self.model.device), lengths)
                ids = [[*examples[i].target, EOS] for i in chosen]
                matrices |= zip(chosen, self._weights(ids, lengths.tolist(), state, memory), strict=True)
        return [matrices[i] for i in range(len(examples))]

    @torch.inference_mode()
    def _translate_batch(
        self, model: Seq2Seq | Ensemble, sentences: list[str], sources: list[list[int]], wanted: _Wanted
    ) -> list[Translation]:
        padded, lengths = pad_source(sources)
        state, memory = model.encode(padded.to(model.device), lengths)
        found = beam_search(
            partial(_step, model),
            state,
            memory,
            bos=BOS,
            eos=EOS,
            beam_size=wanted.search.beam_size,
            alpha=wanted.search.length_penalty,
            max_length=wanted.search.max_length,
            n_best=wanted.n_best,
        )
        weights: list[list[Tensor | None]] = [[None] * len(hypotheses) for hypotheses in found]
        if self.has_attention and (wanted.attention or wanted.replace_unk):
            weights = self._attention(found, sources, state, memory)
        translations = []
        for sentence, hypotheses, matrices in zip(sentences, found, weights, strict=True):
            ranked = [
                self._translation(sentence, hypothesis, matrix, wanted)
                for hypothesis, matrix in zip(hypotheses, matrices, strict=True)
            ]
            translations.append(replace(ranked[0], n_best=tuple(ranked) if wanted.n_best > 1 else ()))
        return translations

    def _attention(
        self, found: list[list[Hypothesis]], sources: list[list[int]], state: Any, memory: Any
    ) -> list[list[Tensor | None]]:
        """The weights of each hypothesis (T S): the decoder is run over it once more, all hypotheses at once."""
        owner = [i for i, hypotheses in enumerate(found) for _ in hypotheses]
        rows = torch.tensor(owner, device=self.model.device)
        ids = [list(h.ids) for hypotheses in found for h in hypotheses]
        lengths = [len(sources[i]) + 1 for i in owner]
        weights = iter(self._weights(ids, lengths, select(state, rows), select(memory, rows)))
        return [[next(weights) for _ in hypotheses] for hypotheses in found]

    def _weights(
        self, targets: list[list[int]], source_lengths: list[int], state: Any, memory: Any
    ) -> list[Float[Tensor, "T S"]]:
        """For each row the weights while it writes its target ids, the last of which it need not read."""
        inputs = collate([Example([], ids[:-1]) for ids in targets]).target_input.to(self.model.device)
        weights = self.model.weights(inputs, state, memory)
        weights = weights.to("cpu", torch.promote_types(weights.dtype, torch.float32))  # autocast gives bfloat16
        return [
            weights[row, : len(ids), :length]
            for row, (ids, length) in enumerate(zip(targets, source_lengths, strict=True))
        ]

    def _translation(
        self, sentence: str, hypothesis: Hypothesis, weights: Tensor | None, wanted: _Wanted
    ) -> Translation:
        tokens = self.target.vocabulary.decode(hypothesis.ids)
        if wanted.replace_unk and weights is not None and UNK_TOKEN in tokens:
            tokenizers = self.source.tokenizer, self.target.tokenizer
            tokens = copied(tokens, *replacements(sentence, *tokenizers, wanted.dictionary or {}), weights)
        words = tokens[:-1] if hypothesis.ids[-1] == EOS else tokens
        return Translation(
            text=self.target.tokenizer.detokenize(words),
            tokens=tokens,
            source_tokens=[*self.source.tokenizer.tokenize(sentence)[: self.search.max_source_length], EOS_TOKEN],
            score=hypothesis.score,
            attention=weights if wanted.attention else None,
        )


def _too_large(sentences: int, length: int, search: SearchConfig) -> str:
    return (
        f"the memory has no room for {sentences} sentences of up to {length} tokens with {search.beam_size} hypotheses "
        f"each: lower the batch size (here: {search.batch_size}) or the beam"
    )


def longest_first(sources: Sequence[Sequence[int]]) -> list[int]:
    """The order in which sources are translated: a batch that is too large for the memory shows at once."""
    return sorted(range(len(sources)), key=lambda i: -len(sources[i]))


def _step(
    model: Seq2Seq | Ensemble, tokens: Int[Tensor, " N"], state: Any, memory: Any
) -> tuple[Float[Tensor, "N V"], Any]:
    log_probabilities, state = model.log_probabilities(tokens, state, memory)
    log_probabilities[:, PAD] = log_probabilities[:, BOS] = -torch.inf  # no target ever holds them
    return log_probabilities, state


@contextmanager
def _without_dropout(model: Seq2Seq | Ensemble) -> Iterator[None]:
    """The model in evaluation mode, and afterwards in the mode that it was in."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)

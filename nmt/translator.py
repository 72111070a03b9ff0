"""Strings in, translations out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from nmt import acceleration, addons
from nmt.config.search import SearchConfig
from nmt.data.batching import Example
from nmt.decoding import batches as decoding
from nmt.decoding import scoring
from nmt.decoding.beam_search import Candidates, Choose, Hypothesis, block_repeats, length_penalty
from nmt.decoding.ensemble import Ensemble, TranslationModel
from nmt.decoding.scoring import Scored
from nmt.decoding.translation import Translation, joined_texts
from nmt.model.variants.hierarchical import segments
from nmt.system import bundled
from nmt.system.device import choose_device
from nmt.system.errors import CONTROLS, UserError
from nmt.system.values import sentences_of
from nmt.text.checks import begins_word, number_differences, repeats
from nmt.text.codec import Codec
from nmt.text.limits import Readable, check_unicode, read
from nmt.text.sentences import Sentences, split_text
from nmt.text.unknown_words import copied, replacements
from nmt.text.vocabulary import EOS, EOS_TOKEN, UNK, UNK_TOKEN, without_end

if TYPE_CHECKING:
    from nmt.checkpoint.contents import Loaded
    from nmt.config.run import Config

MOST_SAMPLES = 1000  # of a sentence: its memory is that of as many sentences


@dataclass(frozen=True)
class _Options:
    """What `translate` returns of the hypotheses, and what search begins with and reports."""

    n_best: int
    replace_unk: bool
    attention: bool
    watch: Callable[[Candidates], None] | None
    constrain: Callable[[Sequence[Readable]], Choose | None] | None


@dataclass(eq=False, repr=False)
class Translator:
    """A model (or an ensemble) with its codecs and the search settings that it was trained with.

    The model is prepared for search once: if you change its weights, their type or their device, make a new translator.
    """

    model: TranslationModel
    source: Codec
    target: Codec
    search: SearchConfig
    threshold: float | None = None  # a translation with a lower mean log-probability `is_unlike_training`
    rarity_threshold: float | None = None  # and so is that of a source text with a higher `Codec.rarity`
    word_thresholds: Sequence[float] | None = None  # of omitted and added words (`nmt.align.missing`)
    fast: bool = field(default=True, kw_only=True)  # False: search is plain PyTorch, without `nmt.fast`
    name: str = field(default="a model", kw_only=True)
    guided: bool = field(default=False, kw_only=True)  # whether attention was trained by guided alignment
    _prepared: dict[tuple[str, bool], TranslationModel] = field(default_factory=dict, init=False)  # by precision, fast

    @classmethod
    def load(
        cls, path: str | Path | None = None, *others: str | Path, device: str = "auto", fast: bool = True
    ) -> Translator:
        """The translator in a checkpoint, or the ensemble of several, which uses the search settings of the first.

        Without a path it is the bundled German→English model, for captions of photographs. Raises `UserError` if a
        checkpoint does not exist or is damaged, if there is no such device, or if the models' vocabularies differ.
        """
        from nmt.checkpoint.contents import load

        return cls.of({str(p): load(p, choose_device(device)) for p in (path or bundled.MODEL, *others)}, fast=fast)

    @classmethod
    def of(cls, loaded: Mapping[str, Loaded], *, fast: bool = True) -> Translator:
        """The same from checkpoints that are already loaded, each with its path."""
        (path, first), *others = loaded.items()
        for other_path, other in others:
            from nmt.checkpoint.contents import check_same_tokens

            check_same_tokens(path, first, other_path, other)
        model = Ensemble([contents.model for contents in loaded.values()]) if others else first.model
        thresholds = () if others else (first.threshold, first.rarity_threshold, first.word_thresholds)
        of_first = first.source, first.target, first.config.search
        guided = all(one.config.training.guided_alignment is not None for one in loaded.values())
        options = {"fast": fast, "name": ", ".join(loaded), "guided": guided}
        return translator_type(first.config)(model, *of_first, *thresholds, **options)

    def __repr__(self) -> str:
        names = (type(part).__name__ for part in self.model.modules())
        parts = [name for name in names if name.endswith(("Decoder", "Score", "Scope"))]
        return f"<nmt.Translator {'→'.join(self.languages)}: {self.name}, {', '.join(parts)}>"

    @property
    def languages(self) -> tuple[str, str]:
        """The codes of the source and the target language."""
        return self.source.language, self.target.language

    @property
    def has_attention(self) -> bool:
        return self.model.has_attention

    def translate(
        self,
        sentences: Iterable[str],
        *,
        n_best: int = 1,
        replace_unk: bool = False,
        attention: bool = True,
        prefix: str | Sequence[str | Sequence[str]] | None = None,
        watch: Callable[[Candidates], None] | None = None,
        found: Callable[[int, Translation], None] | None = None,
        constrain: Callable[[Sequence[Readable]], Choose | None] | None = None,
        **search: int | float | str | Mapping[str, int | float] | None,
    ) -> list[Translation]:
        """Translate sentences, in their order.

        Sentences of similar length share a batch, which changes no result (with few bits: only by rounding). An empty
        sentence has an empty translation. One with more than `search.max_source_length` tokens is cut off there, and a
        line on standard error says so. The sentences of a text with several are translated one by one and joined, by
        models of single sentences, or with `split=True`.

        `search` are settings in the place of the checkpoint's own, such as `beam_size=5`, `length_penalty`,
        `max_length`, `batch_size`, `precision`, `split`, `block_repeats`, or `sampling={"temperature": 0.9, "top_k":
        20, "seed": 1}`: it draws `n_best` translations at random, in the order of drawing; a `beam_size` turns the
        checkpoint's off. `replace_unk` replaces each `<unk>` by the raw source word with the largest attention weight;
        `attention=False` saves the time that its weights take. `prefix` is
        how translations begin, one text for all, or for each its text or its tokens (of several sentences, how the
        first begins); the search goes on from there. `watch` is called with each step of a beam search, `found` with
        each sentence's index and translation once known (soonest without `attention`). `constrain` gets the sentences
        as they are read, and gives what chooses the candidates of beam search (`Choose`), or None. Raises `UserError`
        for text that is not Unicode, and for options that do not fit.
        """
        [sentences] = sentences_of("translate", sentences)
        settings = self._settings(search)
        options = _Options(n_best, replace_unk, attention, watch, constrain)
        self._check(settings, options)
        check_unicode(sentences)
        prefixes = [prefix] * len(sentences) if isinstance(prefix, str) else prefix or []
        if prefixes and len(prefixes) != len(sentences):
            raise UserError(f"prefix: {len(prefixes)} for {len(sentences)} sentences; give one text, or one for each")
        split = not self.model.segment_ends if settings.split is None else settings.split
        texts = [split_text(text, *self.languages) if split else Sentences([text], []) for text in sentences]
        begun = [x for first, text in zip(prefixes, texts, strict=False) for x in (first, *[""] * len(text.gaps))]
        parts = list(chain.from_iterable(text.sentences for text in texts))
        whole: dict[int, Translation] = {}
        for number, translation in joined_texts(texts, self._translations(parts, begun, settings, options)):
            whole[number] = translation
            if found is not None:
                found(number, translation)
        return [whole[number] for number in range(len(texts))]

    def forced_attention(self, sources: Iterable[str], targets: Iterable[str]) -> list[Float[Tensor, "T S"]]:
        """The attention with which the model would write the given target texts: one matrix per pair, in their order.

        T are the target's tokens and `<eos>`, S the source's tokens and `<eos>`. Row t is the attention of the step
        that predicts target token t, and so has read only those before it. Raises `UserError` if the model has no
        attention, or if the numbers of sentences differ.
        """
        sources, targets = sentences_of("forced_attention", sources, targets)
        if not self.has_attention:
            raise UserError("forced attention: this model has no attention (model.attention.wiring: none)")
        pairs = [Example(self.source.encode(s), self.target.encode(t)) for s, t in zip(sources, targets, strict=True)]
        return scoring.forced_attention(self.model, pairs, self.search.batch_size)

    def examples(self, sources: Sequence[str], targets: Sequence[str]) -> list[Example]:
        """Pairs of texts as ids, as training has them."""
        return [Example(self.source.encode(s), self.target.encode(t)) for s, t in zip(sources, targets, strict=True)]

    def score(self, sources: Iterable[str], targets: Iterable[str], *, batch_size: int | None = None) -> list[Scored]:
        """How probable the model finds given translations: their log-probabilities in nats, and numbers of tokens.

        Of each pair it is that of all target tokens and `<eos>`, among all words; unknown ones are `<unk>`. Sources are
        cut off as by `translate`. Raises `UserError` if the numbers of sentences differ.
        """
        sources, targets = sentences_of("score", sources, targets)
        readable = read(sources, self.search.max_source_length, self.source)
        ids = (self.source.vocabulary.encode(source.tokens) for source in readable)
        pairs = [Example(source, self.target.encode(text)) for source, text in zip(ids, targets, strict=True)]
        return scoring.score(self.model, pairs, self._settings({"batch_size": batch_size}).batch_size)

    def _translations(
        self, sentences: Sequence[str], prefixes: Sequence[str | Sequence[str]], search: SearchConfig, options: _Options
    ) -> Iterator[tuple[int, Translation]]:
        """Each sentence's index and translation, as soon as it is known."""
        readable = read(sentences, search.max_source_length, self.source)
        sources = [self.source.vocabulary.encode(sentence.tokens) for sentence in readable]
        begun = self.target.prefix_lists(prefixes, search.max_length)
        attention, several = options.attention and self.has_attention, options.n_best > 1
        is_listed = search.sampling is None and options.watch is None  # then each text comes once
        empty = Translation("", [], [], 0.0, torch.zeros(0, 0) if attention else None)
        yield from ((i, replace(empty, n_best=(empty,) if several else ())) for i, x in enumerate(sources) if not x)
        results = decoding.decode(
            self._prepared_model(search.precision),
            sources,
            search,
            n_best=search.beam_size if several and is_listed else options.n_best,
            attention=attention or options.replace_unk,
            prefixes=begun,
            adjust=[partial(block_repeats, self._word_mask)] if search.block_repeats and not search.sampling else [],
            watch=options.watch,
            choose=options.constrain and options.constrain(readable),
        )
        for i, hypotheses in results:
            if not (hypotheses and math.isfinite(hypotheses[0].score)):
                raise UserError("the model's scores are not numbers: its weights are damaged, use another checkpoint")
            is_searched = search.sampling is None and not (begun and begun[i])  # as for the threshold
            ranked = tuple(self._translation(readable[i], h, search, options, is_searched) for h in hypotheses)
            if is_listed:
                texts = [translation.text for translation in ranked]
                ranked = tuple(t for n, t in enumerate(ranked) if t.text not in texts[:n])[: options.n_best]
            yield i, replace(ranked[0], n_best=ranked if several else ())

    @cached_property
    def _word_mask(self) -> Bool[Tensor, " V"]:
        """The target tokens that are not written three times in a row, nor end what is."""
        words = [begins_word(token, self.target.tokenizer.pieces) for token in self.target.vocabulary.tokens]
        words[UNK] = False  # which may be another word each time
        return torch.tensor(words, device=self.model.device)

    def _prepared_model(self, precision: str) -> TranslationModel:
        """The model prepared for search in a precision."""
        key = precision, self.fast
        if key not in self._prepared:
            self._prepared[key] = acceleration.for_inference(self.model, precision, fast=self.fast)
        return self._prepared[key]

    def _settings(self, changes: Mapping[str, Any]) -> SearchConfig:
        """The checkpoint's search settings, replaced by those that are not None, with what `auto` is here."""
        from nmt.config.reading import override_search

        search = override_search(self.search, **changes)
        precision = acceleration.resolve_precision(search.precision, self.model.device, "search", fast=self.fast)
        return search.model_copy(update={"precision": precision})

    def _check(self, search: SearchConfig, options: _Options) -> None:
        n_best, most = options.n_best, search.beam_size if search.sampling is None else MOST_SAMPLES
        if not 1 <= n_best <= most:
            other = ", or raise beam_size" if search.sampling is None else ""
            raise UserError(f"n_best ({n_best}) must lie between 1 and {most:,}: change it{other}")
        if options.replace_unk and not self.has_attention:
            raise UserError("replace_unk needs attention, and this model has none (model.attention.wiring: none)")

    def _translation(
        self, source: Readable, hypothesis: Hypothesis, search: SearchConfig, options: _Options, is_searched: bool
    ) -> Translation:
        weights, ends = hypothesis.attention, self.model.segment_ends
        tokens, count = self.target.vocabulary.decode(hypothesis.ids), len(hypothesis.ids)
        if options.replace_unk and weights is not None and UNK_TOKEN in tokens:
            sides = self.source.surfaces(source.text), self.source.tokenizer, self.target.tokenizer
            tokens = copied(tokens, *replacements(*sides), weights)
        source_ids = [*self.source.vocabulary.encode(source.tokens), EOS] if ends else []
        mean = hypothesis.score * length_penalty(count, search.length_penalty) / count
        text = CONTROLS.sub("", self.target.tokenizer.detokenize([*without_end(tokens)]))  # a vocabulary may have some
        missing, new = number_differences(source.text, text)
        is_rare = self.rarity_threshold is not None and source.rarity > self.rarity_threshold
        is_unlike = mean < self.threshold or is_rare if is_searched and self.threshold is not None else None
        return Translation(
            source=source.text,
            guided=self.guided,
            text=text,
            tokens=tokens,
            source_tokens=[*source.tokens, EOS_TOKEN],
            score=hypothesis.score,
            attention=weights if options.attention else None,
            segments=tuple(segments(torch.tensor([source_ids]), ends)[0].tolist()) if ends else None,
            mean_log_probability=mean,
            source_rarity=source.rarity,
            is_unlike_training=is_unlike,
            is_source_cut=source.is_cut,
            missing_numbers=missing,
            new_numbers=new,
            is_repetitive=repeats(text) and not repeats(source.text),
        )


def translator_type(config: Config) -> Callable[..., Translator]:
    """What makes the translators of a model with this config: `Translator`, or an add-on's class with more options."""
    room = addons.offered("translator")
    return Translator if room is None else cast(Callable[..., Translator], room.translator_type(config))

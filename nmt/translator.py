"""Strings in, translations out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from nmt import acceleration
from nmt.checkpoint.contents import Loaded, check_same_tokens, load
from nmt.config.reading import override_search
from nmt.config.search import SearchConfig
from nmt.data.batching import Example
from nmt.data.shortlist import Shortlist, joined
from nmt.decoding import batches as decoding
from nmt.decoding import scoring
from nmt.decoding.batches import Decoded
from nmt.decoding.beam_search import Candidates, length_penalty
from nmt.decoding.ensemble import Ensemble
from nmt.decoding.model import TranslationModel
from nmt.decoding.scoring import Scored
from nmt.decoding.translation import Translation
from nmt.model.variants.hierarchical import segments as segments_of
from nmt.registry import PrecisionOption
from nmt.system import bundled
from nmt.system.device import choose_device, keep_freed_memory
from nmt.system.errors import UserError
from nmt.system.processor import Precision
from nmt.system.values import is_unicode, sentences_of
from nmt.system.wording import counted
from nmt.text.codec import Codec
from nmt.text.limits import read
from nmt.text.unknown_words import copied, replacements
from nmt.text.vocabulary import EOS, EOS_TOKEN, UNK, UNK_TOKEN, without_end

MOST_SAMPLES = 1000  # of a sentence: its memory is that of as many sentences


@dataclass(frozen=True)
class _Wanted:
    """How to search, and what to make of what is found."""

    search: SearchConfig
    n_best: int
    replace_unk: bool
    dictionary: Mapping[str, str] | None
    attention: bool
    prefix: str | Sequence[str | Sequence[str]] | None
    watch: Callable[[Candidates], None] | None
    found: Callable[[int, Translation], None] | None


class Translator:
    """A model (or an ensemble) with its codecs and the search settings that it was trained with.

    `shortlist` lists the target tokens that are searched for a sentence, if `vocabulary_selection` is on. A translation
    is marked as unlike those of the training's kind of text if its mean log-probability is below `threshold` (`nmt
    calibrate`), which an ensemble does not have. With `fast=False` search is plain PyTorch, without `nmt.fast`. The
    model is prepared for search once: if you change its weights, their type or their device, make a new translator.
    """

    def __init__(
        self,
        model: TranslationModel,
        source: Codec,
        target: Codec,
        search: SearchConfig,
        shortlist: Shortlist | None = None,
        threshold: float | None = None,
        *,
        fast: bool = True,
    ) -> None:
        self.model = model
        self.source = source
        self.target = target
        self.search = search
        self.shortlist = shortlist
        self.threshold = threshold
        self.fast = fast
        self._prepared: dict[tuple[str, bool], TranslationModel] = {}  # by precision and `fast`

    @classmethod
    def load(
        cls, path: str | Path | None = None, *others: str | Path, device: str = "auto", fast: bool = True
    ) -> Translator:
        """The translator in a checkpoint, or the ensemble of several, which uses the search settings of the first.

        Without a path it is the bundled German→English model, for captions of photographs.

        Raises `UserError` if a checkpoint does not exist or is damaged, or there is no such device, or if the models'
        vocabularies differ.
        """
        return cls.of({str(p): load(p, choose_device(device)) for p in (path or bundled.MODEL, *others)}, fast=fast)

    @classmethod
    def of(cls, loaded: Mapping[str, Loaded], *, fast: bool = True) -> Translator:
        """The same from checkpoints that are already loaded, each with its path."""
        (path, first), *others = loaded.items()
        for other_path, other in others:
            check_same_tokens(path, first, other_path, other)
        model = Ensemble([contents.model for contents in loaded.values()]) if others else first.model
        shortlist = joined([contents.selection for contents in loaded.values()])
        threshold = None if others else first.threshold
        return cls(model, first.source, first.target, first.config.search, shortlist, threshold, fast=fast)

    @property
    def languages(self) -> tuple[str, str]:
        """The codes of the source and the target language."""
        return self.source.language, self.target.language

    @property
    def fastest_precision(self) -> Precision:
        """What `precision="auto"` is here: a rule from the features of the CPU, or float32."""
        return acceleration.resolve_precision("auto", self.model.device, "search", fast=self.fast)

    @property
    def has_attention(self) -> bool:
        return self.model.has_attention

    def translate(
        self,
        sentences: Iterable[str],
        *,
        beam_size: int | None = None,
        length_penalty: float | None = None,
        max_length: int | None = None,
        batch_size: int | None = None,
        precision: PrecisionOption | None = None,
        vocabulary_selection: bool | None = None,
        sampling: Mapping[str, int | float] | None = None,
        n_best: int = 1,
        replace_unk: bool = False,
        dictionary: Mapping[str, str] | None = None,
        attention: bool = True,
        prefix: str | Sequence[str | Sequence[str]] | None = None,
        watch: Callable[[Candidates], None] | None = None,
        found: Callable[[int, Translation], None] | None = None,
    ) -> list[Translation]:
        """Translate sentences, in their order; None stands for the checkpoint's own setting.

        Sentences of similar length share a batch, which changes no result (with few bits: only by rounding). An empty
        sentence has an empty translation. One with more than `search.max_source_length` tokens is cut off there, and a
        line on standard error says so. With `vocabulary_selection`, if the checkpoint has a shortlist and `nmt.fast` is
        there, a translation has only words from that list. `sampling` (such as
        {"temperature": 0.9, "top_k": 20, "seed": 1}) draws `n_best` translations at random, in the order of drawing, by
        the checkpoint's own settings where it leaves some out; a `beam_size` turns the checkpoint's off. `replace_unk`
        replaces each `<unk>` by the raw source word with the largest attention weight, or by the one that `dictionary`
        has for it (see `nmt.text.unknown_words.replacements`); `attention=False` saves the time that its weights take.
        `prefix` is how translations begin, one text for all, or for each its text or its tokens (as in
        `Translation.tokens`, without `<eos>`); the search goes on from there, among all words. `watch` sees each step
        of a beam search, `found` each sentence's place and translation once known (soonest without `attention`).

        Raises `UserError` for text that is not Unicode, and for options that do not fit (say, `n_best` above the beam
        size, `replace_unk` without attention).
        """
        [sentences] = sentences_of("translate", sentences)
        search = override_search(
            self.search,
            beam_size=beam_size,
            length_penalty=length_penalty,
            max_length=max_length,
            batch_size=batch_size,
            precision=precision,
            vocabulary_selection=vocabulary_selection,
            sampling=sampling,
        )
        wanted = _Wanted(self._resolved(search), n_best, replace_unk, dictionary, attention, prefix, watch, found)
        return self._found(sentences, wanted)

    def forced_attention(self, sources: Iterable[str], targets: Iterable[str]) -> list[Float[Tensor, "T S"]]:
        """The attention with which the model would write the given target texts: one matrix per pair, in their order.

        A teacher-forced pass: T are the target's tokens and `<eos>`, S the source's tokens and `<eos>`. Row t is the
        attention of the step that predicts target token t, and so has read only those before it.

        Raises `UserError` if the model has no attention, or if the numbers of sentences differ.
        """
        sources, targets = sentences_of("forced_attention", sources, targets)
        if not self.has_attention:
            raise UserError("forced attention: this model has no attention (model.attention.wiring: none)")
        ids = [self.source.encode(text) for text in sources], [self.target.encode(text) for text in targets]
        return decoding.forced_weights(self.model, *ids, self.search.batch_size)

    def score(self, sources: Iterable[str], targets: Iterable[str], *, batch_size: int | None = None) -> list[Scored]:
        """How probable the model finds given translations: their log-probabilities in nats, and numbers of tokens.

        Of each pair it is that of all target tokens and `<eos>`, among all words; unknown ones are `<unk>`. Sources are
        cut off as by `translate`. Raises `UserError` if the numbers of sentences differ.
        """
        sources, targets = sentences_of("score", sources, targets)
        size = override_search(self.search, batch_size=batch_size).batch_size
        _, tokens = read(sources, self.search.max_source_length, self.source.tokenizer)
        ids = map(self.source.vocabulary.encode, tokens)
        pairs = [Example(source, self.target.encode(text)) for source, text in zip(ids, targets, strict=True)]
        return scoring.score(self.model, pairs, size)

    def _found(self, sentences: Sequence[str], wanted: _Wanted) -> list[Translation]:
        self._check(wanted)
        keep_freed_memory()
        sentences, tokens = read(sentences, self.search.max_source_length, self.source.tokenizer)
        sources = [self.source.vocabulary.encode(each) for each in tokens]
        attention, several = wanted.attention and self.has_attention, wanted.n_best > 1
        prefixes = self._prefixes(len(sources), wanted)
        nothing = Translation("", [], [], 0.0, torch.zeros(0, 0) if attention else None)
        translations = [replace(nothing, n_best=(nothing,) if several else ())] * len(sentences)
        tell = wanted.found or (lambda *_: None)
        for i in (i for i, source in enumerate(sources) if not source):
            tell(i, translations[i])
        use_shortlist = wanted.search.vocabulary_selection and self.fast and not prefixes
        found = decoding.decode(
            self._model_in(wanted.search.precision),
            sources,
            wanted.search,
            shortlist=self.shortlist if use_shortlist else None,
            n_best=wanted.n_best,
            attention=attention or wanted.replace_unk,
            prefixes=prefixes,
            watch=wanted.watch,
        )
        for i, decoded in found:
            segments = self._segments(sources[i])
            ranked = tuple(self._translation(sentences[i], tokens[i], each, wanted, segments) for each in decoded)
            translations[i] = replace(ranked[0], n_best=ranked if several else ())
            tell(i, translations[i])
        return translations

    def _model_in(self, precision: str) -> TranslationModel:
        """The model prepared for search in a precision."""
        key = precision, self.fast
        if key not in self._prepared:
            self._prepared[key] = acceleration.for_inference(self.model, precision, fast=self.fast)
        self._prepared[key].train(self.model.training)  # the model's mode may have changed
        return self._prepared[key]

    def _resolved(self, search: SearchConfig) -> SearchConfig:
        """The settings with what `auto` is here."""
        return search if search.precision != "auto" else search.model_copy(update={"precision": self.fastest_precision})

    def _check(self, wanted: _Wanted) -> None:
        n_best, beam_size = wanted.n_best, wanted.search.beam_size
        if not 1 <= n_best <= (beam_size if wanted.search.sampling is None else MOST_SAMPLES):
            if wanted.search.sampling is not None:
                raise UserError(f"n_best ({n_best}) must lie between 1 and {MOST_SAMPLES:,}: lower it")
            raise UserError(
                f"{n_best} best translations: a beam of {beam_size} gives 1 to {beam_size}; change either number"
            )
        if wanted.replace_unk and not self.has_attention:
            raise UserError("replace_unk needs attention, and this model has none (model.attention.wiring: none)")
        if wanted.dictionary is not None and not wanted.replace_unk:
            raise UserError("dictionary is only used by replace_unk: turn replace_unk on, or leave dictionary out")

    def _prefixes(self, count: int, wanted: _Wanted) -> list[list[int]]:
        """The ids that each of so many translations begins with; none at all if nothing is fixed."""
        given = [wanted.prefix] * count if isinstance(wanted.prefix, str) else wanted.prefix or []
        if given and len(given) != count:
            raise UserError(
                f"prefix: {len(given)} for {counted(count, 'sentence')}; give one for each, or one text for all"
            )
        if not all(is_unicode("".join(one)) for one in given):
            raise UserError("prefix: not valid Unicode text: convert it to UTF-8")
        tokens = [self.target.tokenizer.tokenize(one) if isinstance(one, str) else without_end(one) for one in given]
        for one, own in zip(given, tokens, strict=True):
            if isinstance(one, str) and UNK in self.target.vocabulary.encode(own):
                raise UserError(f"prefix: {one!r} contains tokens outside the vocabulary: reword it")
        longest, most = max(map(len, tokens), default=0), wanted.search.max_length
        if longest >= most:
            raise UserError(f"prefix: {longest} tokens, and a translation has at most {most} (max_length): shorten it")
        return [self.target.vocabulary.encode(list(each)) for each in tokens] if longest else []

    def _segments(self, ids: Sequence[int]) -> tuple[int, ...] | None:
        ends = self.model.segment_ends
        return tuple(segments_of(torch.tensor([[*ids, EOS]]), ends)[0].tolist()) if ends else None

    def _translation(
        self, sentence: str, source: Sequence[str], decoded: Decoded, wanted: _Wanted, segments: tuple[int, ...] | None
    ) -> Translation:
        hypothesis, weights = decoded
        tokens = self.target.vocabulary.decode(hypothesis.ids)
        if wanted.replace_unk and weights is not None and UNK_TOKEN in tokens:
            tokenizers = self.source.tokenizer, self.target.tokenizer
            tokens = copied(tokens, *replacements(sentence, *tokenizers, wanted.dictionary or {}), weights)
        words = tokens[:-1] if hypothesis.ids[-1] == EOS else tokens
        count = len(hypothesis.ids)
        mean = hypothesis.score * length_penalty(count, wanted.search.length_penalty) / count
        is_searched = wanted.search.sampling is None and not any(wanted.prefix or ())  # as those of the threshold were
        return Translation(
            text=self.target.tokenizer.detokenize(words),
            tokens=tokens,
            source_tokens=[*source, EOS_TOKEN],
            score=hypothesis.score,
            attention=weights if wanted.attention else None,
            segments=segments,
            mean_log_probability=mean,
            is_unlike_training=is_searched and self.threshold is not None and mean < self.threshold,
        )

"""Test sets: what each model makes of each sentence, computed in the background when somebody first asks, and kept."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import sacrebleu

from nmt import addons
from nmt.decoding.word_alignment import Link, best_links
from nmt.evaluation.alignment import WordKind, WordPairs, attend_words, score_alignment, word_pairs
from nmt.evaluation.by_length import Bucket, bleu_by_length, source_lengths
from nmt.evaluation.checkpoints import TestSet, file_test_set
from nmt.evaluation.scores import bleu_tokenization, sacrebleu_score
from nmt.page.batch_queue import BatchQueue, FullQueue
from nmt.page.security import Refusal
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText
from nmt.translator import Translator

EDGES = (5, 10, 15, 20, 30, 40)
AT_ONCE = 8  # sentences: whoever translates beside it waits for no more
MOST_SENTENCES = 10_000
SHOWN = ("hypotheses", "bleu", "chrf", "missing", "added")
_LOG = logging.getLogger("uvicorn.error")


def load_set(source: str, reference: str, alignment: str | None, languages: tuple[str, str], kind: WordKind) -> TestSet:
    """A test set from two files and its gold links, if there are any; `kind` are the words that these count.

    Raises `UserError` if a file cannot be read, if they do not match, and for a set that is too large for a page.
    """
    test_set = file_test_set(Path(source), Path(reference), languages)
    count = len(test_set.text.source)
    if count > MOST_SENTENCES:
        raise UserError(f"{source}: {count:,} sentences; the page shows up to {MOST_SENTENCES:,}: take fewer lines")
    words = word_pairs(test_set.text, languages, kind, None if alignment is None else Path(alignment))
    return replace(test_set, words=words)


@dataclass
class _Result:
    """What one model makes of a set, as far as it is computed. `done` counts the sentences that are translated."""

    done: int = 0
    hypotheses: list[str] = field(default_factory=list)
    bleu: list[float] = field(default_factory=list)
    chrf: list[float] = field(default_factory=list)
    missing: list[int | None] = field(default_factory=list)
    added: list[int | None] = field(default_factory=list)
    summary: dict[str, Any] | None = None
    error: str | None = None


class TestSets:
    """The test sets of a process, by their ids. Computing goes through `queue`, a few sentences at a time.

    All models, by id with their names, have the same languages.
    """

    def __init__(
        self, sets: Mapping[str, TestSet], models: Mapping[str, tuple[str, Translator]], queue: BatchQueue
    ) -> None:
        self._sets, self._models, self._queue = sets, models, queue
        language = next((translator.source.language for _, translator in models.values()), "xx")
        self._lengths = {number: source_lengths(one.text.source, language) for number, one in sets.items()}
        self._results = {number: {model: _Result() for model in models} for number in sets}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        # Where a model writes no capitals, none are compared.
        self.lowercase = any(t.target.tokenize("A") == t.target.tokenize("a") for _, t in models.values())

    def listed(self) -> list[dict[str, Any]]:
        return [
            {"id": number, "name": one.corpus, "sentences": len(one.text.source)}
            | {"aligned": bool(one.words and one.words.links)}
            for number, one in self._sets.items()
        ]

    def progress(self, number: str) -> dict[str, Any]:
        """How far the models are, and the scores of those that are done. Whoever asks first begins the computing."""
        self._set(number)
        if number not in self._tasks:
            self._tasks[number] = asyncio.create_task(self._compute(number))
        models = [
            {"id": model, "done": result.done, "error": result.error, "summary": result.summary}
            for model, result in self._results[number].items()
        ]
        [described] = [one for one in self.listed() if one["id"] == number]
        return {**described, "lowercase": self.lowercase, "models": models}

    def sentences(self, number: str) -> dict[str, Any]:
        """All sentences, and for each model that is done its translations and their scores."""
        text = self._set(number).text
        done = {model: result for model, result in self._results[number].items() if result.summary is not None}
        return {
            "source": text.source,
            "reference": text.target,
            "lengths": self._lengths[number],
            "models": [
                {"id": model} | {name: getattr(result, name) for name in SHOWN} for model, result in done.items()
            ],
        }

    async def attention(self, number: str, line: int) -> dict[str, Any]:
        """Of one sentence, from 0: its words, its gold links, and each model's attention as it writes the reference.

        Raises `Refusal` for ids that do not exist, and `FullQueue`.
        """
        one = self._set(number)
        assert one.words is not None
        if not 0 <= line < len(one.text.source):
            raise Refusal(404, f"there is no sentence {line}: this set has 0 to {len(one.text.source) - 1}")
        gold = None if one.words.links is None else one.words.links[line]
        models = []
        for model, (_, translator) in self._models.items():
            if translator.has_attention:
                [(weights, links)] = await self._queue.alone(_attend, translator, one, slice(line, line + 1))
                rate = score_alignment([links], [gold], samples=1).error_rate if gold and gold.sure else None
                models.append({"id": model, "weights": weights.round(6).tolist(), "error_rate": rate})
        return {
            "source": one.words.source[line],
            "reference": one.words.target[line],
            "sure": sorted(gold.sure) if gold else [],
            "possible": sorted(gold.possible) if gold else [],
            "models": models,
        }

    async def close(self) -> None:
        """Stop computing."""
        for task in self._tasks.values():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def _set(self, number: str) -> TestSet:
        if number not in self._sets:
            raise Refusal(404, f"there is no test set {number[:20]!r}: /api/sets lists them")
        return self._sets[number]

    async def _compute(self, number: str) -> None:
        for model in self._models:
            try:
                await self._compute_model(number, model)
            except UserError as error:
                self._results[number][model].error = str(error)
            except Exception:  # a defect, which is not to keep the other models and the page waiting
                _LOG.exception("Test set %s, model %s", number, model)
                self._results[number][model].error = "failed: see the output of nmt serve"

    async def _compute_model(self, number: str, model: str) -> None:
        one, (_, translator) = self._sets[number], self._models[model]
        result, count = self._results[number][model], len(one.text.source)
        order = sorted(range(count), key=lambda i: -len(one.text.source[i]))
        rows: dict[int, tuple[Any, ...]] = {}
        for begin in range(0, count, AT_ONCE):
            lines = order[begin : begin + AT_ONCE]
            block = await self._patiently(_translate, translator, [one.text.source[i] for i in lines])
            rows |= zip(lines, block, strict=True)
            result.done = len(rows)
        result.hypotheses, result.missing, result.added = map(list, zip(*(rows[i] for i in range(count)), strict=True))
        links: list[frozenset[Link]] = []
        if (gold := one.words and one.words.links) and translator.has_attention:
            for begin in range(0, count, AT_ONCE):
                attended = await self._patiently(_attend, translator, one, slice(begin, begin + AT_ONCE))
                links += [best for _, best in attended]
        texts, reference = result.hypotheses, one.text.target
        if self.lowercase:
            texts, reference = ([text.lower() for text in side] for side in (texts, reference))
        lengths, language = self._lengths[number], translator.target.language
        result.bleu, result.chrf, summary = await asyncio.to_thread(_scored, texts, reference, lengths, language)
        rate = score_alignment(links, gold).error_rate if gold and links else None
        result.summary = summary | {"error_rate": rate}

    async def _patiently(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function returns, once the queue has room for it."""
        while True:
            try:
                return await self._queue.alone(function, *arguments)
            except FullQueue:
                await asyncio.sleep(0.2)


def _translate(translator: Translator, sentences: Sequence[str]) -> list[tuple[Any, ...]]:
    texts = [translation.text for translation in translator.translate(sentences, attention=False)]
    room = addons.offered("missing_words")
    counts = [(None, None)] * len(texts) if room is None else room.count_missing(translator, sentences, texts)
    return [(text, *count) for text, count in zip(texts, counts, strict=True)]


def _attend(translator: Translator, one: TestSet, part: slice) -> list[tuple[Any, frozenset[Link]]]:
    """The attention of some of a set's pairs, between words, and its links."""
    assert one.words is not None
    text = ParallelText(one.text.source[part], one.text.target[part])
    words = WordPairs(one.words.source[part], one.words.target[part])
    return [(weights, best_links(weights, translator.guided)) for weights in attend_words(translator, text, words)]


def _scored(
    hypotheses: Sequence[str], references: Sequence[str], lengths: Sequence[int], language: str
) -> tuple[list[float], list[float], dict[str, Any]]:
    """BLEU and chrF of each sentence, and those of the whole."""
    bleu = sacrebleu.BLEU(tokenize=bleu_tokenization(language), effective_order=True, force=True)
    chrf = sacrebleu.CHRF()
    pairs = list(zip(hypotheses, references, strict=True))
    buckets: list[Bucket] = bleu_by_length(hypotheses, references, lengths, EDGES, language=language)
    summary = {
        "bleu": sacrebleu_score(hypotheses, references, language),
        "chrf": chrf.corpus_score(hypotheses, [references]).score,
        "by_length": [asdict(bucket) for bucket in buckets],
    }
    of_bleu, of_chrf = ([metric.sentence_score(h, [r]).score for h, r in pairs] for metric in (bleu, chrf))
    return of_bleu, of_chrf, summary

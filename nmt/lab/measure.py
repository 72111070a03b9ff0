"""From a finished run to its result."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float

from nmt import addons
from nmt.checkpoint import contents as checkpoint
from nmt.config.run import Config
from nmt.data.splits import split_paths
from nmt.decoding.word_alignment import best_links
from nmt.evaluation.alignment import AlignmentScore, WordPairs, attend_words, score_alignment, word_pairs
from nmt.evaluation.by_length import bleu_by_length, bootstrap_interval, source_lengths
from nmt.evaluation.checkpoints import TestSet, corpus_test_set
from nmt.evaluation.scores import bleu_statistics, chrf_score, score
from nmt.lab.machine import describe_machine
from nmt.lab.result import Result, best_of, folder_of
from nmt.system.device import choose_device
from nmt.text.corpus import ParallelText
from nmt.training.event_log import read_events
from nmt.training.loss import perplexity
from nmt.training.validation import mean_loss
from nmt.translator import Translator

SENTENCE_ENDS = (".", "!", "?")


def test_set_of(config: Config) -> TestSet:
    """The corpus's test set with its words and, if there are such, their gold links. Raises `UserError` if unreadable.

    Only the sample corpus has links. They count the words of spaCy, whatever the model reads.
    """
    test_set, data = corpus_test_set(config, "test"), config.data
    links = split_paths(data, "test")[0].with_suffix(".align") if data.corpus == "sample" else None
    words = word_pairs(test_set.text, (data.source.language, data.target.language), "spacy", links)
    return replace(test_set, words=words)


def measure(config: Config) -> Result:
    """Evaluate a run's `best.safetensors` on the test set.

    Raises `UserError` if the checkpoint or the test set cannot be read.
    """
    best = best_of(config)
    loaded = checkpoint.load(best, choose_device(config.training.device))
    translator = Translator.of({str(best): loaded})
    test_set = test_set_of(config)
    text, (alignment, sentence_accuracy) = test_set.text, _alignment(translator, test_set)
    hypotheses = [translation.text for translation in translator.translate(text.source, attention=False)]
    examples, room = translator.examples(text.source, text.target), addons.offered("attention_statistics")
    events = read_events(folder_of(config))
    return Result(
        config=config,
        parameters=sum(parameter.numel() for parameter in loaded.model.parameters()),
        validation_bleu=_validation_bleu(events, config),
        **_bleu(config, hypotheses, text),
        perplexity=perplexity(mean_loss(loaded.model, examples, config.search.batch_size)),
        alignment=alignment,
        right_sentence=sentence_accuracy,
        entropy=room.statistics(translator, text).get("entropy") if room else None,
        target_tokens_per_second=_speed(events),
        minutes=events[-1]["seconds"] / 60,
        machine=describe_machine(loaded.model.device),
    )


def _bleu(config: Config, hypotheses: Sequence[str], text: ParallelText) -> dict[str, Any]:
    """The fields of BLEU: lower-cased if the target text is, since the model then writes no capitals."""
    lowercase, edges = config.data.target.lowercase, config.evaluation.length_edges
    flavour = "bleu_lowercase" if lowercase else "bleu"
    language = config.data.target.language
    scores = score(hypotheses, text.target, language)
    counts = bleu_statistics(hypotheses, text.target, lowercase=lowercase, language=language)
    low, high = bootstrap_interval(counts)
    lengths = source_lengths(text.source, config.data.source.language)
    by_length = bleu_by_length(hypotheses, text.target, lengths, edges, lowercase=lowercase, language=language)
    return {
        "bleu": getattr(scores, flavour),
        "chrf": chrf_score(hypotheses, [line.lower() for line in text.target] if lowercase else text.target),
        "bleu_low": low,
        "bleu_high": high,
        "signature": scores.signatures[flavour],
        "by_length": tuple(by_length),
    }


def _alignment(translator: Translator, test_set: TestSet) -> tuple[AlignmentScore | None, float | None]:
    """The score of the attention against gold links, and how often the right sentence has the most weight."""
    if not translator.has_attention or test_set.words is None or test_set.words.links is None:
        return None, None
    weights = list(attend_words(translator, test_set.text, test_set.words))
    alignment = score_alignment([best_links(w, translator.guided) for w in weights], test_set.words.links)
    return alignment, right_sentence(weights, test_set.words)


def right_sentence(weights: Iterable[Float[np.ndarray, "_ _"]], words: WordPairs) -> float | None:
    """How often the source sentence with the most weight is one that the target word is linked to, as a fraction.

    `weights` has one matrix (T, S) for each pair; a sentence's weight is the sum over its words. Target words count if
    they have a link and the source has several sentences, each up to `.`, `!` or `?`; None if there are none.
    """
    right = total = 0
    for matrix, source, links in zip(weights, words.source, words.links or (), strict=True):
        numbers = [0]
        for last, word in pairwise(source):
            numbers.append(numbers[-1] + (last in SENTENCE_ENDS and word not in SENTENCE_ENDS))
        if numbers[-1] == 0:
            continue
        sums = np.stack([matrix[:, np.array(numbers) == n].sum(axis=1) for n in range(numbers[-1] + 1)], axis=1)
        linked: dict[int, set[int]] = {}
        for s, t in links.possible:
            linked.setdefault(t, set()).add(numbers[s])
        total += len(linked)
        right += sum(bool(sums[t].any()) and int(sums[t].argmax()) in sentences for t, sentences in linked.items())
    return right / total if total else None


def _validation_bleu(events: list[dict[str, Any]], config: Config) -> float | None:
    """That of the checkpoint that was kept as the best one; None where BLEU is undefined."""
    validations = [event for event in events if event["event"] == "validation"]
    if "chrf" in validations[0]:
        return None
    if config.training.early_stopping.metric == "bleu":
        return float(max(event["bleu"] for event in validations))
    best = min(validations, key=lambda event: math.inf if event["loss"] is None else event["loss"])  # null: not finite
    return float(best["bleu"])


def _speed(events: list[dict[str, Any]]) -> float | None:
    """Target tokens per second: the median over the log's laps; a lap cut by a stop may have no speed."""
    speeds = [event["target_tokens_per_second"] for event in events if event["event"] == "train"]
    measured = [speed for speed in speeds if speed is not None]
    return statistics.median(measured) if measured else None

"""Corpus scores and the significance of their differences, by sacreBLEU (Post 2018).

BLEU (Papineni et al. 2002), chrF (Popović 2015) and the paired bootstrap (Koehn 2004) of detokenised sentences, both
sides normalised (`nmt.text.normalization`).
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
import sacrebleu
from jaxtyping import Int

from nmt.system.errors import UserError
from nmt.text.normalization import normalized
from nmt.text.tokenizers.spacy import SpacyTokenizer, language_of_rules

_TOKENIZATION = {"zh": "zh", "yue": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}  # sacreBLEU's; of others it is 13a
_TOKENIZATION |= dict.fromkeys(("th", "lo", "km", "my", "bo", "dz"), "char")  # without spaces between words
UNDEFINED = "undefined, since no reference has four words: BLEU counts sequences of four; see chrF"
ONE_SIDED = "sacreBLEU's p-value, in effect one-sided: below 0.05 for 11 % of pairs of equally good systems"
MEANINGLESS = "no p-value: hardly any 4-gram matches, so BLEU here is mostly sacreBLEU's smoothing"


@dataclass(frozen=True)
class Scores:
    """Corpus scores of one system, each from 0 to 100, and per score the sacreBLEU signature that defines it.

    BLEU is None where no reference has four words. `bleu` is cased sacreBLEU, the one to report;
    `bleu_tokenized_lowercase` splits both sides with spaCy first.
    `length_ratio` is the number of tokens in the hypotheses divided by that in the references, as `bleu` counts them.
    """

    bleu: float | None
    bleu_lowercase: float | None
    bleu_tokenized_lowercase: float | None
    chrf: float
    length_ratio: float
    signatures: dict[str, str]


@dataclass(frozen=True)
class Comparison:
    """One system against the baseline; `p_value` is None where too few 4-grams match for BLEU to mean anything."""

    baseline: str
    system: str
    metric: str
    baseline_score: float
    system_score: float
    p_value: float | None
    test: str


def score(hypotheses: Sequence[str], references: Sequence[str], target_language: str) -> Scores:
    """Score detokenised `hypotheses` against the raw `references`, one for each, in all four flavours.

    `target_language` is a code such as "en". Raises UserError if the numbers of sentences differ or are 0.
    """
    if len(hypotheses) != len(references) or not references:
        raise UserError(f"{len(hypotheses)} hypotheses, {len(references)} references: give one for each, at least one")
    by = bleu_tokenization(target_language)
    raw = _normalized(hypotheses), _normalized(references)
    tokenized = tuple([" ".join(tokens) for tokens in spacy_tokens(side, target_language)] for side in raw)
    metrics: dict[str, tuple[Any, Sequence[Sequence[str]]]] = {
        "bleu": (sacrebleu.BLEU(tokenize=by), raw),  # without `force` it warns, once, if the hypotheses look tokenised
        "bleu_lowercase": (sacrebleu.BLEU(lowercase=True, tokenize=by, force=True), raw),
        "bleu_tokenized_lowercase": (sacrebleu.BLEU(lowercase=True, tokenize="none", force=True), tokenized),
        "chrf": (sacrebleu.CHRF(), raw),
    }
    results = {name: metric.corpus_score(sides[0], [sides[1]]) for name, (metric, sides) in metrics.items()}
    signatures = {name: metric.get_signature() for name, (metric, _) in metrics.items()}
    # spaCy tokenised, not sacreBLEU, whose signature would say "none".
    rules = language_of_rules(target_language)
    signatures["bleu_tokenized_lowercase"].update("tok", f"spacy.blank({rules})-{version('spacy')}")
    values = {name: result.score for name, result in results.items()}
    if sacrebleu_score(hypotheses, references, target_language) is None:
        values |= {"bleu": None, "bleu_lowercase": None}
    if not any(len(sentence.split()) >= 4 for sentence in tokenized[1]):
        values["bleu_tokenized_lowercase"] = None
    return Scores(
        **values,
        length_ratio=float(results["bleu"].ratio),
        signatures={name: signature.format() for name, signature in signatures.items()},
    )


def sacrebleu_score(hypotheses: Sequence[str], references: Sequence[str], target_language: str = "xx") -> float | None:
    """The `bleu` of `score` alone, without a warning where the hypotheses look tokenised."""
    return corpus_bleu(bleu_statistics(hypotheses, references, language=target_language))


def chrf_score(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """The `chrf` of `score` alone."""
    return sacrebleu.CHRF().corpus_score(_normalized(hypotheses), [_normalized(references)]).score


@cache
def bleu_tokenization(language: str) -> str:
    """SacreBLEU's name for how it tokenises a language: by characters where that takes a package that is not here."""
    tokenization = _TOKENIZATION.get(language, "13a")
    try:
        sacrebleu.BLEU(tokenize=tokenization)
    except RuntimeError:
        return "char"
    return tokenization


def compare(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    samples: int = 1000,
    target_language: str = "xx",
    metric: Literal["bleu", "chrf"] = "bleu",
) -> list[Comparison]:
    """Test the BLEU or chrF of every system (name → hypotheses) against the first; an empty list for a single system.

    The p-value is that of `sacrebleu --paired-bs` (Koehn 2004, section 4) for the same seed: 12345, or the environment
    variable SACREBLEU_SEED. BLEU has none where more than 5 % of resamples are expected to hold no sentence in which
    either system matches a 4-gram: it is only sacreBLEU's smoothing there. (In sacreBLEU's approximate randomisation,
    systems that differ in one sentence get p = 0.0001.)

    Raises UserError if SACREBLEU_SEED is not a seed, ValueError where the numbers of sentences differ.
    """
    if len(systems) < 2:
        return []
    from sacrebleu.significance import PairedTest

    seed = os.environ.get("SACREBLEU_SEED", "12345")  # where sacreBLEU reads it; it treats 0 as no seed
    if not (seed.isdecimal() and int(seed) > 0):
        raise UserError(f"environment variable SACREBLEU_SEED={seed}: unset it, or set it to a positive integer")
    test = f"paired bootstrap, {samples} resamples, seed {int(seed)}"
    systems, references = {name: _normalized(texts) for name, texts in systems.items()}, _normalized(references)
    bleu, chrf = sacrebleu.BLEU(tokenize=bleu_tokenization(target_language), force=True), sacrebleu.CHRF()
    metrics: dict[str, Any] = {metric: bleu if metric == "bleu" else chrf}
    paired = PairedTest(list(systems.items()), metrics, [references], test_type="bs", n_samples=samples, n_jobs=1)
    scored: dict[str, Any] = dict(zip(systems, list(paired()[1].values())[-1], strict=True))
    first, *names = systems
    scores = {name: float(result.score) for name, result in scored.items()}
    p_values: dict[str, float | None] = {name: float(scored[name].p_value) for name in names}
    if metric == "bleu":
        counts = {name: bleu_statistics(texts, references, language=target_language) for name, texts in systems.items()}
        p_values = {name: _p_value(p, counts[first], counts[name]) for name, p in p_values.items()}
    else:  # equal systems, of which sacreBLEU gives its smallest p-value
        p_values |= {name: 1.0 for name in names if systems[name] == systems[first]}
    return [Comparison(first, name, metric, scores[first], scores[name], p_values[name], test) for name in names]


def _p_value(p_value: float | None, one: Int[np.ndarray, "N 10"], other: Int[np.ndarray, "N 10"]) -> float | None:
    """SacreBLEU's p-value of two systems' statistics; None where it would mean nothing."""
    matched = (one[:, 5] > 0) | (other[:, 5] > 0)  # sentences in which either system matches a 4-gram
    if (1 - matched.mean()) ** len(matched) > 0.05:  # the share of resamples without any
        return None
    # For equal systems, none of whose resamples differ, sacreBLEU gives its smallest p-value.
    return 1.0 if np.array_equal(one, other) else p_value


def bleu_statistics(
    hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False, language: str = "xx"
) -> Int[np.ndarray, "N 10"]:
    """Each sentence's sufficient statistics for sacreBLEU (Papineni et al. 2002, section 2.3), cased or lower-cased.

    The columns are: hypothesis tokens, reference tokens, matched n-grams for n = 1…4, hypothesis n-grams for n = 1…4.
    Their sums over any set of sentences give the corpus BLEU of that set: see `bleu_from_statistics`.
    """
    by = bleu_tokenization(language)
    metric = sacrebleu.BLEU(lowercase=lowercase, tokenize=by, effective_order=True, force=True)  # for its counts alone
    pairs = zip(_normalized(hypotheses), _normalized(references), strict=True)
    sentences = (metric.sentence_score(hypothesis, [reference]) for hypothesis, reference in pairs)
    return np.array([[s.sys_len, s.ref_len, *s.counts, *s.totals] for s in sentences], dtype=np.int64).reshape(-1, 10)


def corpus_bleu(statistics: Int[np.ndarray, "N 10"]) -> float | None:
    """SacreBLEU of the sentences with these statistics; None where no reference has four words."""
    return bleu_from_statistics(statistics.sum(axis=0)) if (statistics[:, 1] >= 4).any() else None


def bleu_from_statistics(total: Int[np.ndarray, "10"]) -> float:
    """SacreBLEU, 0 to 100, with default smoothing, from the sum of some rows of `bleu_statistics`."""
    hypothesis_length, reference_length, *n = total.tolist()
    return sacrebleu.BLEU.compute_bleu(n[:4], n[4:], hypothesis_length, reference_length, smooth_method="exp").score


def spacy_tokens(sentences: Sequence[str], language: str) -> list[list[str]]:
    """Split every sentence by the rules of `spacy.blank`, which need no model; runs of blanks are not tokens."""
    tokenizer = SpacyTokenizer(language_of_rules(language), lowercase=False)
    return [tokenizer.words(sentence) for sentence in sentences]


def _normalized(sentences: Sequence[str]) -> list[str]:
    return [normalized(sentence) for sentence in sentences]

"""Corpus scores and the significance of their differences: strings in, numbers out.

Everything is sacreBLEU's (Post 2018, "A Call for Clarity in Reporting BLEU Scores"): BLEU (Papineni et al. 2002),
chrF (Popović 2015) and the paired bootstrap (Koehn 2004). Sentences are detokenised text, references are raw text.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sacrebleu
from jaxtyping import Int

from nmt.system.errors import UserError
from nmt.text.tokenizers.spacy import SpacyTokenizer

SIGNIFICANCE_RESAMPLES = 1000


@dataclass(frozen=True)
class Scores:
    """Corpus scores of one system, each from 0 to 100, and per score the sacreBLEU signature that defines it.

    `bleu` is cased sacreBLEU, the one to report. `bleu_lowercase` is the same on lower-cased text.
    `bleu_tokenized_lowercase` splits both sides with spaCy first: only for comparison with papers that did so.
    """

    bleu: float
    bleu_lowercase: float
    bleu_tokenized_lowercase: float
    chrf: float
    signatures: dict[str, str]


@dataclass(frozen=True)
class Comparison:
    """One system against the baseline: scores from 0 to 100, p-value from 0 to 1, and how it was tested."""

    baseline: str
    system: str
    metric: str
    baseline_score: float
    system_score: float
    p_value: float
    test: str


def score(hypotheses: Sequence[str], references: Sequence[str], target_language: str) -> Scores:
    """Score detokenised `hypotheses` against the raw `references`, one for each, in all four flavours.

    `target_language` is a spaCy language code such as "en"; of one that spaCy does not know, the rules are `xx`.
    Raises UserError where the two numbers of sentences differ or are 0.
    """
    check_pairs(hypotheses, references)
    # Without force, sacreBLEU warns if the hypotheses look tokenised: here, once, that is worth hearing.
    cased, lowercase = sacrebleu.BLEU(), sacrebleu.BLEU(lowercase=True, force=True)
    tokenized, chrf = sacrebleu.BLEU(lowercase=True, tokenize="none", force=True), sacrebleu.CHRF()
    split_hypotheses, split_references = (
        [" ".join(tokens) for tokens in spacy_tokens(side, target_language)] for side in (hypotheses, references)
    )
    values: dict[str, float] = {
        "bleu": cased.corpus_score(hypotheses, [references]).score,
        "bleu_lowercase": lowercase.corpus_score(hypotheses, [references]).score,
        "bleu_tokenized_lowercase": tokenized.corpus_score(split_hypotheses, [split_references]).score,
        "chrf": chrf.corpus_score(hypotheses, [references]).score,
    }
    metrics = dict(zip(values, (cased, lowercase, tokenized, chrf), strict=True))
    signatures = {name: metric.get_signature() for name, metric in metrics.items()}
    # sacreBLEU did not tokenise, so its own signature would say "none": name what did.
    signatures["bleu_tokenized_lowercase"].update("tok", _spacy_signature(target_language))
    return Scores(**values, signatures={name: signature.format() for name, signature in signatures.items()})


def sacrebleu_score(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Cased sacreBLEU, 0 to 100, with its default settings: the `bleu` of `score`, for validation during training.

    Raises UserError where the two numbers of sentences differ or are 0.
    """
    check_pairs(hypotheses, references)
    # An untrained model's output may well look tokenised; a warning at every validation would help nobody.
    return sacrebleu.BLEU(force=True).corpus_score(hypotheses, [references]).score


def compare(
    systems: Mapping[str, Sequence[str]], references: Sequence[str], samples: int = SIGNIFICANCE_RESAMPLES
) -> list[Comparison]:
    """Test the BLEU of every system (name → hypotheses) against the first one; an empty list for a single system.

    Paired bootstrap (Koehn 2004, section 4) by `sacrebleu.significance.PairedTest`, in this process: the p-value
    is the chance of so large a difference if the systems were equally good. It equals that of the command
    `sacrebleu --paired-bs`, with the same seed: 12345, or the environment's SACREBLEU_SEED.

    The bootstrap and not approximate randomisation, because sacreBLEU's version of the latter does not count
    shuffles that tie with the observed difference: two systems that differ in one sentence come out as p = 0.0001.

    Raises UserError where a number of sentences differs from that of the references or is 0, or SACREBLEU_SEED
    does not fix the seed.
    """
    for name, hypotheses in systems.items():
        check_pairs(hypotheses, references, f"hypotheses of {name}")
    if len(systems) < 2:
        return []
    from sacrebleu.significance import PairedTest

    seed = _significance_seed()
    named = list(systems.items())
    test = PairedTest(
        named, {"BLEU": sacrebleu.BLEU(force=True)}, [references], test_type="bs", n_samples=samples, n_jobs=1
    )
    results: list[Any] = test()[1]["BLEU"]
    (baseline, baseline_hypotheses), baseline_result = named[0], results[0]
    baseline_statistics = bleu_statistics(baseline_hypotheses, references)
    comparisons = []
    for (system, hypotheses), result in zip(named[1:], results[1:], strict=True):
        # No resample of equal systems differs by more than their difference of 0, which sacreBLEU takes for
        # significance (its smallest p-value). Equal systems are the opposite.
        equal = np.array_equal(bleu_statistics(hypotheses, references), baseline_statistics)
        comparisons.append(
            Comparison(
                baseline=baseline,
                system=system,
                metric="bleu",
                baseline_score=float(baseline_result.score),
                system_score=float(result.score),
                p_value=1.0 if equal else float(result.p_value),
                test=f"paired bootstrap, {samples} resamples, seed {seed}",
            )
        )
    return comparisons


def bleu_statistics(hypotheses: Sequence[str], references: Sequence[str]) -> Int[np.ndarray, "N 10"]:
    """Each sentence's sufficient statistics for cased sacreBLEU (Papineni et al. 2002, section 2.3), as counts.

    The columns are: hypothesis tokens, reference tokens, matched n-grams for n = 1…4, hypothesis n-grams for n = 1…4.
    The columns' sums over any set of sentences give that set's corpus BLEU: see `bleu_from_statistics`.
    """
    metric = sacrebleu.BLEU(effective_order=True, force=True)  # the score is not used, only what it is made of
    sentences = (metric.sentence_score(h, [r]) for h, r in zip(hypotheses, references, strict=True))
    return np.array([[s.sys_len, s.ref_len, *s.counts, *s.totals] for s in sentences], dtype=np.int64).reshape(-1, 10)


def bleu_from_statistics(total: Int[np.ndarray, "10"]) -> float:
    """Cased sacreBLEU, 0 to 100, with default smoothing, from the sum of some rows of `bleu_statistics`."""
    hypothesis_length, reference_length, *ngrams = total.tolist()
    return sacrebleu.BLEU.compute_bleu(
        ngrams[:4], ngrams[4:], hypothesis_length, reference_length, smooth_method="exp"
    ).score


def spacy_tokens(sentences: Sequence[str], language: str) -> list[list[str]]:
    """Split every sentence by the rules of `spacy.blank`, which need no model; runs of blanks are no token."""
    tokenizer = SpacyTokenizer(_rules(language), lowercase=False)
    return [tokenizer.tokenize(sentence) for sentence in sentences]


def check_pairs(sentences: Sequence[str], references: Sequence[str], what: str = "hypotheses") -> None:
    """Raise UserError unless there is one reference for each sentence, and at least one of them.

    `what` says in the message what the sentences are.
    """
    if len(sentences) != len(references):
        raise UserError(
            f"{len(sentences)} {what} but {len(references)} references: give one for each, in the same order"
        )
    if not sentences:
        raise UserError(f"no {what} and no references: give at least one sentence of each")


def _spacy_signature(language: str) -> str:
    import spacy

    return f"spacy.blank({_rules(language)})-{spacy.__version__}"


def _rules(language: str) -> str:
    """The language, or `xx`, spaCy's rules for any, where it has none or lacks the package that they need."""
    try:
        SpacyTokenizer(language, lowercase=False)
    except UserError:
        return "xx"
    return language


def _significance_seed() -> int:
    """The seed that sacreBLEU's paired tests will take: they read it from the environment, and take 0 for none."""
    seed = os.environ.get("SACREBLEU_SEED", "12345")
    if not (seed.isascii() and seed.isdecimal() and int(seed) > 0):
        raise UserError(
            f"environment variable SACREBLEU_SEED={seed}: the significance test could not be repeated; "
            "unset it or make it a whole number above 0"
        )
    return int(seed)

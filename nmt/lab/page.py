"""The page that compares the runs: `README.md` and its pictures, made from their results.

Text outside the page's two markers is kept: it is the author's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from nmt.config.model import AttentionConfig
from nmt.config.run import Config
from nmt.config.training import TeacherForcingConfig
from nmt.evaluation.alignment import AlignmentScore
from nmt.evaluation.by_length import FEW_SENTENCES, Bucket
from nmt.evaluation.checkpoints import TestSet
from nmt.evaluation.mechanisms import variants
from nmt.lab.pictures import error_percent, pictures
from nmt.lab.result import Result
from nmt.lab.seeds import Mechanism, base_of, difference, mean_and_deviation, mechanisms
from nmt.system import files
from nmt.system.errors import UserError

BEGIN, END = "<!-- results -->", "<!-- /results -->"
NEW_PAGE = f"# Attention mechanisms compared\n\n{BEGIN}\n{END}\n"
WIRINGS = ("none", "bahdanau", "luong")


class Making(NamedTuple):
    """How a page was made: the command, the machine's name if not the one found, the runs that failed, the name of
    the mechanism that the others are tested against if not the default."""

    command: str
    machine: str | None
    missing: Sequence[str]
    base: str | None = None


def check(output: Path) -> None:
    """Raise `UserError` unless the page can be written into `output`: better before hours of training than after."""
    for folder in (output, output / "results"):
        files.make_folder(folder)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise UserError(f"{folder} cannot be written: choose another --output")
    _with_results(_present(output / "README.md"), "", output / "README.md")


def write(output: Path, results: Sequence[Result], test_set: TestSet, made: Making) -> list[Path]:
    """Write page and pictures, and return their paths. Raises `UserError` where one cannot be written."""
    path = output / "README.md"
    ordered = sorted(results, key=lambda result: WIRINGS.index(result.config.model.attention.wiring))
    found = mechanisms(ordered)
    firsts = [mechanism.first for mechanism in found]
    drawn = pictures(firsts, test_set, output)
    blocks = [
        _setting(ordered, found, test_set, made),
        _table(found, made.base),
        *(f"![{alternative}]({name})" for name, (alternative, _) in drawn.items()),
        _length_table(firsts),
    ]
    page = _with_results(_present(path), "\n\n".join(blocks), path)
    for name, (_, content) in drawn.items():
        files.write(output / name, content)
    files.write(path, page.encode())
    return [*(output / name for name in drawn), path]


def _present(path: Path) -> str:
    """The existing page, or a new one."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return NEW_PAGE
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UserError(f"{path} cannot be read ({reason}): repair it, or choose another --output") from None


def _with_results(page: str, results: str, path: Path) -> str:
    """The page with new results between its markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end) or page.count(BEGIN) + page.count(END) > 2:
        raise UserError(
            f"{path} must have one line {BEGIN} and below it one line {END}, between which the results are written: "
            "add them, or choose another --output"
        )
    return f"{before}{BEGIN}\n\n{results}\n\n{END}{after}"


def _setting(results: Sequence[Result], found: Sequence[Mechanism], test_set: TestSet, made: Making) -> str:
    """What was run, on what, how it was measured."""
    config = results[0].config
    lines = [
        f"Made by `{made.command}`.",
        *_runs(found, made.base),
        "",
        f"- Corpus: {_corpus(config, test_set)}",
        f"- Budget: {_budget(config)} for each model",
        f"- Machine: {made.machine or '; '.join(_unique(result.machine for result in results))}",
        f"- BLEU: {results[0].case} sacreBLEU of detokenised text, beam {config.search.beam_size}, "
        f"{', '.join(f'`{signature}`' for signature in _unique(result.signature for result in results))}",
        "- Intervals: 95 %, from 1,000 bootstrap resamples of the test sentences; they do not cover other seeds",
        "- Perplexity: per target token of the test set, including the end of the sentence",
        "- Target tokens/s: median during training; minutes: training and validation",
    ]
    if any(result.alignment is not None for result in results):
        lines.append(
            "- AER: alignment error rate (Och and Ney 2003) when each word of the reference is linked to the source "
            "word with the largest attention weight; none without attention"
        )
    if any(result.right_sentence is not None for result in results):
        lines.append(
            "- Right sentence: of sources with several sentences, how often the one with the most weight is one that "
            "the word of the reference is linked to"
        )
    if made.missing:
        lines.append(f"- **Missing, because the run failed:** {', '.join(made.missing)}")
    return "\n".join(lines)


def _runs(found: Sequence[Mechanism], base_name: str | None) -> list[str]:
    """How often each mechanism was trained, and what the test against the base is."""
    differ = "the configs differ only in name and mechanism"
    seeds = sorted({seed for mechanism in found for seed in mechanism.bleus})
    if len(seeds) == 1:
        return [f"Each model was trained once, with seed {seeds[0]}; {differ}."]
    lines = [
        f"Each mechanism was trained with the seeds {', '.join(map(str, seeds))}; {differ}. BLEU, perplexity, AER, "
        "speed and minutes are means over the seeds, with the standard deviation of BLEU. Pictures and the table by "
        f"length are of seed {seeds[0]}."
    ]
    if (base := base_of(found, base_name)) is not None:
        lines.append(
            f"*Difference* is that of the mean BLEU to {base.name}; p is that of a paired, two-sided t-test over "
            "the seeds, not corrected for the number of rows: it finds only differences that are large beside the "
            "spread over seeds."
        )
    return lines


def _corpus(config: Config, test_set: TestSet) -> str:
    size = f"{test_set.split} split, {len(test_set.text.source):,} sentence pairs"
    if config.data.corpus == "sample":
        return (
            f"the **synthetic** sample corpus ({test_set.corpus.split(', ')[-1]}), {size}. "
            "A score on it shows that a model learns; it says nothing about real text."
        )
    return f"{test_set.corpus}, {size}"


def _budget(config: Config) -> str:
    training = config.training
    limits = [f"{training.max_updates:,} updates"] if training.max_updates else []
    limits += [f"{training.max_epochs} epochs"] if training.max_epochs else []
    batch = f"{training.batch_size * training.accumulate:,} {training.batch_unit}"
    return f"{' or '.join(limits)} of at most {batch}"


def _table(found: Sequence[Mechanism], base_name: str | None) -> str:
    several = any(len(mechanism.results) > 1 for mechanism in found)
    aligned = any(mechanism.first.alignment is not None for mechanism in found)
    sentences = any(mechanism.first.right_sentence is not None for mechanism in found)
    base = base_of(found, base_name) if several else None
    validated = all(result.validation_bleu is not None for mechanism in found for result in mechanism.results)
    heads = ["mechanism", "wiring", "score", "scope", "variant"] + ["validation BLEU"] * validated + ["BLEU"]
    heads += ["difference (p)"] * (base is not None) + ["perplexity"]
    heads += ["AER %"] * aligned + ["right sentence %"] * sentences + ["target tokens/s", "parameters", "minutes"]
    rows = []
    for mechanism in found:
        results, first = mechanism.results, mechanism.first
        attention = first.config.model.attention
        axes = ["–"] * 2 if attention.wiring == "none" else [attention.score, _scope(attention)]
        rows.append([
            first.name, attention.wiring, *axes, _variants(first.config),
            *([_mean([result.validation_bleu for result in results], "{:.2f}")] if validated else []),
            _bleu(mechanism, several),
            *([_difference(mechanism, base)] if base is not None else []),
            _mean([result.perplexity for result in results], "{:.3f}"),
            *([_alignments([result.alignment for result in results])] if aligned else []),
            *([_mean([_percent(result.right_sentence) for result in results], "{:.1f}")] if sentences else []),
            _mean([result.target_tokens_per_second for result in results], "{:,.0f}"),
            f"{first.parameters:,}",
            _mean([result.minutes for result in results], "{:.1f}"),
        ])  # fmt: skip
    return _markdown(heads, rows, left=5)


def _bleu(mechanism: Mechanism, several: bool) -> str:
    if not several:
        first = mechanism.first
        return f"{first.bleu:.2f} ({first.bleu_low:.2f}–{first.bleu_high:.2f})"
    mean, deviation = mean_and_deviation(list(mechanism.bleus.values()))
    return f"{mean:.2f} ± {'?' if deviation is None else f'{deviation:.2f}'}"


def _difference(mechanism: Mechanism, base: Mechanism) -> str:
    if mechanism == base or (found := difference(mechanism, base)) is None:
        return "–"
    mean, p = found
    text = f"{mean:+.2f}".replace("-", "−")
    if p is None:
        return text
    return f"{text} ({'< 0.001' if p < 0.0005 else f'{p:.3f}'})"


def _percent(fraction: float | None) -> float | None:
    return None if fraction is None else 100 * fraction


def _mean(values: Sequence[float | None], form: str) -> str:
    known = [value for value in values if value is not None]
    return form.format(mean_and_deviation(known)[0]) if known else "–"


def _alignments(scores: Sequence[AlignmentScore | None]) -> str:
    """One score with its interval, or the mean of several."""
    if len(scores) == 1:
        return _alignment(scores[0])
    return _mean([None if score is None else 100 * score.error_rate for score in scores], "{:.1f}")


def _alignment(score: AlignmentScore | None) -> str:
    if score is None:
        return "–"
    rate, low, high = error_percent(score)
    return f"{rate:.1f} ({low:.1f}–{high:.1f})"


def _scope(attention: AttentionConfig) -> str:
    options = attention.options("scope")
    if (window := options.get("window")) is None:
        return attention.scope
    narrowing = f"{options['narrow_from']} → " if options["narrow_updates"] and options["narrow_from"] > window else ""
    return f"{attention.scope}, D = {narrowing}{window}"


def _variants(config: Config) -> str:
    words, forcing = variants(config.model), config.training.teacher_forcing
    if forcing != TeacherForcingConfig():
        words.append(f"teacher forcing: {forcing.schedule} {forcing.ratio:g}, sampled per {forcing.granularity}")
    return ", ".join(words) or "–"


def _length_table(results: Sequence[Result]) -> str:
    shared = results[0].by_length
    few = "\\*"  # escaped, or two of them would make the text between them italic
    heads = ["BLEU by source length", *(f"{b.label}{few if b.is_small else ''}, n = {b.count:,}" for b in shared)]
    rows = [[result.name, *map(_bucket, result.by_length)] for result in results]
    note = "Lengths are in spaCy tokens."
    if any(bucket.is_small for bucket in shared):
        note += f" {few} fewer than {FEW_SENTENCES} sentences: too few for a reliable score."
    return f"{_markdown(heads, rows, left=1)}\n\n{note}"


def _bucket(bucket: Bucket) -> str:
    return "–" if bucket.bleu is None else f"{bucket.bleu:.1f} ({bucket.ci_low:.1f}–{bucket.ci_high:.1f})"


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> str:
    """A table whose first `left` columns stand to the left, the others to the right."""
    rule = ["---" if column < left else "--:" for column in range(len(heads))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows))


def _unique(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))

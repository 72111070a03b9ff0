"""The page that compares the runs: `README.md` and its figures, made from their results.

Text outside the page's two markers is kept: it is the author's.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from nmt.config.model import AttentionConfig
from nmt.config.run import Config
from nmt.config.training import TeacherForcingConfig
from nmt.evaluation.by_length import Bucket
from nmt.evaluation.checkpoints import TestSet
from nmt.lab.figures import figures
from nmt.lab.mechanisms import variants
from nmt.lab.result import Result
from nmt.lab.seeds import Mechanism, base_of, difference, mean_and_deviation, mechanisms
from nmt.system import files
from nmt.system.errors import UserError

BEGIN, END = "<!-- results -->", "<!-- /results -->"
NEW_PAGE = f"# Attention mechanisms compared\n\n{BEGIN}\n{END}\n"
WIRINGS = ("none", "bahdanau", "luong")


def check(output: Path) -> None:
    """Raise `UserError` unless the page can be written into `output`: better before hours of training than after."""
    for folder in (output, output / "results"):
        files.make_folder(folder)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise UserError(f"{folder} cannot be written: choose another --output")
    _with_results(_present(output / "README.md"), "", output / "README.md")


def write(
    output: Path, results: Sequence[Result], test_set: TestSet, command: str, missing: Sequence[str]
) -> list[Path]:
    """Write page and figures, and return their paths. `missing` are the names of the runs that failed.

    Raises `UserError` where one cannot be written.
    """
    path = output / "README.md"
    ordered = sorted(results, key=lambda result: WIRINGS.index(result.config.model.attention.wiring))
    compared = mechanisms(ordered)
    firsts = [mechanism.first for mechanism in compared]
    drawn = figures(firsts, test_set, output)
    blocks = [
        _setting(ordered, compared, test_set, command, missing),
        _table(compared),
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
        fix = "add them, or choose another --output"
        raise UserError(f"{path} must have one line {BEGIN} and, below it, one line {END}, for the results: {fix}")
    return f"{before}{BEGIN}\n\n{results}\n\n{END}{after}"


def _setting(
    results: Sequence[Result], compared: Sequence[Mechanism], test_set: TestSet, command: str, missing: Sequence[str]
) -> str:
    """What was run, on what, how it was measured."""
    config = results[0].config
    lines = [
        f"Made by `{command}`.",
        *_runs(compared),
        "",
        f"- Corpus: {_corpus(config, test_set)}",
        f"- Budget: {_budget(config)} for each model",
        f"- Machine: {'; '.join(dict.fromkeys(result.machine for result in results))}",
        f"- BLEU: {results[0].case} sacreBLEU of detokenised text, beam {config.search.beam_size}, "
        f"{', '.join(dict.fromkeys(f'`{result.signature}`' for result in results))}",
        "- Intervals: 95 %, from 1,000 bootstrap resamples of the test sentences; they do not cover other seeds",
        "- Perplexity: per target token of the test set, including the end of the sentence",
        "- Target tokens/s: median during training; minutes: training and validation",
    ]
    if _any(results, "alignment"):
        lines.append(
            "- AER: alignment error rate (Och and Ney 2003) when each word of the reference is linked to the source "
            "word with the largest attention weight; none without attention"
        )
    if _any(results, "entropy"):
        lines.append("- Entropy: bits of a step's attention weights while the reference is read")
    if _any(results, "right_sentence"):
        lines.append(
            "- Right sentence: of sources with several sentences, how often the one with the most weight is one that "
            "the word of the reference is linked to"
        )
    if missing:
        lines.append(f"- **Missing, because the run failed:** {', '.join(missing)}")
    return "\n".join(lines)


def _runs(compared: Sequence[Mechanism]) -> list[str]:
    """How often each mechanism was trained, and what the test against the base is."""
    differ = "the configs differ only in name and mechanism"
    seeds = sorted({result.config.training.seed for mechanism in compared for result in mechanism.results})
    if len(seeds) == 1:
        return [f"Each model was trained once, with seed {seeds[0]}; {differ}."]
    fewer = [mechanism.name for mechanism in compared if len(mechanism.results) < len(seeds)]
    lines = [
        f"Each mechanism was trained with the seeds {', '.join(map(str, seeds))}"
        f"{' (fewer: ' + ', '.join(fewer) + ')' if fewer else ''}; {differ}. Numbers are means over the "
        f"seeds, BLEU with its standard deviation; figures and the table by length are of seed {seeds[0]}."
    ]
    if (base := base_of(compared)) is not None:
        lines.append(
            f"*Difference* is that of the mean BLEU to {base.name}; p is that of a paired, two-sided t-test over the "
            "seeds, not corrected for the number of rows: only large differences are found."
        )
    return lines


def _corpus(config: Config, test_set: TestSet) -> str:
    size = f"{test_set.split} split, {len(test_set.text.source):,} sentence pairs"
    if config.data.corpus == "sample":
        return (
            f"the **synthetic** sample corpus ({test_set.corpus.split(', ')[-1]}), {size}. "
            "A high score shows that training works, not that the model can translate real text."
        )
    return f"{test_set.corpus}, {size}"


def _budget(config: Config) -> str:
    training = config.training
    limits = [f"{training.max_updates:,} updates"] if training.max_updates else []
    limits += [f"{training.max_epochs} epochs"] if training.max_epochs else []
    batch = f"{training.batch_size * training.accumulate:,} {training.batch_unit}"
    return f"{' or '.join(limits)} of at most {batch}"


def _table(compared: Sequence[Mechanism]) -> str:
    """A row for each mechanism. Columns of what no run has measured are left out."""
    results = [result for mechanism in compared for result in mechanism.results]
    several = any(len(mechanism.results) > 1 for mechanism in compared)
    base = base_of(compared) if several else None
    has_alignment, has_sentences, has_entropy = (_any(results, f) for f in ("alignment", "right_sentence", "entropy"))
    is_validated = all(result.validation_bleu is not None for result in results)
    rows = []
    for mechanism in compared:
        first, attention = mechanism.first, mechanism.first.config.model.attention
        has_attention = attention.wiring != "none"
        cells = {
            "mechanism": first.name,
            "wiring": attention.wiring,
            "score": attention.score if has_attention else "–",
            "scope": _scope(attention) if has_attention else "–",
            "variant": _variants(first.config),
            "validation BLEU": _mean(mechanism, "validation_bleu", "{:.2f}") if is_validated else None,
            "BLEU": _bleu(mechanism, several),
            "difference (p)": _difference(mechanism, base) if base is not None else None,
            "perplexity": _mean(mechanism, "perplexity", "{:.3f}"),
            "AER %": _mean(mechanism, "error_rate", "{:.1f}", 100.0) if has_alignment else None,
            "right sentence %": _mean(mechanism, "right_sentence", "{:.1f}", 100.0) if has_sentences else None,
            "entropy": _mean(mechanism, "entropy", "{:.2f}") if has_entropy else None,
            "target tokens/s": _mean(mechanism, "target_tokens_per_second", "{:,.0f}"),
            "parameters": f"{first.parameters:,}",
            "minutes": _mean(mechanism, "minutes", "{:.1f}"),
        }
        rows.append({head: cell for head, cell in cells.items() if cell is not None})
    return _markdown(list(rows[0]), [list(row.values()) for row in rows], left=5)


def _any(results: Sequence[Result], field: str) -> bool:
    """Whether a field was measured."""
    return any(getattr(result, field) is not None for result in results)


def _mean(mechanism: Mechanism, field: str, form: str, factor: float = 1.0) -> str:
    """The mean of a result's field over the seeds that have it."""
    values = [getattr(result, field) for result in mechanism.results]
    measured = [factor * value for value in values if value is not None]
    return form.format(mean_and_deviation(measured)[0]) if measured else "–"


def _bleu(mechanism: Mechanism, several: bool) -> str:
    if not mechanism.bleus:
        return f"– (chrF {_mean(mechanism, 'chrf', '{:.2f}')})"
    if not several:
        return f"{mechanism.first.bleu:.2f} ({mechanism.first.bleu_low:.2f}–{mechanism.first.bleu_high:.2f})"
    mean, deviation = mean_and_deviation(list(mechanism.bleus.values()))
    return f"{mean:.2f} ± {'?' if deviation is None else f'{deviation:.2f}'}"


def _difference(mechanism: Mechanism, base: Mechanism) -> str:
    if mechanism == base or (tested := difference(mechanism, base)) is None:
        return "–"
    mean, p = tested
    text = f"{mean:+.2f}".replace("-", "−")
    return text if p is None else f"{text} ({'< 0.001' if p < 0.0005 else f'{p:.3f}'})"


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
    heads = ["BLEU by source length", *(f"{b.label}, n = {b.count:,}" for b in shared)]
    rows = [[result.name, *map(_bucket, result.by_length)] for result in results]
    return f"{_markdown(heads, rows, left=1)}\n\nLengths are in spaCy tokens."


def _bucket(bucket: Bucket) -> str:
    return "–" if bucket.bleu is None else f"{bucket.bleu:.1f} ({bucket.ci_low:.1f}–{bucket.ci_high:.1f})"


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> str:
    """A table whose first `left` columns stand to the left, the others to the right."""
    rule = ["---" if column < left else "--:" for column in range(len(heads))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows))

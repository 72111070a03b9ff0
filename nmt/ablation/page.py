"""The page that compares the runs: `README.md` and its pictures, made from their results.

What stands outside of the page's two markers is written by hand, and kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

from nmt.ablation.result import Result, folder_of
from nmt.config.model import AttentionConfig
from nmt.config.run import Config
from nmt.evaluation.alignment import AlignmentScore
from nmt.evaluation.by_length import FEW_SENTENCES, Bucket
from nmt.evaluation.checkpoints import TestSet, heat_maps
from nmt.evaluation.plots import plot_bleu_by_length, plot_intervals
from nmt.system import files
from nmt.system.errors import UserError
from nmt.translator import Translator

BEGIN, END = "<!-- results -->", "<!-- /results -->"
NEW_PAGE = f"# Attention mechanisms compared\n\n{BEGIN}\n{END}\n"
MOST_CURVES, MOST_HEAT_MAPS = 7, 9  # that can be told apart in one picture; of more models, these are drawn:
CURVES = (
    *("none", "bahdanau_linear", "bahdanau_additive", "luong_general", "luong_location"),
    *("luong_general_local_m", "luong_general_local_p"),
)
HEAT_MAPS = (
    *("bahdanau_linear", "bahdanau_additive", "bahdanau_additive_coverage", "luong_general", "luong_general_hard"),
    *("luong_scaled_dot_heads", "luong_location", "luong_general_local_m", "luong_general_local_p"),
)
HEAT_MAP_WORDS = 35  # of the source sentence whose heat maps are drawn, or as near to it as there is
WIRINGS = ("none", "bahdanau", "luong")


class Making(NamedTuple):
    """How a page was made: the command, the machine's name if not the one found, the runs that failed."""

    command: str
    machine: str | None
    missing: Sequence[str]


def check(output: Path) -> None:
    """Raise `UserError` unless the page can be written into `output`, so that hours of training are not in vain."""
    files.make_folder(output)
    _with_results(_present(output / "README.md"), "", output / "README.md")


def write(output: Path, results: Sequence[Result], test_set: TestSet, made: Making) -> list[Path]:
    """Write the page and its pictures, and return their paths. Raises `UserError` where one cannot be written."""
    path = output / "README.md"
    ordered = sorted(results, key=lambda result: WIRINGS.index(result.config.model.attention.wiring))
    pictures = _pictures(ordered, test_set)
    blocks = [
        _setting(ordered, test_set, made),
        _table(ordered),
        *(f"![{alternative}]({name})" for name, (alternative, _) in pictures.items()),
        _length_table(ordered),
    ]
    page = _with_results(_present(path), "\n\n".join(blocks), path)
    for name, (_, content) in pictures.items():
        files.write(output / name, content)
    files.write(path, page.encode())
    return [*(output / name for name in pictures), path]


def _present(path: Path) -> str:
    """The page as it is, or a new one."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return NEW_PAGE
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UserError(f"{path} cannot be read ({reason}); mend it, or choose another --output") from None


def _with_results(page: str, results: str, path: Path) -> str:
    """The page with other results between its markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end) or page.count(BEGIN) + page.count(END) > 2:
        raise UserError(
            f"{path} must hold one line {BEGIN} and below it one line {END}, between which the results go; "
            "add them, or choose another --output"
        )
    return f"{before}{BEGIN}\n\n{results}\n\n{END}{after}"


def _pictures(results: Sequence[Result], test_set: TestSet) -> dict[str, tuple[str, bytes]]:
    """File name → alternative text and content."""
    where = fill(f"{test_set.corpus}, {test_set.split} split", 80)
    curves = _chosen(results, MOST_CURVES, CURVES)
    by_length = plot_bleu_by_length(
        [result.name for result in curves],
        [result.by_length for result in curves],
        f"BLEU by source length\n{where}",
        "png",
    )
    pictures = {"bleu_by_length.png": ("BLEU by source length, with 95 % intervals", by_length)}
    errors = {result.name: _error_percent(result.alignment) for result in results if result.alignment is not None}
    if errors:
        ordered = sorted(errors, key=lambda name: errors[name])
        picture = plot_intervals(
            ordered,
            [errors[name] for name in ordered],
            f"Alignment error rate of the attention to the reference\n{where}",
            "AER in percent, with 95 % bootstrap interval; less is better",
            "png",
        )
        pictures["alignment_error.png"] = ("Alignment error rate, with 95 % intervals", picture)
    attentive = [result for result in results if result.config.model.attention.wiring != "none"]
    line = _heat_map_line(test_set)
    if attentive and line is not None:
        drawn = _chosen(attentive, MOST_HEAT_MAPS, HEAT_MAPS)
        best = {result.name: folder_of(result.config) / "best.pt" for result in drawn}
        device = attentive[0].config.training.device
        translators = {name: Translator.load(path, device=device) for name, path in best.items()}
        picture = heat_maps(translators, test_set, line, "png")
        pictures["heat_maps.png"] = ("Attention to the reference of one test sentence", picture)
    return pictures


def _chosen(results: Sequence[Result], most: int, names: Sequence[str]) -> Sequence[Result]:
    """All results, or where they are too many for one picture, the named ones in that order."""
    if len(results) <= most:
        return results
    named = {result.name: result for result in results}
    return [named[name] for name in names if name in named] or results[:most]


def _error_percent(score: AlignmentScore) -> tuple[float, float, float]:
    """The alignment error rate and the ends of its interval."""
    return 100 * score.error_rate, 100 * score.ci_low, 100 * score.ci_high


def _heat_map_line(test_set: TestSet) -> int | None:
    """The line, from 1, of the pair whose source is nearest to `HEAT_MAP_WORDS` long: the first one of equals.

    Both of its sides have words; None if there is no such pair.
    """
    assert test_set.words is not None
    pairs = enumerate(zip(test_set.words.source, test_set.words.target, strict=True), start=1)
    lengths = {line: len(source) for line, (source, target) in pairs if source and target}
    return min(lengths, key=lambda line: abs(lengths[line] - HEAT_MAP_WORDS), default=None)


def _setting(results: Sequence[Result], test_set: TestSet, made: Making) -> str:
    """What was run, on what, how it was measured."""
    config = results[0].config
    lines = [
        f"Made by `{made.command}`.",
        f"Each model was trained once, with seed {config.training.seed}; the configs differ in name and "
        "`model.attention` alone.",
        "",
        f"- Corpus: {_corpus(config, test_set)}",
        f"- Budget: {_budget(config)} for each model",
        f"- Machine: {made.machine or '; '.join(_unique(result.machine for result in results))}",
        f"- BLEU: cased sacreBLEU of detokenised text, beam {config.search.beam_size}, "
        f"{', '.join(f'`{signature}`' for signature in _unique(result.signature for result in results))}",
        "- Intervals: 95 %, by 1,000 bootstrap resamples of the test sentences: they say nothing about other seeds",
        "- Perplexity: per target token of the test set, the end of the sentence counted",
        "- AER: the alignment error rate (Och and Ney 2003) when each word of the reference is linked to the source "
        "word that gets most attention while the model writes it; none without attention or gold links",
        "- Target tokens/s: in training, the median; minutes: of training and validation",
    ]
    if made.missing:
        lines.append(f"- **Missing, because the run failed:** {', '.join(made.missing)}")
    return "\n".join(lines)


def _corpus(config: Config, test_set: TestSet) -> str:
    size = f"{test_set.split} split, {len(test_set.text.source):,} sentence pairs"
    if config.data.corpus == "sample":
        return (
            f"the **synthetic** sample corpus ({test_set.corpus.split(', ')[-1]}), {size}. "
            "A score on it says that a model learns, and nothing about real text."
        )
    return f"{test_set.corpus}, {size}"


def _budget(config: Config) -> str:
    training = config.training
    limits = [f"{training.max_updates:,} updates"] if training.max_updates else []
    limits += [f"{training.max_epochs} epochs"] if training.max_epochs else []
    batch = f"{training.batch_size * training.accumulate:,} {training.batch_unit}"
    return f"{' or '.join(limits)} of at most {batch}"


def _table(results: Sequence[Result]) -> str:
    heads = ["mechanism", "wiring", "score", "scope", "variant", "BLEU", "perplexity"]
    heads += ["AER %", "target tokens/s", "parameters", "minutes"]
    rows = []
    for result in results:
        attention = result.config.model.attention
        axes = ["–"] * 3 if attention.wiring == "none" else [attention.score, _scope(attention), _variant(attention)]
        speed = result.target_tokens_per_second
        rows.append([
            result.name, attention.wiring, *axes,
            f"{result.bleu:.2f} ({result.bleu_low:.2f}–{result.bleu_high:.2f})",
            f"{result.perplexity:.3f}",
            _alignment(result.alignment),
            "–" if speed is None else f"{speed:,.0f}",
            f"{result.parameters:,}",
            f"{result.minutes:.1f}",
        ])  # fmt: skip
    return _markdown(heads, rows, left=5)


def _alignment(score: AlignmentScore | None) -> str:
    if score is None:
        return "–"
    rate, low, high = _error_percent(score)
    return f"{rate:.1f} ({low:.1f}–{high:.1f})"


def _scope(attention: AttentionConfig) -> str:
    window = attention.chosen("scope").model_dump().get("window")
    return attention.scope if window is None else f"{attention.scope}, D = {window}"


def _variant(attention: AttentionConfig) -> str:
    """The other fields that are not what this wiring, score and scope have by default."""
    axes = {"wiring": attention.wiring, "score": attention.score, "scope": attention.scope}
    default = AttentionConfig.model_validate(axes).model_dump()
    words = []
    for field, value in attention.model_dump(exclude={"window"}).items():
        if value != default[field]:
            word = field.replace("_", " ")
            words.append(word if value is True else f"no {word}" if value is False else f"{word} {value}")
    return ", ".join(sorted(words)) or "–"


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

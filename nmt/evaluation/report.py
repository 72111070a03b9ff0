"""An evaluation as a whole: the scores of every model, the files that keep them, the table that shows them."""

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath

from nmt.evaluation.alignment import AlignmentScore
from nmt.evaluation.by_length import FEW_SENTENCES, Bucket, bleu_by_length, check_edges, source_lengths
from nmt.evaluation.learned import LearnedScore, learned_score
from nmt.evaluation.scores import MEANINGLESS, ONE_SIDED, Comparison, Scores, check_pairs, score
from nmt.system import files

WIDTH = 100  # columns of the terminal's table
MODELS_ABREAST = 4
GIVEN = "given"  # the split of a text that was not taken from a corpus
FLAVOURS = {"bleu": "BLEU", "bleu_lowercase": "BLEU lc", "bleu_tokenized_lowercase": "BLEU tok lc", "chrf": "chrF"}


@dataclass(frozen=True)
class ModelEvaluation:
    """What one checkpoint scored on one split of a corpus.

    `alignment` is None without gold links, and for a model without attention. `mechanism` is what pictures call the
    model's attention; None: the name that tables use.
    """

    checkpoint: str
    split: str
    scores: Scores
    by_length: list[Bucket]
    alignment: AlignmentScore | None = None
    mechanism: str | None = None
    learned: tuple[LearnedScore, ...] = ()


def evaluate_outputs(
    outputs: Mapping[str, Sequence[str]],
    sources: Sequence[str],
    references: Sequence[str],
    *,
    split: str,
    source_language: str,
    target_language: str,
    edges: Sequence[int],
    samples: int = 1000,
    seed: int = 12345,
    alignments: Mapping[str, AlignmentScore | None] | None = None,
    mechanisms: Mapping[str, str] | None = None,
    metrics: Sequence[str] = (),
) -> list[ModelEvaluation]:
    """Score every model's detokenised translations (checkpoint → one per source) of the same raw sources.

    `alignments` are the models' alignment scores and `mechanisms` the names of their attention (checkpoint → score or
    name), which become part of the result. `metrics` are further ones (`nmt.evaluation.learned`).
    `edges` are the upper ends of the buckets of source length, in spaCy tokens; `samples` and `seed` are those of
    the bootstrap. Raises UserError where the numbers of sentences differ or are 0, or the edges are not positive and
    increasing.
    """
    check_edges(edges)
    check_pairs(sources, references, "sources")
    for checkpoint, hypotheses in outputs.items():
        check_pairs(hypotheses, references, f"hypotheses of {checkpoint}")
    lengths = source_lengths(sources, source_language)
    return [
        ModelEvaluation(
            checkpoint=checkpoint,
            split=split,
            scores=score(hypotheses, references, target_language),
            by_length=bleu_by_length(hypotheses, references, lengths, edges, samples, seed),
            alignment=None if alignments is None else alignments[checkpoint],
            mechanism=None if mechanisms is None else mechanisms.get(checkpoint),
            learned=tuple(learned_score(m, sources, hypotheses, references, target_language) for m in metrics),
        )
        for checkpoint, hypotheses in outputs.items()
    ]


def write(
    folder: str | Path, evaluations: Sequence[ModelEvaluation], comparisons: Sequence[Comparison], corpus_label: str
) -> list[Path]:
    """Write `evaluation.json` and `bleu_by_length` as .csv, .png and .svg, each whole or not at all; return the paths.

    `corpus_label` stands below the picture's title; of a synthetic corpus it must say that.
    Raises UserError where a file cannot be written.
    """
    from nmt.plots.curves import bleu_by_length as draw
    from nmt.plots.style import render

    names = [shortened(name, 30) for name in display_names([e.checkpoint for e in evaluations])]
    picture = draw(
        legend([evaluation.mechanism for evaluation in evaluations], names),
        [evaluation.by_length for evaluation in evaluations],
        title="BLEU by source length",
        subtitle=described(corpus_label, evaluations[0].split),
    )
    contents = {
        "bleu_by_length.csv": _as_csv(evaluations).encode(),
        "bleu_by_length.png": render(picture, "png"),
        "bleu_by_length.svg": render(picture, "svg"),
        "evaluation.json": _as_json(evaluations, comparisons).encode(),  # last: with it an evaluation is complete
    }
    paths = [Path(folder) / name for name in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        files.write(path, content)
    return paths


def table(
    evaluations: Sequence[ModelEvaluation], comparisons: Sequence[Comparison] = (), *, alignment: bool = False
) -> str:
    """The scores for a terminal, in plain text of at most 100 columns for the usual labels and counts.

    All four flavours per model with their signatures, BLEU by source length with 95 % intervals (four models side
    by side, further ones below), with `alignment` the alignment error rates, and the significance of each difference,
    if any comparisons are given.
    """
    names = dict(
        zip((e.checkpoint for e in evaluations), display_names([e.checkpoint for e in evaluations]), strict=True)
    )
    blocks = [_score_table(evaluations, names), _signature_lines(evaluations[0].scores)]
    if evaluations[0].learned:
        blocks.append(_learned_table(evaluations, names))
    for start in range(0, len(evaluations), MODELS_ABREAST):
        blocks.append(_length_table(evaluations[start : start + MODELS_ABREAST], names))
    if any(bucket.is_small for bucket in evaluations[0].by_length):
        blocks[-1] += f"\n* fewer than {FEW_SENTENCES} sentences: too few for a reliable score"
    if alignment:
        blocks.append(_alignment_table(evaluations, names))
    if comparisons:
        blocks.append(_significance_lines(comparisons, names))
    return "\n\n".join(blocks)


def described(corpus_label: str, split: str) -> str:
    """A text as titles name it: a corpus with its split, or a given file by its name alone."""
    return corpus_label if split == GIVEN else f"{corpus_label}, {split} split"


def display_names(checkpoints: Sequence[str]) -> list[str]:
    """Short names for tables and legends: the paths without the leading and trailing parts that all of them share.

    A single checkpoint keeps its folder and file name. A name that is not a path, such as an ensemble's, stays as it
    is.
    """
    paths = [name for name in checkpoints if name.endswith(".pt")]
    parts = [PurePath(path).parts for path in paths]
    if len(set(parts)) < 2:
        parts = [path[-2:] for path in parts]
    else:
        while len({path[0] for path in parts}) == 1 and min(map(len, parts)) > 1:
            parts = [path[1:] for path in parts]
        while len({path[-1] for path in parts}) == 1 and min(map(len, parts)) > 1:
            parts = [path[:-1] for path in parts]
    short = dict(zip(paths, (str(PurePath(*path)) for path in parts), strict=True))
    return [short.get(name, name) for name in checkpoints]


def legend(mechanisms: Sequence[str | None], names: Sequence[str]) -> list[str]:
    """What a legend calls each model: its mechanism, with its name where two share one; its name where that is None."""
    count = Counter(mechanisms)
    return [
        name if kind is None else kind if count[kind] == 1 else f"{kind} ({name})"
        for kind, name in zip(mechanisms, names, strict=True)
    ]


def shortened(name: str, width: int) -> str:
    """The name in at most `width` characters: the end of a long one is the part that tells models apart."""
    return name if len(name) <= width else f"...{name[3 - width :]}"


def _as_json(evaluations: Sequence[ModelEvaluation], comparisons: Sequence[Comparison]) -> str:
    models = [
        {
            "checkpoint": evaluation.checkpoint,
            "split": evaluation.split,
            **asdict(evaluation.scores),
            "by_length": [asdict(bucket) for bucket in evaluation.by_length],
            "alignment": None if evaluation.alignment is None else asdict(evaluation.alignment),
            "learned": [asdict(learned) for learned in evaluation.learned],
        }
        for evaluation in evaluations
    ]
    content = {"models": models, "significance": [asdict(comparison) for comparison in comparisons]}
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _as_csv(evaluations: Sequence[ModelEvaluation]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("model", "low", "high", "count", "bleu", "ci_low", "ci_high"))
    for evaluation in evaluations:
        writer.writerows((evaluation.checkpoint, *asdict(bucket).values()) for bucket in evaluation.by_length)
    return text.getvalue()


def _score_table(evaluations: Sequence[ModelEvaluation], names: Mapping[str, str]) -> str:
    heads = [*FLAVOURS.values(), "length"]
    room = WIDTH - sum(max(7, len(label)) + 2 for label in heads)
    first = [shortened(names[e.checkpoint], room) for e in evaluations]
    split = evaluations[0].split
    head = "Scores" if split == GIVEN else f"Scores on {split}"
    rows = [
        [*(f"{getattr(e.scores, flavour):.2f}" for flavour in FLAVOURS), f"{e.scores.length_ratio:.3f}"]
        for e in evaluations
    ]
    return _aligned([head, *first], [heads, *rows])


def _signature_lines(scores: Scores) -> str:
    lines = [f"{label:<11}  {scores.signatures[flavour]}" for flavour, label in FLAVOURS.items()]
    return "\n".join(
        [*lines, f"{'length':<11}  tokens of the translations / of the references; below 1, BLEU has a brevity penalty"]
    )


def _length_table(evaluations: Sequence[ModelEvaluation], names: Mapping[str, str]) -> str:
    shared = evaluations[0].by_length
    heads = ["n", *(shortened(names[e.checkpoint], 19) for e in evaluations)]
    cells = zip(*([_interval(bucket) for bucket in e.by_length] for e in evaluations), strict=True)
    rows = [[str(bucket.count), *row] for bucket, row in zip(shared, cells, strict=True)]
    first = [f"{bucket.label}{'*' if bucket.is_small else ''}" for bucket in shared]
    caption = "BLEU (95 % bootstrap interval) by source length in spaCy tokens, n sentences"
    return f"{caption}\n{_aligned(['length', *first], [heads, *rows])}"


def _learned_table(evaluations: Sequence[ModelEvaluation], names: Mapping[str, str]) -> str:
    first = [shortened(names[e.checkpoint], 50) for e in evaluations]
    rows = [[f"{learned.score:.4f}" for learned in e.learned] for e in evaluations]
    heads = [learned.name for learned in evaluations[0].learned]
    signatures = [f"{learned.name:<11}  {learned.signature}" for learned in evaluations[0].learned]
    return "\n".join([_aligned(["", *first], [heads, *rows]), *signatures])


def _alignment_table(evaluations: Sequence[ModelEvaluation], names: Mapping[str, str]) -> str:
    rows = []
    for result in (evaluation.alignment for evaluation in evaluations):
        if result is None:
            rows.append(["-"] * 4)
            continue
        precision = "-" if result.precision is None else f"{100 * result.precision:.1f}"
        interval = f"{100 * result.ci_low:.1f}-{100 * result.ci_high:.1f}"
        rows.append([f"{100 * result.error_rate:.1f}", interval, precision, f"{100 * result.recall:.1f}"])
    caption = "Alignment error rate (AER) of the attention to the reference, with precision and recall, in percent"
    first = [shortened(names[e.checkpoint], 50) for e in evaluations]
    return f"{caption}\n{_aligned(['', *first], [['AER', '95 % interval', 'precision', 'recall'], *rows])}"


def _significance_lines(comparisons: Sequence[Comparison], names: Mapping[str, str]) -> str:
    baseline = comparisons[0]
    head = f"Against {shortened(names.get(baseline.baseline, baseline.baseline), 40)}, {baseline.test}"
    systems = [shortened(names.get(c.system, c.system), 70) for c in comparisons]
    p_values = ["-" if c.p_value is None else f"{c.p_value:.4f}" for c in comparisons]
    rows = [[f"{c.system_score - c.baseline_score:+.2f}", p] for c, p in zip(comparisons, p_values, strict=True)]
    lines = [head, _aligned(["", *systems], [["BLEU", "p"], *rows])]
    lines += [f"p: {ONE_SIDED}"] if any(p != "-" for p in p_values) else []
    lines += [f"-: {MEANINGLESS}"] if "-" in p_values else []
    return "\n".join(lines)


def _interval(bucket: Bucket) -> str:
    if bucket.bleu is None:
        return "-"
    return f"{bucket.bleu:.1f} ({bucket.ci_low:.1f}-{bucket.ci_high:.1f})"


def _aligned(first: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines of columns, two blanks between them: the first column to the left, the others to the right."""
    left = max(map(len, first))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([label.ljust(left), *(cell.rjust(width) for cell, width in zip(row, widths, strict=True))])
        for label, row in zip(first, rows, strict=True)
    )

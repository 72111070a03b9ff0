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
MODELS_PER_ROW = 4
NO_SPLIT = "given"  # the split of a text that was not taken from a corpus
FLAVOURS = {"bleu": "BLEU", "bleu_lowercase": "BLEU lc", "bleu_tokenized_lowercase": "BLEU tok lc", "chrf": "chrF"}


@dataclass(frozen=True)
class ModelEvaluation:
    """What one checkpoint scored on one split of a corpus.

    `alignment` is None without gold links, and for a model without attention. `mechanism` names the model's attention
    in figures; None: the name that tables use.
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
    alignments: Mapping[str, AlignmentScore | None] | None = None,
    mechanisms: Mapping[str, str] | None = None,
    metrics: Sequence[str] = (),
) -> list[ModelEvaluation]:
    """Score every model's detokenised translations (checkpoint → one per source) of the same raw sources.

    `edges` are the upper ends of the buckets of source length, in spaCy tokens; `alignments` and `mechanisms` (by
    checkpoint) become part of the result; `metrics` are further scores (`nmt.evaluation.learned`).
    Raises UserError where the numbers of sentences differ or are 0, or the edges are not positive and increasing.
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
            by_length=bleu_by_length(hypotheses, references, lengths, edges),
            alignment=(alignments or {}).get(checkpoint),
            mechanism=(mechanisms or {}).get(checkpoint),
            learned=tuple(learned_score(m, sources, hypotheses, references, target_language) for m in metrics),
        )
        for checkpoint, hypotheses in outputs.items()
    ]


def write(
    folder: str | Path, evaluations: Sequence[ModelEvaluation], comparisons: Sequence[Comparison], corpus_label: str
) -> list[Path]:
    """Write `evaluation.json` and `bleu_by_length` as .csv, .png and .svg, each whole or not at all; return the paths.

    `corpus_label` is the figure's subtitle; of a synthetic corpus it must say that.
    Raises UserError where a file cannot be written.
    """
    from nmt.plots.curves import bleu_by_length as draw
    from nmt.plots.style import render

    names = [shortened(name, 30) for name in display_names([e.checkpoint for e in evaluations])]
    figure = draw(
        legend([evaluation.mechanism for evaluation in evaluations], names),
        [evaluation.by_length for evaluation in evaluations],
        title="BLEU by source length",
        subtitle=described(corpus_label, evaluations[0].split),
    )
    contents = {
        "bleu_by_length.csv": _as_csv(evaluations).encode(),
        "bleu_by_length.png": render(figure, "png"),
        "bleu_by_length.svg": render(figure, "svg"),
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
    names = display_names([e.checkpoint for e in evaluations])
    blocks = [_score_table(evaluations, names)]
    if evaluations[0].learned:
        blocks.append(_learned_table(evaluations, names))
    for start in range(0, len(evaluations), MODELS_PER_ROW):
        row = slice(start, start + MODELS_PER_ROW)
        blocks.append(_length_table(evaluations[row], names[row]))
    if any(bucket.is_small for bucket in evaluations[0].by_length):
        blocks[-1] += f"\n* fewer than {FEW_SENTENCES} sentences: too few for a reliable score"
    if alignment:
        blocks.append(_alignment_table(evaluations, names))
    if comparisons:
        blocks.append(_significance_table(comparisons, names))
    return "\n\n".join(blocks)


def described(corpus_label: str, split: str) -> str:
    """A text as titles name it: a corpus with its split, or a file by its name alone."""
    return corpus_label if split == NO_SPLIT else f"{corpus_label}, {split} split"


def display_names(checkpoints: Sequence[str]) -> list[str]:
    """Short names for tables and legends: the paths without the leading and trailing folders that all of them share.

    A single checkpoint keeps its folder and file name. A name that is not a path, such as an ensemble's, stays as it
    is.
    """
    paths = {name: PurePath(name).parts for name in checkpoints if name.endswith(".safetensors")}
    if len(paths) < 2:
        paths = {name: parts[-2:] for name, parts in paths.items()}
    else:
        for end, shorter in ((0, slice(1, None)), (-1, slice(None, -1))):
            while len({parts[end] for parts in paths.values()}) == 1 and min(map(len, paths.values())) > 1:
                paths = {name: parts[shorter] for name, parts in paths.items()}
    return [str(PurePath(*paths[name])) if name in paths else name for name in checkpoints]


def legend(mechanisms: Sequence[str | None], names: Sequence[str]) -> list[str]:
    """Labels of models in figures: the mechanism, with the name where two share one; the name where that is None."""
    count = Counter(mechanisms)
    return [
        name if kind is None else kind if count[kind] == 1 else f"{kind} ({name})"
        for kind, name in zip(mechanisms, names, strict=True)
    ]


def shortened(name: str, width: int) -> str:
    """The name in at most `width` characters: the end of a long one is what distinguishes models."""
    return name if len(name) <= width else f"...{name[3 - width :]}"


def _as_json(evaluations: Sequence[ModelEvaluation], comparisons: Sequence[Comparison]) -> str:
    models = []
    for entry in map(asdict, evaluations):
        entry.pop("mechanism")
        scores, by_length, alignment = (entry.pop(field) for field in ("scores", "by_length", "alignment"))
        learned = entry.pop("learned")
        models.append({**entry, **scores, "by_length": by_length, "alignment": alignment, "learned": learned})
    content = {"models": models, "significance": [asdict(comparison) for comparison in comparisons]}
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _as_csv(evaluations: Sequence[ModelEvaluation]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("model", "low", "high", "count", "bleu", "ci_low", "ci_high"))
    for evaluation in evaluations:
        writer.writerows((evaluation.checkpoint, *asdict(bucket).values()) for bucket in evaluation.by_length)
    return text.getvalue()


def _score_table(evaluations: Sequence[ModelEvaluation], names: Sequence[str]) -> str:
    heads = [*FLAVOURS.values(), "length"]
    room = WIDTH - sum(max(7, len(label)) + 2 for label in heads)
    split = evaluations[0].split
    rows = [
        [*(f"{getattr(e.scores, flavour):.2f}" for flavour in FLAVOURS), f"{e.scores.length_ratio:.3f}"]
        for e in evaluations
    ]
    first = ["Scores" if split == NO_SPLIT else f"Scores on {split}", *(shortened(name, room) for name in names)]
    signatures = {label: evaluations[0].scores.signatures[flavour] for flavour, label in FLAVOURS.items()}
    signatures["length"] = "tokens of the translations / of the references; below 1, BLEU has a brevity penalty"
    notes = "\n".join(f"{label:<11}  {text}" for label, text in signatures.items())
    return f"{_aligned(first, [heads, *rows])}\n\n{notes}"


def _length_table(evaluations: Sequence[ModelEvaluation], names: Sequence[str]) -> str:
    rows = [["n", *(shortened(name, 19) for name in names)]]
    for buckets in zip(*(e.by_length for e in evaluations), strict=True):
        cells = ["-" if b.bleu is None else f"{b.bleu:.1f} ({b.ci_low:.1f}-{b.ci_high:.1f})" for b in buckets]
        rows.append([str(buckets[0].count), *cells])
    first = [f"{bucket.label}{'*' if bucket.is_small else ''}" for bucket in evaluations[0].by_length]
    caption = "BLEU (95 % bootstrap interval) by source length in spaCy tokens, n sentences"
    return f"{caption}\n{_aligned(['length', *first], rows)}"


def _learned_table(evaluations: Sequence[ModelEvaluation], names: Sequence[str]) -> str:
    learned = evaluations[0].learned
    rows = [[score.name for score in learned], *([f"{score.score:.4f}" for score in e.learned] for e in evaluations)]
    signatures = [f"{score.name:<11}  {score.signature}" for score in learned]
    return "\n".join([_aligned(["", *(shortened(name, 50) for name in names)], rows), *signatures])


def _alignment_table(evaluations: Sequence[ModelEvaluation], names: Sequence[str]) -> str:
    rows = [["AER", "95 % interval", "precision", "recall"]]
    for result in (evaluation.alignment for evaluation in evaluations):
        if result is None:
            rows.append(["-"] * 4)
            continue
        precision = "-" if result.precision is None else f"{100 * result.precision:.1f}"
        interval = f"{100 * result.ci_low:.1f}-{100 * result.ci_high:.1f}"
        rows.append([f"{100 * result.error_rate:.1f}", interval, precision, f"{100 * result.recall:.1f}"])
    caption = "Alignment error rate (AER) of the attention to the reference, with precision and recall, in percent"
    return f"{caption}\n{_aligned(['', *(shortened(name, 50) for name in names)], rows)}"


def _significance_table(comparisons: Sequence[Comparison], names: Sequence[str]) -> str:
    """`comparisons` are those of all models but the first, in their order."""
    p_values = ["-" if c.p_value is None else f"{c.p_value:.4f}" for c in comparisons]
    rows = [[f"{c.system_score - c.baseline_score:+.2f}", p] for c, p in zip(comparisons, p_values, strict=True)]
    lines = [
        f"Against {shortened(names[0], 40)}, {comparisons[0].test}",
        _aligned(["", *(shortened(name, 70) for name in names[1:])], [["BLEU", "p"], *rows]),
    ]
    lines += [f"p: {ONE_SIDED}"] if any(p != "-" for p in p_values) else []
    lines += [f"-: {MEANINGLESS}"] if "-" in p_values else []
    return "\n".join(lines)


def _aligned(first: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines of columns, two blanks between them: the first column to the left, the others to the right."""
    left = max(map(len, first))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([label.ljust(left), *(cell.rjust(width) for cell, width in zip(row, widths, strict=True))])
        for label, row in zip(first, rows, strict=True)
    )

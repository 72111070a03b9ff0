"""An evaluation as a whole: the scores of every model, the files that keep them, the table that shows them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, count
from pathlib import Path, PurePath

from nmt.evaluation.alignment import AlignmentScore
from nmt.evaluation.by_length import Bucket
from nmt.evaluation.scores import MEANINGLESS, ONE_SIDED, UNDEFINED, Comparison, Scores
from nmt.system import files
from nmt.text.corpus import ParallelText

NO_SPLIT = "given"  # the split of a text that was not taken from a corpus
FLAVOURS = {"bleu": "BLEU", "bleu_lowercase": "BLEU lc", "bleu_tokenized_lowercase": "BLEU tok lc", "chrf": "chrF"}


@dataclass(frozen=True)
class ModelEvaluation:
    """What one checkpoint scored on one split of a corpus; `alignment` is None without gold links or attention."""

    checkpoint: str
    split: str
    scores: Scores
    by_length: list[Bucket]
    alignment: AlignmentScore | None = None
    attention: dict[str, float] | None = None  # by the add-on `nmt.align`; empty without attention


def write(
    folder: str | Path, evaluations: Sequence[ModelEvaluation], comparisons: Sequence[Comparison], corpus_label: str
) -> list[Path]:
    """Write `evaluation.json` and the figure `bleu_by_length`; return the paths. Raises UserError if that fails."""
    from nmt.plots.curves import bleu_by_length as draw
    from nmt.plots.style import render

    figure = draw(
        [shortened(name, 30) for name in display_names([e.checkpoint for e in evaluations])],
        [evaluation.by_length for evaluation in evaluations],
        title="BLEU by source length",
        subtitle=described(corpus_label, evaluations[0].split),
    )
    contents = {
        "bleu_by_length.png": render(figure, "png"),
        "bleu_by_length.svg": render(figure, "svg"),
        "evaluation.json": _as_json(evaluations, comparisons).encode(),  # last: with it an evaluation is complete
    }
    return _write_all(Path(folder), contents)


def write_translations(folder: Path, text: ParallelText, outputs: Mapping[str, Sequence[str]]) -> Path:
    """Write source, reference and each model's sentences (checkpoint → one per line) into `folder`/translations.

    Returns that folder. Raises UserError where a file cannot be written.
    """
    names = ["source", "reference", *text_names(list(outputs))]
    sides = zip(names, [text.source, text.target, *outputs.values()], strict=True)
    lines = {f"{name}.txt": "".join(f"{s}\n" for s in sentences).encode() for name, sentences in sides}
    return _write_all(folder / "translations", lines)[0].parent


def text_names(checkpoints: Sequence[str]) -> list[str]:
    """The names of the files of translations: as in tables, such as quickstart_best, with a number if one is taken."""
    taken = ["source", "reference"]
    for name in display_names(checkpoints):
        stem = "_".join(name.removesuffix(".safetensors").replace("/", " ").split()).strip(".") or "model"
        taken.append(next(n for n in chain([stem], (f"{stem}_{i}" for i in count(2))) if n not in taken))
    return taken[2:]


def table(evaluations: Sequence[ModelEvaluation], comparisons: Sequence[Comparison] = ()) -> str:
    """The scores for a terminal, in plain text: up to four models fit into 100 columns."""
    names = display_names([e.checkpoint for e in evaluations])
    blocks = [_score_table(evaluations, names), _length_table(evaluations, names)]
    if any(evaluation.alignment for evaluation in evaluations):
        blocks.append(_alignment_table(evaluations, names))
    if comparisons:
        blocks.append(_significance_table(comparisons, names))
    return "\n\n".join(blocks)


def described(corpus_label: str, split: str) -> str:
    """A text as titles name it: a corpus with its split, or a file by its name alone."""
    return corpus_label if split == NO_SPLIT else f"{corpus_label}, {split} split"


def display_names(checkpoints: Sequence[str]) -> list[str]:
    """Short names for tables and legends: the paths without the leading and trailing folders that all of them share."""
    paths = {name: PurePath(name).parts for name in checkpoints if name.endswith(".safetensors")}
    if len(paths) < 2:
        paths = {name: parts[-2:] for name, parts in paths.items()}
    else:
        for end, shorter in ((0, slice(1, None)), (-1, slice(None, -1))):
            while len({parts[end] for parts in paths.values()}) == 1 and min(map(len, paths.values())) > 1:
                paths = {name: parts[shorter] for name, parts in paths.items()}
    return [str(PurePath(*paths[name])) if name in paths else name for name in checkpoints]


def shortened(name: str, width: int) -> str:
    """The name in at most `width` characters: the end of a long one is what distinguishes models."""
    return name if len(name) <= width else f"...{name[3 - width :]}"


def _write_all(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    for name, content in contents.items():
        files.write(folder / name, content)
    return [folder / name for name in contents]


def _as_json(evaluations: Sequence[ModelEvaluation], comparisons: Sequence[Comparison]) -> str:
    models = []
    for entry in map(asdict, evaluations):
        head = {field: entry.pop(field) for field in ("checkpoint", "split")}
        models.append(head | entry.pop("scores") | entry)
    content = {"models": models, "significance": [asdict(comparison) for comparison in comparisons]}
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _score_table(evaluations: Sequence[ModelEvaluation], names: Sequence[str]) -> str:
    first = evaluations[0]
    values = asdict(first.scores)
    flavours = sorted(FLAVOURS, key=lambda flavour: values[flavour] is None)  # chrF leads where BLEU is undefined
    labels = [FLAVOURS[flavour] for flavour in flavours]
    heads = ["Scores" if first.split == NO_SPLIT else f"Scores on {first.split}", *labels, "length"]
    cells = [
        [*(_number(getattr(e.scores, flavour)) for flavour in flavours), f"{e.scores.length_ratio:.3f}"]
        for e in evaluations
    ]
    notes = {FLAVOURS[f]: UNDEFINED if values[f] is None else first.scores.signatures[f] for f in flavours}
    notes["length"] = "tokens of the translations / of the references; below 1, BLEU has a brevity penalty"
    lines = [model_table(heads, names, cells), "", *(f"{label:<11}  {note}" for label, note in notes.items())]
    return "\n".join(lines)


def _number(score: float | None) -> str:
    return "-" if score is None else f"{score:.2f}"


def _length_table(evaluations: Sequence[ModelEvaluation], names: Sequence[str]) -> str:
    width = 19 if len(names) > 1 else 60
    rows = [["length", "n", *(shortened(name, width) for name in names)]]
    for buckets in zip(*(e.by_length for e in evaluations), strict=True):
        cells = ["-" if b.bleu is None else f"{b.bleu:.1f} ({b.ci_low:.1f}-{b.ci_high:.1f})" for b in buckets]
        rows.append([buckets[0].label, str(buckets[0].count), *cells])
    return f"BLEU (95 % bootstrap interval) by source length in spaCy tokens, n sentences\n{_aligned(rows)}"


def _alignment_table(evaluations: Sequence[ModelEvaluation], names: Sequence[str]) -> str:
    def percent(rate: float | None) -> str:
        return "-" if rate is None else f"{100 * rate:.1f}"

    cells = [
        [percent(a.error_rate), f"{percent(a.ci_low)}-{percent(a.ci_high)}", percent(a.precision), percent(a.recall)]
        if (a := evaluation.alignment)
        else ["-"] * 4
        for evaluation in evaluations
    ]
    caption = "Alignment error rate (AER) of the attention to the reference, with precision and recall, in percent"
    heads = ["", "AER", "95 % interval", "precision", "recall"]
    return f"{caption}\n{model_table(heads, names, cells)}"


def _significance_table(comparisons: Sequence[Comparison], names: Sequence[str]) -> str:
    """`comparisons` are those of all models but the first, in their order."""
    p_values = ["-" if c.p_value is None else f"{c.p_value:.4f}" for c in comparisons]
    cells = [[f"{c.system_score - c.baseline_score:+.2f}", p] for c, p in zip(comparisons, p_values, strict=True)]
    lines = [
        f"Against {shortened(names[0], 40)}, {comparisons[0].test}",
        model_table(["", "BLEU", "p"], names[1:], cells),
    ]
    lines += [f"p: {ONE_SIDED}"] if any(p != "-" for p in p_values) else []
    lines += [f"-: {MEANINGLESS}"] if "-" in p_values else []
    return "\n".join(lines)


def model_table(heads: Sequence[str], names: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """A row of cells for each model."""
    return _aligned([heads, *([shortened(name, 50), *row] for name, row in zip(names, cells, strict=True))])


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """Lines of columns, two blanks between them: the first column to the left, the others to the right."""
    left, *widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(left), *(cell.rjust(width) for cell, width in zip(row[1:], widths, strict=True))])
        for row in rows
    )

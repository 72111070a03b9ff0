"""A comparison as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from nmt.comparison.analysis import Analysis, Pair
from nmt.comparison.sentences import ONLY, WRONG, Example, NGram
from nmt.comparison.words import Accuracy
from nmt.evaluation.report import model_table, shortened
from nmt.evaluation.scores import MEANINGLESS, ONE_SIDED, UNDEFINED
from nmt.system.errors import CONTROLS

EXAMPLES, NGRAMS = 3, 8  # of each side that the summary has; the page has more
MARKS = {WRONG: "[-{}-]", ONLY: "{{+{}+}}", "": "{}"}  # as in git diff --word-diff
WIDTH = 24  # of a system's name in a table's head


def text(analysis: Analysis) -> str:
    """All that was found, with the first few sentences and n-grams of each pair."""
    names = list(analysis.texts.systems)
    heads, rows, notes = score_table(analysis)
    blocks = ["\n".join([model_table(heads, names, [row[1:] for row in rows]), "", *notes])]
    if analysis.lengths:
        blocks.append(_length_table(analysis))
    else:
        blocks.append("BLEU by source length: add --source FILE")
    if analysis.frequencies:
        blocks.append(_accuracy_table("words by frequency in the training text", analysis.frequencies, names))
    else:
        blocks.append("Accuracy by frequency: add --training FILE, the training text in the target language")
    blocks.append(_accuracy_table(f"words by part of speech, by {analysis.parts_by}", analysis.parts, names))
    for pair in analysis.pairs:
        blocks += [_sentences(analysis, pair), _ngrams(pair)]
    return "\n\n".join(blocks)


def score_table(analysis: Analysis) -> tuple[list[str], list[list[str]], list[str]]:
    """BLEU, chrF and length ratio with the p-values against the first system: heads, a row for each system, notes."""
    first = next(iter(analysis.texts.systems))
    p_values = {(test.system, test.metric): number_of(test.p_value, 4) for test in analysis.tests}
    rows = []
    for name, scores in analysis.scores.items():
        bleu, chrf = (p_values.get((name, metric), "") for metric in ("bleu", "chrf"))
        values = [number_of(analysis.bleu(name)[0], 2), bleu, f"{scores.chrf:.2f}", chrf, f"{scores.length_ratio:.3f}"]
        rows.append([name, *values])
    value, signature = analysis.bleu(first)
    notes = [
        f"{analysis.bleu_name}: {UNDEFINED if value is None else signature}",
        f"chrF: {analysis.scores[first].signatures['chrf']}{', of lower-cased text' * analysis.lowercase}",
        f"p: against {first}, {analysis.tests[0].test}; {ONE_SIDED}",
        "length: tokens of the translations / of the references",
        *([f"-: {MEANINGLESS}"] if any(test.p_value is None for test in analysis.tests) else []),
    ]
    return ["Scores", analysis.bleu_name, "p", "chrF", "p", "length"], rows, notes


def number_of(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def differences(row: Accuracy) -> list[str]:
    """Each system's F1, with a star where the interval of its difference to the first is without 0."""
    return [f"{number_of(f1)}{'*' if row.is_clear(i) else ''}" for i, f1 in enumerate(row.f1)]


def _length_table(analysis: Analysis) -> str:
    names = list(analysis.texts.systems)
    rows = list(zip(*analysis.lengths.values(), strict=True))
    cells = [[str(row[0].count), *(number_of(bucket.bleu) for bucket in row)] for row in rows]
    heads = ["length", "n", *(shortened(name, WIDTH) for name in names)]
    caption = f"{analysis.bleu_name} by source length in spaCy tokens, n sentences"
    return f"{caption}\n{model_table(heads, [row[0].label for row in rows], cells)}"


def _accuracy_table(caption: str, rows: Sequence[Accuracy], names: Sequence[str]) -> str:
    cells = [[str(row.count), *differences(row)] for row in rows]
    heads = ["", "n", *(shortened(name, WIDTH) for name in names)]
    table = model_table(heads, [row.label for row in rows], cells)
    return f"F1 of {caption}, n words of the references (*: the difference's 95 % interval is without 0)\n{table}"


def _sentences(analysis: Analysis, pair: Pair) -> str:
    first, second = pair.names
    won, lost, ties = pair.wins
    lines = [f"Sentences by chrF: {first} is better in {won}, {second} in {lost}, equal in {ties}"]
    lines += ["[-not in the reference-]  {+in the reference, and only here+}"]
    for winner, examples in zip(pair.names, pair.examples, strict=True):
        lines += ["", f"Largest wins of {winner}"]
        names = pair.names if winner == first else pair.names[::-1]
        lines += [line for example in examples[:EXAMPLES] for line in _example(analysis, example, names)]
    return "\n".join(lines)


def _example(analysis: Analysis, example: Example, names: Sequence[str]) -> list[str]:
    texts, number = analysis.texts, example.number
    rows = [("source", texts.sources[number])] if texts.sources else []
    rows.append(("reference", texts.references[number]))
    for name, score, words in zip(names, example.scores, example.marked, strict=True):
        marked = " ".join(MARKS[kind].format(word) for word, kind in words)
        rows.append((shortened(name, WIDTH), f"{marked}  ({score:.1f})"))
    width = max(len(name) for name, _ in rows)
    return [f"  {number + 1}", *(f"    {name:{width}}  {CONTROLS.sub(chr(0xFFFD), line)}" for name, line in rows)]


def _ngrams(pair: Pair) -> str:
    lines = []
    for winner, loser, ngrams in zip(pair.names, pair.names[::-1], pair.ngrams, strict=True):
        lines.append(f"N-grams that {winner} has right more often than {loser}: {_listed(ngrams)}")
    return "\n".join(lines)


def _listed(ngrams: Sequence[NGram]) -> str:
    listed = (f"{ngram.text} ({ngram.counts[0]}, {ngram.counts[1]})" for ngram in ngrams[:NGRAMS])
    return CONTROLS.sub(chr(0xFFFD), "; ".join(listed)) or "none"

"""A comparison as one HTML file: no script, nothing from elsewhere, light and dark, for screens of any width."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from nmt.comparison.analysis import Analysis, Pair
from nmt.comparison.sentences import ONLY, WRONG, Example, NGram
from nmt.comparison.summary import differences, score_table
from nmt.comparison.words import Accuracy
from nmt.evaluation.report import shortened
from nmt.system.errors import CONTROLS

STYLE = Path(__file__).with_name("page.css")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
OPEN = 5  # sentences of each side that are shown at once; the others unfold


def html(analysis: Analysis) -> str:
    """The page."""
    names = list(analysis.texts.systems)
    title = " · ".join(names)
    sections = [_scores(analysis), _lengths(analysis), *_words(analysis)]
    for pair in analysis.pairs:
        sections += [_sentences(analysis, pair), _ngrams(pair)]
    head = (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{text(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<style>\n{STYLE.read_text(encoding='utf-8')}</style>\n</head>\n"
    )
    sentences = f"{len(analysis.texts.references):,} sentences, compared with {text(names[0])}"
    lower = ", lower-cased" if analysis.lowercase else ""
    body = f"<header><h1>{text(title)}</h1><p>{sentences}{lower}.</p></header>\n<main>\n{''.join(sections)}</main>"
    return f"{head}<body>\n{body}\n</body>\n</html>\n"


def text(content: str) -> str:
    """Text as HTML: markup escaped, and control characters, which no page may have, replaced."""
    return escape(CONTROLS.sub("\ufffd", content))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """A table whose first column names its rows; all cells are HTML."""
    head = "".join(f'<th scope="col">{cell}</th>' for cell in heads)
    lines = []
    for first, *cells in rows:
        lines.append(f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>')
    body = "\n".join(lines)
    # It may be wider than a phone: then it scrolls by itself, also with the keyboard.
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{caption}"><table><caption>{caption}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>\n"
    )


def _section(heading: str, content: str) -> str:
    return f"<section>\n<h2>{heading}</h2>\n{content}</section>\n"


def _scores(analysis: Analysis) -> str:
    heads, rows, notes = score_table(analysis)
    cells = [list(map(text, row)) for row in rows]
    listed = "".join(f"<li>{text(note)}</li>" for note in notes)
    return _section("Scores", f'{table(heads, cells, "Scores of each system")}<ul class="notes">{listed}</ul>\n')


def _lengths(analysis: Analysis) -> str:
    if not analysis.lengths:
        return ""
    from nmt.plots.curves import bleu_by_length
    from nmt.plots.style import render

    names = list(analysis.lengths)
    case = "lower-cased" if analysis.lowercase else "cased"
    figure = bleu_by_length(
        [shortened(name, 30) for name in names], list(analysis.lengths.values()), title="", case=case
    )
    svg = re.sub(r"^.*?(?=<svg)", "", render(figure, "svg").decode(), flags=re.DOTALL)
    svg = re.sub(r'(?<=<svg )(?:width|height)="[^"]*" |(?<= )(?:width|height)="[^"]*pt" ', "", svg, count=2)
    svg = svg.replace("<svg ", '<svg role="img" aria-label="BLEU by source length; the table has its values" ', 1)
    rows = [
        [bucket[0].label, f"{bucket[0].count:,}", *(_interval(b.bleu, b.ci_low, b.ci_high) for b in bucket)]
        for bucket in zip(*analysis.lengths.values(), strict=True)
    ]
    heads = ["length", "sentences", *map(text, names)]
    caption = f"{analysis.bleu_name} by source length in spaCy tokens, with 95 % bootstrap intervals"
    return _section("By source length", f"<figure>{svg}</figure>\n{table(heads, rows, caption)}")


def _interval(value: float | None, low: float | None, high: float | None) -> str:
    return "-" if value is None else f"{value:.1f} <small>({low:.1f} to {high:.1f})</small>"


def _words(analysis: Analysis) -> list[str]:
    names = [text(name) for name in analysis.texts.systems]
    sections = []
    if analysis.frequencies:
        caption = "F1 of words by how often the training text has them"
        sections.append(_section("By frequency", _accuracy_table(analysis.frequencies, names, "times seen", caption)))
    caption = f"F1 of words by part of speech, by {text(analysis.parts_by)}"
    sections.append(_section("By part of speech", _accuracy_table(analysis.parts, names, "part of speech", caption)))
    return sections


def _accuracy_table(rows: Sequence[Accuracy], names: Sequence[str], kind: str, caption: str) -> str:
    heads = [kind, "reference words", *names]
    cells = [[text(row.label), f"{row.count:,}", *differences(row)] for row in rows]
    note = '<p class="notes">*: the 95 % bootstrap interval of the difference to the first system is without 0.</p>\n'
    return table(heads, cells, caption) + note


def _sentences(analysis: Analysis, pair: Pair) -> str:
    first, second = map(text, pair.names)
    won, lost, ties = pair.wins
    parts = [
        f"<p>By chrF {first} is better in {won:,} sentences, {second} in {lost:,}; {ties:,} are equal.</p>\n",
        '<p class="notes"><del>not in the reference</del>, <ins>in the reference, and only here</ins></p>\n',
    ]
    for winner, examples in zip(pair.names, pair.examples, strict=True):
        names = pair.names if winner == pair.names[0] else pair.names[::-1]
        items = [_example(analysis, example, names) for example in examples]
        parts.append(f"<h3>Largest wins of {text(winner)}</h3>\n{''.join(items[:OPEN])}")
        if items[OPEN:]:
            parts.append(f"<details><summary>{len(items) - OPEN} more</summary>\n{''.join(items[OPEN:])}</details>\n")
    return _section(f"Sentences: {first} and {second}", "".join(parts))


def _example(analysis: Analysis, example: Example, names: Sequence[str]) -> str:
    texts, number = analysis.texts, example.number
    rows = []
    if texts.sources is not None:
        rows.append(("source", _language(texts.source_language), text(texts.sources[number])))
    language = _language(texts.language)
    rows.append(("reference", language, text(texts.references[number])))
    for name, score, words in zip(names, example.scores, example.marked, strict=True):
        rows.append((f"{text(name)} <small>{score:.1f}</small>", language, " ".join(map(_marked, words))))
    lines = "".join(f'<dt>{name}</dt><dd dir="auto"{attribute}>{content}</dd>\n' for name, attribute, content in rows)
    return f"<article><h4>Sentence {number + 1:,}</h4><dl>\n{lines}</dl></article>\n"


def _language(code: str) -> str:
    return "" if code == "xx" else f' lang="{escape(code)}"'


def _marked(word: tuple[str, str]) -> str:
    element = {WRONG: "del", ONLY: "ins"}.get(word[1])
    return f"<{element}>{text(word[0])}</{element}>" if element else text(word[0])


def _ngrams(pair: Pair) -> str:
    first, second = map(text, pair.names)
    tables = []
    for winner, loser, ngrams in ((first, second, pair.ngrams[0]), (second, first, pair.ngrams[1])):
        tables.append(_ngram_table(ngrams, winner, loser))
    return _section(f"N-grams: {first} and {second}", "".join(tables))


def _ngram_table(ngrams: Sequence[NGram], winner: str, loser: str) -> str:
    rows = [[text(ngram.text), *map(str, ngram.counts)] for ngram in ngrams]
    return table(["n-gram", winner, loser], rows, f"Right more often in {winner}, times")

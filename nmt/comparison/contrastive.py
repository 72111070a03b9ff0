"""Accuracy on contrastive pairs: does a model prefer the reference to a variant of it with one error? For `nmt score`.

The files are those of LingEval97 (Sennrich 2017), where each variant is a decision of the category that it names, and
of ContraPro (Müller et al. 2018), where a reference must beat all its variants, and the categories are pairs of a
source and a target pronoun.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt.system.errors import UserError

BLOCK = 4096  # sentences that are scored at a time
FARTHEST = 15  # words, or sentences to the antecedent: larger distances are one row
FORMATS = "give a file of LingEval97 or ContraPro"


@dataclass(frozen=True)
class Contrast:
    """A source with its reference, and the variants over which the reference must be more probable."""

    source: str
    reference: str
    variants: list[str]
    category: str
    distance: int | None


def add_option(parser: argparse.ArgumentParser) -> None:
    text = "instead of --source and --target: accuracy on contrastive pairs, a JSON file of LingEval97 or ContraPro"
    parser.add_argument("--contrastive", type=Path, metavar="FILE", help=text)


def run(options: argparse.Namespace) -> int:
    """Print the accuracy by category and by distance. Raises `UserError` for an unusable file."""
    if options.source or options.target:
        raise UserError("--contrastive has sentences of its own: leave out --source and --target")
    contrasts = read(options.contrastive)

    from nmt.commands.options import set_threads
    from nmt.translator import Translator

    set_threads(options.threads)
    translator = Translator.load(*options.checkpoints, device=options.device)
    right = decisions(translator, contrasts, per_token=options.per_token, batch_size=options.batch_size)
    print(table("category", [(contrast.category, correct) for contrast, correct in zip(contrasts, right, strict=True)]))
    distances = [(c.distance, correct) for c, correct in zip(contrasts, right, strict=True) if c.distance is not None]
    if distances:
        near = [(min(distance, FARTHEST + 1), correct) for distance, correct in sorted(distances)]
        named = ((f"{d}" if d <= FARTHEST else f"more than {FARTHEST}", correct) for d, correct in near)
        print(f"\n{table('distance', named)}")
    return 0


def decisions(translator: Any, contrasts: Sequence[Contrast], *, per_token: bool, batch_size: int) -> list[bool]:
    """Whether each reference is more probable than all its variants; the log-probability may be per token."""
    # By ids: texts that differ in unknown words alone are one, and must not be told apart by rounding.
    keys = {(c.source, t): (c.source, tuple(translator.target.encode(t))) for c in contrasts for t in _texts(c)}
    distinct = list({key: pair for pair, key in keys.items()}.items())
    scores = {}
    for start in range(0, len(distinct), BLOCK):
        block = distinct[start : start + BLOCK]
        sides: Any = zip(*(pair for _, pair in block), strict=True)
        scored = translator.score(*map(list, sides), batch_size=batch_size)
        for (key, _), score in zip(block, scored, strict=True):
            scores[key] = score.log_probability / (score.tokens if per_token else 1)
    results = []
    for contrast in contrasts:
        reference, *variants = (scores[keys[contrast.source, text]] for text in _texts(contrast))
        results.append(reference > max(variants))
    return results


def _texts(contrast: Contrast) -> list[str]:
    return [contrast.reference, *contrast.variants]


def table(head: str, results: Iterable[tuple[str, bool]]) -> str:
    """Right decisions, all decisions and accuracy in percent, by name and in total."""
    from nmt.evaluation.report import model_table

    by_name: dict[str, list[bool]] = defaultdict(list)
    for name, correct in results:
        by_name[name].append(correct)
    by_name["total"] = [correct for values in list(by_name.values()) for correct in values]
    cells = [[f"{sum(v)}", f"{len(v)}", f"{100 * sum(v) / len(v):.1f}"] for v in by_name.values()]
    return model_table([head, "right", "of", "accuracy"], list(by_name), cells)


def read(path: Path) -> list[Contrast]:
    """The contrasts of a file, those of LingEval97 by category. Raises `UserError` if it cannot be read."""
    from nmt.text.corpus import report_read_errors

    with report_read_errors(path):
        content = path.read_bytes()
    try:
        entries = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON ({error}): {FORMATS}") from None
    if not isinstance(entries, list) or not entries:
        raise UserError(f"{path} is no list of sentences with errors: {FORMATS}")
    contrasts = [
        contrast for i, entry in enumerate(entries) for contrast in _contrasts(entry, f"{path}, entry {i + 1}")
    ]
    if not contrasts:
        raise UserError(f"{path} has no contrastive translation: {FORMATS}")
    return sorted(contrasts, key=lambda contrast: contrast.category)


def _contrasts(entry: Any, where: str) -> list[Contrast]:
    """LingEval97's entry has a contrast for each error, ContraPro's a single one."""
    source, reference = _text(entry, where, "source", "src segment"), _text(entry, where, "reference", "ref segment")
    errors = entry.get("errors")
    if not isinstance(errors, list):
        raise UserError(f"{where}: 'errors' must be a list of contrastive translations: {FORMATS}")
    variants = [_text(error, f"{where}, error {i + 1}", "contrastive") for i, error in enumerate(errors)]
    if "ref pronoun" in entry:
        category = f"{_text(entry, where, 'src pronoun')}:{_text(entry, where, 'ref pronoun')}".lower()
        distance = _distance(entry, where, "ante distance")
        return [Contrast(source, reference, variants, category, distance)] if variants else []
    return [
        Contrast(source, reference, [variant], _text(error, where, "type"), _distance(error, where, "distance"))
        for variant, error in zip(variants, errors, strict=True)
    ]


def _text(entry: Any, where: str, *names: str) -> str:
    """The first of these fields that an entry has."""
    value = next((entry[name] for name in names if name in entry), None) if isinstance(entry, dict) else None
    if not isinstance(value, str) or not value.strip():
        raise UserError(f"{where}: {' or '.join(map(repr, names))} is missing or no text: {FORMATS}")
    return value


def _distance(entry: dict[str, Any], where: str, name: str) -> int | None:
    value = entry.get(name)
    number = int(value[:9]) if isinstance(value, str) and value.isdecimal() else value  # LingEval97 has some as text
    if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 0):
        raise UserError(f"{where}: {name!r} is {str(value)[:40]!r}, but it must be an integer")
    return number

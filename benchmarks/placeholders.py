"""Placeholders in translations of strings: how many are kept, and BLEU and chrF of the text around them.

    python benchmarks/placeholders.py test.csv.gz checkpoints/masks/best.safetensors checkpoints/plain/best.safetensors

The CSV file (RFC 4180, `.gz` or not) has a header with the languages' codes, such as `en,de`. Each checkpoint
translates it with spans protected, and without. Of placeholders alone (`placeholders` of `data.protect`):

- kept: of all those in the sources, the share that is in the translation of the same string, as often as there;
- exact: of all strings with placeholders, the share whose translation has each of them as often;
- order: of all strings with several that take the next argument of printf, the share that has them in their order.

BLEU and chrF are those of whole strings, and with placeholders taken out of translations and references.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import time
from collections.abc import Sequence
from pathlib import Path

from nmt import Translator
from nmt.constraints.protect import ALL, compiled, in_order, spans
from nmt.evaluation.scores import chrf_score, sacrebleu_score

PLACEHOLDERS = compiled(("placeholders",))


def read(path: Path, languages: tuple[str, str]) -> list[list[str]]:
    """The two columns of a CSV file, with a blank for each run of white space."""
    with gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [[" ".join(row[language].split()) for row in rows] for language in languages]


def placeholders(text: str) -> list[str]:
    return [text[begin:end] for begin, end in spans(text, PLACEHOLDERS)]


def without_placeholders(text: str) -> str:
    for begin, end in reversed(spans(text, PLACEHOLDERS)):
        text = text[:begin] + text[end:]
    return " ".join(text.split())


def arguments(text: str) -> list[str]:
    """The placeholders that take the next argument of printf."""
    texts = placeholders(text)
    return [span for span, counts in zip(texts, in_order(texts), strict=True) if counts]


def shares(sources: Sequence[str], hypotheses: Sequence[str]) -> list[float]:
    """`kept`, `exact` and `order`, in %."""
    kept = total = exact = strings = 0
    for source, hypothesis in zip(sources, hypotheses, strict=True):
        counts = {span: (source.count(span), hypothesis.count(span)) for span in placeholders(source)}
        kept += sum(min(pair) for pair in counts.values())
        total += sum(pair[0] for pair in counts.values())
        strings += bool(counts)
        exact += bool(counts) and all(one == other for one, other in counts.values())
    orders = [(arguments(s), arguments(h)) for s, h in zip(sources, hypotheses, strict=True)]
    orders = [pair for pair in orders if len(pair[0]) > 1]
    return [
        100 * kept / total,
        100 * exact / strings,
        100 * sum(one == other for one, other in orders) / max(len(orders), 1),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("checkpoints", nargs="+")
    options = parser.parse_args()
    print(f"{'':32}  kept   exact  order   BLEU  chrF   BLEU outside  chrF outside  seconds")
    for checkpoint in options.checkpoints:
        translator = Translator.load(checkpoint)
        sources, references = read(options.file, translator.languages)
        for name, protect in (("", False), (", protected", [ALL])):
            start = time.perf_counter()
            results = translator.translate(sources, attention=False, protect=protect)
            seconds = time.perf_counter() - start
            hypotheses = [translation.text for translation in results]
            row = shares(sources, hypotheses)
            for change in (str, without_placeholders):
                texts = [change(h) for h in hypotheses], [change(r) for r in references]
                row += [sacrebleu_score(*texts, translator.languages[1]) or 0.0, chrf_score(*texts)]
            label = Path(checkpoint).parent.name + name
            print(f"{label:32} {' '.join(f'{value:6.2f}' for value in row)} {seconds:7.1f}", flush=True)


if __name__ == "__main__":
    main()

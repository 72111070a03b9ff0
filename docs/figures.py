"""Draw the pictures of the README and of the results into docs/images: `python docs/figures.py`.

- `attention.png`: the attention of the bundled model to caption 281 of Multi30k's test set of 2016.
- `bleu_by_length.png`, `multi30k_models_by_length.png`: BLEU by source length with and without attention. The numbers
  are recorded in `bleu_by_length.csv`: the table in docs/explanation/results.md, which has the commands that trained
  and evaluated the models.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from nmt import Translator
from nmt.evaluation.by_length import Bucket
from nmt.plots.curves import bleu_by_length
from nmt.plots.heat_map import heat_map
from nmt.plots.style import save

IMAGES = Path(__file__).parent / "images"
CAPTION = "Menschen, die vor einem großen Gebäude im Kreis sitzen."


def draw_attention(path: Path) -> None:
    """A German caption whose verb comes last and whose phrases change places in English."""
    translation = Translator.load().translate([CAPTION])[0]
    assert translation.attention is not None
    heat_map(
        translation.attention.numpy(),
        translation.source_tokens,
        translation.tokens,
        path,
        title="Each English word looks at the German words that it translates",
        source_label="German (source)",
        target_label="English (translation)",
    )


def draw_bleu_by_length(path: Path, title: str, names: Sequence[str]) -> None:
    """The recorded scores of the named models, or of all where none is named."""
    curves: dict[str, list[Bucket]] = {}
    with (IMAGES / "bleu_by_length.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            high = int(row["high"]) if row["high"] else None
            scores = (float(row[field]) for field in ("bleu", "ci_low", "ci_high"))
            curves.setdefault(row["model"], []).append(Bucket(int(row["low"]), high, int(row["count"]), *scores))
    names = names or list(curves)
    subtitle = "Multi30k, German→English, test set of 2016: BLEU by source length"
    save(bleu_by_length(names, [curves[name] for name in names], title=title, subtitle=subtitle), path)


if __name__ == "__main__":
    draw_attention(IMAGES / "attention.png")
    three = ["Luong, additive", "Bahdanau, additive", "no attention"]
    draw_bleu_by_length(IMAGES / "bleu_by_length.png", "Without attention, long sentences suffer", three)
    draw_bleu_by_length(IMAGES / "multi30k_models_by_length.png", "The models of the comparison", [])

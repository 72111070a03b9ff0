"""Draw the pictures of the README and of the results into docs/images: `python docs/figures.py`.

- `attention.png`: the attention of the bundled model to caption 281 of Multi30k's test set of 2016.
- `bleu_by_length.png`, `multi30k_models_by_length.png`: BLEU by source length with and without attention. The numbers
  are recorded in `bleu_by_length.csv`: the table in docs/explanation/results.md, which has the commands that trained
  and evaluated the models.
- `local_positions.png`: where the centre of local-p's window stands. The numbers are recorded in
  `local_positions.csv`, by `python docs/figures.py PLAIN DEFAULT` from two checkpoints, which the commands in
  docs/explanation/local-attention.md train.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from local_positions import centres_of, linked_pairs

from nmt import Translator
from nmt.evaluation.by_length import Bucket
from nmt.plots.curves import bleu_by_length
from nmt.plots.heat_map import heat_maps
from nmt.plots.style import COLOURS, LARGE, QUIET, SMALL, WIDTH, drawing, new_figure, save

IMAGES = Path(__file__).parent / "images"
LAST = 45  # the last gold position that is drawn: few sentences have more
CAPTION = "Menschen, die vor einem großen Gebäude im Kreis sitzen."


def draw_attention(path: Path) -> None:
    """A German caption whose verb comes last and whose phrases change places in English."""
    translation = Translator.load().translate([CAPTION])[0].in_words()
    assert translation.attention is not None
    [figure] = heat_maps(
        [translation.attention.numpy()],
        translation.source_tokens,
        translation.tokens,
        titles=[None],
        heading="Each English word looks at the German words that it translates",
        source_label="German (source)",
        target_label="English (translation)",
    )
    save(figure, path)


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


def record_positions(path: Path, checkpoints: Sequence[str]) -> None:
    """For each gold position of the sample corpus's validation set how many target words are linked there, and the
    quantiles of p_t while the model is forced to write them. A word with several links counts with their mean."""
    rows = []
    for model, checkpoint in zip(("plain", "default"), checkpoints, strict=True):
        translator, found = Translator.load(checkpoint), dict[int, list[float]]()
        for source, target, gold in linked_pairs():
            centres = centres_of(translator, source, target)
            for t, position in gold.items():
                found.setdefault(round(position), []).append(centres[t])
        for position, centres in sorted(found.items()):
            quantiles = np.quantile(centres, (0.1, 0.5, 0.9))
            rows.append([model, position, len(centres), *(f"{value:.2f}" for value in quantiles)])
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([["model", "gold", "count", "p10", "p50", "p90"], *rows])


def draw_positions(path: Path) -> None:
    """p_t against the gold position, of both models side by side."""
    with (IMAGES / "local_positions.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if int(row["gold"]) <= LAST]
    with drawing():
        figure, _ = new_figure(WIDTH, 4.3)
        titles = {"plain": "Plain: D = 10 from the beginning", "default": "The default: three remedies"}
        for number, (model, title) in enumerate(titles.items()):
            axes = figure.add_subplot(1, 2, number + 1)
            of_model = [row for row in rows if row["model"] == model]
            gold, low, middle, high = ([float(row[f]) for row in of_model] for f in ("gold", "p10", "p50", "p90"))
            axes.plot([0, LAST], [0, LAST], color=QUIET, linestyle=":", label="the gold position")
            axes.fill_between(gold, low, high, color=COLOURS[number], alpha=0.2, linewidth=0, label="80 % of the words")
            axes.plot(gold, middle, color=COLOURS[number], linewidth=2, label="the median")
            axes.set(xlim=(0, LAST), ylim=(0, LAST), xlabel="gold source position of a target word")
            axes.set_title(title, fontsize=LARGE, fontweight="bold", loc="left")
            axes.spines[["top", "right"]].set_visible(False)
            axes.legend(loc="upper left", frameon=False, fontsize=SMALL)
        figure.axes[0].set_ylabel("centre of the window, pₜ")
    save(figure, path)


if __name__ == "__main__":
    if checkpoints := sys.argv[1:]:
        record_positions(IMAGES / "local_positions.csv", checkpoints)
    draw_positions(IMAGES / "local_positions.png")
    draw_attention(IMAGES / "attention.png")
    three = ["Luong, additive", "Bahdanau, additive", "no attention"]
    draw_bleu_by_length(IMAGES / "bleu_by_length.png", "Without attention, long sentences suffer", three)
    draw_bleu_by_length(IMAGES / "multi30k_models_by_length.png", "The models of the comparison", [])

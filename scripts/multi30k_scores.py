"""Scores on all test sets of Multi30k, for German, French and Czech from and into English: make multi30k-scores

Of the bundled models, and of a model of configs/multi30k_cased.yaml for each direction, which is trained first into
`--output` (about 45 minutes each; an interrupted training continues). After each model its row in the table of `--page`
is replaced: cased BLEU, chrF. A test set that cannot be fetched has a – there; those that do not exist have nothing.

    python scripts/multi30k_scores.py
    python scripts/multi30k_scores.py --languages fr --set training.seed=2 --output checkpoints/seed2
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from nmt.cli import main as nmt
from nmt.data.multi30k import LANGUAGES, SPLITS, splits
from nmt.system import bundled, files

PAGE = Path("docs/multi30k-scores.md")
TABLE = "| model |"  # what its table begins with, which ends the page
MISSING = "–"
TESTS = [split for split in SPLITS if split.startswith("test_")]


def main(arguments: Sequence[str]) -> int:
    options, failed = parse(arguments), False
    before, table, written = (options.page.read_text("utf-8") if options.page.exists() else "").partition(TABLE)
    rows = dict(map(named, (table + written).splitlines()[2:]))
    for name, checkpoint, language in models(options):
        if checkpoint is None:  # nmt train has said why
            failed = True
            continue
        cells = [score(checkpoint, split, options) if split in splits(language) else "" for split in TESTS]
        failed |= MISSING in cells
        rows[name] = cells
        table = "".join(map(line, [["model", *TESTS], ["---", *["--:"] * len(TESTS)]]))
        table += "".join(line([name, *cells]) for name, cells in rows.items())
        files.write(options.page, (before + table).encode())
    print(f"Written: {options.page}\n\n{table}", end="")
    return int(failed)


def line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def named(row: str) -> tuple[str, list[str]]:
    """The model and the scores of a row that is there already."""
    name, *cells = (cell.strip() for cell in row.strip("|").split("|"))
    return name, cells


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    others = [language for language in LANGUAGES if language != "en"]
    parser.add_argument("--languages", nargs="+", default=others, choices=others, metavar="CODE")
    parser.add_argument("--output", type=Path, default=Path("checkpoints/multi30k-scores"), metavar="DIR")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE")
    parser.add_argument("--recipe", default="configs/multi30k_cased.yaml", metavar="CONFIG")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="a field of the recipe")
    return parser.parse_args(arguments)


def models(options: argparse.Namespace) -> Iterator[tuple[str, Path | None, str]]:
    """Name, checkpoint and foreign language of each; no checkpoint if training failed."""
    for path in bundled.checkpoints():
        yield f"bundled, {path.parent.name}", path, "de"
    for language in options.languages:
        for source, target in ((language, "en"), ("en", language)):
            name = f"{source}-{target}"
            sides = {"name": name, "output_dir": options.output}
            sides |= {"data.source.language": source, "data.target.language": target}
            settings = [f"--set={setting}" for setting in (*(f"{k}={v}" for k, v in sides.items()), *options.set)]
            is_trained = nmt(["train", options.recipe, "--resume", *settings]) == 0
            yield name, options.output / name / "best.safetensors" if is_trained else None, language


def score(checkpoint: Path, split: str, options: argparse.Namespace) -> str:
    """Cased BLEU and chrF, which replace those of an earlier evaluation."""
    folder = options.output / "evaluations" / checkpoint.parent.name / split
    shutil.rmtree(folder, ignore_errors=True)
    if nmt(["evaluate", str(checkpoint), "--split", split, "--output", str(folder)]) != 0:
        return MISSING
    [scores] = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))["models"]
    return f"{scores['bleu']:.2f}, {scores['chrf']:.2f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

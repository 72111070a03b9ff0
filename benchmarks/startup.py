"""How long one sentence takes from prompt to prompt: whole processes, compared with `import torch`.

    python benchmarks/startup.py
    python benchmarks/startup.py checkpoints/quickstart/best.safetensors --rounds 9

Prints the wall-clock seconds of each command, the median of `--rounds` rounds in which all commands take turns, and
the ratio to `python -c "import torch"`. One more round comes first: it warms the disk cache, and Python compiles and
keeps the modules. Without checkpoints it creates two untrained ones in a temporary folder, with the sizes of
configs/multi30k_bahdanau.yaml: one with subwords and one with spaCy's tokens, those of the sample corpus and made-up
ones. Their search ends at 12 target tokens, because untrained models would not end it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch

from nmt.build import build_model
from nmt.checkpoint import contents as checkpoint
from nmt.config.reading import load_config
from nmt.data.training_set import load_training_set
from nmt.lab.machine import describe_machine
from nmt.text.vocabulary import Vocabulary

ROOT = Path(__file__).parent.parent
TYPES = 4000  # of the joint vocabulary of that config
SENTENCE = "Ein Hund läuft durch den Park."


class Row(NamedTuple):
    command: str
    seconds: float
    ratio: float  # to `import torch`


def main() -> None:
    options = parse()
    with tempfile.TemporaryDirectory() as folder:
        checkpoints = options.checkpoints or [untrained(Path(folder), kind) for kind in ("sentencepiece", "spacy")]
        rows = measure(checkpoints, options.rounds)
    machine = describe_machine(torch.device("cpu"))
    if options.json:
        print(json.dumps({"machine": machine, "rounds": options.rounds, "rows": [row._asdict() for row in rows]}))
        return
    print(machine)
    width = max(len(row.command) for row in rows)
    print(f"{'':{width}}{'seconds':>9}{'ratio':>7}")
    for row in rows:
        print(f"{row.command:{width}}{row.seconds:9.2f}{row.ratio:7.2f}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoints", type=Path, nargs="*", metavar="CHECKPOINT")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    return parser.parse_args()


def untrained(folder: Path, tokenizer: str) -> Path:
    """A checkpoint with random weights whose vocabularies are the sample corpus's."""
    size = 400 if tokenizer == "sentencepiece" else "null"
    sides = [f"data.{side}.{field}" for side in ("source", "target") for field in ("tokenizer", "vocabulary_size")]
    overrides = [f"{field}={value}" for field, value in zip(sides, [tokenizer, size] * 2, strict=True)]
    config = load_config(
        ROOT / "configs" / "multi30k_bahdanau.yaml",
        ["data.corpus=sample", f"data.folder={ROOT / 'data'}", "search.max_length=12", *overrides],
    )
    pairs = load_training_set(config.data)
    codecs = (pairs.source, pairs.target)
    made_up = tuple(f"{n}." for n in range(TYPES - len(pairs.source.vocabulary)))  # the sample has not as many
    source, target = (replace(c, vocabulary=Vocabulary(c.vocabulary.tokens + made_up)) for c in codecs)
    torch.manual_seed(1)
    model = build_model(config.model, TYPES, TYPES)
    path = folder / tokenizer / "best.safetensors"
    checkpoint.save(path, config, source, target, model)
    return path


def measure(checkpoints: list[Path], rounds: int) -> list[Row]:
    python, translate = sys.executable, str(ROOT / "scripts" / "translate.py")
    commands = {"import torch": [python, "-c", "import torch"], "translate.py --help": [python, translate, "--help"]}
    for path in checkpoints:
        commands[f"translate.py {Path(*path.parts[-2:])}"] = [python, translate, str(path), SENTENCE]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds + 1):
        for name, command in commands.items():
            started = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=kept)
            taken[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(seconds[1:]) for name, seconds in taken.items()}
    return [Row(name, seconds, seconds / medians["import torch"]) for name, seconds in medians.items()]


if __name__ == "__main__":
    main()

"""Does a change of the code keep every result? Two checkouts train on from the same checkpoints, and translate.

For each of some configs of different wiring, score, scope and tokenizer the checkout `--before` makes a checkpoint
after 2 updates. Both checkouts then resume from it for 30 updates: the weights must be equal, bit for bit. And both
translate a file with the bundled model: the lines must be equal.

    git worktree add ../before COMMIT
    python benchmarks/same_results.py --before ../before --input data/sample/test.de
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import yaml

from nmt.checkpoint import file as checkpoint_file

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "data" / "sample"
BEFORE, AFTER = 2, 30  # updates
CONFIGS = {
    "bahdanau-additive-spacy": ("spacy", {"wiring": "bahdanau", "score": "additive"}),
    "luong-general-feeding-unigram": ("sentencepiece", {"wiring": "luong", "score": "general"}),
    "luong-dot-whitespace": ("whitespace", {"wiring": "luong", "score": "dot", "input_feeding": False}),
    "bahdanau-concat-local-p-char": ("char", {"score": "concat", "scope": "local_p", "window": 6}),
    "luong-scaled-general-local-m-heads": (
        "spacy",
        {"wiring": "luong", "score": "scaled_general", "scope": "local_m", "window": 3, "heads": 2},
    ),
    "luong-location-local-p": ("whitespace", {"wiring": "luong", "score": "location", "scope": "local_p", "window": 4}),
    "bahdanau-general-coverage": ("spacy", {"score": "general", "coverage": True, "key_value": True}),
    "none-unigram": ("sentencepiece", {"wiring": "none"}),
}


def config_of(name: str, folder: Path) -> dict[str, object]:
    tokenizer, attention = CONFIGS[name]
    sides: dict[str, dict[str, object]] = {}
    for side, language in (("source", "de"), ("target", "en")):
        paths = {"train": SAMPLE / f"train.{language}", "validation": folder / f"validation.{language}"}
        sides[side] = {"language": language, "tokenizer": tokenizer, **{k: str(v) for k, v in paths.items()}}
        if tokenizer == "sentencepiece":
            sides[side]["vocabulary_size"] = 400
    memory = 48 if attention.get("key_value") else 96  # the size of a vector that is scored
    return {
        "name": name,
        "data": {"corpus": "files", "max_length": 200, **sides},
        "model": {"embedding_size": 64, "encoder": {"hidden_size": 48}, "decoder": {"hidden_size": memory, "layers": 2}}
        | {"attention": attention},
        "training": {
            "batch_size": 16,
            "threads": 1,
            "learning_rate": 0.002,
            "moving_average": 0.9,
            "device": "cpu",
            "precision": "float32",
        },
        "search": {"beam_size": 2, "max_length": 20},
    }


def run(checkout: Path, command: str, *arguments: str, output: Path | None = None) -> None:
    """A command of a checkout. Its output goes to the file, or is shown if the command fails."""
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    program = [sys.executable, str(checkout / "scripts" / f"{command}.py"), *arguments]
    done = subprocess.run(program, env=environment, cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{checkout}: nmt {command} failed:\n{done.stdout.decode()}{done.stderr.decode()}")
    if output is not None:
        output.write_bytes(done.stdout)


def migrate(folder: Path) -> None:
    """Convert the checkpoints that a checkout of nmt 0.3 or older has written."""
    if (folder / "last.pt").exists():
        subprocess.run([sys.executable, "-m", "nmt", "migrate", folder, folder], cwd=ROOT, check=True)
        for path in folder.glob("*.pt"):
            path.unlink()


def weights(folder: Path) -> dict[str, torch.Tensor]:
    contents = checkpoint_file.read(folder / "last.safetensors")
    return contents["model"] | {f"average.{name}": tensor for name, tensor in contents["training"]["average"].items()}


def trains_the_same(name: str, checkouts: dict[str, Path], folder: Path) -> bool:
    """Train one config by both checkouts, and say whether their weights are equal."""
    config = folder / f"{name}.yaml"
    config.write_text(yaml.safe_dump(config_of(name, folder)), encoding="utf-8")
    found = {}
    for which, checkout in checkouts.items():
        runs = folder / which
        settings = ["--set", f"output_dir={runs}", "--set", f"data.folder={folder / f'data-{which}'}"]
        if which == "before":
            run(checkout, "train", str(config), *settings, "--set", f"training.max_updates={BEFORE}")
            shutil.copytree(runs / name, folder / "after" / name)
            migrate(folder / "after" / name)
        run(checkout, "train", str(config), *settings, "--set", f"training.max_updates={BEFORE + AFTER}", "--resume")
        migrate(runs / name)
        found[which] = weights(runs / name)
    before, after = found["before"], found["after"]
    both = before.keys() & after.keys()
    differing = sorted((before.keys() ^ after.keys()) | {k for k in both if not torch.equal(before[k], after[k])})
    print(f"{name:38} {f'DIFFERENT {differing}' if differing else 'the same bits'} ({len(before)} tensors)", flush=True)
    return not differing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, metavar="FOLDER", help="a checkout of the code before")
    parser.add_argument("--input", type=Path, metavar="FILE", help="German sentences to translate by the bundled model")
    options = parser.parse_args()
    checkouts = {"before": options.before.resolve(), "after": ROOT}
    same = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "after").mkdir()
        for language in ("de", "en"):
            lines = (SAMPLE / f"validation.{language}").read_text(encoding="utf-8").split("\n")[:20]
            (folder / f"validation.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
        for config in CONFIGS:
            same &= trains_the_same(config, checkouts, folder)
        if options.input is not None:
            for which, checkout in checkouts.items():
                run(checkout, "translate", "--input", str(options.input.resolve()), output=folder / f"{which}.en")
            found, expected = ((folder / f"{which}.en").read_bytes() for which in ("after", "before"))
            same &= found == expected
            count = len(found.splitlines())
            print(f"translations: {count} lines, {'the same' if found == expected else 'DIFFERENT'}")
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()

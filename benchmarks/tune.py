"""Search for settings of a config with Optuna: a trial is `nmt train` in a process, stopped early if it falls behind.

    pip install optuna
    python benchmarks/tune.py configs/multi30k_fast.yaml --trials 20 --set training.threads=1

Trials differ in learning rate, dropout and label smoothing; change `suggested` for others. The study is in the file of
`--storage`: the same command goes on with it, and several processes may share it. Prints the best trial.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import optuna

from nmt.training.event_log import read_events

POLL = 0.5  # seconds


def suggested(trial: optuna.Trial) -> dict[str, Any]:
    """The settings of a trial."""
    dropout = trial.suggest_float("dropout", 0.0, 0.5)
    return {
        "training.learning_rate": trial.suggest_float("learning_rate", 3e-4, 1e-2, log=True),
        "training.label_smoothing": trial.suggest_float("label_smoothing", 0.0, 0.2),
        "model.embedding_dropout": dropout,
        "model.encoder.dropout": dropout,
        "model.decoder.dropout": dropout,
    }


def main() -> int:
    options = parse()
    study = optuna.create_study(
        study_name="nmt",
        storage=f"sqlite:///{options.storage}",
        load_if_exists=True,
        direction="maximize",
        pruner=optuna.pruners.MedianPruner(n_startup_trials=3),
    )
    study.optimize(lambda trial: bleu_of(trial, options), n_trials=options.trials)
    if not any(trial.state.name == "COMPLETE" for trial in study.trials):
        print("no trial was completed", file=sys.stderr)
        return 1
    print(f"best: trial {study.best_trial.number}, {study.best_value:.2f} BLEU, {study.best_params}")
    return 0


def bleu_of(trial: optuna.Trial, options: argparse.Namespace) -> float:
    """The best BLEU on validation. Raises `TrialPruned` if Optuna stops the trial, or if it fails."""
    folder = options.output / f"trial{trial.number}"
    if folder.exists():
        sys.exit(f"{folder} belongs to another study: remove it, or choose another --output")
    settings = [f"{field}={value}" for field, value in suggested(trial).items()]
    settings += [f"output_dir={options.output}", f"name={folder.name}", "evaluation.split=validation", *options.set]
    command = [sys.executable, "-m", "nmt", "train", options.config]
    command += [word for setting in settings for word in ("--set", setting)]
    scores: list[float] = []
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while process.poll() is None or len(scores) < len(validations(folder)):
            for event in validations(folder)[len(scores) :]:
                scores.append(event["bleu"])
                trial.report(event["bleu"], event["update"])
                if trial.should_prune():
                    raise optuna.TrialPruned
            time.sleep(POLL)
    finally:
        process.terminate()
        process.wait()
    if process.returncode or not scores:
        raise optuna.TrialPruned(f"nmt train ended with {process.returncode} and {len(scores)} validations")
    return max(scores)


def validations(folder: Path) -> list[dict[str, Any]]:
    """The validations of a run so far."""
    return [event for event in read_events(folder) if event["event"] == "validation"]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("config", metavar="CONFIG", help="a YAML file")
    add("--trials", type=int, default=20, metavar="N", help="trials to make (default: 20)")
    add("--output", type=Path, default=Path("checkpoints/tune"), metavar="DIR", help="where the trials' folders go")
    add("--storage", type=Path, default=Path("tune.db"), metavar="FILE", help="the study (default: tune.db)")
    add("--set", action="append", default=[], metavar="FIELD=VALUE", help="a setting of all trials")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

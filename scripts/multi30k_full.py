"""The whole chain of Multi30k, as tasks of doit (https://pydoit.org): make multi30k-full, or see tasks with
doit list --all

Cased models of both directions from the 29,000 pairs; the captions of task 2, translated by them in both directions;
models of both directions from pairs and captions; the mean of three models that each of them becomes when it is
fine-tuned on the pairs. In a second round these means translate the captions anew, go on training, and are fine-tuned
again. Then ensembles; all scores; the first seed's means in 8 bits, as they are bundled.

A step is done when its last file is there: it is then skipped, and removing the file runs it again. Interrupted steps
go on where they were. `output`/commands notes what makes each step's files, with a fingerprint of the settings, config
and earlier steps: if these differ from what made the files, the chain stops.

Settings, as name=value behind the command: `output` (folder of the runs), `data` (folder of the data), `pairs`,
`captions` (of the first round), `again` (of the others) and `tuning` (configs), `seeds`, `rounds`, `english` and
`german` (text without translations), `workers`, and `set` (fields of all configs, such as set="training.threads=1").
"""

from __future__ import annotations

import atexit
import hashlib
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import mkdtemp
from types import TracebackType
from typing import Any, NoReturn

from doit import doit_cmd, get_var
from doit.exceptions import TaskFailed

from nmt.config.reading import read_values
from nmt.system.errors import UserError


def refuse(wrong: str) -> NoReturn:
    print(f"error: {wrong}", file=sys.stderr)
    sys.exit(2)


def say_that_it_stopped(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Ctrl-C is no defect, and needs no traceback."""
    if issubclass(kind, KeyboardInterrupt):
        print("\nStopped. To continue, repeat the command.", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = say_that_it_stopped

SETTINGS = {
    "output": "checkpoints/multi30k-full",
    "data": "data",
    "pairs": "configs/multi30k_cased.yaml",
    "captions": "configs/multi30k_captions.yaml",
    "again": "configs/multi30k_captions_again.yaml",
    "tuning": "configs/multi30k_tuned.yaml",
    "seeds": "1 2 3",
    "rounds": "2",
    "english": "multi30k_descriptions",
    "german": "multi30k_descriptions",
    "workers": "2",
    "set": "",
}
for unknown in sorted((doit_cmd._CMDLINE_VARS or {}).keys() - SETTINGS):  # what get_var looks into
    refuse(f"{unknown}: there is no such setting; there are {', '.join(SETTINGS)}")
given = {name: get_var(name, default) for name, default in SETTINGS.items()}
OUTPUT, DATA, WORKERS = Path(given["output"]), given["data"], given["workers"]
PAIRS, CAPTIONS, AGAIN, TUNING = (given[name] for name in ("pairs", "captions", "again", "tuning"))
TEXTS = {"en": given["english"], "de": given["german"]}
SEEDS, SET = given["seeds"].split(), given["set"].split()
if not SEEDS or len(set(SEEDS)) < len(SEEDS) or not all(seed.isdecimal() for seed in SEEDS):
    refuse(f"seeds: {given['seeds']!r} are not different whole numbers, such as seeds='1 2 3'")
if given["rounds"] not in map(str, range(1, 10)):
    refuse(f"rounds: {given['rounds']} is not a number from 1 to 9")
ROUNDS = int(given["rounds"])
DRAWS = ("1", "2", "3")  # the seeds with which each model is fine-tuned

TASKS = {
    "pairs": "models of the genuine pairs alone",
    "captions": "the text without translations, translated by the pairs' models together, or by the last round's means",
    "mixed": "models of pairs and captions, begun with the last round's means: back-translations are tagged <BT>, "
    "forward translations <FT>",
    "tuned": "the same models, fine-tuned on the genuine pairs without dropout, in three random orders of the text",
    "mean": "the means of the weights of fine-tuned models that began as one (Wortsman et al. 2022)",
    "scores": "scores on validation and on test 2016, of single models and of ensembles",
    "bundle": "the means as they are bundled, in 8 bits",
}
DIRECTIONS = (("de", "en"), ("en", "de"))
UNUSED = mkdtemp()  # for doit's database: what is done is told by the files alone, also after a kill
atexit.register(shutil.rmtree, UNUSED, ignore_errors=True)
DOIT_CONFIG = {
    "verbosity": 2,
    "backend": "json",
    "dep_file": f"{UNUSED}/doit.json",
    "default_tasks": list(TASKS),
}


def nmt(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "nmt", *arguments]


def content(config: str) -> dict[str, Any]:
    try:
        return read_values(config)
    except UserError as error:
        refuse(str(error))


FINGERPRINTS: dict[str, str] = {}  # of the steps so far, by task:name


def step(
    task: str, name: str, arguments: Sequence[object], last: Sequence[Path], after: Sequence[str] = ()
) -> dict[str, Any]:
    """A step of a task, which calls nmt, and which is done when its last files are there."""
    command = [*map(str, arguments)]
    shown = " ".join(["nmt", *command]).replace(f" --workers {WORKERS}", "")
    configs = [content(part) for part in command if part.endswith(".yaml") and Path(part).exists()]
    parts = [shown, *map(json.dumps, configs), *(FINGERPRINTS[other] for other in after)]
    FINGERPRINTS[f"{task}:{name}"] = fingerprint = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    note, text = OUTPUT / "commands" / f"{task}-{name}", f"{shown}\n{fingerprint}\n"
    made = [path if path.parent == OUTPUT else path.parent for path in last]

    def check() -> TaskFailed | None:
        """Files without a note are taken as they are."""
        if note.exists() and note.read_text(encoding="utf-8") != text and any(path.exists() for path in made):
            what = " and ".join(map(str, made))
            return TaskFailed(f"{what}: made with other settings ({note}): remove what is there, or set output=FOLDER")
        return None

    def take_note() -> None:
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(text, encoding="utf-8")

    return {
        "basename": task,
        "name": name,
        "actions": [check, take_note, nmt(*command)],
        "targets": [str(path) for path in last],
        "uptodate": [all(path.exists() for path in last) and check() is None],
        "task_dep": list(after),
    }


def run_name(kind: str, direction: tuple[str, str], seed: str) -> str:
    return f"{kind}-{'-'.join(direction)}-{seed}"


def model(kind: str, direction: tuple[str, str], seed: str) -> Path:
    name = run_name(kind, direction, seed)
    return OUTPUT / f"{name}.safetensors" if kind.startswith("mean") else OUTPUT / name / "best.safetensors"


def without_round(kind: str) -> str:
    """`mixed` of `mixed2`, the second round's."""
    return kind.rstrip("0123456789")


def made_by(kind: str, direction: tuple[str, str], seed: str) -> str:
    """The step that makes a model."""
    return f"{without_round(kind)}:{run_name(kind, direction, seed)}"


def translations(number: int, language: str) -> Path:
    """Where the text of a language lies beside a round's translation, each with its language behind the name."""
    return OUTPUT / f"text{number}-{language}"


def training(
    kind: str, config: str, direction: tuple[str, str], seed: str, more: Sequence[str] = (), after: Sequence[str] = ()
) -> dict[str, Any]:
    name = run_name(kind, direction, seed)
    fields = [
        *(f"name={name}", f"output_dir={OUTPUT}", f"data.folder={DATA}"),
        *(f"data.source.language={direction[0]}", f"data.target.language={direction[1]}"),
        *("evaluation.split=validation", *more, *SET),
    ]
    settings = [part for field in fields for part in ("--set", field)]
    command = ["train", config, *settings, "--resume"]
    return step(without_round(kind), name, command, [OUTPUT / name / "evaluation.json"], after)


def task_chain() -> Iterator[dict[str, Any]]:
    """all steps, each below the name of its task"""
    for task, about in TASKS.items():
        yield {"basename": task, "name": None, "doc": about}
    for direction in DIRECTIONS:
        for seed in SEEDS:
            yield training("pairs", PAIRS, direction, seed, [f"training.seed={seed}"])
    for number in range(1, ROUNDS + 1):
        yield from captions(number)
        yield from mixed(number)
        yield from tuned(number)
        yield from mean(number)
    yield from scores()
    yield from bundle()


def captions(number: int) -> Iterator[dict[str, Any]]:
    kind = "pairs" if number == 1 else f"mean{number - 1}"
    for direction in DIRECTIONS:
        models = [model(kind, direction, seed) for seed in SEEDS]
        output = translations(number, direction[0])
        command = ["back-translate", *models, "--input", TEXTS[direction[0]], "--output", output]
        command += ["--data-folder", DATA, "--precision", "auto", "--workers", WORKERS, "--resume"]
        files = [output.with_name(f"{output.name}.{language}") for language in direction]
        after = [made_by(kind, direction, seed) for seed in SEEDS]
        yield step("captions", output.name, command, files, after)


def mixed(number: int) -> Iterator[dict[str, Any]]:
    for direction in DIRECTIONS:
        source, target = direction
        back, forward = translations(number, target), translations(number, source)
        extra = [
            f"data.source.extra=[{{path: {back}.{source}, tag: <BT>}}, {{path: {forward}.{source}, tag: <FT>}}]",
            f"data.target.extra=[{back}.{target}, {forward}.{target}]",
        ]
        after = [f"captions:{text.name}" for text in (back, forward)]
        for seed in SEEDS:
            more = [f"training.seed={seed}", *extra]
            if number > 1:
                more.append(f"training.start_from={model(f'mean{number - 1}', direction, seed)}")
            yield training(f"mixed{number}", CAPTIONS if number == 1 else AGAIN, direction, seed, more, after)


def tuned(number: int) -> Iterator[dict[str, Any]]:
    for direction in DIRECTIONS:
        for seed in SEEDS:
            start = f"training.start_from={model(f'mixed{number}', direction, seed)}"
            after = [made_by(f"mixed{number}", direction, seed)]
            for draw in DRAWS:
                more = [start, f"training.seed={draw}"]
                yield training(f"tuned{number}", TUNING, direction, f"{seed}-{draw}", more, after)


def mean(number: int) -> Iterator[dict[str, Any]]:
    for direction in DIRECTIONS:
        for seed in SEEDS:
            output = model(f"mean{number}", direction, seed)
            draws = [(f"tuned{number}", direction, f"{seed}-{draw}") for draw in DRAWS]
            command = ["average", *(model(*draw) for draw in draws), "--output", output]
            yield step("mean", output.stem, command, [output], [made_by(*draw) for draw in draws])


def scores() -> Iterator[dict[str, Any]]:
    kinds = ["pairs", *(f"{kind}{number}" for number in range(1, ROUNDS + 1) for kind in ("mixed", "mean"))]
    for split in ("validation", "test"):
        for kind in kinds:
            for direction in DIRECTIONS:
                models = [model(kind, direction, seed) for seed in SEEDS]
                name = f"{split}-{kind}-{'-'.join(direction)}"
                ensemble = ["--ensemble", *models] if len(models) > 1 else []
                command = ["evaluate", *models, *ensemble, "--split", split, "--data-folder", DATA]
                command += ["--output", OUTPUT / name]
                after = [made_by(kind, direction, seed) for seed in SEEDS]
                yield step("scores", name, command, [OUTPUT / name / "evaluation.json"], after)


def bundle() -> Iterator[dict[str, Any]]:
    for direction in DIRECTIONS:
        name = "-".join(direction)
        first = (f"mean{ROUNDS}", direction, SEEDS[0])
        bundled = OUTPUT / f"bundle-{name}.safetensors"
        command = ["average", model(*first), "--int8", "--output", bundled]
        yield step("bundle", name, command, [bundled], [made_by(*first)])

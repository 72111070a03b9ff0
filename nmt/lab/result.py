"""What one run of the comparison measured: a value, and the file in the run's folder that keeps it."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ConfigDict, ValidationError

from nmt.config.reading import differences, parse_stored
from nmt.config.run import Config
from nmt.evaluation.alignment import AlignmentScore
from nmt.evaluation.by_length import Bucket
from nmt.registry import Section
from nmt.system import files
from nmt.system.errors import UserError
from nmt.training.folder import BEST


class Result(Section):
    """One model, trained to the end of its budget, and what it did on the test set."""

    model_config = ConfigDict(ser_json_inf_nan="constants")  # of a training that diverged

    config: Config
    parameters: int
    bleu: float | None  # sacreBLEU, 0 to 100, lower-cased if the model's text is; None where it is undefined
    chrf: float | None = None  # likewise; None in results of earlier versions
    bleu_low: float  # the 95 % bootstrap interval of BLEU
    bleu_high: float
    signature: str
    validation_bleu: float | None = None  # of the checkpoint that was chosen by it; None in results of earlier versions
    by_length: tuple[Bucket, ...]
    perplexity: float  # per target token, the end of the sentence counted
    alignment: AlignmentScore | None  # None without attention or gold links
    right_sentence: float | None = None  # of sources of several sentences; None also where there are none
    entropy: float | None = None  # of a step's attention weights, in bits; None in results of earlier versions
    target_tokens_per_second: float | None  # in training: the median of the log's laps
    minutes: float  # of training and validation
    machine: str

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def error_rate(self) -> float | None:
        return None if self.alignment is None else self.alignment.error_rate

    @property
    def case(self) -> str:
        """What BLEU is computed on."""
        return "lower-cased" if self.config.data.target.lowercase else "cased"


def folder_of(config: Config) -> Path:
    """The folder of a config's run."""
    return Path(config.output_dir) / config.name


def best_of(config: Config) -> Path:
    """The checkpoint that is measured."""
    return folder_of(config) / BEST


def path_of(config: Config) -> Path:
    """Where a config's result is kept. It is written last: if it exists, the run is finished."""
    return folder_of(config) / "result.json"


def write(result: Result, path: Path) -> None:
    """Write a result. Raises `UserError` if that is not possible."""
    files.write(path, result.model_dump_json(indent=2).encode() + b"\n")


def beside(page: Path, config: Config) -> Path:
    """Where the folder of a page keeps a result, without the run: for another machine, or another kind of analysis."""
    return page / "results" / f"{config.name}.json"


def keep(config: Config, page: Path) -> Result:
    """Put the result of a finished run into the page's folder, too; returns it."""
    measured = read(path_of(config))
    files.make_folder(page / "results")
    write(measured, beside(page, config))
    return measured


def restore(config: Config, page: Path) -> bool:
    """Give a run that has no result here the one that the page's folder keeps, so that it counts as finished.

    Returns whether there was one. Raises `UserError` if that one cannot be read or is of another config.
    """
    kept = beside(page, config)
    if path_of(config).exists() or not kept.exists():
        return False
    measured = read(kept)
    moved = measured.config.model_copy(update={"output_dir": config.output_dir})
    for field in differences(moved.model_dump(), config.model_dump()):
        raise UserError(f"{kept} is of a run with another {field}; delete it to measure again")
    files.make_folder(folder_of(config))
    write(measured.model_copy(update={"config": moved}), path_of(config))
    return True


def read(path: Path) -> Result:
    """Read a result. Raises `UserError` if the file cannot be read or was written by another version."""
    field = "its form"
    try:
        values = json.loads(path.read_bytes())
        config = parse_stored(values["config"], str(path))
        return Result.model_validate(values | {"config": config})
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}): delete it to measure again") from None
    except ValidationError as error:
        field = ".".join(map(str, error.errors()[0]["loc"])) or field
    except UserError as error:
        field = str(error)
    except (ValueError, KeyError, TypeError):
        pass
    raise UserError(f"{path} is not a result of this version ({field}): delete it to measure again")

"""Which configs are compared: the given ones, or one for every mechanism that there is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from nmt.ablation import result
from nmt.ablation.seeds import with_seeds
from nmt.config.reading import differences, load_config, parse_config
from nmt.config.run import Config
from nmt.model.scopes import SCOPES
from nmt.model.scores import SCORES
from nmt.system.bundled import ablation_configs, find_config
from nmt.system.errors import UserError

DEFAULT_CONFIGS = Path("configs/ablation")


# What a mechanism is; all else is the same in a comparison.
_COMPARED: Any = {
    "name": True,
    "model": {"attention": True, "cell": True, "encoder": {"self_attention"}, "decoder": {"readout", "readout_size"}},
    "training": {"teacher_forcing"},
}


def load_configs(paths: Sequence[str], overrides: Sequence[str], seeds: int = 1) -> list[Config]:
    """The configs to compare, with `a.b=VALUE` overrides applied to each, and each with so many seeds.

    Without paths these are the configs in configs/ablation of the current folder or else the bundled ones. The bundled
    ones are completed: a score or scope that none of them has gets a config of its own.

    All mechanisms come with their own seed first, then all with the next one. Raises `UserError` unless they differ
    only in name and mechanism, or if a run's folder has another run.
    """
    here = {path.resolve(): str(path) for path in sorted(DEFAULT_CONFIGS.glob("*.yaml"))}
    bundled = {path.resolve(): str(path) for path in ablation_configs()}
    chosen = list(paths or (here or bundled).values())
    configs = {path: load_config(find_config(path), overrides) for path in chosen}
    if len(chosen) > len(configs):
        raise UserError("a config was given twice: name each once")
    if not paths and (here or bundled).keys() == bundled.keys():
        configs |= {f"the config made for {config.name}": config for config in missing(configs.values())}
    _check_comparable(configs)
    seeded = [list(with_seeds(config, seeds)) for config in configs.values()]
    chosen_seeds = list(chain.from_iterable(zip(*seeded, strict=True)))
    _check_names(chosen_seeds)
    for config in chosen_seeds:
        _check_folder(config)
    return chosen_seeds


def missing(configs: Iterable[Config]) -> Iterator[Config]:
    """A config for each score and scope that none of the configs has: Luong's wiring, else like the first of them.

    A score that only renames another has none. Raises `UserError` if the sizes do not fit a score.
    """
    first, *others = configs
    attentive = [c.model.attention for c in (first, *others) if c.model.attention.wiring != "none"]
    scores = {name for name, score in SCORES.items() if score.same_as is None} - {a.score for a in attentive}
    scopes = SCOPES.keys() - {a.scope for a in attentive}
    wanted = {f"luong_{score}": {"wiring": "luong", "score": score} for score in sorted(scores)}
    for scope in sorted(scopes):
        wanted[f"luong_general_{scope}"] = {"wiring": "luong", "score": "general", "scope": scope}
    for name, attention in wanted.items():
        values = first.model_dump(mode="json") | {"name": name}
        values["model"] |= {"attention": attention}
        yield parse_config(values, f"the config made for {name}")


def _check_comparable(configs: Mapping[str, Config]) -> None:
    (first, first_config), *others = configs.items()
    folders = {result.folder_of(first_config): first}
    for path, config in others:
        for field in differences(_common(first_config), _common(config)):
            raise UserError(
                f"{first} and {path} differ in {field}, so that more than mechanisms would be compared; set both alike"
            )
        folder = result.folder_of(config)
        if folder in folders:
            raise UserError(f"{folders[folder]} and {path} would both run in {folder}; give each another name")
        folders[folder] = path


def _check_names(configs: Iterable[Config]) -> None:
    folders: set[Path] = set()
    for config in configs:
        if (folder := result.folder_of(config)) in folders:
            raise UserError(f"two runs would be in {folder}: give the configs names that do not end in -seedN")
        folders.add(folder)


def _common(config: Config) -> dict[str, object]:
    """What all runs of a comparison share."""
    return config.model_dump(exclude=_COMPARED)


def _check_folder(config: Config) -> None:
    """Raise `UserError` if the run's folder has a run, finished or not, of another config."""
    folder, path = result.folder_of(config), result.path_of(config)
    if path.exists():
        before = result.read(path).config
    elif (folder / "config.yaml").exists():
        before = load_config(folder / "config.yaml")
    else:
        return
    for field in differences(before.model_dump(), config.model_dump()):
        raise UserError(
            f"{folder} has a run with another {field}; delete that folder, or choose another place with "
            "--set output_dir=FOLDER"
        )

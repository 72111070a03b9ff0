"""Which configs are compared: those of the command, or one for every mechanism that there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Any

from nmt.components import SCOPES, SCORES
from nmt.config.reading import apply_override, differences, load_config, parse_config, read_values
from nmt.config.run import Config
from nmt.lab import result
from nmt.lab.seeds import with_seeds
from nmt.system.bundled import CONFIGS, find_config
from nmt.system.errors import UserError
from nmt.training.folder import CONFIG

# The fields that make a mechanism, and their parent sections; all else is the same in a comparison.
_COMPARED = (
    ("name",),
    ("model", "attention"),
    ("model", "cell"),
    ("model", "encoder", "self_attention"),
    ("model", "decoder", "readout"),
    ("model", "decoder", "readout_size"),
    ("training", "teacher_forcing"),
)


def load_configs(
    paths: Sequence[str], overrides: Sequence[str], seeds: int = 1, recipe: str | None = None
) -> list[Config]:
    """The configs to compare, with `a.b=VALUE` overrides applied to each, and each with so many seeds.

    With a recipe, another config, they give their names and mechanisms, and the recipe gives all else.

    Without paths these are the bundled ones, and one more for each score and scope that none has.

    All mechanisms come with their own seed first, then all with the next one. Raises `UserError` unless they differ
    only in name and mechanism, or if a run's folder has another run.
    """
    load = load_config if recipe is None else _by_recipe(find_config(recipe))
    configs = {
        path: load(find_config(path), overrides) for path in paths or map(str, sorted(CONFIGS.glob("ablation/*.yaml")))
    }
    if len(paths) > len(configs):
        raise UserError("a config was given twice: name each once")
    if not paths:
        configs |= {f"the config made for {config.name}": config for config in missing(configs.values())}
    _check_comparable(configs)
    by_config = {path: list(with_seeds(config, seeds)) for path, config in configs.items()}
    folders: dict[Path, str] = {}
    for path, seeded in by_config.items():
        for config in seeded:
            folder = result.folder_of(config)
            if folder in folders:
                raise UserError(f"{folders[folder]} and {path} would both run in {folder}; give each another name")
            folders[folder] = path
            _check_folder(config)
    return list(chain.from_iterable(zip(*by_config.values(), strict=True)))


def missing(configs: Iterable[Config]) -> Iterator[Config]:
    """A config for each score and scope that none has: Luong's wiring, all else like the first of the configs.

    A score that only renames another has none. Raises `UserError` if the sizes do not fit a score.
    """
    configs = list(configs)
    attentive = [c.model.attention for c in configs if c.model.attention.wiring != "none"]
    scores = {name for name, score in SCORES.items() if score.same_as is None} - {a.score for a in attentive}
    attentions = {f"luong_{score}": {"wiring": "luong", "score": score} for score in sorted(scores)}
    for name in sorted(SCOPES.keys() - {a.scope for a in attentive}):
        attentions[f"luong_general_{name}"] = {"wiring": "luong", "score": "general", "scope": name}
    for name, attention in attentions.items():
        values = configs[0].model_dump(mode="json") | {"name": name}
        values["model"] |= {"attention": attention}
        yield parse_config(values, f"the config made for {name}")


def _by_recipe(recipe: Path) -> Callable[[Path, Sequence[str]], Config]:
    """What makes the recipe's config, with the name and the mechanism of another one."""
    load_config(recipe)  # so that its own errors are reported as such
    read = read_values(recipe)

    def load(path: Path, overrides: Sequence[str]) -> Config:
        values, mechanism = deepcopy(read), load_config(path).model_dump(mode="json")
        for *parents, field in _COMPARED:
            section, other = _section(values, parents), _section(mechanism, parents)
            section.pop(field, None)
            section |= {field: other[field]} if field in other else {}
        for override in overrides:
            apply_override(override, values)
        return parse_config(values, f"{path} by the recipe {recipe}")

    return load


def _section(values: dict[str, Any], parents: Sequence[str]) -> dict[str, Any]:
    """An inner section, which is made if it is missing."""
    return reduce(lambda section, name: section.setdefault(name, {}), parents, values)


def _check_comparable(configs: Mapping[str, Config]) -> None:
    (first, first_config), *further = configs.items()
    for path, config in further:
        for field in differences(_common(first_config), _common(config)):
            raise UserError(f"{first} and {path} differ in {field}, which is no mechanism; set both alike")


def _common(config: Config) -> dict[str, object]:
    """What all runs of a comparison share."""
    values = config.model_dump()
    for *parents, field in _COMPARED:
        _section(values, parents).pop(field, None)  # which only some mechanisms have
    return values


def _check_folder(config: Config) -> None:
    """Raise `UserError` if the run's folder has a run, finished or not, of another config."""
    folder, path = result.folder_of(config), result.path_of(config)
    if path.exists():
        before = result.read(path).config
    elif (folder / CONFIG).exists():
        before = load_config(folder / CONFIG)
    else:
        return
    for field in differences(before.model_dump(), config.model_dump()):
        raise UserError(f"{folder} has a run with another {field}; delete it, or set another output_dir")

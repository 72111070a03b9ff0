"""Data sets of the Hugging Face Hub, as Parquet: `hf://datasets/OWNER/NAME`, `…/CONFIG`, `…:SPLIT`.

The hub converts most data sets to Parquet, in the branch refs/convert/parquet; of others their own Parquet files are
read. huggingface_hub keeps what it downloads.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from nmt import addons
from nmt.formats import parquet
from nmt.formats.paths import HUB, Address
from nmt.system.errors import UserError

BRANCH = "refs/convert/parquet"
_ADDRESS = re.compile(rf"{HUB.pattern}([\w.-]+/[\w.-]+)(?:/([\w.-]+))?(?::([\w.-]+))?", re.ASCII)
_CONVERTED = re.compile(r"([^/]+)/(?:partial-)?([^/]+)/[^/]+\.parquet")
_UPLOADED = re.compile(r"(?:(.*)/)?([A-Za-z_]+)[^/]*\.parquet")


def texts(address: Address) -> Iterator[str]:
    """The texts of a column of a split, by default `train` of the configuration `default`. Raises `UserError`."""
    for file in files(address):
        yield from parquet.texts(address, file)


def files(address: Address) -> list[Path]:
    """The Parquet files, downloaded unless they are there. Raises `UserError` if there are none, or no connection."""
    return list(_files(str(address)))


@cache
def _files(address: str) -> tuple[Path, ...]:
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise UserError(f"{address} is not a data set: write hf://datasets/OWNER/NAME, …/NAME/CONFIG or …/NAME:SPLIT")
    room = addons.offered("hub")
    if room is None:
        raise UserError(f"{address}: the add-on nmt.export, which downloads, is not installed")
    package, endpoint = room.package(), os.environ.get("HF_ENDPOINT")
    with room.explained(address):
        revision, listed = _listed(package, match[1], endpoint)
    names = _split(address, listed, match[2], match[3])
    with room.explained(address):
        of = {"repo_type": "dataset", "revision": revision, "endpoint": endpoint}
        return tuple(Path(package.hf_hub_download(match[1], name, **of)) for name in names)


def _listed(package: Any, repository: str, endpoint: str | None) -> tuple[str | None, dict[str, tuple[str, str]]]:
    """The revision and the Parquet files of a data set, each with its configuration and split."""
    api = package.HfApi(endpoint=endpoint)
    for revision, pattern in ((BRANCH, _CONVERTED), (None, _UPLOADED)):
        try:
            names = api.list_repo_files(repository, repo_type="dataset", revision=revision)
        except package.errors.RevisionNotFoundError:
            continue
        matches = {name: match for name in sorted(names) if (match := pattern.fullmatch(name))}
        if matches:
            folders = {name: "default" if match[1] in (None, "data") else match[1] for name, match in matches.items()}
            return revision, {name: (folders[name], match[2]) for name, match in matches.items()}
    return None, {}


def _split(address: str, names: dict[str, tuple[str, str]], config: str | None, split: str | None) -> list[str]:
    """The files of a split. Raises `UserError` for a configuration or split that there is not."""
    if not names:
        raise UserError(f"{address} has no Parquet files: download it, and name its own files")
    base = f"hf://datasets/{_ADDRESS.match(address)[1]}"  # type: ignore[index]
    configs = list(dict.fromkeys(config for config, _ in names.values()))
    config = config or ("default" if "default" in configs else configs[0] if len(configs) == 1 else None)
    if config not in configs:
        wrong = f"no configuration {config}" if config else "several configurations"
        raise UserError(f"{address} has {wrong}: write {base}/{configs[0]} (there is {', '.join(configs)[:300]})")
    splits = list(dict.fromkeys(split for one, split in names.values() if one == config))
    split = split or ("train" if "train" in splits else splits[0] if len(splits) == 1 else None)
    if split not in splits:
        wrong = f"no split {split}" if split else "several splits"
        raise UserError(f"{address} has {wrong}: write {base}/{config}:{splits[0]} (there is {', '.join(splits)})")
    return [name for name, place in names.items() if place == (config, split)]

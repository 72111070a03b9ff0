"""The lines of Multi30k, where it is at hand: its texts may not be part of the repository."""

import gzip
import os
from pathlib import Path

import pytest

from nmt.data import multi30k


def lines_of(language: str, *splits: str) -> list[str]:
    """The lines of some splits, such as `train`; skips the test if a file is missing."""
    folder = Path(os.environ.get(multi30k.MIRROR_VARIABLE) or multi30k.FOLDER)
    paths = [folder / f"{split}.{language}.gz" for split in splits]
    if not all(path.exists() for path in paths):
        pytest.skip(f"needs Multi30k: set {multi30k.MIRROR_VARIABLE}, or train configs/multi30k.yaml first")
    return [
        line for path in paths for line in gzip.decompress(path.read_bytes()).decode().removesuffix("\n").split("\n")
    ]

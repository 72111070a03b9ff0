"""Text in one language alone, without the lines by which models are judged."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nmt.augment.descriptions import DESCRIPTIONS, fetch_descriptions
from nmt.config.data import DataConfig
from nmt.data import multi30k
from nmt.data.splits import MULTI30K_NAMES, split_paths
from nmt.system.errors import UserError
from nmt.text.corpus import iterate_lines


@dataclass(frozen=True)
class Monolingual:
    """The lines of some files, one file after the other, except for empty ones and those of `held_out`.

    They can be read more than once.
    """

    paths: tuple[Path, ...]
    held_out: frozenset[str]  # normalised

    def __iter__(self) -> Iterator[str]:
        lines = (line for path in self.paths for line in iterate_lines(path))
        return (line for line in lines if (found := normalised(line)) and found not in self.held_out)

    def dropped(self) -> int:
        """How many lines are left out because they equal, lower-cased, a line that is held out."""
        lines = (normalised(line) for path in self.paths for line in iterate_lines(path))
        return sum(line != "" and line in self.held_out for line in lines)

    def empty(self) -> int:
        """How many lines are left out because they have no words."""
        return sum(not line.strip() for path in self.paths for line in iterate_lines(path))


def load_monolingual(name: str, language: str, config: DataConfig, held_out: tuple[Path, ...] = ()) -> Monolingual:
    """The text that `data.{source,target}.monolingual` names: `multi30k_descriptions`, or a file.

    Held out are the lines of that language in the corpus's validation and test sets, for the descriptions in
    Multi30k's, too, and those of further files. A line on standard error names each test set that cannot be fetched.

    Raises `UserError` if the text or the validation set cannot be fetched or read.
    """
    folder = Path(config.folder)
    paths = fetch_descriptions(language, folder / name, config.mirror) if name == DESCRIPTIONS else [Path(name)]
    judged = [*_judged_by(config, language, name), *held_out]
    lines = {normalised(line) for path in judged for line in iterate_lines(path)}
    return Monolingual(tuple(paths), frozenset(lines))


def normalised(line: str) -> str:
    """What two lines have in common that count as equal: their words, lower-cased."""
    return " ".join(line.lower().split())


def _judged_by(config: DataConfig, language: str, name: str) -> Iterator[Path]:
    """The files of a language in validation and test sets."""
    if config.corpus != "multi30k":
        for number, side in enumerate((config.source, config.target)):
            tests = [] if config.corpus == "files" and side.test is None else ["test"]
            if side.language == language:
                paths = (split_paths(config, split)[number] for split in ("validation", *tests))
                for path in paths:
                    if path.is_file():
                        yield path
                    else:  # a checkpoint's config may be of elsewhere
                        _say_not_left_out(path, "it does not exist here")
    if config.corpus == "multi30k" or name == DESCRIPTIONS:
        folder, missing = Path(config.folder) / "multi30k", dict[str, UserError]()
        yield multi30k.fetch(MULTI30K_NAMES["validation"], language, folder, config.mirror)
        for split in multi30k.splits(language):
            if split.startswith("test_"):
                try:
                    yield multi30k.fetch(split, language, folder, config.mirror)
                except UserError as error:
                    missing[split] = error
        if missing:  # one reason is enough: usually it is that of all
            _say_not_left_out(", ".join(f"{split}.{language}" for split in missing), next(iter(missing.values())))


def _say_not_left_out(held_out: object, why: object) -> None:
    print(f"lines that equal one of {held_out} are not left out: {why}", file=sys.stderr)

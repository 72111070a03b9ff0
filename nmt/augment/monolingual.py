"""Text in one language alone, without the lines by which models are judged.

Among it are the captions of Multi30k's task 2, five of each training image in German and in English. They were written
independently of each other: lines of the same number describe one image, and are no translations.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nmt.config.data import DataConfig
from nmt.data import multi30k
from nmt.data.multi30k import fetch_file, origin_of
from nmt.data.splits import MULTI30K_NAMES, split_paths
from nmt.system.errors import UserError
from nmt.text.corpus import comparable, iterate_lines, of_language, reader_of

DESCRIPTIONS = "multi30k_descriptions"  # what configs call them, and the folder that holds them
UPSTREAM = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task2/raw"

_SHA256 = {
    "train.1.de.gz": "0002241b52aba5160c08d644ea0d64a9bf46a2dfffcf619c9e3cdaa55b357004",
    "train.1.en.gz": "a0e057f07a9733199c0d755d77f6d583dc6f40a3180734b1130a216e2fdf3a3b",
    "train.2.de.gz": "ac7c29258b90aec0b64d677c5bfc831fc402e6296d0aa9cc7a3433ddbff85c37",
    "train.2.en.gz": "d79dd70a9eafb2d1fe40151621278c4ae69b3c148c5052a53d7c7a41bf3ba023",
    "train.3.de.gz": "ec5e6508813814aa31311b34e26e24f903dd7701f8d0668313259b7f975d7aa0",
    "train.3.en.gz": "86e16fdcc699bcb6bca0f87c3cf1051f7de5ee3674dd588cedc5200194282749",
    "train.4.de.gz": "bcee8ac6eb47d8a7dc8cff47d9a0fbd80b4363cfda22021bacd297f9604221a4",
    "train.4.en.gz": "3771b84e010ad6197806d2a1188cb07c12149e3e0d178dd5966dee5763733686",
    "train.5.de.gz": "dccb0ca6ff25e0b1f0d385f59fb809184e0db89622d88371725e3ec46d43bfc0",
    "train.5.en.gz": "73988689307fe836994eae59735dc840c15da9775455fa76e6ed22606a042a91",
}


@dataclass(frozen=True)
class Monolingual:
    """The lines of some files, one file after the other, except for empty ones and those of `held_out`.

    They can be read more than once.
    """

    paths: tuple[Path, ...]
    held_out: frozenset[str]  # comparable

    def __iter__(self) -> Iterator[str]:
        return (line for line in self._lines() if (words := comparable(line)) and words not in self.held_out)

    def dropped(self) -> int:
        """How many lines are left out because they equal, lower-cased, a line that is held out."""
        return sum(line.strip() != "" and comparable(line) in self.held_out for line in self._lines())

    def _lines(self) -> Iterator[str]:
        return (line for path in self.paths for line in iterate_lines(path))


def load_monolingual(name: str, language: str, config: DataConfig) -> Monolingual:
    """The text that `data.{source,target}.monolingual` names: `multi30k_descriptions`, or a file.

    Held out are the lines of that language in the corpus's validation and test sets, for the descriptions in
    Multi30k's, too. A line on standard error names each test set that cannot be fetched.

    Raises `UserError` if the text or the validation set cannot be fetched or read.
    """
    folder = Path(config.folder)
    paths = [of_language(name, language)]
    if name == DESCRIPTIONS:
        paths = fetch_descriptions(language, folder / name, config.mirror)
    for path in paths:
        next(iter(iterate_lines(path)), None)  # refuses a wrong file before anything is fetched
    held_out = _evaluation_files(config, language, name)
    lines = {comparable(line) for path in held_out for line in iterate_lines(path)}
    return Monolingual(tuple(paths), frozenset(lines))


def fetch_descriptions(language: str, folder: Path, mirror: str | None = None) -> list[Path]:
    """The paths of the five files, `folder/train.N.language.gz`, fetched as `nmt.data.multi30k.fetch` does.

    A mirror holds them in a folder `multi30k_descriptions` beside its own.
    """
    checksums = {name: checksum for name, checksum in _SHA256.items() if name.split(".")[2] == language}
    if not checksums:
        raise UserError(f"{DESCRIPTIONS} has captions in de and en, and none in {language!r}: choose one of these")
    origin = origin_of(mirror)
    origin = origin and f"{origin.rpartition('/')[0]}/{DESCRIPTIONS}"
    return [fetch_file(folder / name, checksum, origin, UPSTREAM) for name, checksum in checksums.items()]


def _evaluation_files(config: DataConfig, language: str, name: str) -> Iterator[Path]:
    """The files of a language in validation and test sets."""
    if config.corpus != "multi30k":
        for number, side in enumerate((config.source, config.target)):
            tests = [] if config.corpus == "files" and side.test is None else ["test"]
            if side.language == language:
                paths = (split_paths(config, split)[number] for split in ("validation", *tests))
                for path in paths:
                    if path.is_file() or reader_of(path) is not None:
                        yield path
                    else:  # a checkpoint's config may be of elsewhere
                        _warn(path, "it does not exist here")
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
            _warn(", ".join(f"{split}.{language}" for split in missing), next(iter(missing.values())))


def _warn(held_out: object, why: object) -> None:
    print(f"lines that equal one of {held_out} are not left out: {why}", file=sys.stderr)

"""Where each split of a corpus lies, and its text."""

from __future__ import annotations

from pathlib import Path

from nmt.config.data import DataConfig
from nmt.data import multi30k
from nmt.system import bundled
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText, read_pairs

SPLITS = ("train", "validation", "test")
MULTI30K_NAMES = {"validation": "val", "test": "test_2016_flickr"}


def load_split(config: DataConfig, split: str) -> ParallelText:
    """The text of a split. Raises `UserError` where `split_paths` does, and where reading fails."""
    return read_pairs(*split_paths(config, split))


def split_paths(config: DataConfig, split: str) -> tuple[Path, Path]:
    """The files, source and target, of `train`, `validation`, `test`, or another of Multi30k's test sets by its name.

    Multi30k is fetched if it is not in `data.folder` yet. The sample corpus comes with nmt; a copy of it in
    `data.folder` is used instead. Raises `UserError` for an unknown split, and where fetching fails.
    """
    source, target = config.source.language, config.target.language
    match config.corpus:
        case "sample":
            return _sample_paths(Path(config.folder) / "sample", split, source, target)
        case "multi30k":
            name = MULTI30K_NAMES.get(split, split)
            if name not in multi30k.SPLITS:
                tests = [
                    name for name in multi30k.splits(source) if name in multi30k.splits(target) and "test_" in name
                ]
                raise _unknown(split, ("train", *MULTI30K_NAMES, *tests))
            folder = Path(config.folder) / "multi30k"
            return (
                multi30k.fetch(name, source, folder, config.mirror),
                multi30k.fetch(name, target, folder, config.mirror),
            )
        case "files":
            splits = SPLITS if config.source.test else SPLITS[:2]
            if split not in splits:
                raise _unknown(split, splits)
            return Path(getattr(config.source, split)), Path(getattr(config.target, split))


def training_paths(config: DataConfig) -> list[tuple[Path, Path]]:
    """The files, source and target, of all training pairs: first the corpus's own, then those of `extra`."""
    extra = zip(config.source.extra, config.target.extra, strict=True)
    return [split_paths(config, "train"), *((Path(source.path), Path(target)) for source, target in extra)]


def gold_links(config: DataConfig, split: str) -> Path | None:
    """The file of a split's gold word alignment, which only the sample corpus has."""
    if config.corpus != "sample":
        return None
    return _sample_paths(Path(config.folder) / "sample", split, "de", "en")[0].with_suffix(".align")


def _sample_paths(folder: Path, split: str, source: str, target: str) -> tuple[Path, Path]:
    if {source, target} != {"de", "en"}:
        raise UserError(f"data: the sample corpus is German and English, not {source} and {target}; use de and en")
    if split not in SPLITS:
        raise _unknown(split, SPLITS)
    if not (folder / f"{split}.{source}").exists():
        folder = bundled.SAMPLE
    return folder / f"{split}.{source}", folder / f"{split}.{target}"


def _unknown(split: str, splits: tuple[str, ...]) -> UserError:
    return UserError(f"split {split!r}: this corpus has no such split; it has {', '.join(splits)}")

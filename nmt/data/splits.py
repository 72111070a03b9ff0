"""Where each split of a corpus lies, and its text."""

from __future__ import annotations

from pathlib import Path

from nmt import addons
from nmt.config.data import DataConfig
from nmt.data import multi30k
from nmt.system import bundled
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText, of_language, read_pairs

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
    names = [*SPLITS]
    if config.corpus == "files" and config.source.test is None:
        names.remove("test")
    if config.corpus == "multi30k":
        names += [name for name in multi30k.splits(source) if name in multi30k.splits(target) and "test_" in name]
    if split not in names:
        raise UserError(f"split {split!r}: this corpus has no such split; it has {', '.join(names)}")
    match config.corpus:
        case "sample":
            if {source, target} != {"de", "en"}:
                message = f"the sample corpus is German and English, not {source} and {target}; use de and en"
                raise UserError(f"data: {message}")
            copy = Path(config.folder) / "sample"
            folder = copy if (copy / f"{split}.{source}").exists() else bundled.SAMPLE
            return folder / f"{split}.{source}", folder / f"{split}.{target}"
        case "multi30k":
            name, folder = MULTI30K_NAMES.get(split, split), Path(config.folder) / "multi30k"
            source_path = multi30k.fetch(name, source, folder, config.mirror)
            return source_path, multi30k.fetch(name, target, folder, config.mirror)
        case "files":
            source_path, target_path = getattr(config.source, split), getattr(config.target, split)
            return of_language(source_path, source), of_language(target_path, target)


def training_paths(config: DataConfig) -> list[tuple[Path, Path]]:
    """The files, source and target, of all training pairs: first the corpus's own, then those of `extra`."""
    source, target = config.source.language, config.target.language
    extra = zip(config.source.extra, config.target.extra, strict=True)
    more = ((of_language(one.path, source), of_language(other, target)) for one, other in extra)
    paths = [split_paths(config, "train"), *more]
    if not config.protect:
        return paths
    return [addons.offered("protection").masked_files(config, *pair) for pair in paths]

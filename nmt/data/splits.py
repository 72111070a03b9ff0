"""Where each split of a corpus lies, and its text."""

from __future__ import annotations

from pathlib import Path

from nmt.config.data import DataConfig
from nmt.data import multi30k
from nmt.system import bundled
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText, read_pairs

MULTI30K_NAMES = {"validation": "val", "test": "test_2016_flickr"}


def load_split(config: DataConfig, split: str) -> ParallelText:
    """The text of a split. Raises `UserError` where `split_paths` does, and where reading fails."""
    return read_pairs(*split_paths(config, split))


def split_paths(config: DataConfig, split: str) -> tuple[Path, Path]:
    """The files, source and target, of `train`, `validation`, `test`, or another of Multi30k's test sets by its name.

    Multi30k is fetched if it is not in `data.folder` yet. The sample corpus comes with nmt; a copy of it in
    `data.folder` is used instead.
    Raises `UserError` for an unknown split, and where fetching fails.
    """
    match config.corpus:
        case "sample":
            return _sample_paths(Path(config.folder) / "sample", split, config.source.language, config.target.language)
        case "multi30k":
            name = MULTI30K_NAMES.get(split, split)
            languages = (config.source.language, config.target.language)
            if name not in multi30k.SPLITS:
                both = [n for n in multi30k.splits(languages[0]) if n in multi30k.splits(languages[1])]
                raise _unknown(split, ("train", *MULTI30K_NAMES, *(n for n in both if n.startswith("test_"))))
            folder = Path(config.folder) / "multi30k"
            source, target = (multi30k.fetch(name, language, folder, config.mirror) for language in languages)
            return source, target
        case "files":
            known = ("train", "validation", "test") if config.source.test else ("train", "validation")
            if split not in known:
                raise _unknown(split, known)
            return Path(getattr(config.source, split)), Path(getattr(config.target, split))


def training_paths(config: DataConfig) -> list[tuple[Path, Path]]:
    """The files, source and target, of all training pairs: first the corpus's own, then those of `extra`."""
    extra = (
        (Path(source.path), Path(target))
        for source, target in zip(config.source.extra, config.target.extra, strict=True)
    )
    return [split_paths(config, "train"), *extra]


def gold_links(config: DataConfig, split: str) -> Path | None:
    """The file of a split's gold word alignment, which only the sample corpus has."""
    if config.corpus != "sample":
        return None
    return _sample_paths(Path(config.folder) / "sample", split, "de", "en")[0].with_suffix(".align")


def _sample_paths(folder: Path, split: str, source: str, target: str) -> tuple[Path, Path]:
    if {source, target} != {"de", "en"}:
        raise UserError(f"data: the sample corpus is German and English, not {source} and {target}; use de and en")
    if split not in (known := ("train", "validation", "test")):
        raise _unknown(split, known)
    if not (folder / f"{split}.{source}").exists():
        folder = bundled.SAMPLE
    return folder / f"{split}.{source}", folder / f"{split}.{target}"


def _unknown(split: str, known: tuple[str, ...]) -> UserError:
    return UserError(f"split {split!r}: this corpus has no such split; it has {', '.join(known)}")

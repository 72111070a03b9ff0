"""Where the files that come with nmt are: bundled models, example configs, the sample corpus.

They are in the repository, or, in a wheel, copied into the package under `nmt/bundled/` (see setup.py).
"""

import sys
from pathlib import Path

from nmt.system.errors import UserError

_PACKAGE = Path(__file__).resolve().parents[1]
ROOT = _PACKAGE / "bundled" if (_PACKAGE / "bundled").is_dir() else _PACKAGE.parent
CONFIGS = ROOT / "configs"
SAMPLE = ROOT / "data" / "sample"  # the sample corpus
# Folders of checkpoints/, which setup.py, .gitignore and .dockerignore let through, too: one model of each direction,
# and those that `nmt serve` compares with them.
FOLDERS = ("multi30k-??-??", "*-??-??-bahdanau")
MODEL = ROOT / "checkpoints" / "multi30k-de-en" / "model.safetensors"  # its README.md has the terms


def checkpoints() -> list[Path]:
    """All bundled models: German→English first, then the other directions, then those to compare with."""
    paths = [sorted(MODEL.parents[1].glob(f"{folder}/{MODEL.name}")) for folder in FOLDERS]
    return sorted(paths[0], key=lambda path: path != MODEL) + paths[1]


def models() -> dict[tuple[str, str], Path]:
    """The default model of each direction, by its source and target languages, German→English first."""
    names = {path: path.parent.name.split("-") for path in checkpoints()}
    return {(name[1], name[2]): path for path, name in names.items() if len(name) == 3}


def missing() -> UserError:
    """The error of a command that needs a bundled model where there is none."""
    return UserError(f"the bundled model {MODEL} is missing: give a CHECKPOINT, such as best.safetensors of a run")


def find_config(name: str | Path) -> Path:
    """The file of a command's CONFIG: a path, or a bundled config's name (`quickstart`), which is then printed."""
    configs = {path.relative_to(CONFIGS).with_suffix("").as_posix(): path for path in CONFIGS.rglob("*.yaml")}
    path = configs.get(Path(name).as_posix().removeprefix("configs/").removesuffix(".yaml"))
    if path is None or Path(name).is_file():
        return Path(name)
    print(f"Using the bundled config {path}", file=sys.stderr)
    return path

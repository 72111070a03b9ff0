"""The wheel: it has the bundled model and configs, and runs from an empty folder."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import nmt
from nmt.system import bundled

ROOT = Path(__file__).parents[1]
MODELS = [f"checkpoints/{path.parent.name}" for path in bundled.checkpoints()]
OTHERS = [f"{folder}/{name}" for folder in ("multi30k-xx-yy", "mine") for name in ("README.md", "best.safetensors")]
BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the wheel of this repository is unpacked into."""
    place = tmp_path_factory.mktemp("packaging")
    copy = place / "repository"
    for name in ("nmt", "configs", "data/sample", "docs/course", *MODELS):
        if (ROOT / name).exists():  # an add-on may have been taken away
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in OTHERS:
        (copy / "checkpoints" / name).parent.mkdir(exist_ok=True)
        (copy / "checkpoints" / name).write_text("something", encoding="utf-8")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    subprocess.run([sys.executable, "-c", BUILD, str(place)], cwd=copy, check=True, capture_output=True)
    (wheel,) = place.glob("*.whl")
    assert wheel.name.startswith(f"nmt-{nmt.__version__}-")
    zipfile.ZipFile(wheel).extractall(place / "installed")
    return place / "installed"


def python_from(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(installed), "PYTHONUTF8": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)


def files_in(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def test_the_wheel_has_every_module_and_bundled_file(installed: Path) -> None:
    assert files_in(installed / "nmt" / "bundled" / "configs") == files_in(ROOT / "configs")
    for name in MODELS:
        files = files_in(ROOT / name)
        assert files == {Path("model.safetensors"), Path("README.md")}
        assert files_in(installed / "nmt" / "bundled" / name) == files
    others = files_in(installed / "nmt" / "bundled" / "checkpoints")
    assert [str(path) for path in others if f"checkpoints/{path.parent}" not in MODELS] == OTHERS[:1]
    package = {path for path in files_in(installed / "nmt") if path.parts[0] != "bundled"}
    assert package == files_in(ROOT / "nmt")
    assert Path("py.typed") in package


def test_the_wheel_translates_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    assert python_from(installed, tmp_path, "-m", "nmt", "--version").stdout == f"nmt {nmt.__version__}\n"
    translated = python_from(installed, tmp_path, "-m", "nmt", "translate", "Ein Hund läuft über die Wiese.")
    assert translated.stdout == "A dog runs through the grass.\n"
    assert translated.stderr == ""
    assert not list(tmp_path.iterdir())


def test_the_wheel_has_the_course(installed: Path, tmp_path: Path) -> None:
    pytest.importorskip("nmt.course")
    program = "import sys; sys.modules |= dict.fromkeys(['otter', 'jupytext', 'nbformat']); from nmt.cli import main; "
    python_from(installed, tmp_path, "-c", f"{program} main(['course', 'start'])")
    checked = python_from(installed, tmp_path, "-c", f"{program} print(main(['course', 'check', '2']))").stdout
    assert checked.startswith("2.1 wrong: it is not filled in yet\n")
    assert checked.endswith("0 of 9 right\n1\n")
    assert {path.suffix for path in tmp_path.glob("course/*")} == {"", ".py", ".ipynb"}

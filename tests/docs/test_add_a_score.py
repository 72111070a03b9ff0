"""The page that adds a score, as its reader does: its files are written into a copy of the project, its test is run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "add-a-score.md"
# Some of the page's `tests`: against the formula, against finite differences, in both wirings, and that it learns.
TESTED = [f"tests/model/test_{name}.py" for name in ("attention", "attention_gradients", "seq2seq")]


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the page's files in it."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("nmt", "tests", "configs", "scripts", "benchmarks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"Save this as `([^`]+)`.*?^```\w+\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert [name for name, _ in blocks] == [
        "nmt/model/scores/tempered.py",
        "tests/support/formulas/scores/tempered.py",
        "configs/tempered.yaml",
    ]
    for name, content in blocks:
        assert not (folder / name).exists()
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def run(project: Path, *arguments: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(project)}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.long
def test_the_tests_find_the_new_score(project: Path) -> None:
    printed = run(project, "-m", "pytest", "-p", "no:cacheprovider", *TESTED, "-k", "tempered and global")
    assert int(re.findall(r"(\d+) passed", printed)[0]) > 30


def test_the_config_finds_the_new_score(project: Path) -> None:
    program = (
        "from nmt.config.reading import load_config\n"
        "from nmt.build import build_model\n"
        "config = load_config('configs/tempered.yaml')\n"
        "model = build_model(config.model, 9, 9)\n"
        "print(config.model.attention.score, model.decoder.attention.score.temperature.item())"
    )
    assert run(project, "-c", program).split() == ["tempered", "1.5"]
    run(project, "-m", "nmt.config.schema", "configs/schema.json")
    assert "tempered" in (project / "configs" / "schema.json").read_text(encoding="utf-8")


def test_a_config_that_cannot_be_says_so(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "scripts/train.py", "configs/tempered.yaml", "--set", "model.attention.score=general"],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "temperature (1.5) has no effect with score: general" in done.stderr
    assert "set score to tempered" in done.stderr

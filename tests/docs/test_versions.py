"""The places that name nmt's version, and the Python versions it is tested with, agree."""

import re
import tomllib
from pathlib import Path

import yaml

import nmt

ROOT = Path(__file__).parents[2]


def test_the_changelog_begins_with_this_version() -> None:
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert versions[0] == nmt.__version__
    assert versions == sorted(set(versions), reverse=True)


def test_the_citation_has_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == nmt.__version__


def test_the_workflow_runs_ci_with_each_python_that_is_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [c.rsplit(" ", 1)[1] for c in project["classifiers"] if re.search(r"Python :: 3\.\d+$", c)]
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]["check"]
    assert job["strategy"]["matrix"]["python"] == named
    assert ".ci/run" in [step.get("run") for step in job["steps"]]

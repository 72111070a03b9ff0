"""The Dockerfile: rules of good images, and its commands run in an environment like the image's, without Docker."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nmt.page.commands import serve
from nmt.system import bundled

ROOT = Path(__file__).parents[2]
FILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "how-to" / "deploy.md").read_text(encoding="utf-8")


def instructions() -> list[tuple[str, str]]:
    """Each instruction with what stands behind it, continued lines joined, comments left out."""
    lines = "\n".join(line for line in FILE.splitlines() if not line.startswith("#"))
    joined = re.sub(r"\\\n\s*", "", lines).splitlines()
    return [(word, rest) for word, _, rest in (line.strip().partition(" ") for line in joined) if word]


def given(name: str) -> list[str]:
    return [rest for word, rest in instructions() if word == name]


def test_what_is_copied_exists_and_reaches_the_builder() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignored
    copied = {name for rest in given("COPY") if not rest.startswith("--from=") for name in rest.split()[:-1]}
    assert all((ROOT / name).exists() for name in copied)
    sent = {line for line in ignored if line.startswith("!")}
    assert {line.split("/")[0] for line in sent} == {f"!{name}" for name in copied}
    assert {line for line in sent if "/" in line} == {f"!checkpoints/{bundled.FOLDERS}"}  # and no runs


def test_rules_of_good_images() -> None:
    names = [word for word, _ in instructions()]
    known = {"FROM", "ARG", "WORKDIR", "COPY", "RUN", "ENV", "USER", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
    assert set(names) <= known
    assert all(
        re.fullmatch(r"python:3\.\d+-slim-\w+( AS \w+)?", rest) for rest in given("FROM")
    )  # a version, not latest
    assert all(path.startswith("/") for path in given("WORKDIR"))
    assert all("--no-cache-dir" in rest and "--constraint constraints.txt" in rest for rest in given("RUN"))
    assert not re.search(r"\b(sudo|apt-get|curl|wget)\b", FILE)
    for name in ("USER", "ENTRYPOINT", "CMD", "HEALTHCHECK", "EXPOSE"):
        assert names.count(name) == 1, name
        assert names.index(name) > len(names) - 1 - names[::-1].index("FROM"), f"{name} belongs into the last stage"
    user, group = map(int, given("USER")[0].split(":"))  # numbers, so that a cluster sees that it is not root
    assert min(user, group) >= 1000
    assert not [rest for rest in given("ENV") + given("ARG") if re.search("(?i)token|password|secret", rest)]


def test_the_image_has_a_python_that_is_supported() -> None:
    versions = {re.search(r"python:(3\.\d+)", rest)[1] for rest in given("FROM")}
    named = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert len(versions) == 1
    assert f"Python :: {versions.pop()}" in named


@pytest.fixture
def port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def arguments(name: str, port: str) -> list[str]:
    [rest] = given(name)
    return json.loads(rest[rest.index("[") :].replace("8000", port))


def test_its_commands_serve_the_page_without_a_place_to_write(tmp_path: Path, port: str) -> None:
    package, empty = tmp_path / "package", tmp_path / "empty"
    models = [f"checkpoints/{path.parent.name}" for path in bundled.models().values()]
    for name in ("nmt", "configs", *models):  # what the image's package consists of
        shutil.copytree(ROOT / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    empty.mkdir(mode=0o500)
    variables = dict(pair.split("=", 1) for rest in given("ENV") for pair in rest.split())
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = variables | {"PATH": path, "PYTHONPATH": str(package), "MPLCONFIGDIR": str(empty)}
    nmt, *rest = arguments("ENTRYPOINT", port) + arguments("CMD", port)
    assert nmt == "nmt"
    before = set(package.rglob("*"))
    server = subprocess.Popen(
        [sys.executable, "-m", "nmt", *rest], cwd=empty, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        assert re.match(rf"Open http://0\.0\.0\.0:{port}/\?token=[\w-]{{16,}} ", server.stdout.readline())
        _, *code = arguments("HEALTHCHECK", port)
        healths = []
        for _ in range(30):  # as Docker does: until it is well
            healths.append(subprocess.run([sys.executable, *code], env=environment, capture_output=True).returncode)
            if healths[-1] == 0:
                break
            time.sleep(0.2)
        assert healths[-1] == 0
    finally:
        server.terminate()
        server.communicate(timeout=60)
    assert subprocess.run([sys.executable, *code], env=environment, capture_output=True).returncode != 0
    assert set(package.rglob("*")) == before
    assert list(empty.iterdir()) == []


def test_every_command_of_the_page_can_be_given() -> None:
    served = re.findall(r"^(?: {4}|ExecStart=\S*/)nmt (serve .*)$", PAGE, re.MULTILINE)
    run = [re.sub(r".* nmt(?= |$)", "serve", line) for line in re.findall(r"^ {4}docker run (.*)$", PAGE, re.MULTILINE)]
    assert len(served) >= 2
    assert len(run) >= 2
    for command in [*served, *run]:
        serve.parser().parse_intermixed_args(shlex.split(command)[1:])

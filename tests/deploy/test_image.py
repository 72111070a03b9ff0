"""The Dockerfile: rules of good images, and its commands run in an environment like the image's, without Docker."""

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

from nmt.page.commands import serve
from nmt.system import bundled

ROOT = Path(__file__).parents[2]
FILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
LINES = "\n".join(line for line in FILE.splitlines() if not line.startswith("#"))
# Each instruction with what stands behind it, continued lines joined.
INSTRUCTIONS = [line.strip().partition(" ") for line in re.sub(r"\\\n\s*", "", LINES).splitlines() if line.strip()]


def arguments_of(name: str) -> list[str]:
    return [rest for word, _, rest in INSTRUCTIONS if word == name]


def test_what_is_copied_exists_and_reaches_the_builder() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignored
    copied = {name for rest in arguments_of("COPY") if not rest.startswith("--from=") for name in rest.split()[:-1]}
    assert all((ROOT / name).exists() for name in copied)
    sent = {line for line in ignored if line.startswith("!")}
    assert {line.split("/")[0] for line in sent} == {f"!{name}" for name in copied}
    assert {line for line in sent if "/" in line} == {
        f"!checkpoints/{folder}" for folder in bundled.FOLDERS
    }  # and no runs


def test_the_image_has_a_supported_python_and_is_not_run_by_root() -> None:
    images = [re.fullmatch(r"python:(3\.\d+)-slim-\w+( AS \w+)?", rest) for rest in arguments_of("FROM")]
    [version] = {image[1] for image in images}  # not latest
    assert f"Python :: {version}" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert all("--no-cache-dir" in rest and "--constraint constraints.txt" in rest for rest in arguments_of("RUN"))
    user, group = map(int, arguments_of("USER")[-1].split(":"))  # numbers, so that a cluster sees that it is not root
    assert min(user, group) >= 1000
    assert not re.search("(?i)token|password|secret", "".join(arguments_of("ENV") + arguments_of("ARG")))


def test_its_commands_serve_the_page_without_a_place_to_write(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])

    def command(name: str) -> list[str]:
        [rest] = arguments_of(name)
        return json.loads(rest[rest.index("[") :].replace("8000", port))

    package, empty = tmp_path / "package", tmp_path / "empty"
    models = [f"checkpoints/{path.parent.name}" for path in bundled.checkpoints()]
    for name in ("nmt", "configs", *models):  # what the image's package consists of
        shutil.copytree(ROOT / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    empty.mkdir(mode=0o500)
    variables = dict(pair.split("=", 1) for rest in arguments_of("ENV") for pair in rest.split())
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = variables | {"PATH": path, "PYTHONPATH": str(package), "MPLCONFIGDIR": str(empty)}
    nmt, *rest = command("ENTRYPOINT") + command("CMD")
    assert nmt == "nmt"
    before = set(package.rglob("*"))
    serving = [sys.executable, "-m", "nmt", *rest]
    _, *code = command("HEALTHCHECK")

    def health() -> int:
        return subprocess.run([sys.executable, *code], env=environment, capture_output=True).returncode

    server = subprocess.Popen(serving, cwd=empty, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        assert re.match(rf"Open http://0\.0\.0\.0:{port}/\?token=[\w-]{{16,}} ", server.stdout.readline())
        deadline = time.monotonic() + 60
        while health() != 0:  # as Docker does: until it is well
            assert time.monotonic() < deadline
            time.sleep(0.2)
    finally:
        server.terminate()
        server.communicate(timeout=60)
    assert health() != 0
    assert set(package.rglob("*")) == before
    assert list(empty.iterdir()) == []


def test_every_command_of_the_page_can_be_given() -> None:
    page = (ROOT / "docs" / "how-to" / "deploy.md").read_text(encoding="utf-8")
    served = re.findall(r"^(?: {4}|ExecStart=\S*/)nmt (serve .*)$", page, re.MULTILINE)
    run = [re.sub(r".* nmt(?= |$)", "serve", line) for line in re.findall(r"^ {4}docker run (.*)$", page, re.MULTILINE)]
    assert len(served) >= 2
    assert len(run) >= 2
    for command in [*served, *run]:
        serve.parser().parse_intermixed_args(shlex.split(command)[1:])

"""The page as a folder: what is in it, and what is refused. What it computes is tested in Chromium."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.cli import error_of

from nmt.cli import main
from nmt.export.static_site import RUNTIME


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """As much of onnxruntime-web as is copied."""
    (tmp_path / "package" / "dist").mkdir(parents=True)
    for name in RUNTIME:
        (tmp_path / "package" / "dist" / name).write_bytes(name.encode())
    return tmp_path / "package"


def test_all_that_the_page_loads_is_in_its_folder(best: str, package: Path, tmp_path: Path) -> None:
    folder = tmp_path / "page"
    assert main(["export", best, "--precision", "int8", "--page", str(package), "--output", str(folder)]) == 0
    places = re.findall(r'(?:src|href)="([^"#]+)"', (folder / "index.html").read_text(encoding="utf-8"))
    worker = (folder / "offline.js").read_text(encoding="utf-8")
    kept = json.loads(re.findall(r"const PAGE = (\[.*?\]);", worker)[0])
    assert {"./", *(place for place in places if place.startswith("static/"))} <= set(kept)
    sizes = json.loads((folder / "model" / "model.json").read_text(encoding="utf-8"))["files"]
    assert {"model/step.onnx", "runtime/" + RUNTIME[1]} <= sizes.keys()
    assert all((folder / name).stat().st_size == size for name, size in sizes.items())
    modules = [*folder.glob("static/*.js"), *folder.glob("engine/*.js")]
    imports = [
        (file, name) for file in modules for name in re.findall(r'(?:from|import) "(\./[^"]+)"', file.read_text())
    ]
    assert all(
        file.is_file()
        for file in [*(folder / place for place in places + kept[1:]), *(f.parent / name for f, name in imports)]
    )


def test_what_is_refused(best: str, package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "page"
    other = tmp_path / "other.safetensors"
    other.write_bytes(Path(best).read_bytes())
    (package / "dist" / RUNTIME[0]).rename(package / RUNTIME[0])
    capsys.readouterr()
    for arguments, message in (
        ([best, "--page", str(package)], "name the folder of the npm package onnxruntime-web"),
        ([best, str(other), "--page", str(package)], "--page shows one model, and 2 were given"),
        ([best, "--page", str(tmp_path / "none")], "does not exist"),
    ):
        assert main(["export", *arguments, "--output", str(output)]) == 2
        assert message in error_of(capsys)
        assert not output.exists()

"""Proof that each room can be taken away: copies of the tree without it, whose other tests pass.

    python tools/test_core.py            # the core alone, then the tree without each room
    python tools/test_core.py core page  # some of these copies
    python tools/test_core.py --all core

The core alone runs the tests of its own folders that train little and are not long; `--all` runs all that are not
long. A tree without one room imports all modules, and runs those tests that go over all sections of a config.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
# What belongs to each room, besides `nmt/ROOM` and `tests/ROOM`.
ROOMS = {
    "fast": [],
    "page": ["tests/browser", "tests/page_modules", "tests/export/with_page", "tests/deploy", "tests/service"],
    "export": ["tests/browser/test_static_site.py"],
    "lab": [],
    "formats": [],
    "migrate": [],
    "align": ["docs/how-to/align-words.md"],
    "constraints": ["docs/how-to/use-a-glossary.md"],
    "documents": ["docs/how-to/translate-documents.md"],
    "clean": ["docs/how-to/clean-a-corpus.md", "docs/how-to/from-a-translation-memory.md"],
    "service": [],
    "variants": ["configs/normalizers"],
    "search_options": [],
    "comparison": [],
    "playground": [
        *("docs/how-to/train-in-the-browser.md", "tests/browser/test_playground.py"),
        *("tests/page_modules/playground.test.js", "tests/page_modules/playground_files.test.js"),
        "tests/course/test_nano_checkpoint.py",
    ],
    "trackers": [],
    "risk": [],
    "latent": [f"configs/normalizers/{name}.yaml" for name in ("exact", "variational", "reinforce")],
    "course": ["docs/course", "tools/course.py", "tools/slides.py"],
    "augment": [
        *("configs/multi30k_captions.yaml", "configs/multi30k_captions_again.yaml", "configs/multi30k_tuned.yaml"),
        *("scripts/multi30k_full.py", "tests/test_chain.py"),  # the chain back-translates
    ],
}
COMMANDS = {
    "page": "serve",
    "export": "export",
    "lab": "ablation",
    "augment": "back-translate",
    "comparison": "compare",
}
COMMANDS |= {name: name for name in ("migrate", "course", "align", "clean")}
CORE = [
    *("config", "data", "checkpoint", "test_imports.py", "decoding/test_translator.py", "commands/test_cli.py"),
    "training/test_update.py",
]
WALKS = ["config/test_reading.py", "config/test_combinations.py"]
# In a copy: write anew what is made from the code, import all modules, print the help, run tests if any are named.
PREPARE = """
import pkgutil, sys
from pathlib import Path

sys.path.insert(0, "docs/_ext")
import config_schema, generated_parts, nmt, pytest
from nmt.cli import main

Path("configs/schema.json").write_text(config_schema.as_json(), encoding="utf-8")
for page in Path("docs/reference").glob("*.md"):
    page.write_text(generated_parts.written(page.read_text(encoding="utf-8")), encoding="utf-8")
for module in pkgutil.walk_packages(nmt.__path__, "nmt."):
    if not module.name.endswith("__main__"):
        __import__(module.name)
try:
    main(["--help"])
except SystemExit as end:
    assert not end.code
sys.exit(pytest.main(sys.argv[1:]) if sys.argv[1:] else 0)
"""


def copy(folder: Path, without: list[str]) -> None:
    """Copy what git knows and does not ignore, without some rooms."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout.decode()
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    for room in without:
        for name in (f"nmt/{room}", f"tests/{room}", *ROOMS[room]):
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def run(folder: Path, *arguments: str) -> str:
    """What Python prints in a copy. Ends this program if it fails."""
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}\n{done.stderr}\nwithout {folder.name}: failed: {' '.join(arguments)}")
    return done.stdout


def check(rooms: list[str], tests: list[str], processes: int = 0) -> None:
    """Test a copy of the tree without some rooms, in so many processes beside this one."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "+".join(rooms)
        copy(folder, rooms)
        pytest = ["-x", "-n", str(processes), "-m", "not long", *(f"tests/{name}" for name in tests)]
        if processes:  # pytest checks shapes in modules that are not imported yet, so it is a process of its own
            printed = run(folder, "-c", PREPARE) + run(folder, "-m", "pytest", *pytest)
        else:
            printed = run(folder, "-c", PREPARE, *pytest, "--assert=plain", "--jaxtyping-packages=")
        for room, command in COMMANDS.items():
            assert (f"  {command} " in printed) == (room not in rooms), f"nmt --help without {rooms}: {command}"
    counts = printed.splitlines()[-1]
    print(f"without {', '.join(rooms)}: {counts}, {time.perf_counter() - begin:.0f} s", flush=True)


def main(names: list[str]) -> None:
    rooms = [room for room in ROOMS if (ROOT / "nmt" / room).is_dir()]
    core = [""] if "--all" in names else CORE
    selected = [name for name in names if name != "--all"] or ["core", *rooms]
    if "core" in selected:
        check(rooms, core, processes=2)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: check([name], WALKS), [name for name in selected if name != "core"]))


if __name__ == "__main__":
    main(sys.argv[1:])

"""What tests have other processes do. Nothing heavy is imported here: each of them would import it again."""

import os
import signal
import subprocess
import sys
from pathlib import Path


def end_this_process(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run_among_planted_modules(script: str, folder: Path, **environment: str) -> None:
    """Run a script in a folder whose files are called like modules that Python's child processes import, and fail."""
    for name in ("pickle", "multiprocessing", "torch", "yaml", "nmt"):
        (folder / f"{name}.py").write_text("raise SystemExit('a planted module was imported')", encoding="utf-8")
    (elsewhere := folder / "scripts").mkdir()
    (elsewhere / "script.py").write_text(script, encoding="utf-8")
    command = [sys.executable, str(elsewhere / "script.py")]  # imports from `elsewhere`, and not from `folder`
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, "planted" in done.stderr) == (0, False), done.stderr

"""What holds while modules are imported: garbage collection rests, and Ctrl-C stops at once."""

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from nmt.system.startup import without_garbage_collection


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_rests_meanwhile_and_never_sees_what_was_made(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    before = gc.get_freeze_count()
    try:
        with without_garbage_collection():
            assert not gc.isenabled()
            made = [[number] for number in range(1000)]
        assert gc.isenabled() == enabled
        assert gc.get_freeze_count() >= before + len(made)
    finally:
        gc.enable()
        gc.unfreeze()


IMPORTED = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
except BaseException:
    pass  # as some modules do
"""
IMPORTING = """
import os, signal, sys, time
from nmt.system.startup import stop_imports_on_ctrl_c

signal.signal(signal.SIGINT, signal.default_int_handler)
with stop_imports_on_ctrl_c():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    except KeyboardInterrupt:
        print("raised")
    if "import" in sys.argv:
        import dropping
        print("dropped")
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


@pytest.mark.parametrize(("argument", "code"), [("import", 130), ("nothing", 0)])
def test_ctrl_c_during_an_import_is_not_dropped(tmp_path: Path, argument: str, code: int) -> None:
    (tmp_path / "dropping.py").write_text(IMPORTED, encoding="utf-8")
    (tmp_path / "importing.py").write_text(IMPORTING, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "importing.py"), argument]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=50, check=False)
    assert (run.returncode, run.stdout) == (code, "raised\n")
    assert run.stderr == ("\nStopped.\n" if code else "")

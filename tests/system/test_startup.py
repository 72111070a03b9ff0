"""The beginning of a process: bundled files, a collector that rests while modules load, and Ctrl-C that stops it."""

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from nmt.config.reading import load_config
from nmt.system import bundled
from nmt.system.startup import without_garbage_collection


def test_the_bundled_files_exist() -> None:
    models = bundled.models().values()
    assert bundled.MODEL in models
    assert all(path.is_file() and path.with_name("README.md").is_file() for path in models)
    assert sum(path.stat().st_size for path in models) <= 16_000_000  # bytes, in each clone, wheel and image
    mechanisms = {path.stem for path in bundled.CONFIGS.glob("ablation/*.yaml")}
    assert {"none", "luong_dot", "bahdanau_additive"} <= mechanisms


def test_a_bundled_config_is_used_where_there_is_none_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").mkdir()  # a folder is not a config
    paths = ("quickstart", "quickstart.yaml", "configs/quickstart.yaml", "configs/quickstart", Path("quickstart"))
    for name, file in {**dict.fromkeys(paths, "quickstart.yaml"), "ablation/none": "ablation/none.yaml"}.items():
        path = bundled.find_config(name)
        assert path == bundled.CONFIGS / file
        assert capsys.readouterr().err == f"Using the bundled config {path}\n"
    assert load_config(bundled.find_config("quickstart")).name == "quickstart"
    capsys.readouterr()
    (tmp_path / "quickstart.yaml").write_text("name: mine\n", encoding="utf-8")  # a file of one's own comes first
    outside = ["../configs/quickstart", "a/../quickstart", "/quickstart", "quickstart.yml"]
    for name in ("quickstart.yaml", "", ".", "configs", "missing", *outside):
        assert bundled.find_config(name) == Path(name)
        assert capsys.readouterr().err == ""


def test_the_collector_rests_meanwhile_and_never_sees_what_was_made() -> None:
    before = gc.get_freeze_count()
    with without_garbage_collection():
        assert not gc.isenabled()
        made = [[number] for number in range(1000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() >= before + len(made)
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

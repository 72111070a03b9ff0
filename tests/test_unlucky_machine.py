"""Full disks, clocks that are wrong, a cache that may not be written: one line and exit code 2, or it works."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import SOURCES, write_config

import nmt
from nmt.cli import main

pytestmark = pytest.mark.long
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(nmt.__file__).parents[1]), *sys.path])}


def test_what_a_full_disk_cut_off_is_continued(best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    source.write_text("".join(f"{line}\n" for line in SOURCES * 400), encoding="utf-8")
    command = ["translate", best, "--input", str(source), "--beam", "1", "--json"]
    assert main(command) == 0
    whole = capsys.readouterr().out
    size = len(whole.encode()) * 3 // 4 // 1024
    limited = ["bash", "-c", f'ulimit -f {size}; exec "$@"', "bash", sys.executable, "-m", "nmt", *command]
    done = subprocess.run([*limited, "--output", out], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"error: {out} cannot be written (File too large)" in done.stderr
    assert main([*command, "--output", str(out), "--resume"]) == 0
    assert out.read_text(encoding="utf-8") == whole


@pytest.mark.parametrize("time", [0, 4_000_000_000])  # in 1970, and in 2096
def test_a_clock_that_was_set_changes_nothing(tmp_path: Path, time: int) -> None:
    command = ["train", str(write_config(tmp_path)), "--set", "training.checkpoint_every=1", "--set", "name=whole"]
    assert main([*command, "--set", "training.max_updates=6"]) == 0
    command[-1] = "name=clock"
    assert main([*command, "--set", "training.max_updates=3"]) == 0
    for path in tmp_path.rglob("*"):
        os.utime(path, (time, time))
    assert main([*command, "--set", "training.max_updates=6", "--resume"]) == 0
    runs = tmp_path / "runs"
    assert (runs / "clock" / "best.safetensors").exists()
    weights = [(runs / name / "best.safetensors").read_bytes()[-1000:] for name in ("whole", "clock")]
    assert weights[0] == weights[1]


READER = """
import sys
from support.crashes import obey_permissions
from nmt.cli import main
obey_permissions()
sys.exit(main(sys.argv[1:]))
"""


def test_a_cache_of_another_user_is_read(tmp_path: Path) -> None:
    command = ["train", str(write_config(tmp_path))]
    assert main(command) == 0
    cache = tmp_path / "data" / "cache"
    cache.chmod(0o555)
    for name, more, code in (("same", "training.seed=2", 0), ("other", "data.source.min_frequency=2", 2)):
        reader = [sys.executable, "-c", READER, *command, "--set", f"name={name}", "--set", more]
        done = subprocess.run(reader, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        assert done.returncode == code
        assert (f"error: {cache}" in done.stderr) == (code == 2)
        assert "Traceback" not in done.stderr

"""Training processes that are killed, stopped, and out of room: nothing is lost (`NMT_KILLS=200` kills more often)."""

import os
import signal
from functools import partial
from pathlib import Path

import pytest
from support.crashes import (
    UPDATES,
    finish,
    folder_of,
    limit_file_size,
    make_config,
    obey_permissions,
    stop_after,
    stop_again_and_again,
)
from support.runs import assert_same_run, contents

from nmt.config.run import Config

pytestmark = pytest.mark.long


@pytest.fixture(scope="session")
def whole(folder: Path) -> Path:
    """The folder of a run that nothing disturbed."""
    config = make_config(folder, "whole")
    assert finish(config) == 0
    return folder_of(config)


def files_of(config: Config) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder_of(config).iterdir()}


@pytest.mark.parametrize("seed", range(1, 1 + int(os.environ.get("NMT_KILLS", "10")) // 10))
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_lost_by_random_stops(folder: Path, whole: Path, number: signal.Signals, seed: int) -> None:
    config = make_config(folder, f"{number.name}-{seed}")
    updates = set()
    for code in stop_again_and_again(config, number, 10, seed):
        assert code in ((-9,) if number == signal.SIGKILL else (-15, 130))  # -15: before it listens for signals
        if (folder_of(config) / "last.safetensors").exists():
            updates.add(contents(folder_of(config))["training"]["state"]["update"])
    assert len(updates) > 3, "hardly a stop came in the middle of training"
    assert max(updates) < UPDATES
    assert finish(config) == 0
    assert_same_run(folder_of(config), whole)
    assert list(folder_of(config).glob(".*")) == []


@pytest.mark.parametrize("harm", ["room for half a checkpoint", "no room for metrics", "read-only"])
def test_a_folder_that_cannot_be_written_keeps_the_last_checkpoint(folder: Path, whole: Path, harm: str) -> None:
    config = make_config(folder, harm.replace(" ", "-"))
    stop_after(config, 9)
    before = files_of(config)
    size = len(before["last.safetensors"]) // 2 if "half" in harm else len(before["metrics.jsonl"]) + 10
    limit, reason = partial(limit_file_size, size), "File too large"
    if harm == "read-only":
        limit, reason = obey_permissions, "Permission denied"
        folder_of(config).chmod(0o555)
    try:
        assert finish(config, limit) == 2
    finally:
        folder_of(config).chmod(0o755)
    last_line = folder_of(config).with_suffix(".log").read_text(encoding="utf-8").rstrip("\n").split("\n")[-1]
    assert last_line.startswith("error: ")
    assert f"cannot be written ({reason}): free some space or choose another place" in last_line
    after = files_of(config)
    names = before if harm == "read-only" else ("last.safetensors", "previous.safetensors")
    assert all(after[name] == before[name] for name in names)
    assert finish(config) == 0
    assert_same_run(folder_of(config), whole)

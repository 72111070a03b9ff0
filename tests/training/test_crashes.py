"""Training processes that are killed, stopped, and out of room: nothing is lost."""

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
    write_corpus,
)
from support.runs import assert_same_run, contents

from nmt.config.run import Config

pytestmark = pytest.mark.long


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crashes")
    write_corpus(folder)
    return folder


@pytest.fixture(scope="session")
def whole(folder: Path) -> Path:
    """The folder of a run that nothing disturbed."""
    config = make_config(folder, "whole")
    assert finish(config) == 0
    return folder_of(config)


def files_of(config: Config) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder_of(config).iterdir()}


def last_line(config: Config) -> str:
    return folder_of(config).with_suffix(".log").read_text(encoding="utf-8").rstrip("\n").split("\n")[-1]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_lost_by_random_stops(folder: Path, whole: Path, number: signal.Signals) -> None:
    config = make_config(folder, number.name)
    updates = set()
    for code in stop_again_and_again(config, number, 10, seed=1):
        assert code in ((-9,) if number == signal.SIGKILL else (-15, 130))  # -15: before it listens for signals
        if (folder_of(config) / "last.safetensors").exists():
            updates.add(contents(folder_of(config))["training"]["state"]["update"])
    assert len(updates) > 3, "hardly a stop came in the middle of training"
    assert max(updates) < UPDATES
    assert finish(config) == 0
    assert_same_run(folder_of(config), whole)
    assert list(folder_of(config).glob(".*")) == []


@pytest.mark.parametrize("share", [0.5, 0.0])
def test_a_full_disk_leaves_the_last_checkpoint(folder: Path, whole: Path, share: float) -> None:
    """There is room for half a checkpoint, or for no more metrics."""
    config = make_config(folder, f"room-{share}")
    stop_after(config, 9)
    before = files_of(config)
    size = int(share * len(before["last.safetensors"])) or len(before["metrics.jsonl"]) + 10
    assert finish(config, partial(limit_file_size, size)) == 2
    assert last_line(config).startswith("error: ")
    assert "cannot be written (File too large): free some space or choose another place" in last_line(config)
    assert {name: files_of(config)[name] for name in ("last.safetensors", "previous.safetensors")} == (
        {name: before[name] for name in ("last.safetensors", "previous.safetensors")}
    )
    assert finish(config) == 0
    assert_same_run(folder_of(config), whole)


def test_a_read_only_folder_is_named_and_left_alone(folder: Path, whole: Path) -> None:
    config = make_config(folder, "read-only")
    stop_after(config, 9)
    before = files_of(config)
    place = folder_of(config)
    place.chmod(0o555)
    try:
        assert finish(config, obey_permissions) == 2
    finally:
        place.chmod(0o755)
    said = (
        f"error: {place / 'config.yaml'} cannot be written (Permission denied): free some space or choose another place"
    )
    assert last_line(config) == said
    assert files_of(config) == before
    assert finish(config) == 0
    assert_same_run(place, whole)

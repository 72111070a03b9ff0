"""Several processes train one model as one process would; started by torchrun, or here by what torchrun does."""

import os
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
import torch
from support.crashes import begin, folder_of, make_config
from support.runs import after_update, assert_same_run, contents, events, without_times

from nmt.config.reading import load_config, to_yaml
from nmt.config.run import Config
from nmt.training.distributed import ProcessGroup

ROOT = Path(__file__).parents[2]
NO_DROPOUT = [
    "model={embedding_size: 6, embedding_dropout: 0, encoder: {hidden_size: 5, dropout: 0}, "
    "decoder: {hidden_size: 7, dropout: 0}}",
    "training.max_updates=7",
    "training.log_every=1",
]


def test_shards_are_a_whole() -> None:
    for count in (1, 2, 3, 5):
        for size in (0, 1, 4, 101):
            shards = [ProcessGroup(rank, count).shard(range(size)) for rank in range(count)]
            assert sorted(index for shard in shards for index in shard) == list(range(size))
            assert max(map(len, shards)) - min(map(len, shards)) <= 1


def configured(folder: Path, name: str, *overrides: str) -> tuple[Path, Config]:
    """A config file and its config. The run's folder is `output_dir/name`."""
    path = folder / f"{name}.yaml"
    path.write_text(to_yaml(make_config(folder, name)), encoding="utf-8")
    config = load_config(path, overrides)
    path.write_text(to_yaml(config), encoding="utf-8")
    return path, config


def train(config: Config, count: int, stop_at: int | None = None) -> Path:
    """Train to the end, or until a stop is requested in one process; returns the run's folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "same"}
    one_stops = [stop_at if rank == 1 else None for rank in range(count)]
    processes = [
        begin(config, partial(_become, shared | {"RANK": str(rank)}, stop_at)) for rank, stop_at in enumerate(one_stops)
    ]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [130 if stop_at else 0 for stop_at in one_stops]
    return folder_of(config)


def _become(environment: dict[str, str], stop_at: int | None) -> None:
    """One of several processes, in which a stop is requested in an update."""
    os.environ.update(environment)
    if stop_at is not None:
        after_update(pytest.MonkeyPatch(), stop_at, lambda: signal.raise_signal(signal.SIGTERM))


@pytest.mark.parametrize("unit", ["sentences", "tokens"])
def test_n_processes_make_the_updates_of_one_with_n_times_the_batch(folder: Path, unit: str) -> None:
    """80 pairs in batches of 6, 18 or so: the last batch of an epoch has fewer pairs than there are processes."""
    size = 13 if unit == "sentences" else 40
    runs = []
    for processes in (3, 1):
        batch = [f"training.batch_unit={unit}", f"training.batch_size={3 * size // processes}", "training.accumulate=2"]
        _, config = configured(folder, f"{processes}-{unit}", *NO_DROPOUT, *batch)
        runs.append(train(config, processes))
    weights, expected = (contents(run)["model"] for run in runs)
    for name, weight in expected.items():
        torch.testing.assert_close(weights[name], weight, rtol=1e-5, atol=1e-5)
    for event, same in zip(*(without_times(events(run)) for run in runs), strict=True):
        assert event.keys() == same.keys()
        for key, value in same.items():
            assert event[key] == (pytest.approx(value, rel=1e-4) if isinstance(value, float) else value), key


def test_several_processes_stop_and_resume_as_one_does(folder: Path) -> None:
    (_, whole), (_, stopped) = (
        configured(folder, name, "training.max_updates=16", "model.cell=lstm") for name in ("lstm", "lstm-stopped")
    )
    run = train(stopped, 2, stop_at=11)
    assert contents(run)["training"]["state"]["update"] == 11
    assert_same_run(train(stopped, 2), train(whole, 2))


def torchrun(folder: Path, config: Path, *options: str, restarts: int = 0) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"),
            *(f"--max-restarts={restarts}", "--monitor-interval=0.1"),
            *(str(ROOT / "scripts" / "train.py"), str(config), *options),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )


def kill_a_worker(process: subprocess.Popen[str], metrics: Path) -> str:
    """Kill the second process of torchrun's after twenty events; returns the output of all."""
    deadline = time.monotonic() + 120
    while not metrics.exists() or metrics.read_bytes().count(b"\n") < 20:
        assert time.monotonic() < deadline, f"{metrics} has not 20 lines"
        time.sleep(0.02)
    listed = subprocess.run(["ps", "-A", "-o", "ppid=,pid="], stdout=subprocess.PIPE, encoding="utf-8", check=True)
    pairs = [line.split() for line in listed.stdout.splitlines()]
    workers = sorted(int(child) for parent, child in pairs if int(parent) == process.pid)
    os.kill(workers[1], signal.SIGKILL)
    return process.communicate()[0]


@pytest.mark.long
@pytest.mark.parametrize("restarts", [0, 1])
def test_torchrun_ends_or_begins_again_from_the_checkpoint_after_a_kill(folder: Path, restarts: int) -> None:
    limits = ("training.max_updates=40", "training.validate_every=20")
    path, config = configured(folder, f"restarts-{restarts}", *limits)
    run = folder_of(config)
    process = torchrun(folder, path, "--resume", restarts=restarts)
    output = kill_a_worker(process, run / "metrics.jsonl")
    if restarts:
        assert process.returncode == 0, output
        assert events(run, "end")[0]["reason"] == "40 updates"
        assert [event["update"] for event in events(run, "train")] == list(range(1, 41))
        assert output.count("Scores on test") == 1  # one process alone prints
        return
    assert process.returncode not in (0, -signal.SIGKILL)
    assert "error: another process of this training was lost" in output
    assert "nmt/cli.py" not in output  # torchrun shows its own traceback, and none of ours
    assert contents(run)["training"]["state"]["update"] >= 15

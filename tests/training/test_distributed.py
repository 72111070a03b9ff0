"""Several processes train one model as one process would; started by torchrun, or here by what torchrun does."""

import copy
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.crashes import folder_of, make_config, write_corpus
from support.runs import assert_same_run, contents, events, without_times

from nmt.config.reading import load_config, to_yaml
from nmt.config.run import Config
from nmt.training.distributed import SINGLE_PROCESS, ProcessGroup, connect_processes
from nmt.training.validation import Validation, validate

ROOT = Path(__file__).parents[2]
NO_DROPOUT = [
    "model={embedding_size: 6, embedding_dropout: 0, encoder: {hidden_size: 5, dropout: 0}, "
    "decoder: {hidden_size: 7, dropout: 0}}",
    "training.max_updates=7",
    "training.log_every=1",
]


def test_shards_are_a_whole_and_even() -> None:
    generator = np.random.default_rng(1)
    lengths = generator.integers(1, 40, size=300, dtype=np.int32)
    for count in (1, 2, 3, 5):
        for size in (1, 2, 4, 64, 101):
            batch = generator.permutation(300)[:size].tolist()
            shards = [ProcessGroup(rank, count).shard(batch, lengths) for rank in range(count)]
            assert sorted(index for shard in shards for index in shard) == sorted(batch)
            tokens = [int((lengths[shard] + 1).sum()) if shard else 0 for shard in shards]
            assert max(tokens) - min(tokens) <= (8 if size >= 64 else 40)


def test_validation_batches_are_whole_and_all_there() -> None:
    order = list(range(23))[::-1]
    shards = [ProcessGroup(rank, 3).shard_batches(order, 4) for rank in range(3)]
    assert shards[1] == [*order[4:8], *order[16:20]]
    assert sorted(index for shard in shards for index in shard) == sorted(order)
    assert SINGLE_PROCESS.shard_batches(order, 4) == order


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_corpus(folder)
    return folder


def configured(folder: Path, name: str, *overrides: str) -> tuple[Path, Config]:
    """A config file and its config. The run's folder is `output_dir/name`."""
    path = folder / f"{name}.yaml"
    path.write_text(to_yaml(make_config(folder, name)), encoding="utf-8")
    config = load_config(path, overrides)
    path.write_text(to_yaml(config), encoding="utf-8")
    return path, config


def _train(yaml_text: str, environment: dict[str, str], stop_at: int | None) -> None:
    import yaml

    from nmt.config.reading import parse_config
    from nmt.training import event_log, loop
    from nmt.training.interruption import StopSignals
    from nmt.training.run import run

    os.environ.update(environment)
    event_log._summary_writer = lambda *_: None
    torch.set_num_threads(1)
    stop = StopSignals()
    real = loop.update

    def update(*arguments: Any) -> float:
        nll = real(*arguments)
        if arguments[4] + 1 == stop_at and environment["RANK"] == "1":  # a stop is requested in one alone
            stop.requested = True
        return nll

    loop.update = update
    with connect_processes() as group:
        run(parse_config(yaml.safe_load(yaml_text), "config"), stop, resume=True, group=group)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def train(config: Config, count: int, stop_at: int | None = None) -> Path:
    """Train to the end, or until a stop is requested in one process; returns the run's folder."""
    port = str(free_port())
    shared = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "same"}
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["nmt.training.run", "sacrebleu", "torch._dynamo"])
    processes = [
        context.Process(target=_train, args=(to_yaml(config), shared | {"RANK": str(rank)}, stop_at))
        for rank in range(count)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * count
    return folder_of(config)


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
        configured(folder, name, "training.max_updates=16", "model.cell=lstm") for name in ("whole", "stopped")
    )
    run = train(stopped, 2, stop_at=11)
    assert contents(run)["training"]["state"]["update"] == 11
    assert_same_run(train(stopped, 2), train(whole, 2))


def torchrun(
    folder: Path, config: Path, *options: str, restarts: int = 0, processes: int = 2, port: int = 0, nodes: int = 1
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "torch.distributed.run", f"--nnodes={nodes}", f"--nproc-per-node={processes}"),
            *("--rdzv-backend=c10d", f"--rdzv-endpoint=localhost:{port}", "--rdzv-id=same"),
            *(f"--max-restarts={restarts}", "--monitor-interval=0.1"),
            *(str(ROOT / "scripts" / "train.py"), str(config), *options),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )


def workers(parent: int) -> list[int]:
    """The processes that torchrun has started, in their order, which is that of their world."""
    listed = subprocess.run(["ps", "-A", "-o", "ppid=,pid="], stdout=subprocess.PIPE, encoding="utf-8", check=True)
    pairs = [line.split() for line in listed.stdout.splitlines()]
    return sorted(int(child) for of, child in pairs if int(of) == parent)


def wait_for(path: Path, lines: int) -> None:
    deadline = time.monotonic() + 120
    while not path.exists() or path.read_bytes().count(b"\n") < lines:
        assert time.monotonic() < deadline, f"{path} has not {lines} lines"
        time.sleep(0.02)


FORTY = ("training.max_updates=40", "training.validate_every=20")


@pytest.mark.long
def test_torchrun_begins_again_from_the_checkpoint_after_a_kill(folder: Path) -> None:
    path, config = configured(folder, "again", *FORTY)
    run = folder_of(config)
    process = torchrun(folder, path, "--resume", restarts=1)
    wait_for(run / "metrics.jsonl", 20)
    os.kill(workers(process.pid)[1], signal.SIGKILL)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert events(run, "end")[0]["reason"] == "40 updates"
    assert [event["update"] for event in events(run, "train")] == list(range(1, 41))
    assert output.count("Scores on test") == 1  # one process alone prints


@pytest.mark.long
def test_of_two_machines_one_is_lost(folder: Path) -> None:
    """Two agents of torchrun, of which one is killed with its process."""
    path, config = configured(folder, "machines", *FORTY)
    port = free_port()
    agents = [torchrun(folder, path, processes=1, nodes=2, port=port) for _ in range(2)]
    wait_for(folder_of(config) / "metrics.jsonl", 20)
    for lost in (*workers(agents[1].pid), agents[1].pid):
        os.kill(lost, signal.SIGKILL)
    output, _ = agents[0].communicate()
    agents[1].communicate()
    assert agents[0].returncode not in (0, -signal.SIGKILL)
    assert "error: another process of this training was lost" in output
    assert "nmt/cli.py" not in output  # torchrun shows its own traceback, and none of ours
    assert contents(folder_of(config))["training"]["state"]["update"] >= 15


@pytest.mark.long
def test_machines_must_resume_from_the_same_checkpoint(folder: Path) -> None:
    path, config = configured(folder, "apart", "training.max_updates=3")
    last = train(config, 2) / "last.safetensors"
    before = last.read_bytes()
    port = free_port()
    agents = [
        torchrun(folder, path, "--resume", "--set", f"output_dir={output_dir}", processes=1, nodes=2, port=port)
        for output_dir in (config.output_dir, folder / "elsewhere")
    ]
    for agent in agents:
        output, _ = agent.communicate()
        assert agent.returncode != 0
        assert "is not the same on all machines: they must share the folder" in output
    assert last.read_bytes() == before
    assert not (folder / "elsewhere" / "apart" / "last.safetensors").exists()


def test_shared_validation_is_exactly_that_of_one_process(make_translator: Any, text: Any) -> None:
    """Two threads stand for two processes."""
    config, translator = make_translator("search.batch_size=2")
    whole = validate(translator.model, translator.source, translator.target, config, text["validation"])
    barrier, values = threading.Barrier(2), [None, None]

    class Threads(ProcessGroup):
        def total(self, *numbers: float) -> list[float]:
            return [sum(x) for x in zip(*self.gather(numbers), strict=True)]

        def gather(self, value: Any) -> Any:
            values[self.rank] = value
            barrier.wait()
            gathered = list(values)
            barrier.wait()
            return gathered

    def validate_shard(rank: int) -> Validation:
        model, group = copy.deepcopy(translator.model), Threads(rank, 2)
        return validate(model, translator.source, translator.target, config, text["validation"], group)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(validate_shard, range(2))) == [whole, whole]

"""Training in separate processes, killed at random moments.

Each run trains the tiny model of a made-up language and saves after every update, so that many a kill meets a save.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import random
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from nmt.config.reading import to_yaml
from nmt.config.run import Config
from nmt.system.errors import UserError
from support.tiny_config import config_maker, made_up_text, write_splits

UPDATES = 60
UPDATE = b'"event": "train"'
# A process forked from a server that has imported all of it begins at once, where a new one would take seconds.
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["nmt.training.run", "torchtext.data", "sacrebleu", "torch._dynamo"])


def write_corpus(folder: Path) -> None:
    write_splits(folder, made_up_text(train=80, validation=6, test=1))


def make_config(folder: Path, name: str) -> Config:
    training = {"max_updates": UPDATES, "log_every": 1, "checkpoint_every": 1, "validate_every": 7}
    training |= {"moving_average": 0.9, "schedule": "{kind: cosine, warmup: 3}"}
    fields = [f"training.{field}={value}" for field, value in training.items()]
    return config_maker(folder, folder)(f"name={name}", *fields)


def begin(config: Config, limit: Callable[[], None] | None = None) -> ForkServerProcess:
    """A process that trains the config, or goes on with it, as `nmt train --resume` does; `limit` runs in it first."""
    process = _SERVER.Process(target=_train, args=(to_yaml(config), folder_of(config).with_suffix(".log"), limit))
    process.start()
    return process


def folder_of(config: Config) -> Path:
    return Path(config.output_dir) / config.name


def finish(config: Config, limit: Callable[[], None] | None = None) -> int:
    """Train to the end; returns the exit code."""
    process = begin(config, limit)
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def stop_again_and_again(config: Config, number: signal.Signals, times: int, seed: int) -> Iterator[int]:
    """Send a training the signal at a random moment, and let it go on, so many times; what is left is for the caller.

    Yields the exit codes. Every fourth moment is one of the first, the others are in or behind a random update.
    """
    generator = random.Random(seed)
    for attempt in range(times):
        process = begin(config)
        if attempt % 4 == 0:
            time.sleep(generator.uniform(0, 0.3))  # before the first update, as a rule
        else:
            updates = _count(config, UPDATE) + generator.randint(1, 5)
            while _count(config, UPDATE) < updates and process.is_alive():
                time.sleep(0.001)
            time.sleep(generator.uniform(0, 0.03))  # an update and its save take about as long
        assert process.is_alive(), "the training came to its end before it was stopped often enough"
        os.kill(process.pid or 0, number)
        process.join()
        assert process.exitcode is not None
        yield process.exitcode


def stop_after(config: Config, events: int) -> None:
    """Begin a training, and have it save and stop after so many events."""
    process = begin(config)
    while _count(config, b"\n") < events:
        assert process.is_alive()
        time.sleep(0.001)
    os.kill(process.pid or 0, signal.SIGTERM)
    process.join()
    assert process.exitcode == 130


def _count(config: Config, text: bytes) -> int:
    """How often the run's log contains a text."""
    path = folder_of(config) / "metrics.jsonl"
    return path.read_bytes().count(text) if path.exists() else 0


def limit_file_size(size: int) -> None:
    """As a quota does: a write beyond it fails, in the middle of a file."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def obey_permissions() -> None:
    """Have root, too, obey a folder's permissions: without CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""
    if os.geteuid() == 0:
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        sets = (ctypes.c_uint32 * 6)()
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.capget(header, sets) == 0
        sets[0] &= ~0b110
        assert libc.capset(header, sets) == 0


def _train(yaml_text: str, log: Path, limit: Callable[[], None] | None) -> None:
    import yaml
    from tqdm import tqdm

    from nmt import addons
    from nmt.config.reading import parse_config
    from nmt.training.distributed import connect_processes
    from nmt.training.interruption import StopSignals
    from nmt.training.run import run

    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8") as errors, open(os.devnull, "a", encoding="utf-8") as nowhere:
        os.dup2(errors.fileno(), 2)
        os.dup2(nowhere.fileno(), 1)
    if (room := addons.offered("trackers")) is not None:
        room.tensorboard = lambda *_: nullcontext(lambda _: None)
    tqdm.set_lock(threading.RLock())  # its own is a semaphore of the system, which a killed process leaves behind
    if limit is not None:
        limit()
    stop = StopSignals()
    try:
        with connect_processes() as group:
            run(parse_config(yaml.safe_load(yaml_text), "config"), stop, resume=True, group=group)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    if stop.requested:
        sys.exit(130)

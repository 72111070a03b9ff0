"""Computing apart: in a copy of this process, so that it and the server do not wait for each other's Python."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import torch

from nmt.page.batch_queue import Tell
from nmt.system.errors import UserError

Function = Callable[[Any, Tell], None]


class SearchWorker:
    """Computes `function(payloads, tell)` in a copy (fork) of this process, with one thread.

    The copy sees what this process had when it began, and none of its connections. A killed one is replaced. Raises
    what the function raises, and `UserError` if the copy is killed twice in a call, which may have taken its memory.
    """

    def __init__(self, function: Function) -> None:
        self._function = function
        self._copy: tuple[Connection, multiprocessing.process.BaseProcess] | None = None

    def begin(self) -> None:
        """Make the copy, unless there is one."""
        if self._copy is None:
            context = multiprocessing.get_context("fork")
            here, there = context.Pipe()
            process = context.Process(target=_compute, args=(self._function, there), daemon=True)
            with warnings.catch_warnings():  # copies of a process with threads: those that compute are at rest
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            there.close()
            self._copy = here, process

    def __call__(self, payloads: Any, tell: Tell) -> None:
        for _ in range(2):
            try:
                error = self._computed(payloads, tell)
            except (EOFError, OSError):
                self.end()
                continue
            if error is not None:
                raise error
            return
        raise UserError("the process that computes this was killed: is there enough memory?")

    def _computed(self, payloads: Any, tell: Tell) -> Exception | None:
        """Tell what the copy computes; returns what it raises."""
        self.begin()
        assert self._copy is not None
        connection, _ = self._copy
        connection.send_bytes(pickle.dumps(payloads))
        while isinstance(message := pickle.loads(connection.recv_bytes()), tuple):
            tell(*message)
        return message

    def end(self) -> None:
        """End the copy, if there is one."""
        if self._copy is not None:
            connection, process = self._copy
            self._copy = None
            connection.close()
            process.kill()
            process.join()


def _compute(function: Function, connection: Connection) -> None:
    """What the copy does, until its connection is closed at the other end."""
    for number in map(int, os.listdir("/proc/self/fd")):
        if number > 2 and number != connection.fileno():
            with suppress(OSError):  # the list itself has been closed
                os.close(number)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group: the server decides
    gc.freeze()  # what was copied is never looked at, and so stays shared
    torch.set_num_threads(1)

    def send(value: Any) -> None:
        # As Connection.send, whose pickler PyTorch changes: it would share tensors in further files.
        connection.send_bytes(pickle.dumps(value))

    while True:
        try:
            payloads = pickle.loads(connection.recv_bytes())
        except (EOFError, OSError):
            return
        try:
            function(payloads, lambda *answer: send(answer))
            send(None)
        except Exception as error:  # whatever it is, it is raised where it can be explained
            send(error)

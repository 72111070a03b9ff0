"""Trackers, which follow a run's events: TensorBoard, if it is installed, and those that `training.trackers` names.

A tracker is a function that returns a context manager: from the run's folder, its config and the number of updates so
far, to the function that gets each event as `metrics.jsonl` has it. It leaves when training ends, stops or fails.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from nmt.system.errors import UserError
from nmt.system.files import report_write_errors
from nmt.training.event_log import TENSORBOARD

Follow = Callable[[dict[str, Any]], None]
Tracker = Callable[[Path, dict[str, Any], int], AbstractContextManager[Follow]]


def load(names: Sequence[str] | None) -> dict[str, Tracker]:
    """The trackers by their names, TensorBoard's first. Raises `UserError` for one that cannot be loaded.

    A name is `MODULE:FUNCTION`, also of a module in the current folder, or an entry point of the group `nmt.trackers`.
    """
    trackers: dict[str, Tracker] = {"TensorBoard": tensorboard}
    installed = entry_points(group="nmt.trackers")
    for name in names or ():
        module, colon, function = name.partition(":")
        if not colon and name not in installed.names:
            known = f"MODULE:FUNCTION{''.join(f', {other}' for other in sorted(installed.names))}"
            raise UserError(f"training.trackers: {name!r} is not installed: give {known}")
        sys.path.insert(0, os.getcwd())
        try:
            trackers[name] = getattr(import_module(module), function) if colon else installed[name].load()
        except Exception as error:  # the module is a program of its own
            raise UserError(f"training.trackers: {name} cannot be loaded: {_reason(error)}") from None
        finally:
            sys.path.remove(os.getcwd())
    return trackers


@contextmanager
def following(trackers: Mapping[str, Tracker], folder: Path, config: dict[str, Any], update: int) -> Iterator[Follow]:
    """Begin all trackers, and give the function that passes an event to each; end them afterwards.

    Raises `UserError` if one cannot begin. One that fails later is reported, and gets no more events.
    """
    followers: dict[str, Follow] = {}

    def follow(event: dict[str, Any]) -> None:
        for name in list(followers):
            try:
                followers[name](event)
            except Exception as error:  # of a service: training goes on
                del followers[name]
                print(f"{name} gets no more events: {_reason(error)}", file=sys.stderr)

    with ExitStack() as stack:
        for name, tracker in trackers.items():
            try:
                context = tracker(folder, config, update)
                followers[name] = context.__enter__()
            except UserError:
                raise
            except Exception as error:
                raise UserError(f"training.trackers: {name} cannot begin: {_reason(error)}") from None
            stack.push(partial(_leave, name, context))
        yield follow


def numbers(event: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of an event by names such as "validation/bleu"."""
    kind, common = event["event"], ("event", "update", "epoch")
    return {f"{kind}/{k}": v for k, v in event.items() if isinstance(v, int | float) and k not in common}


@contextmanager
def tensorboard(folder: Path, _: dict[str, Any], update: int) -> Iterator[Follow]:
    """Write TensorBoard's event files, in which events of later updates are hidden; nothing without TensorBoard."""
    if importlib.util.find_spec("tensorboard") is None:
        yield lambda _: None
        return
    from torch.utils.tensorboard import SummaryWriter

    report = threading.excepthook

    def report_others(error: threading.ExceptHookArgs) -> None:
        if not type(error.thread).__module__.startswith("tensorboard"):
            report(error)

    def follow(event: dict[str, Any]) -> None:
        for name, value in numbers(event).items():
            writer.add_scalar(name, value, event["update"])

    threading.excepthook = report_others  # TensorBoard writes in a thread, whose error the next write raises, too
    with report_write_errors(folder / TENSORBOARD):
        writer = SummaryWriter(str(folder / TENSORBOARD), purge_step=update + 1)
    try:
        yield follow
    finally:
        with suppress(OSError):  # it was reported when the event was written
            writer.close()


def _leave(name: str, context: AbstractContextManager[Follow], *error: Any) -> None:
    """End a tracker. What goes wrong there is reported; what ended training is not suppressed."""
    try:
        context.__exit__(*error)
    except Exception as failure:
        if failure is not error[1]:
            print(f"{name} did not end well: {_reason(failure)}", file=sys.stderr)


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__

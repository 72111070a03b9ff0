"""Server-sent events: what runs of training measure, sent on as they measure it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

from nmt.page.runs import METRICS, Follower, Run, runs_in
from nmt.page.security import Refusal

PAUSE = 0.5  # seconds between two looks at the files
SILENCE = 15.0  # seconds after which a word is said, so that nobody on the way takes the connection for dead
MOST_STREAMS = 64  # of a process
MOST_RUNS = 8  # of a stream


class RunEvents:
    """The streams of a process, about the runs below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.open = 0

    def listed(self) -> list[dict[str, Any]]:
        """The runs, those that measured last first."""
        return [{"id": run.id, "name": run.name, "changed": run.changed} for run in runs_in(self.folder).values()]

    def run(self, number: str) -> Run:
        """The run of an id. Raises `Refusal` if there is none."""
        runs = runs_in(self.folder)
        if number not in runs:
            raise Refusal(404, f"there is no run {number[:20]!r}: /api/runs lists them")
        return runs[number]

    def stream(self, numbers: Sequence[str]) -> AsyncIterator[bytes]:
        """What is sent to one listener: the list of runs when it changes, and the events of the runs of these ids.

        Raises `Refusal` for ids that do not exist, for too many, and if there are too many listeners.
        """
        numbers = list(dict.fromkeys(numbers))
        if len(numbers) > MOST_RUNS:
            raise Refusal(422, f"run: {len(numbers)} runs, and at most {MOST_RUNS} are followed together")
        if self.open >= MOST_STREAMS:
            raise Refusal(503, "too many are listening: try again in a while", {"retry-after": "10"})
        return self._stream({number: Follower(self.run(number).folder / METRICS) for number in numbers})

    async def _stream(self, followers: dict[str, Follower]) -> AsyncIterator[bytes]:
        self.open += 1
        sent_runs: set[str] = set()
        silent = 0.0
        try:
            yield b"retry: 2000\n\n"
            while True:
                listed, news = await asyncio.to_thread(lambda: (self.listed(), list(_news(followers))))
                if sent_runs != (sent_runs := {run["id"] for run in listed}):
                    yield _message("runs", listed)
                for one in news:
                    yield _message("metrics", one)
                silent = 0.0 if news else silent + PAUSE
                if silent >= SILENCE:
                    silent = 0.0
                    yield b": nothing new\n\n"
                await asyncio.sleep(0.01 if news else PAUSE)
        finally:
            self.open -= 1


def _news(followers: dict[str, Follower]) -> Iterator[dict[str, Any]]:
    for number, follower in followers.items():
        if (news := follower.news()) is not None:
            begins, events = news
            yield {"run": number, "begins": begins, "events": events}


def _message(name: str, data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()

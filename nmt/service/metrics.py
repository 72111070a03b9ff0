"""Metrics in the text format of Prometheus. With several processes they are added up (prometheus_client's files)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess
from prometheus_client import disable_created_metrics as leave_out_creation_times
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.responses import Response

from nmt.service.options import METRICS_FOLDER

leave_out_creation_times()  # type: ignore[no-untyped-call]  # of each counter
REQUESTS = Counter("nmt_requests", "Requests, by address and status", ["address", "status"])
SECONDS = Histogram("nmt_request_seconds", "Time to answer a request, in seconds", ["address"])
TOKENS = Counter("nmt_tokens", "Tokens of translated sentences, by side", ["side"])
RELOADS = Counter("nmt_reloads", "Checkpoints that were loaded again, by result", ["result"])
QUEUE = Gauge("nmt_queue_length", "Requests that wait for the model", multiprocess_mode="livesum")
MEMORY = Gauge("nmt_memory_bytes", "Resident memory of the server", multiprocess_mode="livesum")
router = APIRouter(include_in_schema=False)


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """All metrics."""
    measure(request.app.state.server)
    registry = REGISTRY
    if folder := os.environ.get(METRICS_FOLDER):
        for path in Path(folder).glob("gauge_live*.db"):
            number = path.stem.rpartition("_")[2]
            if sys.platform != "win32" and not _lives(int(number)):
                multiprocess.mark_process_dead(number)  # type: ignore[no-untyped-call]
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


def observe_answer(answer: Mapping[str, Any]) -> None:
    """Count the tokens of a translation."""
    TOKENS.labels("source").inc(len(answer["source_tokens"]))
    TOKENS.labels("target").inc(len(answer["tokens"]))


def measure(server: Any) -> None:
    """Set what changes by itself: the queue's length, and memory."""
    QUEUE.set(len(server.queue.waiting))
    MEMORY.set(_resident_bytes())


def _resident_bytes() -> int:
    """What this process holds now; on macOS the most that it has held, on Windows 0."""
    if sys.platform == "win32":
        return 0
    import resource

    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True

"""The options of `nmt serve` for servers that other programs use."""

from __future__ import annotations

import argparse
import atexit
import os
import shutil
import tempfile
from pathlib import Path

from nmt.service.keys import read_keys
from nmt.system.errors import UserError

METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # where prometheus_client adds up the metrics of several processes


def add_to(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("as a service for other programs").add_argument
    keys = "a file with a line per key: KEY, a blank, and its requests per minute; requests without a key are refused"
    add("--keys", type=Path, metavar="FILE", help=keys)
    logs = "log each request on standard error, as text or as JSON"
    add("--log-format", choices=("text", "json"), help=logs)
    lazy = "load a model's weights at its first request; all checkpoints are still checked at the start"
    add("--lazy", action="store_true", help=lazy)


def prepare(options: argparse.Namespace) -> None:
    """Check the options before anything is loaded. Raises `UserError`."""
    if options.lazy and options.test_set:
        raise UserError("--lazy and --test-set exclude each other: test sets need all models")
    if options.keys is not None:
        read_keys(options.keys)
        options.token = options.token or ""  # the page's token, which is generated
    if options.workers > 1 and METRICS_FOLDER not in os.environ:
        os.environ[METRICS_FOLDER] = folder = tempfile.mkdtemp(prefix="nmt-metrics-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)

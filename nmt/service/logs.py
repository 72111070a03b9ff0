"""Logs on standard error, as text or as JSON, with the ids of requests."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import uuid
from contextvars import ContextVar
from typing import Any

from nmt.system.errors import escape_controls

REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
LOG = logging.getLogger("nmt.service")
_ID = re.compile(r"[\w.:/+=-]{1,128}", re.ASCII)


def request_id(sent: str | None) -> str:
    """The id that a client has sent, or a new one."""
    return sent if sent is not None and _ID.fullmatch(sent) else uuid.uuid4().hex


class JsonFormatter(logging.Formatter):
    """A line of JSON: time (UTC), level, logger, process, message, the request's id, its fields, and an exception."""

    converter = time.gmtime  # type: ignore[assignment]  # as its documentation says

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        if (number := REQUEST_ID.get()) is not None:
            entry["request_id"] = number
        entry |= getattr(record, "fields", {})
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return escape_controls(json.dumps(entry, ensure_ascii=False))


class TextFormatter(logging.Formatter):
    """The message, and a request's fields as NAME=VALUE."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={json.dumps(value)}" for name, value in getattr(record, "fields", {}).items())
        number = REQUEST_ID.get() if fields else None
        return super().format(record) + fields + (f" request_id={number}" if number else "")


def configure(form: str | None) -> None:
    """Log on standard error, in the form of `--log-format`; uvicorn's messages, too, if it is JSON."""
    formatter = JsonFormatter() if form == "json" else TextFormatter("%(levelname)s: %(message)s")
    handler = logging.StreamHandler(sys.stderr)
    LOG.handlers, LOG.propagate = [handler], False
    LOG.setLevel(logging.INFO)
    loggers = [LOG, logging.getLogger("uvicorn"), logging.getLogger("uvicorn.error")] if form == "json" else [LOG]
    for logger in loggers:
        for one in logger.handlers:
            one.setFormatter(formatter)

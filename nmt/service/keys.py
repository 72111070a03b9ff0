"""Keys of programs, each with a number of requests per minute."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nmt.system.errors import UserError

_KEY = re.compile(r"[A-Za-z0-9_-]{16,200}")
_LINE = re.compile(rf"({_KEY.pattern})\s+([0-9]{{1,9}})")


def read_keys(path: Path) -> dict[str, int]:
    """The keys of a file with their requests per minute. Empty lines and those that begin with # are left out.

    Raises `UserError` if the file cannot be read or has no key, and for a line that is none.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UserError(f"--keys {path} cannot be read ({reason}): give a file of keys") from None
    keys: dict[str, int] = {}
    for number, line in enumerate(map(str.strip, lines), start=1):
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)  # the message does not repeat what may be a secret
        if match is None or int(match[2]) == 0:
            form = "16 to 200 letters, digits, '-' and '_', a blank, and its requests per minute, from 1"
            raise UserError(f"--keys {path}, line {number}: write a key of {form}")
        if match[1] in keys:
            raise UserError(f"--keys {path}, line {number}: the key is in the file twice: remove one of the lines")
        keys[match[1]] = int(match[2])
    if not keys:
        raise UserError(f"--keys {path} has no key: write KEY, a blank, and its requests per minute in a line")
    return keys


@dataclass
class _Bucket:
    """A token bucket: how many requests it admits per minute, how many at once now, and since when (seconds)."""

    limit: int
    level: float
    since: float


class Keys:
    """The keys of a process, by their hashes, so that how long a comparison takes says nothing of a key."""

    def __init__(self, limits: Mapping[str, int], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[bytes, _Bucket] = {}
        self.replace(limits)

    def replace(self, limits: Mapping[str, int]) -> None:
        """Take other keys; one whose limit stays the same goes on with what it has left."""
        now, before = self._clock(), self._buckets
        self._buckets = {}
        for key, limit in limits.items():
            bucket = before.get(_hash(key))
            is_same = bucket is not None and bucket.limit == limit
            self._buckets[_hash(key)] = bucket if bucket and is_same else _Bucket(limit, limit, now)

    def seconds_to_wait(self, key: str) -> int | None:
        """0 if a request of this key is admitted now, which is counted; otherwise the seconds to wait; None: no key."""
        bucket = self._buckets.get(_hash(key))
        if bucket is None:
            return None
        now = self._clock()
        bucket.level = min(bucket.limit, bucket.level + (now - bucket.since) * bucket.limit / 60)
        bucket.since = now
        if bucket.level < 1:
            return max(1, math.ceil((1 - bucket.level) * 60 / bucket.limit))
        bucket.level -= 1
        return 0


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "replace")).digest()

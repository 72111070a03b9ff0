"""What a person sees of training: a bar on a terminal, and lines that stay."""

from __future__ import annotations

import math
import shutil
import time
from typing import NamedTuple

from tqdm import tqdm

from nmt.kernels.loss import perplexity


class Tokens(NamedTuple):
    """Numbers of tokens, or tokens per second; padding is not counted."""

    source: float
    target: float


class Progress:
    """The bar (on a terminal only) with epoch, loss, perplexity, tokens per second and time left."""

    def __init__(self, done: int, total: int, *, quiet: bool = False) -> None:
        """`done` and `total` are numbers of updates; `quiet` shows nothing."""
        # A recorded terminal may say that it has no columns: then 100.
        columns = shutil.get_terminal_size((100, 24)).columns
        self._bar = tqdm(initial=done, total=total, unit="update", disable=quiet or None, ncols=columns, smoothing=0.05)
        self._done, self._total, self._quiet = done, total, quiet
        self._started, self._begin = time.monotonic(), done
        self._reset()

    def _reset(self) -> None:
        self._tokens = Tokens(0, 0)
        self._seconds = 0.0

    def advance(self, epoch: int, tokens: Tokens, seconds: float, loss: float) -> None:
        """An update is done; `loss` is in nats per target token."""
        self._tokens = Tokens(self._tokens.source + tokens.source, self._tokens.target + tokens.target)
        self._seconds += seconds
        self._done += 1
        if not self._bar.disable:
            self._bar.set_description(f"epoch {epoch}", refresh=False)
            self._bar.set_postfix_str(_numbers(loss, self.speed()), refresh=False)
        self._bar.update()

    def log(self, epoch: int, loss: float, speed: Tokens) -> None:
        """Where there is no terminal to draw a bar on, a line now and then."""
        if self._bar.disable and not self._quiet and self._done > self._begin:
            left = (time.monotonic() - self._started) / (self._done - self._begin) * (self._total - self._done)
            numbers = _numbers(loss, speed)
            print(f"epoch {epoch}, update {self._done}/{self._total}: {numbers}, {left / 60:.1f} min left", flush=True)

    def speed(self) -> Tokens:
        """Since the last `lap`; not a number before the first update."""
        seconds = self._seconds or math.nan
        return Tokens(self._tokens.source / seconds, self._tokens.target / seconds)

    def lap(self) -> Tokens:
        """The speed since the last lap; measuring begins anew."""
        speed = self.speed()
        self._reset()
        return speed

    def write(self, line: str) -> None:
        """A line that stays, above the bar."""
        if self._quiet:
            return
        with tqdm.external_write_mode():
            print(line, flush=True)

    def close(self) -> None:
        self._bar.close()


def _numbers(loss: float, speed: Tokens) -> str:
    return f"loss {loss:.3f}, ppl {perplexity(loss):.4g}, {speed.source:.0f} src/s, {speed.target:.0f} tgt/s"

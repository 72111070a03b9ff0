"""Lines → tokens → numbers, in blocks of lines, on all cores: the part of preparing a text that takes long."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nmt.data.tokenizers import Tokenizer
from nmt.errors import UserError

Result = TypeVar("Result")
LINES = 50_000  # of a block: seconds of work, megabytes of memory


class Block(NamedTuple):
    """The tokens of some lines, as numbers of the types in it, and with them the lines' text, if it was asked for."""

    types: list[str]
    tokens: NDArray[np.int32]
    lengths: NDArray[np.int32]  # in tokens, of each line
    text: NDArray[np.uint8]  # UTF-8, one line behind the other: what the tokens spell
    text_lengths: NDArray[np.int32]  # in bytes


def number(tokenizer: Tokenizer, lines: list[str], with_text: bool) -> Block:
    numbers: dict[str, int] = {}
    sentences = [tokenizer.tokenize(line) for line in lines]
    tokens = [numbers.setdefault(token, len(numbers)) for sentence in sentences for token in sentence]
    texts = [tokenizer.detokenize(sentence).encode() for sentence in sentences] if with_text else []
    return Block(
        list(numbers),
        np.array(tokens, dtype=np.int32),
        np.array([len(sentence) for sentence in sentences], dtype=np.int32),
        np.frombuffer(b"".join(texts), dtype=np.uint8),
        np.array([len(text) for text in texts], dtype=np.int32),
    )


def number_pairs(
    tokenizers: tuple[Tokenizer, Tokenizer], lines: tuple[Iterator[str], Iterator[str]], with_text: tuple[bool, bool]
) -> Iterator[tuple[Block, Block]]:
    """The blocks of two texts with equally many lines, in their order."""

    def jobs() -> Iterator[tuple[object, ...]]:
        while block := list(islice(lines[0], LINES)):
            yield tokenizers, (block, list(islice(lines[1], LINES))), with_text

    return in_parallel(_number_both, jobs())


def _number_both(
    tokenizers: tuple[Tokenizer, Tokenizer], lines: tuple[list[str], list[str]], with_text: tuple[bool, bool]
) -> tuple[Block, Block]:
    source, target = (number(*side) for side in zip(tokenizers, lines, with_text, strict=True))
    return source, target


def in_parallel(
    function: Callable[..., Result], jobs: Iterable[tuple[object, ...]], workers: int | None = None
) -> Iterator[Result]:
    """What a function of a module returns for each job's arguments, in their order.

    There are as many processes as cores, or as asked for, and not more than twice as many jobs in memory. A single job
    is done in this process. Raises `UserError` if a process is killed.
    """
    ahead = iter(jobs)
    first = list(islice(ahead, 2))
    if len(first) < 2:
        yield from (function(*job) for job in first)
        return
    count = workers or len(os.sched_getaffinity(0))
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=_leave_signals_to_the_parent)
    waiting: deque[Future[Result]] = deque()
    try:
        for job in chain(first, ahead):
            waiting.append(pool.submit(function, *job))
            if len(waiting) > 2 * count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise UserError("a process that worked on a part of the text was killed: is there enough memory?") from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _leave_signals_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)

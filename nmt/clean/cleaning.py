"""Cleaning in two passes over a corpus that is never in memory.

The first applies the rules that look at one pair, and the one of held-out sentences. The pairs that it keeps go into a
temporary file, and of each its number and two hashes into memory: 20 bytes, and as many while they are sorted. The
second writes what is left after duplicates, several targets and scores.
"""

from __future__ import annotations

import gzip
import io
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from nmt.clean import corpus, duplicates
from nmt.clean.blocks import Checked, Event, Pair, check, hashed
from nmt.clean.report import Report
from nmt.clean.scores import dual_scores, too_improbable
from nmt.clean.settings import Settings, SeveralTargets
from nmt.system.errors import UserError
from nmt.system.files import make_folder, replace_atomically, report_write_errors, require_new
from nmt.system.process_pool import map_in_processes
from nmt.text.corpus import check_pairs, comparable, iterate_lines


@dataclass(frozen=True)
class Whole:
    """What the rules that see the whole corpus need: held-out files, two files of scores, what is kept of them."""

    held_out: tuple[Path, ...] = ()
    several_targets: SeveralTargets = "keep"
    scores: tuple[Path, Path] | None = None
    keep_share: float | None = None
    min_score: float | None = None


class Files(NamedTuple):
    """What is written; `spool` has the pairs that the first pass keeps."""

    source: IO[bytes]
    target: IO[bytes]
    dropped: IO[str]
    report: IO[bytes]
    spool: IO[bytes]


class Kept(NamedTuple):
    """Of each pair that the first pass keeps its number (N), and hashes of its source and of the pair (N)."""

    numbers: NDArray[np.uint32]
    sources: NDArray[np.uint64]
    pairs: NDArray[np.uint64]


class Verdict(NamedTuple):
    """Whether a rule drops each pair (N), and why it drops pair i."""

    is_dropped: NDArray[np.bool_]
    reason: Callable[[int], str]


def output_paths(folder: Path, languages: tuple[str, str]) -> list[Path]:
    """The files of source, target, dropped pairs and report."""
    return [folder / name for name in (*(f"text.{code}" for code in languages), "dropped.tsv.gz", "report.json")]


def clean(
    paths: tuple[Path, Path],
    folder: Path,
    settings: Settings,
    whole: Whole,
    off: dict[str, str],
    workers: int | None = None,
) -> str:
    """Write the cleaned corpus, what was dropped and a report into a folder. Returns the table.

    `off` are the rules that are not applied, and why. Raises `UserError` if the corpus cannot be read, or if files of
    these names are in the folder; then, and if it is interrupted, nothing is written.
    """
    outputs = output_paths(folder, settings.languages)
    for path in outputs:
        require_new(path)
    count = check_pairs(*paths)
    held_out = _held_out(whole.held_out if "held-out" not in off else ())
    scores = dual_scores(*whole.scores, count) if whole.scores and "scores" not in off else None
    with _files(folder, outputs) as files:
        report = Report(files.dropped, settings.languages)
        jobs, settings = _jobs(paths, settings)
        with tqdm(total=count, desc="cleaning", unit="pair", unit_scale=True, disable=None, delay=2) as progress:
            checked = map_in_processes(check, jobs, workers if count > corpus.BLOCK else 1)
            kept = _first_pass(checked, held_out, files.spool, report, progress.update)
        written = _second_pass(files, dict(_verdicts(kept, scores, whole, off)), report)
        table = report.table(count, written, off)
        if not written:
            print(table)
            raise UserError(f"{paths[0]}: no pair is left, and nothing is written: are the sides or languages swapped?")
        named = {side: str(path) for side, path in zip(("source", "target"), paths, strict=True)}
        values = {**named, **_as_values(settings, whole), "pairs_read": count, "pairs_written": written}
        files.report.write(report.json(values, off))
    return table


def _as_values(settings: Settings, whole: Whole) -> dict[str, object]:
    """All options as JSON has them."""
    values = {**asdict(settings), **asdict(whole), "skip": sorted(settings.skip)}
    values["held_out"] = [str(path) for path in whole.held_out]
    values["scores"] = whole.scores and [str(path) for path in whole.scores]
    return values


@contextmanager
def _files(folder: Path, outputs: Sequence[Path]) -> Iterator[Files]:
    """The output files, which appear together, and a temporary file without a name. A new folder goes if they fail."""
    is_new = not folder.exists()
    make_folder(folder)
    try:
        with ExitStack() as stack, report_write_errors(folder):
            enter = stack.enter_context
            report, dropped, target, source = (enter(replace_atomically(path)) for path in reversed(outputs))
            packed = enter(gzip.GzipFile("", "wb", fileobj=dropped, mtime=0))
            rows = enter(io.TextIOWrapper(packed, encoding="utf-8", newline=""))
            spool = enter(tempfile.TemporaryFile(dir=folder))  # noqa: SIM115
            yield Files(source, target, rows, report, spool)
    except BaseException:
        with suppress(OSError):  # it holds other files
            if is_new:
                folder.rmdir()
        raise


def _jobs(paths: tuple[Path, Path], settings: Settings) -> tuple[Iterator[tuple[list[Pair], Settings]], Settings]:
    """The arguments of `check` for each block, and the settings with the ratio of lengths in the first block."""
    blocks = corpus.blocks(paths)
    first = list(islice(blocks, 1))
    settings = replace(settings, expected_ratio=corpus.ratio_of(first[0]))
    return ((block, settings) for block in chain(first, blocks)), settings


def _held_out(files: Iterable[Path]) -> NDArray[np.uint64]:
    """Hashes of the sentences of some files, sorted."""
    lines = (comparable(line) for path in files for line in iterate_lines(path))
    return np.unique(np.array([hashed(line) for line in lines if line], dtype=np.uint64))


def _first_pass(
    checked: Iterable[Checked],
    held_out: NDArray[np.uint64],
    spool: IO[bytes],
    report: Report,
    progress: Callable[[int], object],
) -> Kept:
    """Write the pairs that are kept, as far as rules of single pairs and held-out sentences go."""
    numbers, hashes = array("I"), (array("Q"), array("Q"))
    for block in checked:
        for event in block.changed:
            report.change(event)
        is_leak: NDArray[np.bool_] = np.any(np.isin(block.hashes[:, 2:], held_out), axis=1)
        leaks = [Event("held-out", block.kept[i], "in a held-out file") for i in np.flatnonzero(is_leak)]
        for event in sorted([*block.dropped, *leaks], key=lambda event: event.pair.number):
            report.drop(event)
        kept = [pair for pair, leak in zip(block.kept, is_leak.tolist(), strict=True) if not leak]
        numbers.extend(pair.number for pair in kept)
        for column, values in enumerate(hashes):
            values.frombytes(block.hashes[~is_leak, column].tobytes())
        spool.write("".join(f"{pair.number}\n{pair.source}\n{pair.target}\n" for pair in kept).encode())
        progress(block.pairs)
    return Kept(np.frombuffer(numbers, np.uint32), *(np.frombuffer(values, np.uint64) for values in hashes))


def _verdicts(
    kept: Kept, scores: NDArray[np.float32] | None, whole: Whole, off: dict[str, str]
) -> Iterator[tuple[str, Verdict]]:
    """What each rule that sees all pairs says. Votes count copies."""
    is_left = np.ones(len(kept.numbers), dtype=bool)
    if "duplicates" not in off:
        is_copy = duplicates.copies(kept.pairs)
        is_left &= ~is_copy
        yield "duplicates", Verdict(is_copy, lambda _: "again")
    if "several-targets" not in off:
        is_other = duplicates.other_targets(kept.sources, kept.pairs, whole.several_targets)
        is_left &= ~is_other
        yield "several-targets", Verdict(is_other, lambda _: f"another one is kept ({whole.several_targets})")
    if scores is not None:
        of_pairs = scores[kept.numbers - 1]
        is_improbable = np.zeros(len(kept.numbers), dtype=bool)
        is_improbable[is_left] = too_improbable(of_pairs[is_left], whole.keep_share, whole.min_score)
        yield "scores", Verdict(is_improbable, lambda i: f"score {of_pairs[i]:.3g}")


def _second_pass(files: Files, verdicts: dict[str, Verdict], report: Report) -> int:
    """Write the pairs that no verdict drops. Returns how many they are."""
    files.spool.seek(0)
    lines = (line.decode()[:-1] for line in files.spool)
    written = 0
    for i, (number, source, target) in enumerate(zip(lines, lines, lines, strict=True)):
        rule = next((rule for rule, verdict in verdicts.items() if verdict.is_dropped[i]), None)
        if rule is not None:
            report.drop(Event(rule, Pair(int(number), source, target), verdicts[rule].reason(i)))
            continue
        written += 1
        files.source.write(f"{source}\n".encode())
        files.target.write(f"{target}\n".encode())
    return written

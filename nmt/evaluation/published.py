"""Test sets as sacreBLEU publishes them, so that scores are compared on the same text (Post 2018)."""

from __future__ import annotations

import difflib
import logging
import socket
import sys
from pathlib import Path
from typing import Any

from nmt.evaluation.checkpoints import TestSet
from nmt.system.errors import UserError
from nmt.text.corpus import read_pairs

TIMEOUT = 30.0  # seconds without an answer


def published_test_set(name: str, languages: tuple[str, str]) -> TestSet:
    """The test set that sacreBLEU calls by that name, such as `multi30k/2016` or `wmt14`, in these languages.

    sacreBLEU downloads it on first use. If it has a set only in the other direction, the two sides are swapped.
    Raises `UserError` for an unknown name, for languages that the set does not have, and if it cannot be downloaded.
    """
    from sacrebleu.dataset import DATASETS

    if name not in DATASETS:
        near = difflib.get_close_matches(name, DATASETS, n=3) or ["multi30k/2016", "wmt14"]
        raise UserError(f"--sacrebleu {name}: sacreBLEU has no such test set; did you mean {' or '.join(near)}?")
    pairs = DATASETS[name].langpairs
    forth, back = "-".join(languages), "-".join(reversed(languages))
    if forth in pairs:
        return TestSet(f"sacreBLEU's {name}", forth, read_pairs(*_files(DATASETS[name], name, forth)))
    if back not in pairs:
        raise UserError(f"--sacrebleu {name}: it has no {forth}, only {', '.join(sorted(pairs))}")
    target, source = _files(DATASETS[name], name, back)
    print(f"sacreBLEU has {name} as {back}: source and reference are swapped", file=sys.stderr)
    return TestSet(f"sacreBLEU's {name}", forth, read_pairs(source, target))


def _files(dataset: Any, name: str, pair: str) -> list[Path]:
    """The files of source and first reference. sacreBLEU logs what it does, and may end the process if it fails."""
    timeout = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT)
    logging.disable(logging.ERROR)
    try:
        return [Path(dataset.get_source_file(pair)), Path(dataset.get_reference_files(pair)[0])]
    except (Exception, SystemExit) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise UserError(
            f"--sacrebleu {name}: it cannot be downloaded ({' '.join(str(reason).split())}): try again with a network, "
            "or give the text by --source FILE --reference FILE"
        ) from None
    finally:
        socket.setdefaulttimeout(timeout)
        logging.disable(logging.NOTSET)

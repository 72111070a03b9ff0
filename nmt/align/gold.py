"""Gold links in the formats of public test sets, beside Pharaoh's, which the core reads.

- `talp`, of Lambert et al. (2005), also in files of Pharaoh's links: a line per pair, positions from 1, `2S3` or `2-3`
  a sure link and `2P3` a possible one. A file counts as one if it has such letters, or a name that ends in `.talp`.
- NAACL, of the shared tasks of Mihalcea and Pedersen (2003): a line per link, `0001 2 3 S 1.0`: the number of the pair
  and the positions, all from 1, S (sure, the default) or P, and a confidence, which is not used. A position of 0 is
  the empty word: such a line is no link. Pairs that are not in the file have no links.

A set of the opposite direction has the positions in the opposite order.
"""

from __future__ import annotations

import re
from pathlib import Path

from nmt.decoding.word_alignment import Link
from nmt.evaluation.alignment import Links
from nmt.system.errors import UserError
from nmt.text.corpus import read_lines

PAIRS = 1_000_000  # at most
_NAACL = re.compile(r"\s*([0-9]{1,7})\s+([0-9]{1,7})\s+([0-9]{1,7})(?:\s+([SP]))?(?:\s+[0-9.]{1,20})?\s*", re.I)
_TALP = re.compile(r"([0-9]{1,7})([-SP])([0-9]{1,7})", re.I)
_LETTERED = re.compile(r"[0-9][SP][0-9]", re.I)


def read_other_links(path: Path) -> list[Links] | None:
    """Gold links from a file, plain or .gz, in one of the formats above; None for any other file.

    Raises `UserError` for a line that is not in the format of the others, and as `read_lines` does.
    """
    lines = read_lines(path)
    first = next((line for line in lines if line.strip()), "")
    if _NAACL.fullmatch(first) is not None:
        return _naacl(path, lines)
    if ".talp" in path.suffixes or any(map(_LETTERED.search, lines)):
        return [_talp(path, number, line) for number, line in enumerate(lines, start=1)]
    return None


def _talp(path: Path, number: int, line: str) -> Links:
    sure, possible = set[Link](), set[Link]()
    for text in line.split():
        match = _TALP.fullmatch(text)
        if match is None or 0 in (int(match[1]), int(match[3])):
            advice = "write 2S3 for a sure link, 2P3 for a possible one, words counted from 1"
            raise UserError(f"{path}, line {number}: {text!r} is not a link of the talp format; {advice}")
        (possible if match[2] in "pP" else sure).add((int(match[1]) - 1, int(match[3]) - 1))
    return Links(frozenset(sure), frozenset(sure | possible))


def _naacl(path: Path, lines: list[str]) -> list[Links]:
    links: dict[int, tuple[set[Link], set[Link]]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        match = _NAACL.fullmatch(line)
        pair = int(match[1]) if match is not None else 0
        if match is None or not 0 < pair <= PAIRS:
            advice = "write the number of the pair and two positions, as in 0001 2 3 S"
            raise UserError(f"{path}, line {number}: {line!r} is not a link of the NAACL format; {advice}")
        sure, possible = links.setdefault(pair, (set(), set()))
        if (s := int(match[2]) - 1) >= 0 and (t := int(match[3]) - 1) >= 0:
            possible.add((s, t))
            if match[4] not in ("P", "p"):
                sure.add((s, t))
    every = (links.get(pair, (set(), set())) for pair in range(1, max(links) + 1))
    return [Links(frozenset(sure), frozenset(possible)) for sure, possible in every]

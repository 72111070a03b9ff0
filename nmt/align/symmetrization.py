"""Alignments of two directions made one (Och and Ney 2003, section 4; Koehn et al. 2003, section 3)."""

from collections.abc import Set as AbstractSet
from typing import Literal, get_args

from nmt.decoding.word_alignment import Link

Symmetrization = Literal["grow-diag-final-and", "grow-diag-final", "intersection", "union"]
SYMMETRIZATIONS: tuple[Symmetrization, ...] = get_args(Symmetrization)

NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrize(
    forward: AbstractSet[Link], backward: AbstractSet[Link], method: Symmetrization = "grow-diag-final-and"
) -> frozenset[Link]:
    """The links (source, target) of a pair from those of its two directions.

    `grow-diag` begins with the intersection. A link of the union next to one that is in, diagonally too, is added if a
    word of it has no link yet, until there is none. Then `final` adds the links of each direction of which a word has
    no link yet; `final-and`, those of which neither word has one.
    """
    if method in ("intersection", "union"):
        return frozenset(forward & backward if method == "intersection" else forward | backward)
    links, union = set(forward & backward), forward | backward
    sources, targets = {s for s, _ in links}, {t for _, t in links}

    def add(link: Link) -> None:
        links.add(link)
        sources.add(link[0])
        targets.add(link[1])

    grown = sorted(links, key=_by_target)
    while grown:
        previous, grown = grown, []
        for s, t in previous:
            for link in ((s + x, t + y) for x, y in NEIGHBOURS):
                if link in union and (link[0] not in sources or link[1] not in targets):
                    add(link)
                    grown.append(link)
    for direction in (forward, backward):
        for link in sorted(direction, key=_by_target):
            has_link = link[0] in sources, link[1] in targets
            if not (any(has_link) if method == "grow-diag-final-and" else all(has_link)):
                add(link)
    return frozenset(links)


def _by_target(link: Link) -> Link:
    return link[1], link[0]

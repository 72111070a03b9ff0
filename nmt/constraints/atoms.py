"""What tags are placed by: atoms of a text, and links between those of a text and of its translation.

Atoms are runs of letters and digits, and single other characters: a full stop is one, and so is each half of
"Save-dialog", and of a word that is cut by a tag. A text of n atoms has n + 1 cuts, before, between and after them.
Shapes: T target atoms, S source atoms.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float
from numpy import ndarray

ATOM = re.compile(r"\w+|[^\w\s]")
WORD = re.compile(r"\S+")
MARKS = ".,;:!?…()\"'„“”‚‘’»«"  # around words
NOISE = 0.003  # weights below it are no links

Links = Collection[tuple[int, int]]  # pairs of a source and a target word, from 0; words are between white space


class Atoms:
    """A text's atoms: `spans` in characters, `texts` in lower case, and the number of the `words` they are part of.

    Atoms are cut at `cuts`, numbers of characters. Accents stay with their letter.
    """

    def __init__(self, text: str, cuts: Iterable[int] = ()) -> None:
        ordered = sorted(set(cuts))
        spans: list[tuple[int, int]] = []
        for match in ATOM.finditer(text):
            start, end = match.span()
            if spans and spans[-1][1] == start and unicodedata.category(text[start])[0] == "M":
                start = spans.pop()[0]
            inner = ordered[bisect_right(ordered, start) : bisect_left(ordered, end)]
            spans += pairwise([start, *inner, end])
        self.text, self.spans = text, spans
        self.texts = [text[start:end].lower() for start, end in spans]
        starts = [match.start() for match in WORD.finditer(text)]
        self.words = [bisect_right(starts, start) - 1 for start, _ in spans]

    def contexts(self) -> list[tuple[str, str, str]]:
        """For each cut, from 0 to the number of atoms: the kind of the atom before, of the gap, of the atom after."""
        kinds = ["edge", *(_kind(text) for text in self.texts), "edge"]
        ends, starts = [0, *(end for _, end in self.spans)], [*(start for start, _ in self.spans), len(self.text)]
        gaps = [self.text[end:start] for end, start in zip(ends, starts, strict=True)]
        lines = ["line" if "\n" in gap else "space" if gap else "" for gap in gaps]
        return list(zip(kinds, lines, kinds[1:], strict=False))

    def __len__(self) -> int:
        return len(self.spans)

    def of_words(self) -> dict[int, list[int]]:
        """The atoms of each word."""
        members: dict[int, list[int]] = {}
        for atom, word in enumerate(self.words):
            members.setdefault(word, []).append(atom)
        return members


def matching_cuts(
    source: Atoms, cuts: Iterable[int], target: Atoms, links: Mapping[tuple[int, int], float]
) -> Iterator[int]:
    """Where to cut the target's atoms as the source's are: behind the same beginning, or before the same end."""
    starts = [start for start, _ in source.spans]
    linked: dict[int, list[int]] = {}
    members = target.of_words()
    for s, t in links:
        linked.setdefault(s, []).extend(members.get(t, ()))
    for cut in set(cuts):
        i = bisect_right(starts, cut) - 1
        if i >= 0 and starts[i] < cut < source.spans[i][1]:
            head, tail = source.texts[i][: cut - starts[i]], source.texts[i][cut - starts[i] :]
            for j in linked.get(source.words[i], ()):
                start, end = target.spans[j]
                if target.texts[j].startswith(head):
                    yield start + len(head)
                elif target.texts[j].endswith(tail):
                    yield end - len(tail)


def weights_of(links: Links | Float[ndarray, "T S"]) -> dict[tuple[int, int], float]:
    """The weight of each link (source, target) between words: 1, or from the attention of words, a matrix (T S).

    Attention w[t, s] counts as w[t, s]² / max_t w[t, s]. So a source word with some attention at many steps, as the
    last of a sentence has, is linked to those where it has most.
    """
    if not isinstance(links, ndarray):
        return dict.fromkeys(links, 1.0)
    weights = links**2 / np.maximum(links.max(axis=0, initial=0, keepdims=True), 1e-9)
    return {(int(s), int(t)): float(weights[t, s]) for t, s in np.argwhere(weights >= NOISE)}


def atom_weights(source: Atoms, target: Atoms, links: Mapping[tuple[int, int], float]) -> Float[ndarray, "T S"]:
    """The weights of links between atoms, from those between the words that they are part of.

    In a pair of linked words equal atoms are linked, and of the rest letters to letters. Atoms that are linked to equal
    ones have no other links; equal atoms without links are linked in their order. Words that are copies, such as
    placeholders, are linked to each other alone.
    """
    weights = np.zeros((len(target), len(source)))
    of_source, of_target = source.of_words(), target.of_words()
    for (s, t), weight in _with_copies(source, target, links).items():
        rows, columns = of_target.get(t, []), of_source.get(s, [])
        equal = [(j, i) for j in rows for i in columns if target.texts[j] == source.texts[i]]
        for j, i in equal:
            weights[j, i] += weight / sum(other == j for other, _ in equal)
        rest = (
            [j for j in rows if all(j != other for other, _ in equal)],
            [i for i in columns if all(i != other for _, other in equal)],
        )
        letters = (
            [j for j in rest[0] if target.texts[j][0].isalnum()],
            [i for i in rest[1] if source.texts[i][0].isalnum()],
        )
        rows, columns = letters if any(letters) else rest
        weights[np.ix_(rows, columns)] += weight / max(len(columns), 1)
    is_equal = (np.array(target.texts, str)[:, None] == np.array(source.texts, str)[None]) & (weights > 0)
    weights[~is_equal & (is_equal.any(axis=0)[None] | is_equal.any(axis=1)[:, None])] = 0
    unlinked = _positions(source.texts, weights.sum(axis=0) == 0), _positions(target.texts, weights.sum(axis=1) == 0)
    for text, columns in unlinked[0].items():
        if len(columns) == len(unlinked[1].get(text, ())):
            weights[unlinked[1][text], columns] = 1
    return weights


def _with_copies(source: Atoms, target: Atoms, links: Mapping[tuple[int, int], float]) -> dict[tuple[int, int], float]:
    """The links, but for words with more than letters that are once in both texts: these have that link alone."""
    sides = [WORD.findall(atoms.text) for atoms in (source, target)]
    counts = [Counter(side) for side in sides]
    unique = {word for word in counts[0] if counts[0][word] == counts[1][word] == 1 and not word.strip(MARKS).isalpha()}
    copies = {(sides[0].index(word), sides[1].index(word)): 1.0 for word in unique}
    taken = [{link[side] for link in copies} for side in (0, 1)]
    return copies | {(s, t): weight for (s, t), weight in links.items() if s not in taken[0] and t not in taken[1]}


def _positions(texts: Sequence[str], mask: ndarray) -> dict[str, list[int]]:
    """Where each text is, among the positions of the mask."""
    positions: dict[str, list[int]] = {}
    for i, (text, is_in) in enumerate(zip(texts, mask, strict=True)):
        if is_in:
            positions.setdefault(text, []).append(i)
    return positions


def context_agreement(source: Atoms, target: Atoms) -> Float[ndarray, "T+1 S+1"]:
    """How alike cuts of the target and of the source are: the share of equal parts of their contexts."""
    codes: dict[str, int] = {}
    sides = [[[codes.setdefault(p, len(codes)) for p in cut] for cut in side.contexts()] for side in (source, target)]
    of_source, of_target = map(np.array, sides)
    return np.asarray((of_target[:, None] == of_source[None]).mean(axis=2))


def _kind(atom: str) -> str:
    marks = (kind for kind in (".!?…", ":;", ",") if atom in kind)
    return next(marks, "word" if atom[0].isalnum() else unicodedata.category(atom[0]))

"""How far a hypothesis has met its constraints, as states of an automaton that is built while it is used.

A constraint has forms (sequences of ids), of which one must be written in one go; each id counts for one constraint. As
tokens may be pieces of words, a form does not count where its first word has other capitals, or where its last word
goes on ("bike" in "bikes"). One that begins with `BEGINNING` counts only at the beginning of a sentence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

Ids: TypeAlias = tuple[int, ...]
Forms: TypeAlias = tuple[Ids, ...]
BEGINNING = -1  # in place of the id of BOS


class Rules(NamedTuple):
    """What holds for all constraints of a sentence.

    The ids `inside` go on with the word before them, and each of `alone` is a word. Those in `ordered` are written in
    the order of their constraints. `marks` are those of case, which hold for the id behind them.
    """

    inside: Collection[int] = ()
    alone: Collection[int] = ()
    ordered: Collection[int] = ()
    marks: Collection[int] = ()


@dataclass(eq=False)
class State:
    """The constraints that are `open`, by number, and the last ids, if they begin a form of one (`run`).

    `last` is the constraint that was just met, and its ids: a next id that goes on with their word opens it again.
    `is_marked` says whether a mark of case outside `run` holds for the next id.
    """

    constraints: tuple[Forms, ...]
    rules: Rules
    open: tuple[int, ...]
    run: Ids = ()
    last: tuple[int, Ids] | None = None
    is_marked: bool = False
    _states: dict[object, State] = field(default_factory=dict, repr=False)  # all states of the automaton
    _next: dict[int, State] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def first(cls, constraints: Iterable[Forms], rules: Rules) -> State:
        """The state of a hypothesis that is BOS alone."""
        forms = tuple(constraints)
        return cls(forms, rules, tuple(range(len(forms)))).after(BEGINNING)

    def after(self, token: int) -> State:
        """The state once `token` is written."""
        if token not in self._next:
            self._next[token] = self._read(token)
        return self._next[token]

    def _read(self, token: int) -> State:
        open_, run, last, is_mark = self.open, self.run, self.last, token in self.rules.marks
        if last and token in self.rules.inside:
            open_, run = tuple(sorted((*open_, last[0]))), last[1]
        run = (*run, token)
        while run and not any(form[: len(run)] == run for n in open_ for form in self.constraints[n]):
            run = run[1:]
        if run == (token,) and self.is_marked and not is_mark:
            run = ()
        last = last if is_mark else None
        met = next((n for n in open_ if run in self.constraints[n]), None)
        if met is not None:
            last = (met, run) if run[-1] not in self.rules.alone else None
            open_, run = tuple(n for n in open_ if n != met), ()
        key = open_, run, last, is_mark and not run
        if key not in self._states:
            self._states[key] = State(self.constraints, self.rules, *key, self._states)
        return self._states[key]

    @cached_property
    def need(self) -> int:
        """The number of ids that must still be written, at least."""
        shortest = {n: min(len(form) for form in self.constraints[n] if form[0] != BEGINNING) for n in self.open}
        going_on = [len(form) - len(self.run) - shortest[n] for n, form in self._begun]
        return sum(shortest.values()) + min([self.is_marked and bool(shortest), *going_on])  # a mark needs another word

    @cached_property
    def next_ids(self) -> frozenset[int]:
        """The ids that go on with `run`, and those that begin a form."""
        first = [
            form[0] for n in self.open for form in self.constraints[n] if form[0] != BEGINNING and not self.is_marked
        ]
        ordered = [token for token in first if token in self.rules.ordered]
        free = {token for token in first if token not in self.rules.ordered}
        return frozenset([*(form[len(self.run)] for _, form in self._begun), *free, *ordered[:1]])

    @cached_property
    def _begun(self) -> list[tuple[int, Ids]]:
        """The forms that `run` begins, with the numbers of their constraints."""
        forms = ((n, form) for n in self.open for form in self.constraints[n])
        return [(n, form) for n, form in forms if self.run and form[: len(self.run)] == self.run]

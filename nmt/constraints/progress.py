"""How far a hypothesis has met its constraints, as states of an automaton that is built while it is used.

A constraint is met by one of its forms (sequences of ids), written in one go. Each id counts for one constraint. A form
whose last word goes on behind it ("bike" in "bikes") does not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from typing import TypeAlias

Ids: TypeAlias = tuple[int, ...]
Forms: TypeAlias = tuple[Ids, ...]
ANOTHER = -1  # an id that begins a word and is in no form


class State:
    """The constraints that are open, and the last ids, if they begin a form of one of these (`run`).

    The forms that `run` ends with count once the next id begins a word.
    """

    def __init__(
        self, open_: tuple[Forms, ...], run: Ids, inside: Collection[int], states: dict[object, State]
    ) -> None:
        self.open, self.run, self._inside, self._states = open_, run, inside, states
        self._after: dict[int, State] = {}

    @classmethod
    def first(cls, constraints: Iterable[Forms], inside: Collection[int]) -> State:
        """The state before any id. The ids `inside` go on with the word before them."""
        return cls(tuple(constraints), (), inside, {})

    def after(self, token: int) -> State:
        """The state once `token` is written."""
        if token not in self._after:
            self._after[token] = self._read(token)
        return self._after[token]

    def _read(self, token: int) -> State:
        open_, run = self.open, (*self.run, token)
        while run and not any(_begins(forms, run) for forms in open_):
            for length in range(len(run) - 1, 0, -1):
                met = next((n for n, forms in enumerate(open_) if run[:length] in forms), None)
                if met is not None and run[length] not in self._inside:
                    open_, run = open_[:met] + open_[met + 1 :], run[length:]
                    break
            else:
                run = run[1:]
        if (open_, run) == (self.open, self.run):
            return self
        key = open_, run
        if key not in self._states:
            self._states[key] = State(open_, run, self._inside, self._states)
        return self._states[key]

    @cached_property
    def left(self) -> tuple[Forms, ...]:
        """The constraints that are not met if the sentence ends here."""
        return self.after(ANOTHER).open

    @cached_property
    def need(self) -> int:
        """The smallest number of ids that are still to be written."""
        going_on = [
            _shortest(self.open[:n] + self.open[n + 1 :]) + len(form) - len(self.run)
            for n, forms in enumerate(self.open)
            for form in forms
            if self.run and form[: len(self.run)] == self.run
        ]
        return min([_shortest(self.left), *going_on])

    @cached_property
    def next_ids(self) -> frozenset[int]:
        """The ids that begin a form of a constraint, or go on with one that is begun."""
        length = len(self.run)
        ongoing = {
            form[length] for forms in self.open for form in forms if length < len(form) and form[:length] == self.run
        }
        if self.run and ongoing and self.need < _shortest(self.left):
            return frozenset(ongoing)
        return frozenset(ongoing | {form[0] for forms in self.left for form in forms})


def _begins(forms: Forms, ids: Ids) -> bool:
    return any(form[: len(ids)] == ids for form in forms)


def _shortest(constraints: Iterable[Forms]) -> int:
    return sum(min(map(len, forms)) for forms in constraints)

"""What the rules did: counts, three examples of each, the table and the report file."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import IO, Any

from nmt.clean.blocks import Event
from nmt.clean.settings import RULES
from nmt.system.errors import CONTROLS, escape_controls

EXAMPLES = 3
WIDTH = 44  # characters of a text in an example


class Report:
    """Counts of dropped and changed pairs, and examples drawn from them at random, the same every time.

    What is dropped is also written to a file, as tab-separated values with quotes as in CSV.
    """

    def __init__(self, file: IO[str], languages: Sequence[str]) -> None:
        self.dropped, self.changed = Counter[str](), Counter[str]()
        self.examples: dict[str, list[Event]] = {}
        self._seen = Counter[str]()
        self._random = Random(1)
        self._rows = csv.writer(file, "excel-tab", lineterminator="\n")
        self._rows.writerow(["rule", "reason", "pair", *languages])

    def drop(self, event: Event) -> None:
        self.dropped[event.rule] += 1
        self._rows.writerow([event.rule, event.reason, *event.pair])
        self._draw(event)

    def change(self, event: Event) -> None:
        self.changed[event.rule] += 1
        self._draw(event)

    def _draw(self, event: Event) -> None:
        """Keep each of n events with the same probability (reservoir sampling)."""
        drawn = self.examples.setdefault(event.rule, [])
        self._seen[event.rule] += 1
        place = len(drawn) if len(drawn) < EXAMPLES else self._random.randrange(self._seen[event.rule])
        if place < EXAMPLES:
            drawn[place : place + 1] = [event]

    def table(self, read: int, written: int, off: Mapping[str, str]) -> str:
        """The counts of each rule, then the examples. `off` says of rules why they were not applied."""
        lines = [f"{'rule':16}{'dropped':>10}{'changed':>10}{'share':>9}"]
        for rule in RULES:
            counts = (self.dropped[rule], self.changed[rule])
            row = f"{counts[0]:>10,}{counts[1] or '':>10}{_share(sum(counts), read):>9}"
            lines.append(f"{rule:16}{f'{off[rule]:>10}' if rule in off else row}")
        lines.append(f"{'kept':16}{'':20}{_share(written, read):>9}   {written:,} of {read:,} pairs")
        for rule in filter(self.examples.__contains__, RULES):
            lines += ["", f"{rule}: {RULES[rule]}"]
            for event in sorted(self.examples[rule], key=lambda event: event.pair.number):
                texts = " | ".join(map(shortened, event.pair[1:]))
                lines.append(f"{event.pair.number:>9}  {texts}  ({shortened(event.reason)})")
        return "\n".join(lines)

    def json(self, values: Mapping[str, Any], off: Mapping[str, str]) -> bytes:
        """Counts and examples, after other values, as JSON."""
        rules = {
            rule: {"off": off[rule]}
            if rule in off
            else {
                "dropped": self.dropped[rule],
                "changed": self.changed[rule],
                "examples": list(_as_values(self.examples.get(rule, ()))),
            }
            for rule in RULES
        }
        lines = json.dumps({**values, "rules": rules}, indent=1, ensure_ascii=False).split("\n")
        return "".join(f"{escape_controls(line)}\n" for line in lines).encode()


def _as_values(events: Sequence[Event]) -> Iterator[dict[str, Any]]:
    for event in events:
        yield {**event.pair._asdict(), "reason": event.reason}


def _share(count: int, of: int) -> str:
    return f"{count / of:.2%}"


def shortened(text: str) -> str:
    """A text's beginning, in which control characters are escapes."""
    escaped = CONTROLS.sub(lambda match: repr(match[0])[1:-1], text[: 2 * WIDTH])
    return escaped if len(escaped) <= WIDTH and len(text) <= 2 * WIDTH else f"{escaped[: WIDTH - 1].rstrip()}…"

"""YAML text → plain values, whatever the text: each key once, no more values than it seems to have; and back.

A number that Python would write otherwise stays the text that it is, for a field of text.
"""

from __future__ import annotations

import math
from contextlib import suppress
from itertools import chain
from typing import Any

import yaml

from nmt.system.errors import UserError
from nmt.system.values import shown

LONGEST = 200_000  # characters of a config: it has a hundred fields
MOST_VALUES = 10_000  # of a config, each counted as often as aliases (*name) repeat it


def in_yaml(value: Any) -> str:
    """A plain value as YAML, on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=math.inf)
    return text.removesuffix("...\n").strip()


def parse_yaml(text: str, origin: str) -> Any:
    """The value that the text stands for. `origin` begins the message of the `UserError` raised for anything else."""
    if len(text) > LONGEST:
        raise UserError(f"{origin}: {len(text):,} characters are no config: it has at most {LONGEST:,}")
    try:
        return yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        problem = str(getattr(error, "problem", None) or error)
        fix = "; write a text with backslashes in single quotes" if "escape" in problem else ""
        raise UserError(f"{origin}: {where}not valid YAML: {problem}{fix}") from None
    except (ValueError, RecursionError, LookupError, TypeError) as error:  # for \udc00, 3,000 [, !!bool x, ? {}
        raise UserError(f"{origin}: not valid YAML ({type(error).__name__}: {error})") from None


def readings(text: str) -> list[int | float]:
    """The numbers that somebody may mean by a text, as Python and YAML 1.1 read it: 10 and 8 by 010, 750 by 12:30."""
    numbers: list[int | float] = []
    for read in (int, float, yaml.safe_load) if len(text) < 30 else ():
        with suppress(ValueError, yaml.YAMLError):
            number = read(text)
            if type(number) in (int, float) and math.isfinite(number):
                numbers.append(int(number) if number == int(number) else number)
    return list(dict.fromkeys(numbers))


class _Loader(yaml.SafeLoader):
    """YAML without surprises: PyYAML takes the last of two equal keys, and builds as much as aliases can multiply."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[tuple[str, str]] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if (key.tag, key.value) in seen:
                raise yaml.MarkedYAMLError(problem=f"{shown(key.value)} is given twice", problem_mark=key.start_mark)
            seen.add((key.tag, key.value))
        return node

    def get_single_node(self) -> Any:
        node = super().get_single_node()
        nodes = [] if node is None else [node]
        for inner in nodes:  # which grows
            if len(nodes) > MOST_VALUES:
                raise yaml.MarkedYAMLError(problem="its aliases (*name) stand for too many values")
            if isinstance(inner, yaml.CollectionNode):
                nodes.extend(chain.from_iterable(inner.value) if isinstance(inner, yaml.MappingNode) else inner.value)
        return node


def _as_written(loader: _Loader, node: Any) -> int | float | str:
    text = str(loader.construct_scalar(node))
    for kind in (int, float):
        with suppress(ValueError):
            if str(kind(text)) == text:
                return kind(text)
    return text


for _kind in ("int", "float", "timestamp"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _as_written)

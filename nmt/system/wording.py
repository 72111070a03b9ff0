"""Numbers in messages."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """A number and its noun: "1 thread", "2 threads". For nouns whose plural ends in s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

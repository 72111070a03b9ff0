"""Numbers and sentences in messages."""

from nmt.system.errors import CONTROLS


def counted(number: int, noun: str) -> str:
    """A number and its noun: "1 thread", "2 threads". For nouns whose plural ends in s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def truncate(sentence: str, characters: int = 40) -> str:
    """A sentence on one line, cut off with dots where it is longer than so many characters."""
    text = CONTROLS.sub("\ufffd", " ".join(sentence[: 4 * characters].split()))
    return text if len(text) <= characters and len(sentence) <= 4 * characters else f"{text[:characters].rstrip()} …"

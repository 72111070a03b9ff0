"""Labels of tokens in figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nmt.text.tokenizers import SPACE_MARK
from nmt.text.tokenizers.case import CAPITALS, SMALL, TITLE
from nmt.text.vocabulary import EOS_TOKEN, UNK_TOKEN

LONGEST = 40  # characters; a longer label is cut, or one token could make a figure of any size
END, UNKNOWN, SPACE = "(end)", "(unknown)", "␣"
CASE = {TITLE: "a capital letter follows", CAPITALS: "capital letters follow", SMALL: "small letters follow"}


@dataclass(frozen=True)
class TokenLabel:
    """A token as a figure shows it. `kind` is "word", "end" (of the sentence), "unknown" or "space"."""

    text: str
    kind: str = "word"


def token_labels(tokens: Sequence[str]) -> list[TokenLabel]:
    """Labels without a tokenizer's own signs.

    Subwords lose sentencepiece's "▁"; a piece whose word goes on in the next one ends with a hyphen instead. Line ends
    and other control characters are written as escapes.
    """
    specials = (EOS_TOKEN, UNK_TOKEN)
    is_subwords = any(token.startswith(SPACE_MARK) and token.strip(SPACE_MARK) for token in tokens)
    labels = []
    for token, following in zip(tokens, [*tokens, EOS_TOKEN][1:], strict=True):
        if token in specials:
            labels.append(TokenLabel(END, "end") if token == EOS_TOKEN else TokenLabel(UNKNOWN, "unknown"))
        elif token == SPACE_MARK:
            labels.append(TokenLabel(SPACE, "space"))
        elif is_subwords:
            text = token.removeprefix(SPACE_MARK).removesuffix(SPACE_MARK) or token  # a mark of case ends with it
            goes_on = following not in specials and text[-1:].isalnum() and following[:1].isalnum()
            labels.append(TokenLabel(_one_line(text) + ("-" if goes_on else "")))
        else:
            labels.append(TokenLabel(_one_line(token)))
    return labels


def notes_on(labels: Sequence[TokenLabel]) -> list[str]:
    """The explanations that a caption of these labels needs."""
    meanings = {
        "end": f"{END}: end of sentence",
        "unknown": f"{UNKNOWN}: not in the vocabulary",
        "space": f"{SPACE}: space between words",
    }
    kinds, texts = {label.kind for label in labels}, {label.text for label in labels}
    notes = [meaning for kind, meaning in meanings.items() if kind in kinds]
    signs = {mark.removesuffix(SPACE_MARK): meaning for mark, meaning in CASE.items()}
    return notes + [f"{sign}: {meaning}" for sign, meaning in signs.items() if sign in texts]


def _one_line(text: str) -> str:
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"

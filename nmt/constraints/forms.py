"""Terms as token sequences that a model must write."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Sequence

from nmt.constraints.glossary import Glossary, Term
from nmt.constraints.progress import BEGINNING, Forms
from nmt.system.wording import counted, truncate
from nmt.text.codec import Codec
from nmt.text.tokenizers.case import MARKS, SPACE_MARK
from nmt.text.vocabulary import UNK


def term_constraints(text: str, terms: Glossary, target: Codec, max_length: int) -> list[Forms]:
    """The constraints of the terms in a sentence. Those that cannot be met are named on standard error.

    `max_length` is the number of tokens that there is room for.
    """
    constraints = list[Forms]()
    for match in terms.matches(text):
        forms = forms_of(match.term, target)
        if not forms:
            _warn(match.term, "the model has no such tokens", text)
        elif (needed := _shortest(forms)) > max_length:
            _warn(match.term, f"it needs {counted(needed, 'token')}, and {max_length} are left (max_length)", text)
        else:
            constraints.append(forms)
            max_length -= needed
    return constraints


def forms_of(term: Term, target: Codec) -> Forms:
    """The token sequences of a term's translations; at the beginning of a sentence with a capital, too.

    A translation with unknown tokens has none.
    """
    forms = list[tuple[int, ...]]()
    space = target.vocabulary.encode([SPACE_MARK])
    for text in term.targets:
        ids, capital = (target.encode(spelling) for spelling in (text, text[:1].upper() + text[1:]))
        if not ids or UNK in ids:
            continue
        has_space = target.tokenizer.pieces and not target.tokenizer.marks_words
        forms += [(*space, *ids), (BEGINNING, *ids)] if has_space else [tuple(ids)]
        if capital != ids and UNK not in capital:
            forms.append((BEGINNING, *capital))
    return tuple(forms)


def inside_ids(target: Codec) -> frozenset[int]:
    """The ids that go on with the word before them."""
    tokens = enumerate(target.vocabulary.tokens) if target.tokenizer.pieces else ()
    return frozenset(i for i, token in tokens if unicodedata.category(token[0])[0] in "LMN" and SPACE_MARK not in token)


def mark_ids(target: Codec) -> frozenset[int]:
    """The ids of marks of case."""
    return frozenset(target.vocabulary.encode(MARKS)).difference([UNK])


def _shortest(forms: Sequence[Sequence[int]]) -> int:
    return min(len(form) for form in forms if form[0] != BEGINNING)


def _warn(term: Term, reason: str, text: str) -> None:
    print(
        f"{term.source!r} → {'|'.join(term.targets)!r} cannot be written: {reason}: {truncate(text)}", file=sys.stderr
    )

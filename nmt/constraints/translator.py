"""A translator whose translations contain what they must."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from nmt.constraints.glossary import Glossary, Term
from nmt.constraints.marked import Marking
from nmt.constraints.progress import Forms
from nmt.constraints.selection import Selection
from nmt.decoding.beam_search import Choose
from nmt.decoding.translation import Translation
from nmt.system.errors import UserError
from nmt.system.wording import truncate
from nmt.text.limits import Readable
from nmt.text.tokenizers.case import MARKS, SPACE_MARK
from nmt.text.vocabulary import EOS, UNK
from nmt.translator import Translator

if TYPE_CHECKING:
    from nmt.config.run import Config


class ConstrainedTranslator(Translator):
    """`Translator` with further options of `translate`."""

    def translate(  # type: ignore[override]
        self,
        sentences: Iterable[str],
        *,
        glossary: Glossary | Mapping[str, str | Sequence[str]] | None = None,
        keep: Collection[str] = (),
        markup: bool = False,
        mnemonics: str | None = None,
        **options: Any,
    ) -> list[Translation]:
        """As `Translator.translate`, with constraints.

        `glossary` are terms and their translations (alternatives, of which one is written), which are in a translation
        wherever the term is in the source; `keep` are names that are written as they are in the source. Terms that the
        model cannot write are named on standard error. Raises `UserError` with `sampling`, which does not search.

        `markup` takes tags and entities for what they are: tags leave the text, and return around the aligned words.
        `mnemonics` is the marker of keys in menus, `_`, `&`, `~` or `auto`, which is before a letter of the aligned
        word. The `text` of a translation has them, its tokens and `alignment` do not. Without attention words are
        placed by position.
        """
        if markup or mnemonics:
            attention, found = options.pop("attention", True), options.pop("found", None)
            translate = partial(self.translate, glossary=glossary, keep=keep, attention=self.has_attention, **options)
            marking = Marking(sentences, markup, mnemonics)
            return marking.translate(translate, attention=attention, found=found)
        terms = glossary if isinstance(glossary, Glossary) else Glossary.of(glossary or {})
        terms = Glossary.of([*terms.terms, *(Term(name, (name,), case=True) for name in keep)])
        if not terms.terms:
            return super().translate(sentences, **options)
        if options.get("constrain") is not None:
            raise UserError("constrain and glossary exclude each other: give one of them")
        if self._settings(_search(options)).sampling is not None:
            raise UserError("a glossary and names to keep need beam search: leave sampling out")
        max_length = self._settings(_search(options)).max_length

        def constrain(readable: Sequence[Readable]) -> Choose | None:
            constraints = [self._constraints(sentence.text, terms, max_length) for sentence in readable]
            return Selection(constraints, eos=EOS, max_length=max_length, inside=self._inside)

        return super().translate(sentences, constrain=constrain, **options)

    def _constraints(self, text: str, terms: Glossary, max_length: int) -> list[Forms]:
        """The constraints of a sentence's terms, of which those that cannot be met are named."""
        constraints = list[Forms]()
        for match in terms.matches(text):
            forms = [tuple(self.target.encode(target)) for target in match.term.targets]
            forms = [form for form in forms if form and UNK not in form]
            needed = sum(min(map(len, other)) for other in constraints)
            if not forms:
                _warn(match.term, "the model has no such tokens", text)
            elif needed + min(map(len, forms)) > max_length:
                _warn(match.term, f"no room in {max_length} tokens (max_length)", text)
            else:
                constraints.append(tuple(forms))
        return constraints

    @cached_property
    def _inside(self) -> frozenset[int]:
        """The target ids that go on with the word before them."""
        if not self.target.tokenizer.pieces:
            return frozenset()
        tokens = enumerate(self.target.vocabulary.tokens)
        return frozenset(
            i for i, token in tokens if token[0].isalnum() and token not in MARKS and SPACE_MARK not in token
        )


def translator_type(_: Config) -> type[ConstrainedTranslator]:
    return ConstrainedTranslator


def _search(options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of search among the options of `translate`."""
    others = ("n_best", "replace_unk", "attention", "prefix", "watch", "found", "constrain")
    return {name: value for name, value in options.items() if name not in others}


def _warn(term: Term, reason: str, text: str) -> None:
    print(f"{term.source!r} → {term.targets[0]!r} cannot be written: {reason}: {truncate(text)}", file=sys.stderr)

"""A translator whose translations contain what they must."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from nmt.constraints.forms import inside_ids, mark_ids, term_constraints
from nmt.constraints.glossary import Glossary, Term, respelled
from nmt.constraints.marked import Marking
from nmt.constraints.selection import Selection
from nmt.decoding.beam_search import Choose
from nmt.decoding.translation import Translation
from nmt.system.errors import UserError
from nmt.text.limits import Readable
from nmt.text.vocabulary import EOS
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
        terms = Glossary.of([*terms.terms, *(Term(name, (name,), case=True, exact=True) for name in keep)])
        if not terms.terms:
            return super().translate(sentences, **options)
        search = self._settings(_search(options))
        if search.sampling is not None:
            raise UserError("a glossary and names to keep need beam search: leave sampling out")
        if options.get("constrain") is not None:
            raise UserError("constrain excludes glossary and keep: give one of them")

        def constrain(readable: Sequence[Readable]) -> Choose:
            room = search.max_length - self._longest_prefix(options.get("prefix"))
            constraints = [term_constraints(sentence.text, terms, self.target, room) for sentence in readable]
            return self.select(constraints, max_length=search.max_length)

        seen = options.pop("found", None)
        spelled = partial(respelled, terms=terms) if getattr(self.target.tokenizer, "lowercase", False) else _same
        report = seen and (lambda number, translation: seen(number, spelled(translation)))
        return [*map(spelled, super().translate(sentences, constrain=constrain, found=report, **options))]

    @cached_property
    def select(self) -> Callable[..., Selection]:
        """`Selection` of this model's ids."""
        return partial(Selection, eos=EOS, inside=inside_ids(self.target), marks=mark_ids(self.target))

    def _longest_prefix(self, prefix: str | Sequence[str | Sequence[str]] | None) -> int:
        """The number of tokens of the longest prefix of translations."""
        prefixes = [prefix] if isinstance(prefix, str) else prefix or []
        return max((len(self.target.prefix_ids(text)) for text in prefixes), default=0)


def translator_type(_: Config) -> type[ConstrainedTranslator]:
    return ConstrainedTranslator


def _search(options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of search among the options of `translate`."""
    others = ("n_best", "replace_unk", "attention", "prefix", "watch", "found", "constrain")
    return {name: value for name, value in options.items() if name not in others}


def _same(translation: Translation) -> Translation:
    return translation

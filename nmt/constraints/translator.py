"""A translator whose translations contain what they must."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from nmt.constraints.forms import inside_ids, mark_ids, term_constraints
from nmt.constraints.glossary import Glossary, respelled
from nmt.constraints.marked import Marking, without_attention
from nmt.constraints.masking import Masking, mask_ids
from nmt.constraints.protect import Patterns, expressions, names_in, whole_words
from nmt.constraints.protection import masked
from nmt.constraints.selection import Selection
from nmt.data.batching import Example
from nmt.decoding.beam_search import Choose
from nmt.decoding.scoring import Scored
from nmt.decoding.translation import Translation
from nmt.system.errors import UserError
from nmt.system.values import sentences_of
from nmt.text.limits import Readable, check_unicode
from nmt.text.vocabulary import EOS
from nmt.translator import Translator

if TYPE_CHECKING:
    from nmt.config.run import Config


@dataclass(eq=False, repr=False)
class ConstrainedTranslator(Translator):
    """`Translator` with further options of `translate`. `protect` are the model's own patterns (`data.protect`)."""

    protect: Patterns = field(default=None, kw_only=True)

    def translate(  # type: ignore[override]
        self,
        sentences: Iterable[str],
        *,
        glossary: Glossary | Mapping[str, str | Sequence[str]] | None = None,
        keep: Collection[str] = (),
        protect: Patterns = None,
        markup: bool = False,
        mnemonics: str | None = None,
        **options: Any,
    ) -> list[Translation]:
        """As `Translator.translate`, with constraints.

        `glossary` are terms and their translations (alternatives, of which one is written), which are in a translation
        wherever the term is in the source; terms that the model cannot write are named on standard error. `keep` are
        names, which are copied, each once, as protected spans are. Raises `UserError` with `sampling`, which does not
        search.

        `protect` names spans that are copied, each once, as `data.protect` does, beside those that the model was
        trained with; `False`: none at all.

        `markup` takes tags and entities for what they are: tags leave the text, and return around the aligned words.
        `mnemonics` is the marker of keys in menus, `_`, `&`, `~` or `auto`, which is before a letter of the aligned
        word. The `text` of a translation has them, its tokens and `alignment` do not. Without attention words are
        placed by position.
        """
        if markup or mnemonics:
            attention, found = options.pop("attention", True), options.pop("found", None)
            translate = partial(
                self.translate, glossary=glossary, keep=keep, protect=protect, attention=self.has_attention, **options
            )
            marking = Marking(sentences, markup, mnemonics)
            return marking.translate(translate, attention=attention, found=found)
        [texts] = sentences_of("translate", sentences)
        terms = glossary if isinstance(glossary, Glossary) else Glossary.of(glossary or {})
        names = names_in(texts, keep)
        masking = self._masking(texts, protect, names)
        if not terms.terms and masking is None:
            return super().translate(texts, **options)
        search = self._settings(_search(options))
        if search.sampling is not None and (terms.terms or names or protect):
            raise UserError("a glossary, names to keep and protect need beam search: leave sampling out")
        if options.get("constrain") is not None:
            raise UserError("constrain excludes glossary, keep and protect: give one of them")

        most = search.max_length, search.max_length - self._longest_prefix(options.get("prefix"))
        constrain = partial(self._choose, masking, terms, most)
        options["constrain"] = constrain if search.sampling is None else None
        spelled = partial(respelled, terms=terms) if getattr(self.target.tokenizer, "lowercase", False) else _same
        return self._finished(texts, masking, spelled, options)

    def _choose(
        self, masking: Masking | None, terms: Glossary, most: tuple[int, int], readable: Sequence[Readable]
    ) -> Choose:
        """What chooses the candidates for sentences; `most` ids are in a translation, and behind its prefix."""
        constraints, ordered = masking.constraints(readable) if masking else ([[] for _ in readable], None)
        for sentence, masks in zip(readable, constraints, strict=True):
            masks += term_constraints(sentence.text, terms, self.target, most[1] - len(masks))
        reserved = masking.reserved if masking else ()
        return self.select(constraints, max_length=most[0], reserved=reserved, ordered=ordered)

    def _finished(
        self,
        texts: Sequence[str],
        masking: Masking | None,
        spelled: Callable[[Translation], Translation],
        options: dict[str, Any],
    ) -> list[Translation]:
        """The translations of texts, with spans in the places of their masks, and terms as `spelled` writes them."""
        seen, attention = options.pop("found", None), options.get("attention", True)
        if masking is not None:
            texts = [text.text for text in masking.texts]
            if not masking.ids:  # each <unk> is a span, which attention places
                options |= {"attention": self.has_attention, "replace_unk": False}

        def finished(number: int, translation: Translation) -> Translation:
            if masking is None:
                return spelled(translation)
            if masking.ids:
                return masking.restored(number, spelled(translation))
            translation = spelled(masking.restored(number, translation))
            return translation if attention else without_attention(translation)

        report = seen and (lambda number, translation: seen(number, finished(number, translation)))
        return [finished(*one) for one in enumerate(super().translate(texts, found=report, **options))]

    def _masking(self, texts: Sequence[str], protect: Patterns, names: Sequence[str]) -> Masking | None:
        """The masks of texts, for names, too. None if there are none, and the model cannot write any."""
        patterns = [] if protect is False else [*expressions(self.protect), *expressions(protect)]
        patterns += [whole_words(names)] if names else []
        if not patterns and not self.masks:
            return None
        check_unicode(texts)
        masking = Masking.of(texts, tuple(dict.fromkeys(patterns)), self.masks, self.target.tokenizer)
        return masking if self.masks or any(text.spans for text in masking.texts) else None

    @cached_property
    def masks(self) -> dict[str, int]:
        """The target ids of the masks that the model was trained with."""
        return mask_ids(self.source, self.target)

    def examples(self, sources: Sequence[str], targets: Sequence[str]) -> list[Example]:
        """Pairs of texts as ids, as training has them: with masks."""
        return super().examples(*self._masked(sources, targets))

    def score(self, sources: Iterable[str], targets: Iterable[str], *, batch_size: int | None = None) -> list[Scored]:
        """As `Translator.score`, of pairs with masks."""
        return super().score(*self._masked(*sentences_of("score", sources, targets)), batch_size=batch_size)

    def _masked(self, sources: Sequence[str], targets: Sequence[str]) -> tuple[list[str], list[str]]:
        """Pairs with masks for the spans that are on both sides."""
        pairs = [*masked(self.protect, zip(sources, targets, strict=True))]
        return [source for source, _ in pairs], [target for _, target in pairs]

    @cached_property
    def select(self) -> Callable[..., Selection]:
        """`Selection` of this model's ids."""
        return partial(Selection, eos=EOS, inside=inside_ids(self.target), marks=mark_ids(self.target))

    def _longest_prefix(self, prefix: str | Sequence[str | Sequence[str]] | None) -> int:
        """The number of tokens of the longest prefix of translations."""
        prefixes = [prefix] if isinstance(prefix, str) else prefix or []
        return max((len(self.target.prefix_ids(text)) for text in prefixes), default=0)


def translator_type(config: Config) -> Callable[..., ConstrainedTranslator]:
    """What makes translators of a model with this config."""
    return partial(ConstrainedTranslator, protect=config.data.protect)


def _search(options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of search among the options of `translate`."""
    others = ("n_best", "replace_unk", "attention", "prefix", "watch", "found", "constrain")
    return {name: value for name, value in options.items() if name not in others}


def _same(translation: Translation) -> Translation:
    return translation

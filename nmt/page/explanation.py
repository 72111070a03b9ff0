"""How one sentence was translated, as values: the translation, its steps, the tree of the search, and greedy search.

Also what the model does with a forced prefix, with its attention forced onto a source position at some steps, or while
it writes a given translation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from nmt import acceleration
from nmt.config.reading import override_search
from nmt.decoding.beam_search import Candidates, Hypothesis
from nmt.decoding.ensemble import without_dropout
from nmt.decoding.translation import Translation
from nmt.model.seq2seq import Seq2Seq
from nmt.page.beam_tree import Node, beam_tree
from nmt.page.forced_attention import forcing
from nmt.page.steps import DecodingStep, steps
from nmt.system.errors import UserError
from nmt.system.values import is_unicode
from nmt.text.limits import all_readable
from nmt.text.vocabulary import EOS, EOS_TOKEN, without_end
from nmt.translator import Translator


@dataclass(frozen=True)
class Explanation:
    """A translation with its beam (`n_best`), one step for each of its tokens, and the nodes of the search.

    `greedy` is the translation by greedy search. No translation has attention: the steps have it. Search is in float32.
    """

    translation: Translation
    steps: tuple[DecodingStep, ...]
    tree: tuple[Node, ...]
    greedy: Translation


def explain(
    translator: Translator,
    sentence: str,
    *,
    beam_size: int | None = None,
    length_penalty: float | None = None,
    prefix: Sequence[str] = (),
    forced: Mapping[int, int] | None = None,
    glossary: Sequence[tuple[str, str]] = (),
    watch: Callable[[Candidates], None] = lambda _: None,
) -> Explanation:
    """Translate a sentence, and keep everything.

    `prefix` are the tokens that the translation begins with, `forced` the source positions that all attention lies on
    at some target positions, both from 0. `glossary` are pairs of a term and the translation that it must have. `watch`
    is called with each step of the search. An empty sentence has no steps and no tree. Nothing is masked.

    Raises `UserError` for what `Translator.translate` refuses, for an ensemble, for a model without attention if
    something is forced, and for positions that do not exist.
    """
    sizes = {"beam_size": beam_size, "length_penalty": length_penalty}
    search = override_search(translator.search, **sizes, precision="float32")
    [sentence] = all_readable([sentence], translator.search.max_source_length)
    translator = forced_translator(prepared(translator), sentence, forced or {})
    candidates: list[Candidates] = []

    def watch_all(step: Candidates) -> None:
        candidates.append(step)
        watch(step)

    more: dict[str, Any] = {"glossary": dict(glossary), "protect": False} if hasattr(translator, "protect") else {}
    find = partial(
        translator.translate,
        [sentence],
        length_penalty=length_penalty,
        precision="float32",
        split=False,
        prefix=[prefix],
        attention=False,
        **more,
    )
    [translation] = find(beam_size=search.beam_size, n_best=search.beam_size, watch=watch_all)
    ranked = translation.n_best or (translation,)
    results = [Hypothesis(tuple(_ids(translator, t.tokens)), t.score) for t in ranked]
    tree = beam_tree(candidates, results, eos=EOS, beam_size=search.beam_size, alpha=search.length_penalty)
    [greedy] = find(beam_size=1, watch=watch)
    return Explanation(translation, _steps(translator, sentence, translation.tokens), tuple(tree), greedy)


def read(translator: Translator, sentence: str, target: str) -> tuple[list[str], tuple[DecodingStep, ...]]:
    """The steps in which the model is made to write a given translation, and its tokens, `<eos>` the last.

    Both are empty for an empty sentence. Raises `UserError` where `explain` does, and for a translation with as many
    tokens as `search.max_length`.
    """
    if not is_unicode(target):
        raise UserError("the translation is not valid Unicode text: convert it to UTF-8")
    [sentence] = all_readable([sentence], translator.search.max_source_length)
    translator = forced_translator(prepared(translator), sentence, {})
    tokens, most = translator.target.tokenize(target), translator.search.max_length
    if len(tokens) >= most:
        raise UserError(f"the translation has {len(tokens)} tokens; at most {most - 1} are read: shorten it")
    if not translator.source.encode(sentence):
        return [], ()
    return [*tokens, EOS_TOKEN], _steps(translator, sentence, [*tokens, EOS_TOKEN])


def prepared(translator: Translator) -> Translator:
    """The translator with its model prepared for inference in float32. It does not follow later changes of weights."""
    return replace(translator, model=acceleration.for_inference(translator.model, "float32"))


def forced_translator(translator: Translator, sentence: str, forced: Mapping[int, int]) -> Translator:
    """The translator with its attention forced, at some target positions, onto source positions of this sentence.

    It searches, even if it was to draw translations at random.

    Raises `UserError` for an ensemble, for a model without attention, and for positions that do not exist.
    """
    if not isinstance(translator.model, Seq2Seq):
        raise UserError("ensembles are not supported here: give one checkpoint")
    search = translator.search.model_copy(update={"sampling": None})
    if forced and not translator.has_attention:
        raise UserError("forced: this model has no attention (model.attention.wiring: none)")
    positions, most = len(_source(translator, sentence)) + 1, search.max_length
    for t, s in forced.items():
        if not (0 <= t < most and 0 <= s < positions):
            raise UserError(
                f"forced: step {t} onto source position {s}: this sentence has positions 0 to {positions - 1}, and "
                f"a translation steps 0 to {most - 1}"
            )
    model = forcing(translator.model, forced) if forced else translator.model
    return replace(translator, model=model, search=search)


def _source(translator: Translator, sentence: str) -> list[int]:
    """The ids that are read of a sentence."""
    return translator.source.encode(sentence)[: translator.search.max_source_length]


def _steps(translator: Translator, sentence: str, tokens: Sequence[str]) -> tuple[DecodingStep, ...]:
    """The steps in which the model writes these tokens, which may end with EOS."""
    model = translator.model
    assert isinstance(model, Seq2Seq)
    source = _source(translator, sentence)
    if not (tokens and source):
        return ()
    with without_dropout(model):
        return tuple(steps(model, source, _ids(translator, tokens)))


def _ids(translator: Translator, tokens: Sequence[str]) -> list[int]:
    """The ids of a hypothesis' tokens, of which the last one may be EOS."""
    inner = without_end(tokens)
    ids = translator.target.vocabulary.encode(inner)
    return [*ids, EOS] if len(inner) < len(tokens) else ids

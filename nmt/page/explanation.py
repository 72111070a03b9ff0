"""How one sentence was translated, as values: the translation, its steps, the tree of the search, and greedy search.

Also what the model would do if it were told otherwise: with a beginning that is given, with its attention forced onto a
source position at some steps, or while it writes a text that someone else has written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nmt import acceleration
from nmt.config.reading import override_search
from nmt.config.search import SearchConfig
from nmt.data.batching import pad_source
from nmt.decoding.beam_search import Candidates, Hypothesis
from nmt.decoding.ensemble import TranslationModel, with_child, without_dropout
from nmt.decoding.translation import Translation
from nmt.model.encoder import Encoded
from nmt.model.seq2seq import Seq2Seq
from nmt.page.beam_tree import Node, beam_tree, greedy_rank
from nmt.page.forced_attention import forcing
from nmt.page.steps import DecodingStep, steps, weights_in_tree
from nmt.system.errors import UserError
from nmt.system.values import is_unicode
from nmt.text.limits import all_readable
from nmt.text.vocabulary import EOS, EOS_TOKEN, without_end
from nmt.translator import Translator


class EncodedBefore(nn.Module):
    """A cached encoder output, in the encoder's place: for a model that reads the same batch several times."""

    def __init__(self, encoded: Encoded) -> None:
        super().__init__()
        self.encoded = encoded

    def forward(self, source: Tensor, lengths: Tensor) -> Encoded:
        return self.encoded


@dataclass(frozen=True)
class Explanation:
    """A translation with its beam (`n_best`), one step for each of its tokens, and the nodes of the search.

    `greedy` is the translation by greedy search. No translation has attention: the steps have it. The search is among
    all words, in float32.
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
    max_length: int | None = None,
    prefix: Sequence[str] = (),
    forced: Mapping[int, int] | None = None,
) -> Explanation:
    """Translate a sentence, and keep everything.

    `prefix` are the tokens that the translation begins with, `forced` the source positions that all attention lies on
    at some target positions, both from 0. An empty sentence has no steps and no tree.

    Raises `UserError` for what `Translator.translate` refuses, for an ensemble, for a model without attention if
    something is forced, and for positions that do not exist.
    """
    chosen = {"beam_size": beam_size, "length_penalty": length_penalty, "max_length": max_length}
    search = override_search(translator.search, **chosen, precision="float32", vocabulary_selection=False)
    sentence = _readable(translator, sentence)
    told = forced_translator(prepared(translator), sentence, forced or {}, max_length=search.max_length)
    told = _having_read(told, sentence)
    watched: list[Candidates] = []
    find = partial(
        told.translate,
        [sentence],
        length_penalty=length_penalty,
        max_length=max_length,
        precision="float32",
        vocabulary_selection=False,
        prefix=[prefix],
        attention=False,
    )
    [translation] = find(beam_size=search.beam_size, n_best=search.beam_size, watch=watched.append)
    ranked = translation.n_best or (translation,)
    found = [Hypothesis(tuple(_ids(told, t.tokens)), t.score) for t in ranked]
    tree = beam_tree(watched, found, eos=EOS, beam_size=search.beam_size, alpha=search.length_penalty)
    rank = greedy_rank(tree)
    [greedy] = find(beam_size=1) if rank is None else [ranked[rank]]
    return Explanation(translation, _steps(told, sentence, translation.tokens), tuple(tree), greedy)


def attention_in_tree(
    translator: Translator, sentence: str, tree: Sequence[Node]
) -> list[Float[Tensor, " S"]] | list[None]:
    """For each hypothesis of a sentence's search the weights with which its last token was written, if any."""
    model = translator.model
    if not isinstance(model, Seq2Seq) or not translator.has_attention:
        return [None] * len(tree)
    nodes = [node.parent for node in tree], [node.token for node in tree]
    with without_dropout(model):
        return weights_in_tree(model, _source(translator, _readable(translator, sentence)), *nodes)


def read(
    translator: Translator, sentence: str, target: str, *, forced: Mapping[int, int] | None = None
) -> tuple[list[str], tuple[DecodingStep, ...]]:
    """The steps in which the model is made to write a given translation, and its tokens, `<eos>` the last.

    Both are empty for an empty sentence. Raises `UserError` where `explain` does, and for a translation with as many
    tokens as `search.max_length`.
    """
    if not is_unicode(target):
        raise UserError("the translation is not valid Unicode text: convert it to UTF-8")
    sentence = _readable(translator, sentence)
    told = forced_translator(prepared(translator), sentence, forced or {})
    tokens, most = told.target.tokenizer.tokenize(target), told.search.max_length
    if len(tokens) >= most:
        raise UserError(f"the translation has {len(tokens)} tokens; at most {most - 1} are read: shorten it")
    if not told.source.encode(sentence):
        return [], ()
    return [*tokens, EOS_TOKEN], _steps(told, sentence, [*tokens, EOS_TOKEN])


def prepared(translator: Translator) -> Translator:
    """The translator with its weights laid out for explanations, which saves each of them the time for it.

    They are in float32. It does not follow later changes of the weights.
    """
    return _by(translator, acceleration.for_inference(translator.model, "float32"), translator.search)


def forced_translator(
    translator: Translator, sentence: str, places: Mapping[int, int], *, max_length: int | None = None
) -> Translator:
    """The translator with its attention forced, at some target positions, onto source positions of this sentence.

    It searches, even if it was to draw translations at random. A translation has at most `max_length` tokens, or as
    many as the checkpoint's setting says.

    Raises `UserError` for an ensemble, for a model without attention, and for positions that do not exist.
    """
    if not isinstance(translator.model, Seq2Seq):
        raise UserError("several models that translate together cannot be looked into: give one checkpoint")
    search = translator.search.model_copy(update={"sampling": None})
    if places and not translator.has_attention:
        raise UserError("forced: this model has no attention (model.attention.wiring: none)")
    positions, most = len(_source(translator, sentence)) + 1, max_length or search.max_length
    for t, s in places.items():
        if not (0 <= t < most and 0 <= s < positions):
            raise UserError(
                f"forced: step {t} onto source position {s}: this sentence has positions 0 to {positions - 1}, and "
                f"a translation steps 0 to {most - 1}"
            )
    model = forcing(translator.model, places) if places else translator.model
    return _by(translator, model, search)


@torch.inference_mode()
def _having_read(translator: Translator, sentence: str) -> Translator:
    """The translator for this sentence alone, which is encoded once for all that follows."""
    assert isinstance(translator.model, Seq2Seq)
    padded, lengths = pad_source([_source(translator, sentence)])
    with without_dropout(translator.model):
        encoded = translator.model.encoder(padded.to(translator.model.device), lengths)
    model = with_child(translator.model, "encoder", EncodedBefore(encoded))
    return _by(translator, model, translator.search)


def _by(translator: Translator, model: TranslationModel, search: SearchConfig) -> Translator:
    """The translator with another model and other settings."""
    return Translator(model, translator.source, translator.target, search, translator.shortlist, translator.threshold)


def _readable(translator: Translator, sentence: str) -> str:
    """The sentence, cut where `Translator.translate` would cut it. Raises `UserError` if it is not Unicode."""
    return all_readable([sentence], translator.search.max_source_length)[0]


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
    own = without_end(tokens)
    ids = translator.target.vocabulary.encode(own)
    return [*ids, EOS] if len(own) < len(tokens) else ids

"""The options of a search as what intervenes in it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from nmt.decoding.beam_search import Adjust, Choose
from nmt.decoding.ensemble import TranslationModel
from nmt.model.scopes import Scope
from nmt.search_options.coverage import rank, unfit
from nmt.search_options.diverse import DiverseGroups
from nmt.search_options.min_length import block_end
from nmt.search_options.ngrams import block_ngrams
from nmt.search_options.repetition import penalise_repetition
from nmt.system.errors import UserError
from nmt.text.vocabulary import EOS


def hooks_of(
    search: Any, model: TranslationModel, *, adjust: Sequence[Adjust], choose: Choose | None
) -> dict[str, Any]:
    """`adjust`, `choose` and, with a coverage penalty, `rank`; `search` is a `SearchConfig`.

    Raises `UserError` for a coverage penalty without attention to all positions, and for diverse groups beside another
    `choose`.
    """
    changes = [*adjust]
    if search.repetition_penalty > 1:  # first: it normalises, and what is blocked has a probability
        changes.insert(0, partial(penalise_repetition, search.repetition_penalty))
    if search.block_ngrams:
        changes.append(partial(block_ngrams, search.block_ngrams))
    if search.min_length:
        changes.append(partial(block_end, search.min_length, EOS))
    hooks: dict[str, Any] = {"adjust": changes, "choose": choose}
    if search.diverse_groups > 1 and search.beam_size > 1:
        if choose is not None:
            fix = "set diverse_groups to 1, or leave those out"
            raise UserError(f"diverse_groups excludes glossary, keep, protect and constrain: {fix}")
        hooks["choose"] = DiverseGroups(search.diverse_groups, search.diversity_strength, EOS)
    if search.coverage_penalty:
        scopes = [type(module) for module in model.modules() if isinstance(module, Scope)]
        if why := unfit(model.has_attention, *scopes):
            raise UserError(why)
        hooks["rank"] = partial(rank, search.coverage_penalty)
    return hooks

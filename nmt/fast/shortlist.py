"""Search among a shortlist of the target vocabulary: the tokens that are likely for a sentence (`nmt.data.shortlist`).

The output layer and its softmax are most of the work of a step, and nearly all of it is for words that have nothing to
do with the sentence (L'Hostis et al. 2016).

Shapes: B sentences, S source positions, N hypotheses of all sentences, V vocabulary, U tokens on any of the batch's
shortlists, C tokens on one.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.data.shortlist import Shortlist, tokens_of
from nmt.decoding.ensemble import Ensemble, TranslationModel
from nmt.fast.inference import PackedLinear
from nmt.model.seq2seq import Seq2Seq


class ShortlistModel(Ensemble):
    """A model for one batch, with −∞ as the log-probability of tokens that are not on a shortlist.

    The others' probabilities sum to 1. What a sentence's shortlist is does not depend on the others in its batch.
    """

    def __init__(self, model: Seq2Seq | Ensemble, shortlist: Shortlist, source: Int[Tensor, "B S"]) -> None:
        super().__init__(model.members if isinstance(model, Ensemble) else [model])
        tokens = tokens_of(shortlist, source).to(model.device)  # (B C)
        vocabulary = self.members[0].decoder.embedding.num_embeddings
        allowed = torch.zeros(len(tokens), vocabulary, dtype=torch.bool, device=model.device).scatter_(1, tokens, True)
        [self.tokens] = allowed.any(dim=0).nonzero(as_tuple=True)
        self.allowed: Bool[Tensor, "B U"] = allowed[:, self.tokens]
        self.vocabulary = vocabulary
        self.outputs = [_with_rows(member.decoder.output, self.tokens) for member in self.members]

    def encode(self, source: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"]) -> tuple[Any, Any]:
        states, memories = super().encode(source, source_lengths)
        return states, (memories, self.allowed)

    def step(self, tokens: Int[Tensor, " N"], state: Any, memory: Any) -> tuple[Float[Tensor, "N V"], Any]:
        memories, allowed = memory
        log_probabilities, states = [], []
        for member, output, own_state, own_memory in zip(self.members, self.outputs, state, memories, strict=True):
            decoder = member.decoder
            readout, new_state, _ = decoder.step(decoder.embed(tokens), own_state, own_memory)
            logits = output(decoder.features(readout)).unflatten(0, (len(allowed), -1))
            logits = logits.masked_fill(~allowed.unsqueeze(1), -torch.inf)
            log_probabilities.append(logits.log_softmax(dim=2).flatten(0, 1))
            states.append(new_state)
        mean = torch.stack(log_probabilities).logsumexp(dim=0) - math.log(len(states))
        whole = mean.new_full((len(tokens), self.vocabulary), -torch.inf)
        return whole.index_copy_(1, self.tokens, mean), tuple(states)

    def attention_weights(self, tokens: Int[Tensor, "B T"], state: Any, memory: Any) -> Float[Tensor, "B T S"]:
        return super().attention_weights(tokens, state, memory[0])


def restrict_to_shortlist(
    model: TranslationModel, shortlist: Shortlist, source: Int[Tensor, "B S"]
) -> TranslationModel:
    """The model for a batch of padded source ids, which writes tokens of their shortlists alone."""
    return ShortlistModel(model, shortlist, source)


def _with_rows(layer: nn.Module, rows: Int[Tensor, " U"]) -> nn.Module:
    """A linear layer with some of its outputs."""
    weight, bias = layer.get_parameter("weight"), layer.get_parameter("bias")
    weight, bias = (nn.Parameter(x.detach().index_select(0, rows), requires_grad=False) for x in (weight, bias))
    if isinstance(layer, PackedLinear):
        return type(layer)(weight, bias)
    other = nn.Linear(1, 1, device="meta")
    other.weight, other.bias = weight, bias
    return other

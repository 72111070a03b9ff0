"""The vectors by which words in their sentences are compared: states of the encoder and of the decoder.

Shapes: B pairs, S source ids, T target ids, M encoder state, H decoder state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from nmt.data.batching import Example, collate
from nmt.model.seq2seq import Seq2Seq

AT_ONCE = 64  # pairs


@torch.inference_mode()
def states(
    model: Seq2Seq, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]
) -> Iterator[tuple[int, Float[Tensor, "S M"], Float[Tensor, "T H"]]]:
    """For each pair of ids without marks its index in `pairs`, the encoder's states, and the decoder's.

    Row t of the decoder's is its top layer's state in the step that writes target id t, having read those before it.
    Pairs of similar length share a batch, so they come longest first. The model is to be in evaluation mode.
    """
    order = sorted(range(len(pairs)), key=lambda i: (-len(pairs[i][0]), -len(pairs[i][1])))
    for begin in range(0, len(order), AT_ONCE):
        rows = order[begin : begin + AT_ONCE]
        batch = collate([Example(list(pairs[i][0]), list(pairs[i][1])) for i in rows]).to(model.device)
        encoded = model.encoder(batch.source, batch.source_lengths)
        decoder = model.decoder
        state, memory = decoder.initial_state(encoded), decoder.prepare(encoded)
        tops = []
        for inputs in decoder.embed(batch.target_input[:, :-1]).unbind(1):
            _, state, _ = decoder.step(inputs, state, memory)
            tops.append(decoder.top(state.hidden))
        written = torch.stack(tops, dim=1).cpu() if tops else None
        for row, number in enumerate(rows):
            source, target = pairs[number]
            none = encoded.values.new_zeros(0, 1).cpu()
            yield (
                number,
                encoded.values[row, : len(source)].cpu(),
                none if written is None else written[row, : len(target)],
            )

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
) -> Iterator[tuple[Float[Tensor, "S M"], Float[Tensor, "T H"]]]:
    """For each pair of ids without marks the encoder's states, and the decoder's.

    Row t of the decoder's is its top layer's state in the step that writes target id t, having read those before it.
    The pairs come longest source first, so that those of a batch are of similar length. The model is to be in
    evaluation mode.
    """
    decoder = model.decoder
    for begin in range(0, len(pairs), AT_ONCE):
        rows = pairs[begin : begin + AT_ONCE]
        batch = collate([Example(list(source), list(target)) for source, target in rows]).to(model.device)
        encoded = model.encoder(batch.source, batch.source_lengths)
        state, memory = decoder.initial_state(encoded), decoder.prepare(encoded)
        tops = []
        for inputs in decoder.embed(batch.target_input[:, :-1]).unbind(1):
            _, state, _ = decoder.step(inputs, state, memory)
            tops.append(decoder.rnn.top(state.hidden))
        values = encoded.values.cpu()
        written = torch.stack(tops, dim=1).cpu() if tops else values[:, :0]
        for row, (source, target) in enumerate(rows):
            yield values[row, : len(source)], written[row, : len(target)]

"""The whole model: encoder and decoder."""

from __future__ import annotations

from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nmt.kernels import reused_weights
from nmt.kernels.packed import lay_out_now, taken, with_child, with_outputs
from nmt.model.attention import Alignment, Attention, FixedContext, Memory
from nmt.model.decoder import Decoder, State
from nmt.model.encoder import Encoder, Known
from nmt.model.protocol import Choice
from nmt.model.remainder import Remainder
from nmt.text.vocabulary import BOS, PAD

MOST_KNOWN = 2**26  # gates that are computed beforehand: 256 MiB


class Seq2Seq(nn.Module):
    """p(target | source), trained with teacher forcing. A `TranslationModel`."""

    remainder: Remainder | None

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.register_module("remainder", None)
        self.inputs: Float[Tensor, "V I"] | None = None
        self.shared = 0  # how many of a limited layer's first types all sentences share

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.decoder.output.weight.device

    @property
    def has_attention(self) -> bool:
        return not isinstance(self.decoder.attention, FixedContext)

    @property
    def segment_ends(self) -> tuple[int, ...]:
        """The source ids that end a segment; none if attention knows no segments."""
        attention = self.decoder.attention
        return attention.scope.ends if isinstance(attention, Attention) else ()

    def encode(self, source: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"]) -> tuple[State, Memory]:
        """The decoder's initial state and memory for padded source ids."""
        encoded = self.encoder(source, source_lengths)
        return self.decoder.initial_state(encoded), self.decoder.prepare(encoded)

    def forward(
        self,
        source: Int[Tensor, "B S"],
        source_lengths: Int[Tensor, " B"],
        target_input: Int[Tensor, "B T"],
        places: Int[Tensor, " N"],
        use_reference: Bool[Tensor, "B T"] | None = None,
        done: int | None = None,
    ) -> tuple[Float[Tensor, "N F"], Alignment]:
        """What the output layer reads at N of the flattened target positions, and the weights (B T W) at all of them.

        `places` are those N, which leave out padding: nothing is worth computing there. `use_reference` is
        `Decoder.forward`'s. In training, `done` are the updates done before, on which a scope may depend.
        """
        encoded = self.encoder(source, source_lengths)
        state, memory = self.decoder.initial_state(encoded), self.decoder.prepare(encoded, done)
        with reused_weights(self.decoder):  # at each of T steps
            readouts, alignment = self.decoder(target_input, state, memory, use_reference)
        return self.decoder.features(readouts.flatten(0, 1).index_select(0, places)), alignment

    def log_probabilities(
        self, tokens: Int[Tensor, " N"], state: State, memory: Memory, choice: Choice | None = None
    ) -> tuple[Float[Tensor, "N V"], State]:
        """Those of each hypothesis' next token, among all types or the C of a choice (N C); and the new state."""
        inputs = self.decoder.embed(tokens) if self.inputs is None else self.inputs.index_select(0, tokens)
        readout, state, _ = self.decoder.step(inputs, state, memory)
        features = self.decoder.features(readout)
        if choice is None:
            return self.decoder.output(features).log_softmax(dim=1), state
        choose = partial(choice.of, shared=self.shared)
        if self.remainder is None:
            [logits] = taken(self.decoder.output, features, [choose])
            return logits.log_softmax(dim=1), state
        logits, given = taken(self.decoder.output, features, [choose, self.remainder.given])
        logits[:, PAD] = self.remainder(features, given, choice.chosen)  # a place in the sum that nothing else needs
        log_probabilities = logits.log_softmax(dim=1)
        log_probabilities[:, PAD] = -torch.inf
        return log_probabilities, state

    def is_long(self, rows: int) -> bool:
        """Whether a search that reads so many tokens should first compute the decoder's input of every type."""
        types = self.decoder.embedding.num_embeddings
        return rows >= 2 * types and types * self.decoder.embedding_gates.out_features <= MOST_KNOWN

    def for_search(self, rows: int, beam_size: int) -> Seq2Seq:
        """The same model. For a beam it projects memory vectors; for a long search it computes the decoder's input of
        every target type beforehand, and lays out its packed layers."""
        decoder = self.decoder if beam_size == 1 else self.decoder.projecting()
        other = with_child(self, "decoder", decoder)
        if self.is_long(rows):
            other.inputs = decoder.embed(torch.arange(decoder.embedding.num_embeddings, device=self.device))
            lay_out_now(other, limited=decoder.output)
        return other

    def with_remainder(self, always: Int[Tensor, " M"]) -> Seq2Seq:
        """The same model, which estimates how likely the types are that a choice leaves out. It shares its layers."""
        return with_child(self, "remainder", Remainder(self.decoder.output, always))

    def limited(self, types: Int[Tensor, " V"], shared: int) -> Seq2Seq:
        """The same model, whose output layer knows these target types, for a choice. It shares its other layers."""
        others = [] if self.remainder is None else [self.remainder]
        output = with_outputs(self.decoder.output, types, never=(PAD, BOS), others=others)
        other = with_child(self, "decoder", with_child(self.decoder, "output", output))
        other.shared = shared
        return other

    def having_read(self, source: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"]) -> Seq2Seq:
        """The same model for this batch alone, which its encoder has read. It shares its other layers."""
        return with_child(self, "encoder", Known(self.encoder(source, source_lengths)))

    def weights(self, tokens: Int[Tensor, "B T"], state: State, memory: Memory) -> Float[Tensor, "B T S"]:
        """The attention weights while target tokens, BOS first, are read."""
        _, alignment = self.decoder(tokens, state, memory)
        return alignment.dense(memory.mask.shape[1])

"""The encoder against one-directional GRUs that run over each sentence by itself, and batches put in another order."""

import numpy as np
import pytest
import torch
from formulas import bidirectional_gru
from reference import SOURCE_TYPES, gru_weights, randomise
from torch import nn

from nmt.model.encoder import Encoder

E, HIDDEN = 4, 3
LENGTHS = (4, 8, 1, 6)
TOLERANCE = {"rtol": 0, "atol": 1e-12}
LAYERS = pytest.mark.parametrize("layers", [1, 2, 3])


def make(layers, dropout=0.0, embedding_dropout=0.0):
    encoder = Encoder(nn.Embedding(SOURCE_TYPES, E), HIDDEN, layers, dropout, embedding_dropout).double()
    randomise(encoder)
    return encoder.eval()


def batch(lengths=LENGTHS, padding=1, seed=5):
    tokens = torch.full((len(lengths), max(lengths)), padding)
    generator = torch.Generator().manual_seed(seed)
    for row, length in zip(tokens, lengths, strict=True):
        row[:length] = torch.randint(3, SOURCE_TYPES, (length,), generator=generator)
    return tokens, torch.tensor(lengths)


def one_direction(rnn, layer, direction):
    """Layer `layer` of a bidirectional GRU, one direction of it, as a GRU of its own that reads forwards."""
    own = nn.GRU(rnn.input_size if layer == 0 else 2 * HIDDEN, HIDDEN, batch_first=True).double()
    for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(own, f"{kind}_l0").data.copy_(getattr(rnn, f"{kind}_l{layer}{direction}"))
    return own


@LAYERS
def test_values_are_those_of_each_sentence_run_alone(layers):
    encoder = make(layers)
    source, lengths = batch()
    encoded = encoder(source, lengths)
    for b, length in enumerate(LENGTHS):
        rows = encoder.embedding(source[b : b + 1, :length])
        for layer in range(layers):
            there, last = one_direction(encoder.rnn, layer, "")(rows)
            back, first = one_direction(encoder.rnn, layer, "_reverse")(rows.flip(1))  # begins at the last token
            rows = torch.cat([there, back.flip(1)], dim=2)
        torch.testing.assert_close(encoded.values[b, :length], rows[0], **TOLERANCE)
        torch.testing.assert_close(encoded.final[b], torch.cat([last[0, 0], first[0, 0]]), **TOLERANCE)
        assert (encoded.values[b, length:] == 0).all()


@LAYERS
def test_values_are_those_of_the_formulas(layers):
    encoder = make(layers)
    source, lengths = batch()
    encoded = encoder(source, lengths)
    embedding = encoder.embedding.weight.detach().numpy()
    for b, length in enumerate(LENGTHS):
        values, final = bidirectional_gru([embedding[i] for i in source[b, :length]], gru_weights(encoder.rnn))
        np.testing.assert_allclose(encoded.values[b, :length].detach(), values, **TOLERANCE)
        np.testing.assert_allclose(encoded.final[b].detach(), final, **TOLERANCE)


@LAYERS
def test_the_backward_direction_begins_at_the_sentences_own_last_token(layers):
    encoder = make(layers)
    source, lengths = batch()
    other, _ = batch(padding=7)  # another token in the padding
    for one, same in zip(encoder(source, lengths), encoder(other, lengths), strict=True):
        assert torch.equal(one, same)
    wider = torch.cat([source, torch.full((len(LENGTHS), 5), 1)], dim=1)
    widened = encoder(wider, lengths)
    assert widened.values.shape[1] == max(LENGTHS) + 5
    torch.testing.assert_close(widened.values[:, : max(LENGTHS)], encoder(source, lengths).values, **TOLERANCE)
    torch.testing.assert_close(widened.final, encoder(source, lengths).final, **TOLERANCE)


@LAYERS
def test_permuting_a_batch_permutes_the_result_and_nothing_else(layers):
    encoder = make(layers)
    source, lengths = batch()
    encoded = encoder(source, lengths)
    for order in ([3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]):
        permuted = encoder(source[order], lengths[order])
        for one, other in zip(encoded, permuted, strict=True):
            torch.testing.assert_close(one[order], other, **TOLERANCE)


def test_mask_and_lengths_tell_the_sentence_from_its_padding():
    source, lengths = batch()
    encoded = make(1)(source, lengths)
    assert encoded.mask.tolist() == [[s < length for s in range(max(LENGTHS))] for length in LENGTHS]
    assert encoded.lengths.tolist() == list(LENGTHS)


def test_dropout_works_in_training_alone():
    source, lengths = batch()
    encoder = make(2, dropout=0.5, embedding_dropout=0.5)
    plain = make(2)
    assert torch.equal(encoder(source, lengths).values, plain(source, lengths).values)
    encoder.train()
    torch.manual_seed(0)
    first, second = encoder(source, lengths), encoder(source, lengths)
    assert not torch.equal(first.values, second.values)
    assert not torch.equal(first.final, second.final)
    assert (first.values == 0).double().mean() > 0.3 + (plain(source, lengths).values == 0).double().mean() / 2

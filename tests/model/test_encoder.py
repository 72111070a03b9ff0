"""The encoder against one-directional RNNs that run over each sentence by itself, and batches put in another order."""

import numpy as np
import pytest
import torch
from support.attention_cases import draw
from support.formulas import bidirectional
from support.tiny_models import SOURCE_TYPES, randomise, rnn_weights
from torch import nn

from nmt.model.encoder import Encoder
from nmt.model.variants.heads import SelfAttention

E, HIDDEN = 4, 3
LENGTHS = (4, 8, 1, 6)
TOLERANCE = {"rtol": 0, "atol": 1e-12}
EACH = pytest.mark.parametrize(("layers", "cell"), [(1, "gru"), (2, "lstm"), (3, "gru"), (1, "lstm")])


def make(layers, dropout=0.0, cell="gru"):
    encoder = Encoder(nn.Embedding(SOURCE_TYPES, E), HIDDEN, layers, dropout, 0.0, cell=cell).double()
    randomise(encoder)
    return encoder.eval()


def batch(lengths=LENGTHS, padding=1, seed=5):
    tokens = torch.full((len(lengths), max(lengths)), padding)
    generator = torch.Generator().manual_seed(seed)
    for row, length in zip(tokens, lengths, strict=True):
        row[:length] = torch.randint(3, SOURCE_TYPES, (length,), generator=generator)
    return tokens, torch.tensor(lengths)


@EACH
def test_values_are_those_of_the_formulas(layers, cell):
    encoder = make(layers, cell=cell)
    source, lengths = batch()
    encoded = encoder(source, lengths)
    embedding = encoder.embedding.weight.detach().numpy()
    assert encoded.mask.tolist() == [[s < length for s in range(max(LENGTHS))] for length in LENGTHS]
    assert encoded.lengths.tolist() == list(LENGTHS)
    for b, length in enumerate(LENGTHS):
        assert (encoded.values[b, length:] == 0).all()
        values, final = bidirectional([embedding[i] for i in source[b, :length]], rnn_weights(encoder.rnn))
        np.testing.assert_allclose(encoded.values[b, :length].detach(), values, **TOLERANCE)
        np.testing.assert_allclose(encoded.final[b].detach(), final, **TOLERANCE)


@EACH
def test_the_backward_direction_begins_at_the_sentences_own_last_token(layers, cell):
    encoder = make(layers, cell=cell)
    source, lengths = batch()
    other, _ = batch(padding=7)  # another token in the padding
    one, same = encoder(source, lengths), encoder(other, lengths)
    for name in ("values", "final", "mask", "lengths"):
        assert torch.equal(getattr(one, name), getattr(same, name)), name
    wider = torch.cat([source, torch.full((len(LENGTHS), 5), 1)], dim=1)
    widened = encoder(wider, lengths)
    assert widened.values.shape[1] == max(LENGTHS) + 5
    torch.testing.assert_close(widened.values[:, : max(LENGTHS)], encoder(source, lengths).values, **TOLERANCE)
    torch.testing.assert_close(widened.final, encoder(source, lengths).final, **TOLERANCE)


@EACH
def test_permuting_a_batch_permutes_the_result_and_nothing_else(layers, cell):
    encoder = make(layers, cell=cell)
    source, lengths = batch()
    encoded = encoder(source, lengths)
    for order in ([3, 2, 1, 0], [1, 3, 0, 2]):
        for one, other in zip(encoded, encoder(source[order], lengths[order]), strict=True):
            torch.testing.assert_close(one[order], other, **TOLERANCE)


@pytest.mark.parametrize("heads", [1, 2, 6])
def test_self_attention_is_pytorchs(heads):
    size, values = 6, draw(len(LENGTHS), 9, 6)
    own = SelfAttention(size, heads).double()
    randomise(own)
    pytorchs = nn.MultiheadAttention(size, heads, bias=False, batch_first=True).double()
    projections = [layer.weight.data for layer in (own.query, own.key, own.value)]
    pytorchs.in_proj_weight.data, pytorchs.out_proj.weight.data = torch.cat(projections), own.output.weight.data
    mask = torch.arange(9) < torch.tensor(LENGTHS).unsqueeze(1)
    found, _ = pytorchs(values, values, values, key_padding_mask=~mask)
    expected = nn.functional.layer_norm(values + found, (size,), own.norm.weight, own.norm.bias)
    torch.testing.assert_close(own(values, mask), expected * mask.unsqueeze(2), **TOLERANCE)


def test_dropout_is_between_layers_in_training_alone():
    """A rate of 1 leaves nothing of what the upper layer reads: its states are the same whatever the source."""
    lengths = torch.tensor(LENGTHS)
    inputs, others = draw(4, 8, E), draw(4, 8, E, seed=2)
    rnn = make(2, dropout=1.0).rnn
    plain = make(2).rnn
    assert torch.equal(rnn(inputs, lengths)[0], plain(inputs, lengths)[0])
    rnn.train()
    for one, other in zip(rnn(inputs, lengths), rnn(others, lengths), strict=True):
        assert torch.equal(one, other)
        assert one.any()
    single = make(1, dropout=1.0).rnn.train()  # nothing is between its layers
    assert not torch.equal(single(inputs, lengths)[0], single(others, lengths)[0])
    rnn.dropout = 0.5
    first, second = (rnn(inputs, lengths)[0] for _ in range(2))
    assert not torch.equal(first, second)

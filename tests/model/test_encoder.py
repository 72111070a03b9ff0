"""The encoder against one-directional RNNs that run over each sentence by itself."""

import numpy as np
import pytest
import torch
from support.attention_cases import draw
from support.formulas import bidirectional
from support.parameters import rnn_weights
from support.tiny_models import SOURCE_TYPES, randomise
from torch import nn

from nmt.components import CELLS
from nmt.model.encoder import Encoder
from nmt.model.variants.heads import SelfAttention

E, HIDDEN = 4, 3
LENGTHS = (4, 8, 1, 6)
TOLERANCE = {"rtol": 0, "atol": 1e-12}


def make(layers, dropout=0.0, cell="gru"):
    rnn = CELLS[cell].bidirectional(E, HIDDEN, layers, dropout)
    encoder = Encoder(nn.Embedding(SOURCE_TYPES, E), rnn, 2 * HIDDEN, dropout, 0.0).double()
    randomise(encoder)
    return encoder.eval()


@pytest.mark.parametrize(("layers", "cell"), [(1, "gru"), (2, "lstm"), (3, "gru"), (1, "lstm")])
def test_values_are_those_of_the_formulas(layers, cell):
    encoder, width = make(layers, cell=cell), max(LENGTHS) + 2  # there is padding behind the longest sentence, too
    source = torch.randint(SOURCE_TYPES, (len(LENGTHS), width), generator=torch.Generator().manual_seed(5))
    encoded = encoder(source, torch.tensor(LENGTHS))
    embedding = encoder.embedding.weight.detach().numpy()
    assert encoded.mask.tolist() == [[s < length for s in range(width)] for length in LENGTHS]
    assert encoded.lengths.tolist() == list(LENGTHS)
    for b, length in enumerate(LENGTHS):
        assert (encoded.values[b, length:] == 0).all()
        values, final = bidirectional([embedding[i] for i in source[b, :length]], rnn_weights(encoder.rnn))
        np.testing.assert_allclose(encoded.values[b, :length].detach(), values, **TOLERANCE)
        np.testing.assert_allclose(encoded.final[b].detach(), final, **TOLERANCE)


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
    assert torch.equal(rnn(inputs, lengths)[0], make(2).rnn(inputs, lengths)[0])
    rnn.train()
    for one, other in zip(rnn(inputs, lengths), rnn(others, lengths), strict=True):
        assert torch.equal(one, other)
        assert one.any()
    single = make(1, dropout=1.0).rnn.train()  # nothing is between its layers
    assert not torch.equal(single(inputs, lengths)[0], single(others, lengths)[0])

"""The whole model: batches, tying, dropout, and that each variant learns a pair."""

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import tiny_models as tiny
from support.losses import batch_loss

from nmt.build import build_model
from nmt.config.search import SearchConfig
from nmt.data.batching import Example, collate
from nmt.model.attention import FixedContext
from nmt.text.vocabulary import EOS_TOKEN
from nmt.translator import Translator

EXAMPLES = [Example(source, target) for source, target in zip(tiny.SOURCES, tiny.TARGETS, strict=True)]
SPREAD = pytest.mark.parametrize("variant", **tiny.parametrised(tiny.EACH_ONCE))


def run(model, examples):
    """Logits of each sentence's own positions, and its weights at them."""
    batch = collate(examples)
    features, alignment = model(batch.source, batch.source_lengths, batch.target_input, batch.loss_positions)
    weights = alignment.dense(1 if isinstance(model.decoder.attention, FixedContext) else batch.source.shape[1])
    lengths = batch.target_lengths.tolist()
    logits = model.decoder.output(features).split(lengths)
    return logits, [w[:length] for w, length in zip(weights, lengths, strict=True)]


# Batches


def normalizer_of(model):
    scope = getattr(model.decoder.attention, "scope", None)  # none without attention
    return scope and scope.normalizer.name


def assert_each_gives_the_same_alone(model, examples):
    logits, weights = run(model, examples)
    for b, one in enumerate(examples):
        (alone_logits,), (alone_weights,) = run(model, [one])
        torch.testing.assert_close(logits[b], alone_logits, rtol=0, atol=1e-12)
        positions = alone_weights.shape[1]
        torch.testing.assert_close(weights[b][:, :positions], alone_weights, rtol=0, atol=1e-12)
        assert (weights[b][:, positions:] == 0).all()
        most = 1 if normalizer_of(model) != "sigmoid" else positions  # whose weights do not compete
        assert (weights[b].sum(1) <= most + 1e-14).all()
        assert alone_logits.shape == (len(one.target) + 1, tiny.TARGET_TYPES)


WORDS = st.lists(st.integers(4, 10), max_size=9)


@settings(max_examples=100, deadline=None)
@given(
    variant=st.sampled_from(tiny.VARIANTS),
    pairs=st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4),
    window=st.integers(1, 12),
    layers=st.integers(1, 2),
)
@example(variant=tiny.Variant("bahdanau", "general", "local_p"), pairs=[([], []), ([4] * 8, [5])], window=9, layers=2)
@example(variant=tiny.Variant("luong", "dot", "local_m", True), pairs=[([], [4, 5, 6])], window=3, layers=1)
def test_any_batch_is_its_sentences_one_by_one(variant, pairs, window, layers):
    model = tiny.tiny_model(variant, layers, window=window)
    assert_each_gives_the_same_alone(model, [Example(*pair) for pair in pairs])


# Options


@pytest.mark.parametrize(("tied", "count"), [("none", 3), ("target", 2), ("all", 1)])
def test_tied_embeddings_are_one_parameter(tied, count):
    """It keeps an embedding's size and spread."""
    for variant in (tiny.WIRINGS[0], *tiny.WIRINGS[2:]):
        model = build_model(tiny.config_of(variant, embedding_size=5, tied_embeddings=tied), 3000, 3000)

        def tables(model=model):
            return model.encoder.embedding.weight, model.decoder.embedding.weight, model.decoder.output.weight

        assert len(set(map(id, tables()))) == count
        assert sum(parameter.shape == (3000, 5) for parameter in model.parameters()) == count
        assert tied == "none" or model.decoder.output.weight.std().item() == pytest.approx(5**-0.5, rel=0.03)
        first_logits(model).sum().backward()
        torch.optim.SGD(model.parameters(), lr=1.0).step()
        assert len(set(map(id, tables()))) == count
        assert torch.equal(*tables()[1:]) == (tied != "none")


FED, UNFED = tiny.Variant("luong", input_feeding=True), tiny.Variant("luong", input_feeding=False)


def first_logits(model):
    return run(model, EXAMPLES)[0][0]


def set_dropout(model, place):
    """Half of the values at one place of the model, and none anywhere else."""
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5 if name == place else 0.0
        elif isinstance(module, torch.nn.RNNBase):
            module.dropout = 0.0


PLACES = {
    UNFED: "encoder.embedding_dropout encoder.dropout decoder.embedding_dropout decoder.rnn.dropout decoder.dropout",
    FED: "decoder.rnn.dropout decoder.dropout",  # of each step, not of a whole sequence
    tiny.Variant("bahdanau"): "decoder.rnn.dropout",
    tiny.Variant("none"): "encoder.dropout",  # of the final states alone, as no memory is read
}


@pytest.mark.parametrize(("variant", "place"), [(v, place) for v, places in PLACES.items() for place in places.split()])
def test_each_dropout_is_at_work_in_training(variant, place):
    model = tiny.tiny_model(variant, layers=2).train()
    set_dropout(model, place)
    torch.manual_seed(0)
    assert not torch.equal(first_logits(model), first_logits(model))
    model.get_submodule(place).p = 0.0
    assert torch.equal(first_logits(model), first_logits(model))


# Learning


@SPREAD
def test_overfitted_pairs_are_translated_back(variant):
    """Two pairs of different length in one batch, the shorter one's end token next to padding."""
    torch.manual_seed(4)
    sources, targets = ["a b c d", "e b"], ["k l l m n", "o p"]
    source, target = tiny.tiny_codecs()
    batch = collate([Example(source.encode(s), target.encode(t)) for s, t in zip(sources, targets, strict=True)])
    sizes = {"embedding_size": 16, "encoder": {"hidden_size": 8}, "decoder": {"hidden_size": 16}}
    model = build_model(tiny.config_of(variant, **sizes), len(source.vocabulary), len(target.vocabulary))
    set_dropout(model, "")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(300):
        loss = batch_loss(model, batch, smoothing=0.0).smoothed / batch.target_tokens
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss < 0.02:
            break
    assert loss < 0.02
    translator = Translator(model, source, target, SearchConfig(beam_size=1, max_length=12))
    for translation, reference in zip(translator.translate(sources), targets, strict=True):
        assert translation.tokens == [*reference.split(), EOS_TOKEN]
        assert translation.text == reference

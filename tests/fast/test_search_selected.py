"""Search among selected words, against search among all words with the rule for what is left out written plainly."""

import math

import pytest
import torch
from support.tiny_models import (
    EMBEDDING,
    SOURCE_TYPES,
    TARGET_TYPES,
    TEXTS,
    WIRINGS,
    parametrised,
    tiny_codecs,
    tiny_model,
)

from nmt.config.search import SearchConfig
from nmt.decoding.batches import decode
from nmt.kernels.packed import packed
from nmt.model import remainder
from nmt.model.ensemble import Ensemble
from nmt.model.laid_out import LaidOut
from nmt.model.seq2seq import Seq2Seq
from nmt.selection.lexical import Selection
from nmt.text.vocabulary import BOS, EOS, PAD, UNK
from nmt.translator import Translator

# Each source word allows two target words, and one is allowed everywhere.
LIKELIEST = [[4 + s % 7, 4 + 3 * s % 7] if s > EOS else [PAD, PAD] for s in range(SOURCE_TYPES)]
SELECTION = Selection(torch.tensor(LIKELIEST, dtype=torch.int16), torch.tensor([10], dtype=torch.int16))
SEARCH = SearchConfig(beam_size=4, length_penalty=1.0, max_length=6, vocabulary_selection=True)


def translator_of(model, selection=SELECTION):
    return Translator(model, *tiny_codecs(), SEARCH, selection)


def allowed_in(text):
    """The ids that a translation of a text may hold."""
    ids = tiny_codecs()[0].encode(text)
    return sorted({UNK, EOS, 10}.union(*(LIKELIEST[i] for i in ids)) - {PAD, BOS})


class Plain(Seq2Seq):
    """A model that computes all logits, and takes what is left out from the logits themselves.

    The logits of all types that are not always chosen have a mean and a variance; n others would have the sum
    n exp(mean + variance/2) if logits were normally distributed.
    """

    def __init__(self, model, allowed):
        super().__init__(model.encoder, model.decoder)
        self.allowed = allowed

    def log_probabilities(self, tokens, state, memory, choice=None):
        logits, state = super().log_probabilities(tokens, state, memory)  # but for a number for each row
        sometimes = [i for i in range(TARGET_TYPES) if i > EOS and i != 10]
        mean, variance = logits[:, sometimes].mean(1), logits[:, sometimes].var(1, unbiased=False)
        rest = (TARGET_TYPES - len({PAD, BOS, *self.allowed})) * (mean + variance / 2).exp()
        total = logits[:, self.allowed].exp().sum(1) + rest
        of_allowed = torch.full_like(logits, -math.inf)
        of_allowed[:, self.allowed] = logits[:, self.allowed] - total.log().unsqueeze(1)
        return of_allowed, state


def make(variant, together):
    models = [tiny_model(variant, seed=seed) for seed in range(2 if together else 1)]
    return Ensemble(models) if together else models[0]


@pytest.mark.parametrize("together", [False, True], ids=["alone", "ensemble"])
@pytest.mark.parametrize("variant", **parametrised(WIRINGS))
def test_it_is_search_among_those_words_with_an_estimate_of_all_others(variant, together):
    model = make(variant, together)
    assert any(len(allowed_in(text)) < TARGET_TYPES - 2 for text in TEXTS)
    found = translator_of(model).translate(TEXTS, n_best=4)
    for text, translation in zip(TEXTS, found, strict=True):
        of_text = [Plain(member, allowed_in(text)) for member in (model.models if together else [model])]
        reference = Ensemble(of_text) if together else of_text[0]
        (expected,) = translator_of(reference, None).translate([text], n_best=4)
        assert [h.tokens for h in translation.n_best] == [h.tokens for h in expected.n_best]
        assert [h.score for h in translation.n_best] == pytest.approx([h.score for h in expected.n_best], abs=1e-9)
        for one, other in zip(translation.n_best, expected.n_best, strict=True):
            assert (one.attention is None) is (other.attention is None)
            if one.attention is not None:
                torch.testing.assert_close(one.attention, other.attention, rtol=0, atol=1e-11)


@pytest.mark.parametrize("precision", ["float32", "bf16", "int8"])
def test_what_else_is_in_the_batch_changes_nothing(precision):
    translator = translator_of(make(WIRINGS[0], False).float())
    together = translator.translate(TEXTS, precision=precision, n_best=4)
    for size in (1, 4):
        for one, other in zip(
            together, translator.translate(TEXTS, precision=precision, n_best=4, batch_size=size), strict=True
        ):
            assert [h.tokens for h in one.n_best] == [h.tokens for h in other.n_best]
            assert [h.score for h in one.n_best] == pytest.approx([h.score for h in other.n_best], abs=1e-5)


def test_shapes_in_8_bits():
    """Not parametrised, so that the shapes are always checked."""
    translator = translator_of(make(WIRINGS[0], False).float())
    assert all(t.tokens for t in translator.translate(TEXTS, precision="int8"))


def test_it_can_be_switched_off_and_forced_decoding_knows_nothing_of_it():
    model = make(WIRINGS[1], False)
    with_selection, without = translator_of(model), translator_of(model, None)
    expected = [t.text for t in without.translate(TEXTS)]
    assert [t.text for t in with_selection.translate(TEXTS)] != expected
    assert [t.text for t in with_selection.translate(TEXTS, vocabulary_selection=False)] == expected
    for one, other in zip(*(t.forced_attention(TEXTS, expected) for t in (with_selection, without)), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("precision", ["float32", "bf16", "int8"])
def test_a_packed_output_layer_keeps_the_selected_rows(precision):
    model = packed(make(WIRINGS[0], False).float(), precision)
    with torch.inference_mode():
        types = [UNK, PAD, BOS, EOS, 9, 5]
        limited = model.limited(torch.tensor(types), shared=4)
        features = torch.randn(5, EMBEDDING).tanh()
        expected = model.decoder.output(features)[:, types]
        expected[:, [PAD, BOS]] = -math.inf  # which no target holds
        assert torch.equal(limited.decoder.output(features)[:, : len(types)].to(expected.dtype), expected)
    assert model.decoder.output.out_features == TARGET_TYPES
    assert limited.decoder.embedding is model.decoder.embedding


def test_scores_among_selected_words_are_those_among_all_words():
    translator = Translator.load(device="cpu")
    captions = [
        "Ein Hund läuft über die Wiese.",
        "Zwei Männer in blauen Hemden stehen vor einem Geschäft.",
        "Eine alte Frau verkauft Gemüse auf dem Markt.",
        "Ein Kind mit rotem Helm fährt auf einem Fahrrad eine Straße hinunter.",
        "Vier Jugendliche spielen am Strand Volleyball, während andere zusehen.",
        "Ein Gitarrist singt auf einer Bühne in ein Mikrofon.",
    ]
    selected, full = (translator.translate(captions, vocabulary_selection=choice) for choice in (True, False))
    assert [one.text for one in selected] == [one.text for one in full]
    errors = [one.mean_log_probability - other.mean_log_probability for one, other in zip(selected, full, strict=True)]
    assert max(map(abs, errors)) < 0.01
    assert translator.selection is not None
    renormalised = decode(
        LaidOut(translator.model),
        [translator.source.encode(caption) for caption in captions],
        translator.search,
        selection=translator.selection,
        attention=False,
    )
    for i, (best,) in renormalised:
        assert best.hypothesis.score > selected[i].score + 0.02


@pytest.mark.parametrize("frequent", [[10], range(TARGET_TYPES)], ids=["some", "all"])
def test_a_selection_of_all_words_changes_nothing(frequent):
    everything = torch.arange(TARGET_TYPES, dtype=torch.int16).expand(SOURCE_TYPES, -1)
    selection = Selection(everything, torch.tensor(frequent, dtype=torch.int16))
    selected = translator_of(make(WIRINGS[0], False), selection).translate(TEXTS, n_best=4)
    model = make(WIRINGS[0], False)
    with torch.no_grad():
        model.decoder.output.bias[[PAD, BOS]] = -torch.inf  # which no translation holds
    for one, other in zip(selected, translator_of(model, None).translate(TEXTS, n_best=4), strict=True):
        assert [h.tokens for h in one.n_best] == [h.tokens for h in other.n_best]
        assert [h.score for h in one.n_best] == pytest.approx([h.score for h in other.n_best], abs=1e-9)


def test_preparing_a_search_draws_no_random_numbers():
    model = make(WIRINGS[0], False)
    before = torch.get_rng_state()
    translator_of(model).translate(TEXTS)
    assert torch.equal(torch.get_rng_state(), before)


def test_directions_that_are_not_computed_share_what_they_add(monkeypatch):
    monkeypatch.setattr(remainder, "DIRECTIONS", 3)
    layer, features, one = torch.nn.Linear(9, 40).double(), torch.eye(9).double(), torch.tensor([1])
    with torch.no_grad():
        few = remainder.Remainder(layer, torch.tensor([0, 1]))
        monkeypatch.setattr(remainder, "DIRECTIONS", 9)
        every = remainder.Remainder(layer, torch.tensor([0, 1]))
        assert (len(few.weight), len(every.weight)) == (4, 10)
        # Over directions at right angles, the sums of squares add up to the covariance's trace, however few there are.
        estimates = [
            model(features, torch.nn.functional.linear(features, model.weight, model.bias), one).sum()
            for model in (few, every)
        ]
        exact = layer.weight[2:].var(dim=0, correction=0).sum() / 2
        only = every(features * 0, every.bias.expand(9, -1), one)
        assert estimates[0].item() == pytest.approx(estimates[1].item(), abs=1e-12)
        linear = (every.weight[-1] @ features.T).sum()
        assert (estimates[1] - linear - only.sum()).item() == pytest.approx(exact.item(), abs=1e-12)

from collections.abc import Callable
from typing import Any

import pytest
import torch

from nmt.config.run import Config
from nmt.data.batching import Example, collate
from nmt.decoding import batches as decoding
from nmt.decoding.translation import Translation
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText
from nmt.text.vocabulary import BOS, EOS, UNK
from nmt.translator import Translator

Maker = Callable[..., tuple[Config, Translator]]
WIRINGS = ["bahdanau", "luong", "none"]
SCOPES = {"global": [], "local_p": ["model.attention.scope=local_p", "model.attention.window=2"]}


def make(make_translator: Maker, wiring: str, *overrides: str) -> Translator:
    return make_translator(f"model.attention.wiring={wiring}", *overrides)[1]


def plain(translation: Translation) -> tuple[Any, ...]:
    return translation.text, translation.tokens, translation.source_tokens, pytest.approx(translation.score, rel=1e-4)


@pytest.mark.parametrize("wiring", WIRINGS)
def test_batch_size_and_neighbours_change_nothing(
    make_translator: Maker, text: dict[str, ParallelText], wiring: str
) -> None:
    translator = make(make_translator, wiring)
    translator.model.double()  # so that rounding hides nothing
    sentences = text["train"].source[:30]
    alone = [translator.translate([sentence])[0] for sentence in sentences]
    assert len({translation.text for translation in alone}) > 3  # sentences that can be told apart
    for batch_size in (3, 100):
        together = translator.translate(sentences, batch_size=batch_size)
        for one, other in zip(alone, together, strict=True):
            assert plain(one) == plain(other)
            if wiring != "none":
                torch.testing.assert_close(one.attention, other.attention, rtol=0, atol=1e-9)


def test_order_is_kept_and_empty_lines_stay_empty(make_translator: Maker) -> None:
    translator = make(make_translator, "bahdanau")
    sentences = ["Ba", "", "de Fi Go Hu ja", "  \t ", "li li", "\u00a0"]
    told: dict[int, Translation] = {}
    found = translator.translate(sentences, found=told.setdefault)
    assert [told[place] for place in range(len(sentences))] == found
    assert [t.source_tokens[:-1] for t in found] == [s.lower().split() for s in sentences]
    for sentence, translation in zip(sentences, found, strict=True):
        if sentence.strip():
            assert plain(translation) == plain(translator.translate([sentence])[0])
        else:
            assert (translation.text, translation.tokens, translation.score) == ("", [], 0.0)
            assert translation.attention is not None
            assert translation.attention.shape == (0, 0)


@pytest.mark.parametrize("sentences", [[], [""], ["", " "]])
def test_nothing_to_translate(make_translator: Maker, sentences: list[str]) -> None:
    assert [t.text for t in make(make_translator, "luong").translate(sentences)] == [""] * len(sentences)


def test_an_empty_sentence_has_no_attention_where_there_is_none(make_translator: Maker) -> None:
    assert make(make_translator, "none").translate([""])[0].attention is None
    assert make(make_translator, "luong").translate([""], attention=False)[0].attention is None


@pytest.mark.parametrize("wiring", WIRINGS)
def test_n_best_is_the_beam_best_first(make_translator: Maker, text: dict[str, ParallelText], wiring: str) -> None:
    translator = make(make_translator, wiring)
    sentences = text["test"].source
    for translation in translator.translate(sentences, beam_size=4, n_best=3):
        assert len(translation.n_best) == 3
        assert len({tuple(t.tokens) for t in translation.n_best}) == 3
        scores = [t.score for t in translation.n_best]
        assert scores == sorted(scores, reverse=True)
        best = translation.n_best[0]
        assert (best.text, best.tokens, best.score) == (translation.text, translation.tokens, translation.score)
        for t in translation.n_best:
            assert t.n_best == ()
            assert t.source_tokens == translation.source_tokens
            if wiring != "none":
                assert t.attention.shape == (len(t.tokens), len(t.source_tokens))
    assert all(t.n_best == () for t in translator.translate(sentences, beam_size=4))


@pytest.mark.parametrize("wiring", ["bahdanau", "luong"])
@pytest.mark.parametrize("scope", SCOPES)
def test_attention_is_that_of_a_teacher_forced_pass(
    make_translator: Maker, text: dict[str, ParallelText], wiring: str, scope: str
) -> None:
    translator = make(make_translator, wiring, *SCOPES[scope])
    for sentence, translation in zip(text["test"].source, translator.translate(text["test"].source), strict=True):
        ids = [translator.target.vocabulary.tokens.index(token) for token in translation.tokens]
        batch = collate([Example(translator.source.encode(sentence), ids[:-1])])
        with torch.no_grad():
            model = translator.model
            features, alignment = model(batch.source, batch.source_lengths, batch.target_input, batch.loss_positions)
            logits = model.decoder.output(features)
        attention = translation.attention
        assert attention is not None
        assert attention.shape == (len(translation.tokens), len(translation.source_tokens))
        torch.testing.assert_close(attention, alignment.dense(batch.source.shape[1])[0], rtol=1e-4, atol=1e-5)
        sums = attention.sum(dim=1)
        if scope == "global":
            torch.testing.assert_close(sums, torch.ones_like(sums))
        else:
            assert (sums <= 1 + 1e-5).all()
        # And the score is the one of that pass.
        likelihood = logits.log_softmax(dim=1)[range(len(ids)), ids].sum().item()
        penalty = ((5 + len(ids)) / 6) ** translator.search.length_penalty
        assert translation.score == pytest.approx(likelihood / penalty, rel=1e-4)


@pytest.mark.parametrize("wiring", ["bahdanau", "luong"])
@pytest.mark.parametrize("scope", SCOPES)
def test_a_translation_forced_upon_the_model_has_the_translations_attention(
    make_translator: Maker, text: dict[str, ParallelText], wiring: str, scope: str
) -> None:
    translator = make(make_translator, wiring, *SCOPES[scope])
    with torch.no_grad():  # "<unk>" cannot be said in a text
        translator.model.decoder.output.bias[UNK] -= 100
    sentences = text["train"].source
    translations = translator.translate(sentences)
    assert len({t.text for t in translations}) > 3
    found = translator.forced_attention(sentences, [t.text for t in translations])
    for translation, forced in zip(translations, found, strict=True):
        ended = translation.tokens[-1:] == ["<eos>"]
        assert forced.shape == (len(translation.tokens) + (not ended), len(translation.source_tokens))
        torch.testing.assert_close(forced[: len(translation.tokens)], translation.attention, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("wiring", ["bahdanau", "luong"])
def test_forced_attention_is_that_of_the_decoders_steps(
    make_translator: Maker, text: dict[str, ParallelText], wiring: str
) -> None:
    translator = make(make_translator, wiring)
    source, target = text["test"].source[0], text["test"].target[0]
    decoder = translator.model.decoder
    ids = translator.source.encode(source)
    with torch.no_grad():
        state, memory = translator.model.encode(torch.tensor([[*ids, EOS]]), torch.tensor([len(ids) + 1]))
        rows = []
        # Row t: what is looked at before or while target token t is chosen, with token t − 1 just read.
        for token in [BOS, *translator.target.encode(target)]:
            _, state, alignment = decoder.step(decoder.embed(torch.tensor([token])), state, memory)
            rows.append(alignment.dense(len(ids) + 1)[0])
    (forced,) = translator.forced_attention([source], [target])
    torch.testing.assert_close(forced, torch.stack(rows), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("wiring", ["bahdanau", "luong"])
def test_forced_attention_knows_no_neighbours_and_keeps_the_order(
    make_translator: Maker, text: dict[str, ParallelText], wiring: str
) -> None:
    sources, targets = [*text["train"].source, "", "Ba de", ""], [*text["train"].target, "kip", "", ""]
    alone = make(make_translator, wiring, "search.batch_size=1").forced_attention(sources, targets)
    assert [tuple(a.shape) for a in alone] == [
        (len(t.split()) + 1, len(s.split()) + 1) for s, t in zip(sources, targets, strict=True)
    ]
    for size in (3, 100):
        together = make(make_translator, wiring, f"search.batch_size={size}").forced_attention(sources, targets)
        for one, other in zip(alone, together, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_forced_attention_is_without_dropout_and_leaves_the_mode(make_translator: Maker, training: bool) -> None:
    translator = make(make_translator, "luong")
    (expected,) = translator.forced_attention(["Ba de Fi"], ["kip lom"])
    translator.model.train(training)
    torch.testing.assert_close(translator.forced_attention(["Ba de Fi"], ["kip lom"]), [expected])
    assert all(module.training is training for module in translator.model.modules())


def test_without_attention_there_is_none_and_nothing_to_replace_by(make_translator: Maker) -> None:
    translator = make(make_translator, "none")
    assert not translator.has_attention
    assert translator.translate(["Ba de"], n_best=2)[0].attention is None
    with pytest.raises(UserError, match=r"replace_unk needs attention, .* \(model\.attention\.wiring: none\)"):
        translator.translate(["Ba de"], replace_unk=True)
    assert make(make_translator, "luong").has_attention


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_is_left_as_it_was(make_translator: Maker, monkeypatch: pytest.MonkeyPatch, training: bool) -> None:
    translator = make(make_translator, "bahdanau")
    expected = translator.translate(["Ba de Fi"])[0]
    translator.model.train(training)
    assert plain(translator.translate(["Ba de Fi"])[0]) == plain(expected)  # no dropout
    assert all(module.training is training for module in translator.model.modules())

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(decoding, "_step", fail)
    with pytest.raises(KeyboardInterrupt):
        translator.translate(["Ba de Fi"])
    assert all(module.training is training for module in translator.model.modules())


def test_options_go_before_the_checkpoints_settings(make_translator: Maker, text: dict[str, ParallelText]) -> None:
    translator = make(make_translator, "luong")
    sentences = text["train"].source
    wide = make(
        make_translator,
        "luong",
        "search={beam_size: 4, length_penalty: 0, max_length: 3, batch_size: 2, precision: float32}",
    )
    found = translator.translate(sentences, beam_size=4, length_penalty=0.0, max_length=3, batch_size=2)
    assert [plain(t) for t in found] == [plain(t) for t in wide.translate(sentences)]
    assert max(len(t.tokens) for t in found) == 3
    assert [t.text for t in found] != [t.text for t in translator.translate(sentences)]
    assert (translator.search.beam_size, translator.search.max_length) == (2, 8)


@pytest.mark.parametrize(
    ("options", "fragments"),
    [
        ({"beam_size": 0}, ["beam_size", "here: 0"]),
        ({"length_penalty": -1.0}, ["length_penalty", "here: -1"]),
        ({"length_penalty": 1000.0}, ["length_penalty", "less than or equal to 10"]),
        ({"max_length": 0}, ["max_length", "here: 0"]),
        ({"batch_size": -2}, ["batch_size", "here: -2"]),
        ({"n_best": 3}, ["n_best (3) must lie between 1 and 2"]),
        ({"n_best": 0}, ["n_best (0) must lie between 1 and 2"]),
        ({"beam_size": 1, "n_best": 2}, ["n_best (2) must lie between 1 and 1: change it, or raise beam_size"]),
    ],
)
def test_bad_options_are_refused(make_translator: Maker, options: dict[str, Any], fragments: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        make(make_translator, "bahdanau").translate(["Ba"], **options)
    for fragment in fragments:
        assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)


def test_too_little_memory_is_said(make_translator: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes.")

    monkeypatch.setattr(decoding, "beam_search", fail)
    with pytest.raises(
        UserError, match=r"out of memory for 2 sentences of up to 3 tokens with 2 hypotheses each: lower the batch size"
    ):
        make(make_translator, "bahdanau").translate(["Ba", "Ba De Fi"])


def test_without_a_path_the_bundled_model_is_loaded() -> None:
    (translation,) = Translator.load(device="cpu").translate(["Ein Hund läuft über die Wiese."])
    assert translation.text == "A dog runs through the grass."


@pytest.mark.parametrize(
    ("prefix", "words"),
    [
        (["kip"], "prefix: 1 for 2 sentences"),
        ("kip lom mun", "3 tokens, and a translation has at most 3"),
        ("\ud800", "not valid Unicode"),
        ("kip zzz", "prefix: 'kip zzz' contains tokens outside the vocabulary"),
    ],
)
def test_prefixes_that_cannot_be_used_are_refused(make_translator: Maker, prefix: Any, words: str) -> None:
    with pytest.raises(UserError, match=words):
        make(make_translator, "luong").translate(["", "de"], max_length=3, prefix=prefix, found=pytest.fail)


def test_an_empty_prefix_is_none_and_an_empty_sentence_stays_empty(make_translator: Maker) -> None:
    translator = make(make_translator, "bahdanau")
    sentences = ["Ba de", "", "Fi"]
    assert list(map(plain, translator.translate(sentences, prefix=""))) == list(
        map(plain, translator.translate(sentences))
    )
    found = translator.translate(sentences, prefix="kip")
    assert [t.tokens[:1] for t in found] == [["kip"], [], ["kip"]]

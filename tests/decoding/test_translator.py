"""From strings to translations: order, empty sentences, options, forced attention, and what is refused."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

import nmt
from nmt.checkpoint.contents import Loaded
from nmt.config.run import Config
from nmt.decoding import batches as decoding
from nmt.decoding.translation import Translation
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText
from nmt.text.vocabulary import BOS, EOS, Vocabulary
from nmt.translator import Translator

Maker = Callable[..., tuple[Config, Translator]]
Make = Callable[..., Translator]
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture
def make(make_translator: Maker) -> Make:
    """`make(wiring, "a.b=VALUE", …)`: a translator with that wiring."""
    return lambda wiring, *overrides: make_translator(f"model.attention.wiring={wiring}", *overrides)[1]


def plain(translation: Translation) -> tuple[Any, ...]:
    return translation.text, translation.tokens, translation.source_tokens, pytest.approx(translation.score, rel=1e-4)


def test_a_list_of_the_best_has_each_text_once(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = make("luong")
    hypotheses = translator.translate(["Ba de"], n_best=6, beam_size=6)[0].n_best
    monkeypatch.setattr(type(translator.target.tokenizer), "detokenize", lambda _, tokens: tokens[0])
    for n_best in (2, 6):
        [translation] = translator.translate(["Ba de"], n_best=n_best, beam=6)
        firsts = dict.fromkeys(hypothesis.tokens[0] for hypothesis in hypotheses)
        assert [t.text for t in translation.n_best] == list(firsts)[:n_best]


def test_a_translator_says_what_it_is() -> None:
    assert {"Translator", "Translation"} <= set(dir(nmt))
    shown = repr(nmt.Translator.load(device="cpu"))
    assert shown.startswith("<nmt.Translator de→en: /")
    assert shown.endswith(".safetensors, LuongDecoder, AdditiveScore, GlobalScope>")


def test_order_is_kept_and_empty_lines_stay_empty(make: Make) -> None:
    translator = make("bahdanau")
    sentences = ["Ba", "", "de Fi Go Hu ja", "  \t ", "li li", "\u00a0"]
    reported: dict[int, Translation] = {}
    translations = translator.translate((text for text in sentences), found=reported.setdefault)
    assert [reported[i] for i in range(len(sentences))] == translations
    assert [t.source_tokens[:-1] for t in translations] == [s.lower().split() for s in sentences]
    for sentence, translation in zip(sentences, translations, strict=True):
        if sentence.strip():
            assert plain(translation) == plain(translator.translate([sentence])[0])
        else:
            assert (translation.text, translation.tokens, translation.score) == ("", [], 0.0)
            assert translation.attention is not None
            assert translation.attention.shape == (0, 0)
    begun = translator.translate(sentences, prefix="kip")
    assert [t.tokens[:1] for t in begun] == [["kip"] if sentence.strip() else [] for sentence in sentences]
    unforced = translator.translate(sentences, prefix="")
    assert [plain(t) for t in unforced] == [plain(t) for t in translations]
    assert translator.translate([]) == []
    assert translator.translate([""], attention=False)[0].attention is None


@pytest.mark.parametrize("wiring", ["bahdanau", "luong"])
def test_forced_attention_is_that_of_the_decoders_steps(make: Make, text: dict[str, ParallelText], wiring: str) -> None:
    """Whatever the batch, and without dropout."""
    translator = make(wiring, "model.attention.scope=local_p", "model.attention.window=2")
    sources, targets = [*text["train"].source[:9], "", "Ba de", ""], [*text["train"].target[:9], "kip", "", ""]
    expected = []
    for source, target in zip(sources, targets, strict=True):
        ids, rows, decoder = translator.source.encode(source), [], translator.model.decoder
        with torch.no_grad():
            state, memory = translator.model.encode(torch.tensor([[*ids, EOS]]), torch.tensor([len(ids) + 1]))
            # Row t: what is looked at before or while target token t is chosen, with token t − 1 just read.
            for token in [BOS, *translator.target.encode(target)]:
                _, state, alignment = decoder.step(decoder.embed(torch.tensor([token])), state, memory)
                rows.append(alignment.dense(len(ids) + 1)[0])
        expected.append(torch.stack(rows))
    translator.model.train()
    for batch_size in (1, 5):
        translator.search = translator.search.model_copy(update={"batch_size": batch_size})
        torch.testing.assert_close(translator.forced_attention(iter(sources), iter(targets)), expected, **CLOSE)
    assert all(module.training for module in translator.model.modules())
    assert translator.forced_attention([], []) == []


def test_without_attention_there_is_none_and_nothing_to_replace_by(make: Make) -> None:
    translator = make("none")
    assert not translator.has_attention
    assert [t.attention for t in translator.translate(["Ba de", ""], n_best=2)] == [None, None]
    with pytest.raises(UserError, match=r"replace_unk needs attention, .* \(model\.attention\.wiring: none\)"):
        translator.translate(["Ba de"], replace_unk=True)
    with pytest.raises(UserError, match=r"no attention \(model\.attention\.wiring: none\)"):
        translator.forced_attention(["Ba"], ["kip"])


def test_options_go_before_the_checkpoints_settings(make: Make, text: dict[str, ParallelText]) -> None:
    translator, sentences = make("luong"), text["train"].source
    settings = "search={beam_size: 4, length_penalty: 0, max_length: 3, batch_size: 2, precision: float32}"
    changed = translator.translate(sentences, beam_size=4, length_penalty=0.0, max_length=3, batch_size=2)
    assert [plain(t) for t in changed] == [plain(t) for t in make("luong", settings).translate(sentences)]
    assert max(len(t.tokens) for t in changed) == 3
    assert [t.text for t in changed] != [t.text for t in translator.translate(sentences)]
    assert (translator.search.beam_size, translator.search.max_length) == (2, 8)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"beam_size": 0}, r"beam_size: .*here: 0"),
        ({"length_penalty": 1000.0}, r"length_penalty: .*less than or equal to 10"),
        ({"beam_sise": 2}, r"beam_sise: unknown field .did you mean beam_size"),
        ({"n_best": 3}, r"n_best \(3\) must lie between 1 and 2"),
        ({"beam_size": 1, "n_best": 2}, r"n_best \(2\) must lie between 1 and 1: change it, or raise beam_size"),
        ({"prefix": ["kip"]}, "prefix: 1 for 2 sentences"),
        ({"max_length": 3, "prefix": "kip lom mun"}, "3 tokens, and a translation has at most 3"),
        ({"prefix": "\ud800"}, "not valid Unicode"),
        ({"prefix": "kip zzz"}, "prefix: 'kip zzz' contains tokens outside the vocabulary"),
    ],
    ids=str,
)
def test_bad_options_are_refused(make: Make, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        make("bahdanau").translate(["", "de"], found=pytest.fail, **options)
    assert "\n" not in str(caught.value)


def test_sentences_that_are_no_lists_or_do_not_fit_are_refused(make: Make) -> None:
    translator = make("bahdanau")
    for function, *arguments in (
        ("translate", "Ba de"),
        ("score", "Ba", "Xu"),
        ("score", ["Ba"], "X"),
        ("forced_attention", ["Ba"], "X"),
    ):
        with pytest.raises(TypeError, match=f"{function} takes lists of sentences, each of them a string"):
            getattr(translator, function)(*arguments)
    with pytest.raises(UserError, match="sentence 2 is not valid Unicode text: convert it to UTF-8"):
        translator.translate(["ba", "a\udcff"])
    with pytest.raises(UserError, match="score: lists of 1 and 0 sentences"):
        translator.score(["Ba"], [])
    with pytest.raises(UserError, match="lists of 2 and 1 sentences: give one target for each source"):
        translator.forced_attention(["Ba", "de"], ["kip"])
    with pytest.raises(UserError, match=r"search\.batch_size: .*input should be"):
        translator.score(["Ba"], ["kip"], batch_size=0)
    sources, targets = ["Ba de", "Fi"], ["kip lom", "mun"]
    assert translator.score(iter(sources), iter(targets)) == translator.score(sources, targets)


def test_an_ensemble_has_one_vocabulary_for_each_side(make: Make) -> None:
    one, other = make("bahdanau"), make("luong")
    config = Config.model_validate({"name": "tiny"})
    target = replace(other.target, vocabulary=Vocabulary((*other.target.vocabulary.tokens[:-1], "other")))
    loaded = {
        path: Loaded(config, translator.source, codec, translator.model, None)
        for path, translator, codec in (("a", one, one.target), ("b", other, target))
    }
    with pytest.raises(UserError, match="a and b have different target tokens"):
        Translator.of(loaded)
    assert Translator.of(loaded | {"b": loaded["a"]}).has_attention
    without = Loaded(config, one.source, one.target, make("none").model, None)
    assert not Translator.of({"a": without, "b": without}).has_attention


def test_too_little_memory_is_reported(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes.")

    monkeypatch.setattr(decoding, "beam_search", fail)
    with pytest.raises(
        UserError, match=r"out of memory for 2 sentences of up to 3 tokens with 2 hypotheses each: lower the batch size"
    ):
        make("bahdanau").translate(["Ba", "Ba De Fi"])

"""What a translator takes for sentences, and what it refuses."""

from collections.abc import Callable

import pytest

from nmt.config.run import Config
from nmt.system.errors import UserError
from nmt.translator import Translator

Maker = Callable[..., tuple[Config, Translator]]


def make(make_translator: Maker, wiring: str) -> Translator:
    return make_translator(f"model.attention.wiring={wiring}")[1]


def test_one_string_is_no_list_of_sentences(make_translator: Maker) -> None:
    translator = make(make_translator, "bahdanau")
    calls = {
        "translate": [("Ba de",)],
        "score": [("Ba", "Xu"), (["Ba"], "X")],
        "forced_attention": [("Ba", "Xu"), (["Ba"], "X")],
    }
    for function, arguments in calls.items():
        for each in arguments:
            with pytest.raises(TypeError, match=f"{function} takes lists of sentences, each of them a string"):
                getattr(translator, function)(*each)


def test_what_yields_sentences_is_as_good_as_a_list(make_translator: Maker) -> None:
    translator = make(make_translator, "bahdanau")
    sources, targets = ["Ba de", "Fi"], ["kip lom", "mun"]
    found = translator.translate(text for text in sources)
    assert [one.text for one in found] == [one.text for one in translator.translate(sources)]
    assert translator.score(iter(sources), iter(targets)) == translator.score(sources, targets)


def test_scores_refuse_lists_and_batches_that_do_not_fit(make_translator: Maker) -> None:
    translator = make(make_translator, "bahdanau")
    with pytest.raises(UserError, match="score: lists of 1 and 0 sentences"):
        translator.score(["Ba"], [])
    for size in (0, -1):
        with pytest.raises(UserError, match=r"search\.batch_size: .*input should be"):
            translator.score(["Ba"], ["kip"], batch_size=size)


def test_forced_attention_needs_attention_and_pairs(make_translator: Maker) -> None:
    with pytest.raises(UserError, match=r"no attention \(model\.attention\.wiring: none\)"):
        make(make_translator, "none").forced_attention(["Ba"], ["kip"])
    with pytest.raises(UserError, match="lists of 2 and 1 sentences: give one target for each source"):
        make(make_translator, "luong").forced_attention(["Ba", "de"], ["kip"])
    assert make(make_translator, "luong").forced_attention([], []) == []

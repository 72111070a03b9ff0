"""Texts of several sentences: split, translated one by one, joined; and what is said of doubtful translations."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from nmt.config.run import Config
from nmt.decoding.translation import Translation
from nmt.system.errors import UserError
from nmt.training.prepare import SEVERAL, as_recorded, prepare
from nmt.translator import Translator

Maker = Callable[..., tuple[Config, Translator]]
THREE = "Ba de. Fi go hu!\n Ja ke?"
PARTS = ["Ba de.", "Fi go hu!", "Ja ke?"]


@pytest.fixture
def translator(make_translator: Maker) -> Translator:
    return make_translator("model.attention.wiring=luong")[1]


def plain(translation: Translation) -> tuple[Any, ...]:
    return translation.text, translation.tokens, translation.source_tokens, pytest.approx(translation.score, rel=1e-4)


def test_each_sentence_is_translated_by_itself_and_white_space_stays(translator: Translator) -> None:
    one, text, empty = translator.translate(["Ba de", THREE, ""])
    alone = translator.translate(PARTS)
    assert list(map(plain, text.sentences)) == list(map(plain, alone))
    assert text.text == f"{alone[0].text} {alone[1].text}\n {alone[2].text}"
    assert text.tokens == [token for part in alone for token in part.tokens]
    assert text.source_tokens == [token for part in alone for token in part.source_tokens]
    total = sum(part.mean_log_probability * len(part.tokens) for part in alone)
    assert text.score == pytest.approx(total)
    assert text.mean_log_probability == pytest.approx(total / len(text.tokens))
    assert text.attention is None
    assert all(part.attention is not None for part in text.sentences)
    assert (one.sentences, empty.sentences) == ((), ())


def test_a_text_stays_whole_if_asked_for(translator: Translator) -> None:
    [whole] = translator.translate([THREE], split=False)
    assert whole.sentences == ()
    assert len(whole.source_tokens) == 8
    translator.search = translator.search.model_copy(update={"split": False})
    assert plain(translator.translate([THREE])[0]) == plain(whole)
    assert len(translator.translate([THREE], split=True)[0].sentences) == 3


def test_the_checkpoint_records_what_the_training_lines_were(make_translator: Maker) -> None:
    config, _ = make_translator()
    pairs = prepare(config).pairs
    assert pairs.store.meta["several_sentences"] == 0
    assert as_recorded(config, "float32", pairs).search.split is True
    pairs.store.meta["several_sentences"] = SEVERAL
    assert as_recorded(config, "float32", pairs).search.split is False
    forced = config.model_copy(update={"search": config.search.model_copy(update={"split": True})})
    assert as_recorded(forced, "float32", pairs).search.split is True


def test_a_prefix_begins_the_first_sentence_and_the_n_best_join_the_nth_of_each(translator: Translator) -> None:
    [text] = translator.translate([THREE], prefix="kip", n_best=2)
    assert text.sentences[0].tokens[0] == "kip"
    free = translator.translate(PARTS[1:], n_best=2)
    assert list(map(plain, text.sentences[1:])) == list(map(plain, free))
    for n, joined in enumerate(text.n_best):
        assert joined.text.split() == " ".join(part.n_best[n].text for part in text.sentences).split()
    with pytest.raises(UserError, match="prefix: 3 for 1 sentences"):
        translator.translate([THREE], prefix=["", "", ""])


def test_a_text_is_reported_once_all_its_sentences_are_known(translator: Translator) -> None:
    reported: dict[int, Translation] = {}
    texts = ["Fi", THREE, "", "De fi go."]
    translations = translator.translate(texts, attention=False, found=reported.setdefault)
    assert [reported[i] for i in range(len(texts))] == translations


def test_several_heat_maps_are_drawn_one_by_one(translator: Translator) -> None:
    [text] = translator.translate([THREE])
    with pytest.raises(UserError, match="3 sentences"):
        text.plot()
    assert text._repr_html_() == "".join(part._repr_html_() for part in text.sentences)


def test_doubts(translator: Translator) -> None:
    [plain_one] = translator.translate(["Ba de"], max_length=3)
    assert plain_one.is_unlike_training is None
    assert "numbers missing: 12, 7" in translator.translate(["Ba 12 de 7"])[0].doubts
    cut = replace(plain_one, tokens=["kip", "lom"], new_numbers=("3",), is_repetitive=True, is_unlike_training=True)
    assert cut.doubts == [
        "unlike the training text",
        "cut off after 2 tokens (max_length)",
        "new numbers: 3",
        "words repeat",
    ]
    joined = Translation.joined([replace(cut, tokens=["kip", "<eos>"]), replace(cut, is_unlike_training=None)], [" "])
    assert joined.checks == {
        "mean_log_probability": joined.mean_log_probability,
        "source_rarity": joined.source_rarity,
        "unlike_training": True,
        "source_cut": False,
        "translation_cut": True,
        "missing_numbers": [],
        "new_numbers": ["3", "3"],
        "repetitive": True,
    }

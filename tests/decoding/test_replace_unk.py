"""Unknown words in translations: replaced by the raw source word attended most."""

import json
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from nmt.checkpoint.contents import save
from nmt.cli import main
from nmt.config.run import Config
from nmt.decoding import batches as decoding
from nmt.text.vocabulary import UNK
from nmt.translator import Translator

Maker = Callable[..., tuple[Config, Translator]]
KNOWN_AND_NOT = ["Ba UNBEKANNT de", "Xy Ba", "li ke JA Hu ja Fi", "Qu"]

KINDS = {
    "bahdanau": ["model.attention.wiring=bahdanau"],
    "luong": ["model.attention.wiring=luong", "model.attention.input_feeding=false"],
    "luong with input feeding": ["model.attention.wiring=luong", "model.attention.input_feeding=true"],
    "local": ["model.attention.wiring=luong", "model.attention.scope=local_p", "model.attention.window=2"],
}
SUBWORDS = ["data.source.tokenizer=sentencepiece", "data.source.vocabulary_size=24"]


def unknowing(translator: Translator) -> Translator:
    """The same translator, which now writes an unknown word at every step, or nearly."""
    with torch.no_grad():
        translator.model.decoder.output.bias[UNK] += 100
    return translator


def attend(monkeypatch: pytest.MonkeyPatch, row_of: Callable[[int], list[float]]) -> None:
    """Let every step attend to its source, the end mark last, with these weights for a number of positions."""
    real = decoding.attention_weights

    def attention(*arguments: Any) -> list[Tensor]:
        weights = real(*arguments)
        for matrix in weights:
            matrix[:] = torch.tensor(row_of(matrix.shape[1]))
        return weights

    monkeypatch.setattr(decoding, "attention_weights", attention)


def words_of(tokens: list[str]) -> set[str]:
    return set(tokens) - {"<eos>"}


@pytest.mark.parametrize("replace_unk", [True, False])
def test_attention_can_be_left_out(make_translator: Maker, replace_unk: bool) -> None:
    translator = unknowing(make_translator("model.attention.wiring=luong")[1])
    with_attention = translator.translate(KNOWN_AND_NOT, replace_unk=replace_unk, n_best=2)
    without = translator.translate(KNOWN_AND_NOT, replace_unk=replace_unk, n_best=2, attention=False)
    for one, other in zip(with_attention, without, strict=True):
        assert one.attention is not None
        assert all(t.attention is None for t in (other, *other.n_best))
        assert (one.text, one.score) == (other.text, other.score)


def test_neither_the_end_mark_nor_padding_is_copied(make_translator: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = unknowing(make_translator()[1])
    attend(monkeypatch, lambda length: [*[0.1] * (length - 2), 0.2, 0.7])
    for sentence, translation in zip(KNOWN_AND_NOT, translator.translate(KNOWN_AND_NOT, replace_unk=True), strict=True):
        assert words_of(translation.tokens) == {sentence.split()[-1]}


@pytest.mark.parametrize(
    ("overrides", "beam_size"), list(zip(KINDS.values(), (1, 3, 3, 1), strict=True)), ids=list(KINDS)
)
def test_unknown_words_are_replaced_by_the_raw_word_attended_most(
    make_translator: Maker, overrides: list[str], beam_size: int
) -> None:
    """In each of the n best translations."""
    translator = unknowing(make_translator(*overrides)[1])
    sentences = ["Bä ÜBERMUT de", "Äh Ba", "li ke JA Hu ja Fi"]
    options = {"beam_size": beam_size, "n_best": beam_size}
    before = translator.translate(sentences, **options)
    raw = translator.translate(sentences, **options, replace_unk=True)
    for sentence, *translations in zip(sentences, before, raw, strict=True):
        assert all(len(t.n_best) == (beam_size if beam_size > 1 else 0) for t in translations)
        assert "<unk>" in translations[0].tokens
        for old, after in zip(*((t, *t.n_best) for t in translations), strict=True):
            best = [sentence.split()[s] for s in old.attention[:, :-1].argmax(dim=1).tolist()]
            pairs = zip(old.tokens, best, strict=True)
            assert after.tokens == [word if token == "<unk>" else token for token, word in pairs]
            assert after.text == " ".join(token for token in after.tokens if token != "<eos>")
            assert after.score == old.score
            torch.testing.assert_close(after.attention, old.attention)


def test_of_source_subwords_the_word_with_the_largest_sum_wins(
    make_translator: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = unknowing(make_translator(*SUBWORDS)[1])
    sentence = "Ba Fihugo, ja"
    pieces = translator.source.tokenizer.tokenize(sentence)
    words = list(accumulate(piece.startswith("▁") for piece in pieces))
    fihugo = [word == 2 and piece != "," for word, piece in zip(words, pieces, strict=True)]
    assert sum(fihugo) >= 3
    row = [0.4 / sum(fihugo) if is_part else 0.0 for is_part in fihugo] + [0.9]
    row[words.index(2) - 1] = 0.3  # the best piece of all
    attend(monkeypatch, lambda _: row)
    (translation,) = translator.translate([sentence], replace_unk=True)
    assert words_of(translation.tokens) == {"Fihugo"}


def test_words_that_the_model_knows_stay(make_translator: Maker) -> None:
    translator = make_translator()[1]
    with torch.no_grad():
        translator.model.decoder.output.bias[UNK] -= 100
    [known], [again] = (translator.translate(["Ba de"], replace_unk=replace) for replace in (False, True))
    assert "<unk>" not in known.tokens
    assert (known.tokens, known.text) == (again.tokens, again.text)


def test_the_command_line_replaces_in_text_and_json(
    make_translator: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config, translator = make_translator("model.attention.wiring=luong")
    unknowing(translator)
    monkeypatch.chdir(tmp_path)
    save(Path("unknowing.safetensors"), config, translator.source, translator.target, translator.model)
    command = ["translate", "unknowing.safetensors", "Übermut"]
    assert main([*command, "--replace-unk", "--n-best", "2", "--json"]) == 0
    entry = json.loads(capsys.readouterr().out)
    assert entry["source_tokens"] == ["übermut", "<eos>"]
    for translation in (entry, *entry["n_best"]):
        assert words_of(translation["tokens"]) >= {"Übermut"}
        assert translation["text"] == " ".join(token for token in translation["tokens"] if token != "<eos>")
    assert main([*command, "--replace-unk"]) == 0
    assert entry["text"] in capsys.readouterr().out

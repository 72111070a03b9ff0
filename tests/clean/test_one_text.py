"""One sentence, typed in different ways, has the same ids wherever text is read."""

import unicodedata
from pathlib import Path

import pytest
from support.checkpoints import Maker
from support.texts import everything, learn

from nmt import addons
from nmt.checkpoint import contents as checkpoint
from nmt.cli import main
from nmt.export import standalone
from nmt.text.corpus import ParallelText, comparable

PLAIN = "Das schöne alte Gemäuer ist 20 km entfernt."
TYPED = {
    "NFD, as on a Mac": unicodedata.normalize("NFD", PLAIN),
    "soft hyphens and zero-width spaces": PLAIN.replace("mäu", "\xadmäu\u200b"),
    "no-break spaces": PLAIN.replace(" ", "\u00a0"),
    "thin, ideographic and doubled spaces": PLAIN.replace(" km", "\u202fkm ").replace(" alte ", "\u3000alte\u2009 "),
    "byte order mark, joiner, marks of direction": f"\ufeff\u200e{PLAIN.replace('Gem', 'Gem' + chr(0x200D))}\u200f",
}
KINDS = [("whitespace", None), ("char", None), ("sentencepiece", 30), ("sentencepiece_cased", 40)]


@pytest.mark.parametrize(("kind", "size"), KINDS)
def test_one_sentence_has_the_same_ids_through_every_entry(
    make_translator: Maker, tmp_path: Path, kind: str, size: int | None
) -> None:
    forms = [PLAIN, *TYPED.values()]
    pairs = learn(tmp_path, ParallelText(forms, forms), kind, size, lowercase=False)
    examples = everything(pairs)
    assert len(examples) == len(forms)
    assert len({(tuple(example.source), tuple(example.target)) for example in examples}) == 1
    masked = addons.offered("protection").masked(True, [(form, form) for form in forms])  # 20 km is a span
    assert len({tuple(pairs.source.tokenize(source)) for source, _ in masked}) == 1
    fields = [f"data.{side}.{field}" for side in ("source", "target") for field in (f"tokenizer={kind}", *sized(size))]
    config, translator = make_translator(*fields, "data.source.lowercase=false", "data.target.lowercase=false")
    # In batches of their own: rows of one batch may differ by rounding.
    translations = [translator.translate([form])[0] for form in forms]
    assert len({(one.text, tuple(one.source_tokens), one.score) for one in translations}) == 1
    assert len({translator.score([form], [form])[0] for form in forms}) == 1
    path = tmp_path / "best.safetensors"
    checkpoint.save(path, config, translator.source, translator.target, translator.model)
    assert main(["export", str(path), "--output", str(tmp_path / "folder")]) == 0
    exported = standalone.Translator(tmp_path / "folder", threads=1)
    assert {tuple(exported.source.tokenize(form)) for form in forms} == {tuple(translator.source.tokenize(PLAIN))}
    assert len({comparable(form) for form in forms}) == 1


def sized(size: int | None) -> list[str]:
    return [] if size is None else [f"vocabulary_size={size}"]

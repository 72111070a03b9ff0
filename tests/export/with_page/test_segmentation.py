"""Tokenizers in JavaScript give the tokens of Python's, and a page's names for them. The tests run node."""

from __future__ import annotations

import json
import random
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from nmt.page import serializers
from nmt.text.normalization import normalized
from nmt.text.sentences import split_text
from nmt.text.tokenizers import TOKENIZERS
from nmt.text.tokenizers.sentencepiece import SentencePieceOptions
from nmt.text.vocabulary import EOS_TOKEN

ROOT = Path(__file__).parents[3]
SCRIPT = Path(__file__).with_name("tokenize.mjs")
CAPTIONS = (ROOT / "data" / "sample" / "train.de").read_text(encoding="utf-8").split("\n")[:-1]
ODD = [
    *("", " ", "▁", "a▁b", "  Zwei\u3000 Männer ", "½ ﬁn", "İstanbul ΣΑΣ", "\ufeffx\u200by", "☃☃ 한국 ḍ̇"),
    *("A\u0308a\u0308", "\x00\x1c", "Schifffahrt nnn sssss llll eee"),
    "USA-Flagge McDonald ÄÖ äÖ ß ⇧▁ein T-SHIRT iPhones „Los!“ U.S. İ1ẞ",
]
BLOCKS = [
    *((0x20, 0x7E), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x52F), (0x5D0, 0x6FF), (0x1E00, 0x20CF), (0x2100, 0x2BFF)),
    *((0x3000, 0x30FF), (0x4E00, 0x4FFF), (0xAC00, 0xAFFF), (0xFB00, 0xFFEF), (0x1F300, 0x1F6FF), (1, 0x10FFFF)),
]
NEWER = "ƛɤ"  # letters that got capitals in Unicode 16, which node may know and Python not


TEXTS = [
    "Ein Hund läuft über die Wiese. Eine Frau sitzt auf einer Bank. Zwei Kinder spielen Fußball.",
    "Am 3. Mai kam Dr. Müller. Er ging z. B. heim.",
    *("„Halt!“, rief er. „Komm her!“ sagte sie.", "1. Ein Mann schläft. 2. Eine Frau schläft.", "Eine Frau\nEin Mann"),
    *("Ein Mann schläft.", "Was? Nein! …", "wer da? ich.", ""),
]


def test_sentences_are_those_of_python() -> None:
    script = f"""import {{ sentencesOf }} from "{ROOT.as_posix()}/nmt/export/browser/sentences.js";
    console.log(JSON.stringify({json.dumps(TEXTS)}.map((text) => sentencesOf(text, "de"))));"""
    command = ["node", "--input-type=module", "-e", script]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    sentences = [split_text(text, "de").sentences for text in TEXTS]
    assert found == [each if len(each) > 1 else [] for each in sentences]


def in_javascript(kind: str, lines: list[str], folder: Path, lowercase: bool, model: bytes | None) -> dict[str, Any]:
    command = ["node", str(SCRIPT), kind, json.dumps(lowercase)]
    if model is not None:
        (folder / "source.model").write_bytes(model)
        command.append(str(folder / "source.model"))
    answer = subprocess.run(command, input=json.dumps(lines), capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)


def random_lines() -> list[str]:
    """Characters of a few blocks each, known to Python's Unicode, with spaces between."""
    chance = random.Random(3)
    lines = []
    for _ in range(2000):
        blocks = chance.sample(BLOCKS, 3)
        codes = [chance.randint(*chance.choice(blocks)) for _ in range(chance.randint(1, 40))]
        known = [chr(c) for c in codes if unicodedata.category(chr(c)) not in ("Cn", "Cs") and chr(c) not in NEWER]
        lines.append("".join(chance.choice((c, c, c, c, " ")) for c in known))
    return lines


def check(kind: str, lowercase: bool, model: bytes | None, folder: Path) -> None:
    """Tokens, the text that they spell, and what a page calls them."""
    lines = [*ODD, *CAPTIONS[::5], *random_lines()]
    tokenizer = TOKENIZERS[kind].make("de", lowercase, model)
    answer = in_javascript(kind, lines, folder, lowercase, model)
    for line, tokens, text, labels in zip(lines, answer["tokens"], answer["texts"], answer["labels"], strict=True):
        expected = tokenizer.tokenize(normalized(line))
        assert tokens == expected, line
        assert text == tokenizer.detokenize(expected), line
        assert labels == serializers.of_tokens(tokenizer, [*expected, EOS_TOKEN]), line


@pytest.mark.parametrize("kind", ["sentencepiece", "sentencepiece_cased"])
@pytest.mark.parametrize("subword_model", ["unigram", "bpe"])
def test_tokens_of_models_that_keep_case(kind: str, subword_model: Any, tmp_path: Path) -> None:
    options = SentencePieceOptions(vocabulary_size=400, subword_model=subword_model)
    check(kind, False, TOKENIZERS[kind].learn(CAPTIONS[:2000], False, options), tmp_path)


@pytest.mark.parametrize("kind", ["char", "whitespace"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_tokens_without_a_model(kind: str, lowercase: bool, tmp_path: Path) -> None:
    check(kind, lowercase, None, tmp_path)

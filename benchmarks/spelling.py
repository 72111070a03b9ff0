"""What people type: the scores of a model as sentences lose capitals, punctuation and umlauts, and what it copies.

    python benchmarks/spelling.py checkpoints/multi30k-de-en/model.safetensors --split test

The first table has a row for each way to write all sentences of a split. The second one counts names and numbers that
stand in the translation as they stand in the sentence: made-up ones (as `data.copying` makes them, by another seed) and
real ones, each in some sentences of the kind that the model was trained on.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

import torch

from nmt.augment.copying import made_up
from nmt.augment.typos import in_ascii, with_end, without_last_mark, without_marks
from nmt.checkpoint.contents import load
from nmt.data.splits import load_split
from nmt.evaluation.scores import score
from nmt.system import bundled
from nmt.translator import Translator

SPELLINGS: Mapping[str, Callable[[str], str]] = {
    "as it is": str,
    "in lower case": str.lower,
    "in capitals": str.upper,
    "without the last full stop": without_last_mark,
    "without any punctuation": without_marks,
    "a space before each mark": lambda text: re.sub(r"(?<=\w)([.,!?;:])", r" \1", text),
    "one more exclamation mark": lambda text: with_end(text, "!!"),
    "ss for ß": lambda text: text.replace("ß", "ss"),
    "ae, oe, ue and ss for ä, ö, ü and ß": in_ascii,
    "all of it: lower case, ae, no marks": lambda text: in_ascii(without_marks(text.lower())),
}
FRAMES = {
    "de": ["{} spielt mit einem Hund.", "Ein Mann namens {} steht am Strand.", "Zwei Kinder winken {} zu."],
    "en": ["{} is playing with a dog.", "A man named {} is standing on the beach.", "Two children wave to {}."],
}
NUMBER_FRAMES = {
    "de": ["Ein Läufer mit der Nummer {} läuft.", "{} Menschen warten auf einen Zug."],
    "en": ["A runner with the number {} is running.", "{} people are waiting for a train."],
}
NAMES = """Anna Müller Kowalski Giovanni Berlin London Yamamoto Schneider Olivia Mohammed Björn Kraków Fatima Nguyen
Heidelberg Smith Ivanov Chloé Wolfgang Zoë"""
NUMBERS = "7 12 23 58 99 104 250 736 1984 2026 31415"
MADE_UP = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path, nargs="?", default=bundled.MODEL)
    parser.add_argument("--split", choices=("validation", "test"), default="validation")
    parser.add_argument("--data-folder", default="data")
    options = parser.parse_args()
    loaded = load(str(options.checkpoint), torch.device("cpu"))
    translator, config = Translator.of({str(options.checkpoint): loaded}), loaded.config.data
    text = load_split(config.model_copy(update={"folder": options.data_folder, "mirror": None}), options.split)
    _print_spellings(translator, text.source, text.target, config.target.language)
    _print_copies(translator, config.source.language)


def _print_spellings(translator: Translator, sources: Sequence[str], targets: Sequence[str], language: str) -> None:
    print("| source sentences | BLEU | BLEU lc | chrF | cost in BLEU |\n|---|--:|--:|--:|--:|")
    plain = None
    for name, respell in SPELLINGS.items():
        translations = translator.translate([respell(source) for source in sources], attention=False)
        found = score([each.text for each in translations], targets, language)
        plain = plain or found.bleu
        print(
            f"| {name} | {found.bleu:.2f} | {found.bleu_lowercase:.2f} | {found.chrf:.2f} | {plain - found.bleu:.2f} |"
        )


def _print_copies(translator: Translator, language: str) -> None:
    chance = Random("benchmark")
    invented = [made_up(chance) for _ in range(2 * MADE_UP)]
    kinds = {
        "real names": (FRAMES, NAMES.split()),
        "made-up names": (FRAMES, [word for word in invented if word.isalpha()][:MADE_UP]),
        "numbers": (NUMBER_FRAMES, NUMBERS.split()),
    }
    print("\n| in the sentence | in the translation |\n|---|--:|")
    for kind, (frames, words) in kinds.items():
        asked = [(frame.format(word), word) for frame in frames[language] for word in words]
        translations = translator.translate([sentence for sentence, _ in asked], attention=False)
        kept = sum(word in each.text for (_, word), each in zip(asked, translations, strict=True))
        print(f"| {len(asked)} {kind} | {kept} ({kept / len(asked):.0%}) |")


if __name__ == "__main__":
    main()

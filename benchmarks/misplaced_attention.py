"""Where attention points when it is not at the linked word: how far off, and at which words.

    python benchmarks/misplaced_attention.py checkpoints/*/best.safetensors

For models of the sample corpus, whose test pairs have gold links. The reference is forced. The offset of a target word
is the position of the source word with the most weight, minus that of the nearest linked word. Prints a Markdown row
for each checkpoint: percentages of target words by offset, and the most frequent errors: target word → source word.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import torch

from nmt.checkpoint import contents
from nmt.evaluation.alignment import attend_words
from nmt.lab.measure import test_set_of
from nmt.system.errors import UserError
from nmt.translator import Translator

OFFSETS, MOST = (-2, -1, 0, 1, 2), 4


class Pointed(NamedTuple):
    """A target word, the source word with the most weight, and the offset."""

    target: str
    source: str
    offset: int


def pointed(path: str) -> Iterator[Pointed]:
    loaded = contents.load(path, torch.device("cpu"))
    if loaded.config.data.corpus != "sample" or not loaded.model.has_attention:
        raise UserError(f"{path}: give a model of the sample corpus, which alone has gold links, with attention")
    words = (test_set := test_set_of(loaded.config)).words
    assert words is not None
    assert words.links is not None
    matrices = attend_words(Translator.of({path: loaded}), test_set.text, words)
    for matrix, source, target, links in zip(matrices, words.source, words.target, words.links, strict=True):
        linked = defaultdict(list)
        for s, t in links.possible:
            linked[t].append(s)
        for t, positions in linked.items():
            most = int(matrix[t].argmax())
            yield Pointed(target[t], source[most], min((most - s for s in positions), key=abs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoints", nargs="+")
    checkpoints = parser.parse_args().checkpoints
    torch.set_num_threads(1)
    heads = [f"{offset:+d}" if offset else "right" for offset in OFFSETS]
    print(f"| | {' | '.join(heads)} | farther | most often |")
    print("|---" + "|--:" * (len(OFFSETS) + 1) + "|---|")
    for path in checkpoints:
        try:
            words = list(pointed(path))
        except UserError as error:
            parser.error(str(error))
        by_offset, wrong = Counter(word.offset for word in words), Counter(word[:2] for word in words if word.offset)
        shares = [100 * by_offset[offset] / len(words) for offset in OFFSETS]
        examples = ", ".join(f"{target} → {source} ({n:,})" for (target, source), n in wrong.most_common(MOST))
        cells = [f"{share:.1f}" for share in (*shares, 100 - sum(shares))]
        print(f"| {path} | {' | '.join(cells)} | {examples} |", flush=True)


if __name__ == "__main__":
    main()

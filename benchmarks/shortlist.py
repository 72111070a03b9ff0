"""A lexical shortlist for Marian, from the pairs that all toolkits of the benchmarks are trained on.

    python benchmarks/shortlist.py shortlist.txt
    EXTRA="--shortlist shortlist.txt 50 50 0" python benchmarks/search.py --mechanisms bahdanau --peers PEERS …

Writes the probabilities of IBM model 1 for words that were met in one pair, `target source probability` a line. It is
the model that nmt's vocabulary selection learns, so that both toolkits select by the same one. `EXTRA` is what Marian's
runner adds to the options of its decoder: here the 50 most frequent words and the 50 likeliest beside each.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import peers

from nmt.config.reading import load_config
from nmt.data.ibm1 import translations
from nmt.data.training_set import load_training_set

LEAST = 1e-4  # likely enough to be written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    pairs = load_training_set(load_config(peers.CONFIG).data)
    words = [codec.vocabulary.tokens for codec in (pairs.source, pairs.target)]
    met = translations(*pairs.rows)
    with options.file.open("w", encoding="utf-8") as file:
        for source, target, probability in zip(met.source, met.target, met.probability, strict=True):
            if probability >= LEAST:
                file.write(f"{words[1][target]} {words[0][source]} {probability:.6f}\n")


if __name__ == "__main__":
    main()

"""Glossaries made of reference translations: how many terms are written, BLEU, and the time of search.

    python benchmarks/glossary.py --data data
    python benchmarks/glossary.py --data data --beam 1 --rounds 3 --show 10

For each sentence of Multi30k's test 2016, content words of source and reference that the model's attention over the
reference links are terms, at most `--terms` of them: `missing` ones are not in the model's plain translation, `present`
ones are, `mixed` ones are drawn from both. Translations with and without them take turns, and the median ratio of CPU
times is printed. Recall counts whole words, whatever their case; `BLEU lc` is that of the sentences with terms, and of
all; `equal` is the share of the sentences without terms whose translations stay as they are.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from nmt.config.data import DataConfig
from nmt.constraints.forms import term_constraints
from nmt.constraints.glossary import Glossary, Term
from nmt.constraints.selection import Selection
from nmt.constraints.translator import ConstrainedTranslator
from nmt.data.splits import load_split
from nmt.decoding.word_alignment import best_links, token_shares, word_attention
from nmt.evaluation.scores import score
from nmt.system import bundled
from nmt.text.limits import Readable
from nmt.translator import Translator

FUNCTION_WORDS = 60  # so many of the most frequent words of each side are no terms
_WORD = re.compile(r"\w+(?:-\w+)*")


def main() -> None:
    options = parse()
    torch.set_num_threads(1)
    data = DataConfig(corpus="multi30k", folder=options.data, mirror=os.environ.get("NMT_MULTI30K_MIRROR"))
    text = load_split(data, "test")
    sources, references = text.source[: options.sentences], text.target[: options.sentences]
    translator = Translator.load(options.checkpoint)
    assert isinstance(translator, ConstrainedTranslator)
    plain = translations(translator, sources, options.beam)
    pairs = linked_words(translator, sources, references)
    print(f"beam {options.beam}, {len(sources)} sentences; BLEU lc: without terms, with terms")
    print("terms    number  sentences  recall   BLEU lc of these  BLEU lc of all   equal    time")
    for kind in ("missing", "present", "mixed"):
        terms = [choose(kind, words, line, options.terms) for words, line in zip(pairs, plain, strict=True)]
        measure(kind, translator, sources, references, terms, options)


def linked_words(
    translator: Translator, sources: Sequence[str], references: Sequence[str]
) -> list[list[tuple[str, str]]]:
    """The content words of each pair that are linked one to one, and are in their sentences once."""
    counts = [Counter(word.lower() for line in side for word in _WORD.findall(line)) for side in (sources, references)]
    frequent = [{word for word, _ in count.most_common(FUNCTION_WORDS)} for count in counts]
    weights = translator.forced_attention(sources, references)
    pairs = []
    for source, reference, attention in zip(sources, references, weights, strict=True):
        words = _WORD.findall(source), _WORD.findall(reference)
        tokens = translator.source.tokenize(source), translator.target.tokenize(reference)
        shares = [token_shares(*side) for side in zip(tokens, words, strict=True)]
        links = best_links(word_attention(attention.numpy()[:-1], shares[0], shares[1]))
        linked = Counter(s for s, _ in links)
        usable = [
            {n for n, w in enumerate(side) if w.isalpha() and w.lower() not in functions and side.count(w) == 1}
            for side, functions in zip(words, frequent, strict=True)
        ]
        of_pair = [(s, t) for s, t in sorted(links) if linked[s] == 1 and s in usable[0] and t in usable[1]]
        pairs.append([(words[0][s], words[1][t]) for s, t in of_pair])
    return pairs


def choose(kind: str, words: Sequence[tuple[str, str]], translation: str, count: int) -> list[Term]:
    written = {word.lower() for word in _WORD.findall(translation)}
    terms = [Term(s, (t,)) for s, t in words if kind == "mixed" or (t.lower() in written) == (kind == "present")]
    return random.Random(translation).sample(terms, min(count, len(terms)))


def measure(
    kind: str,
    translator: ConstrainedTranslator,
    sources: Sequence[str],
    references: Sequence[str],
    terms: Sequence[Sequence[Term]],
    options: argparse.Namespace,
) -> None:
    glossaries = {source: Glossary.of(some) for source, some in zip(sources, terms, strict=True)}
    ratios = []
    for _ in range(options.rounds):
        begin = time.process_time()
        plain = translations(translator, sources, options.beam)
        middle = time.process_time()
        constrained = translations(translator, sources, options.beam, glossaries)
        ratios.append((time.process_time() - middle) / (middle - begin))
    some, none = ([n for n, of_sentence in enumerate(terms) if bool(of_sentence) == has] for has in (True, False))
    hits = [contains(constrained[n], term) for n in some for term in terms[n]]
    bleu = [
        score([side[n] for n in numbers], [references[n] for n in numbers], "en").bleu_tokenized_lowercase
        for numbers in (some, range(len(sources)))
        for side in (plain, constrained)
    ]
    equal = statistics.mean([plain[n] == constrained[n] for n in none] or [1])
    columns = f"{kind:<8} {len(hits):>6} {len(some):>10} {statistics.mean(hits):>7.2%}", "{:>10.2f} {:.2f}" * 2
    print(columns[0], columns[1].format(*bleu), f"{equal:>10.2%} {statistics.median(ratios):>7.2f}", flush=True)
    for n in some[: options.show]:
        print("   ", *[term.targets[0] for term in terms[n]], plain[n], constrained[n], references[n], sep=" | ")


def translations(
    translator: Translator, sources: Sequence[str], beam: int, glossaries: Mapping[str, Glossary] | None = None
) -> list[str]:
    """Translations with the glossary of each sentence."""

    def constrain(readable: Sequence[Readable]) -> Selection:
        assert isinstance(translator, ConstrainedTranslator)
        longest = translator.search.max_length
        of_sentences = [(one.text, (glossaries or {}).get(one.text, Glossary())) for one in readable]
        constraints = [term_constraints(text, of, translator.target, longest) for text, of in of_sentences]
        return translator.select(constraints, max_length=longest)

    how = constrain if glossaries else None
    return [one.text for one in translator.translate(sources, beam_size=beam, attention=False, constrain=how)]


def contains(text: str, term: Term) -> bool:
    return re.search(rf"(?<!\w){re.escape(term.targets[0])}(?!\w)", text, re.IGNORECASE) is not None


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, default=bundled.MODEL)
    parser.add_argument("--data", default="data", metavar="DIR", help="where Multi30k is, or will be stored")
    for name, default in {"beam": 5, "terms": 2, "rounds": 3, "sentences": 1000, "show": 0}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args()


if __name__ == "__main__":
    main()

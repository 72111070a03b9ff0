#!/usr/bin/env python3
"""Translate with the model in this folder: by NumPy, onnxruntime and, for subwords, sentencepiece alone.

encoder.onnx makes of source ids (B S) and their lengths (B) the decoder's first state, and a memory; step.onnx of the
last ids (B K), state and memory the log-probabilities of the next (B K V), the new state, and weights (B K S),
for B sentences, K hypotheses of each, S source positions, V target tokens.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

FORMAT = 1  # of the folder
UNK, PAD, BOS, EOS = range(4)
BLOCK = 512  # lines that are read before they are translated
LONGEST_LOOP = 6  # tokens
SPACE = "▁"  # sentencepiece's mark of a space
MARKED = {" ": SPACE, SPACE: 2 * SPACE}  # characters as tokens

try:
    import numpy as np
    import onnxruntime
except ModuleNotFoundError as missing:
    sys.exit(f"error: {missing.name} is missing: pip install numpy onnxruntime sentencepiece")


class Refused(Exception):
    """Input that cannot be used; its text says what to do."""


class Translation(NamedTuple):
    text: str
    tokens: list[str]
    source_tokens: list[str]
    score: float  # the log-probability in nats, divided by the length penalty
    attention: Any  # (T S), of each token a row, or None


class Side:  # text and ids of one language
    def __init__(self, folder: Path, name: str, config: dict[str, Any]) -> None:
        self.kind, self.lowercase = config["tokenizer"], config["lowercase"]
        self.tokens: list[str] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        self.ids = {token: i for i, token in enumerate(self.tokens) if i > EOS}
        begins = str.isalpha if self.kind == "whitespace" else SPACE.__eq__  # whether a token begins a word
        self.words = np.array([any(map(begins, x)) and not any(map(str.isdigit, x)) for x in self.tokens])
        self.words[UNK] = False
        sys.path.append(str(folder))  # where case.py and normalization.py are
        self.normalized: Any = import_module("normalization").normalized if config.get("normalize") else str
        self.case: Any = import_module("case") if self.kind == "sentencepiece_cased" else None
        if self.kind.startswith("sentencepiece") and name == "source":  # a target's pieces are only joined
            from sentencepiece import SentencePieceProcessor

            self.pieces = SentencePieceProcessor(model_file=str(folder / f"{name}.model"), out_type=str)
            words = range(3, self.pieces.get_piece_size() if self.case else 3)  # behind <unk>, <s> and </s>
            self.subwords = set(map(self.pieces.id_to_piece, words))

    def tokenize(self, text: str) -> Any:
        text = self.normalized(text)
        if not self.kind.startswith("sentencepiece"):
            tokens = text.split() if self.kind == "whitespace" else [MARKED.get(c, c) for c in " ".join(text.split())]
            return [token.lower() for token in tokens] if self.lowercase else tokens
        words = " ".join(text.replace(SPACE, " ").split())
        if self.case is None:
            return self.pieces.encode(words.lower() if self.lowercase else words)
        normalized = self.pieces.normalize(words).split(SPACE)[1:]
        return self.case.cased(normalized, lambda word: self.pieces.encode(word.removeprefix(SPACE)), self.subwords)

    def detokenize(self, tokens: list[str]) -> str:
        if self.kind == "whitespace":
            return " ".join(tokens)
        if self.kind == "char":
            return " ".join("".join({MARKED[c]: c for c in MARKED}.get(token, token) for token in tokens).split())
        text: str = "".join(tokens) if self.case is None else self.case.unmarked(tokens)
        return " ".join(text.replace(SPACE, " ").split())


class Translator:
    """A folder that `nmt export` has written."""

    def __init__(self, folder: Path, threads: int = 0) -> None:
        config = read_config(folder)
        self.search: dict[str, Any] = config["search"]
        self.source, self.target = (Side(folder, name, config[name]) for name in ("source", "target"))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False  # which take more memory, and no less time
        options.log_severity_level = 4
        options.add_session_config_entry("session.set_denormal_as_zero", "1")
        try:
            graphs = ("encoder.onnx", "step.onnx")
            self.encoder, self.step = (onnxruntime.InferenceSession(folder / name, options) for name in graphs)
        except Exception as error:  # onnxruntime's own, of many kinds
            raise Refused(f"onnxruntime cannot use {folder}: {' '.join(str(error).split())}") from None
        self.states = [x.name for x in self.encoder.get_outputs() if x.name.startswith("state_")]
        self.memories = [x.name for x in self.encoder.get_outputs() if x.name.startswith("memory_")]

    def translate(self, sentences: list[str], n_best: int = 1, **changes: Any) -> list[list[Translation]]:
        """Of each sentence its n best translations, best first; of an empty one an empty translation."""
        search = self.search | {name: value for name, value in changes.items() if value is not None}
        if not (1 <= n_best <= search["beam_size"] and min(search["max_length"], search["batch_size"]) > 0):
            raise Refused("sizes and lengths must be at least 1, and N best at most the beam size")
        if not 0 <= search["length_penalty"] <= 10:
            raise Refused("the length penalty must lie between 0 and 10")
        sources = [self.read(sentence) for sentence in sentences]
        translations = [[Translation("", [], [], 0.0, None)] for _ in sentences]
        order = sorted((i for i, tokens in enumerate(sources) if tokens), key=lambda i: -len(sources[i]))
        for begin in range(0, len(order), search["batch_size"]):
            batch = order[begin : begin + search["batch_size"]]
            ids = [[*(self.source.ids.get(token, UNK) for token in sources[i]), EOS] for i in batch]
            for i, hypotheses in zip(batch, beam_search(self, ids, search), strict=True):
                once: dict[str, Translation] = {}
                for hypothesis in hypotheses[: search["beam_size"]]:
                    one = self.translation(sources[i], hypothesis)
                    once.setdefault(one.text, one)
                translations[i] = [*once.values()][:n_best]
        return translations

    def read(self, sentence: str) -> list[str]:
        """Its tokens, cut off where it is too long."""
        if any("\ud800" <= c <= "\udfff" for c in sentence):
            raise Refused("a sentence is not valid Unicode text: convert it to UTF-8")
        most = self.search["max_source_length"]
        tokens = self.source.tokenize(" ".join(sentence.split())[: max(10_000, 20 * most)])
        if len(tokens) > most:
            print(f"cut off after {most} tokens: {sentence[:40]} …", file=sys.stderr)
        return tokens[:most]

    def translation(self, source: list[str], hypothesis: tuple[float, list[int], Any]) -> Translation:
        score, ids, attention = hypothesis
        tokens = [self.target.tokens[i] for i in ids]
        text = self.target.detokenize(tokens[:-1] if ids[-1] == EOS else tokens)
        return Translation(text, tokens, [*source, "<eos>"], score, attention)


def read_config(folder: Path) -> dict[str, Any]:
    """What config.json says. Raises `Refused` unless all files of the folder are as they were written."""
    try:
        config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        version, files, _ = config["format"], dict(config["files"]), dict(config["search"])
    except (OSError, ValueError, TypeError, KeyError):
        raise Refused(f"{folder} is not a folder of `nmt export`: it has no usable config.json") from None
    if version != FORMAT:
        raise Refused(f"{folder} has format {version}, not {FORMAT}: use the translate.py in it, or export again")
    for name, digest in files.items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            raise Refused(f"{folder / name} is damaged: its checksum is wrong; use another copy")
    return config


def beam_search(model: Translator, sources: list[list[int]], search: dict[str, Any]) -> list[list[Any]]:
    """(score, ids, attention) of all hypotheses that ended, best first: their EOS was among the K best continuations.

    A sentence is finished when K have, or at the largest length, where unfinished ones compete as they are.
    """
    beam, alpha = search["beam_size"], search["length_penalty"]
    attends = search.get("attention", False) and any(x.name == "weights" for x in model.step.get_outputs())
    outputs = ["log_probabilities", *(f"new_{name}" for name in model.states), *(["weights"] if attends else [])]
    state, memory = encode(model, sources)
    finished: list[list[Any]] = [[] for _ in sources]
    numbers = np.arange(len(sources))  # the unfinished sentences
    ids, scores = np.full((len(sources), 1, 1), BOS), np.zeros((len(sources), 1), np.float32)
    weights = np.zeros((len(sources), 1, 0, len(sources[0]) if attends else 0), np.float32)

    def end(row: int, score: float, path: Any, attention: Any) -> None:
        number, penalty = numbers[row], ((4 + len(path)) / 6) ** alpha  # Wu et al. 2016, equation 14; BOS is no part
        attention = attention[:, : len(sources[number])] if attends else None
        finished[number].append((float(score) / penalty, path[1:].tolist(), attention))

    for _ in range(search["max_length"]):
        log_p, *new = model.step.run(outputs, {"tokens": ids[:, :, -1], **state, **memory})
        now = new.pop() if attends else np.zeros((*scores.shape, 0), np.float32)
        log_p[:, :, [PAD, BOS]] = -np.inf  # no target holds them
        if search.get("block_repeats", True):
            block_repeats(log_p, ids, model.target.words)
        log_p += scores[:, :, None]
        best, parents, tokens = best_candidates(log_p, 2 * beam)  # K may end, and K others are to go on
        rows = np.arange(len(numbers))[:, None]
        paths = np.concatenate([ids[rows, parents], tokens[:, :, None]], axis=2)
        weights = np.concatenate([weights, now[:, :, None]], axis=2)[rows, parents]
        ends = tokens == EOS
        for row, rank in np.argwhere(ends[:, :beam] & np.isfinite(best[:, :beam])):
            end(row, best[row, rank], paths[row, rank], weights[row, rank])
        going = np.argsort(ends, axis=1, kind="stable")[:, :beam]
        keep = np.array([len(finished[number]) < beam for number in numbers])
        if not keep.any():
            break
        numbers, rows, going = numbers[keep], rows[keep], going[keep]
        ids, weights, scores, parents = (x[rows, going] for x in (paths, weights, best, parents))
        state = {name: x[rows, parents] for name, x in zip(model.states, new, strict=True)}
        memory = memory if keep.all() else {name: x[keep] for name, x in memory.items()}
    else:
        for row, rank in np.argwhere(np.isfinite(scores)):
            end(row, scores[row, rank], ids[row, rank], weights[row, rank])
    return [sorted(hypotheses, key=lambda hypothesis: -hypothesis[0]) for hypotheses in finished]


def block_repeats(log_p: Any, ids: Any, words: Any) -> None:
    """−∞, in place, for tokens among `words` that would end the third of three equal sequences in a row."""
    for n in range(1, min(LONGEST_LOOP, (ids.shape[2] + 1) // 3) + 1):
        token = ids[:, :, -n]
        at = np.nonzero((ids[:, :, 1 - 2 * n :] == ids[:, :, 1 - 3 * n : -n]).all(axis=2) & words[token])
        log_p[(*at, token[at])] = -np.inf


def encode(model: Translator, sources: list[list[int]]) -> tuple[dict[str, Any], dict[str, Any]]:
    padded = np.full((len(sources), len(sources[0])), PAD)
    for row, ids in zip(padded, sources, strict=True):
        row[: len(ids)] = ids
    inputs = {"source": padded, "lengths": [*map(len, sources)]}
    values = iter(model.encoder.run([*model.states, *model.memories], inputs))
    return dict(zip(model.states, values, strict=False)), dict(zip(model.memories, values, strict=True))


def best_candidates(totals: Any, count: int) -> tuple[Any, Any, Any]:
    """Of the scores (B K V) of all continuations the best of each sentence, their parents (of K), and their ids."""
    flat = totals.reshape(len(totals), -1)
    best = np.argpartition(flat, max(flat.shape[1] - count, 0), axis=1)[:, -count:]
    order = np.argsort(-np.take_along_axis(flat, best, axis=1), axis=1, kind="stable")
    best = np.take_along_axis(best, order, axis=1)
    return np.take_along_axis(flat, best, axis=1), *np.divmod(best, totals.shape[2])


def blocks(arguments: argparse.Namespace) -> Iterator[list[str]]:
    """The sentences, as many at a time as are translated together; those of a prompt one by one."""
    if arguments.text:
        yield arguments.text
        return
    file = open(arguments.input, "rb") if arguments.input else sys.stdin.buffer  # noqa: SIM115
    at_once = BLOCK if arguments.input or not sys.stdin.isatty() else 1
    for block, lines in enumerate(iter(lambda: list(islice(file, at_once)), [])):  # they end at "\n" alone
        try:
            yield [line.decode("utf-8").rstrip("\r\n").removeprefix("" if block else "\ufeff") for line in lines]
        except UnicodeDecodeError as error:
            number = block * at_once + lines.index(error.object) + 1
            raise Refused(f"{file.name}, line {number}: not valid UTF-8 text: convert it") from None


def line_of(number: int, translations: list[Translation], arguments: argparse.Namespace) -> str:
    if arguments.json:
        entries = [translation._asdict() for translation in translations]
        best = entries[0] | {"n_best": entries} if arguments.n_best > 1 else entries[0]
        return json.dumps(best, ensure_ascii=False, default=lambda array: array.tolist())
    if arguments.n_best > 1:
        return "\n".join(f"{number} ||| {one.text} ||| {one.score:.4f}" for one in translations)
    return translations[0].text


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Translate TEXT, the lines of a file or of standard input.")
    option, either = parser.add_argument, parser.add_mutually_exclusive_group().add_argument
    either("text", nargs="*", default=[], metavar="TEXT", help="sentences")
    option("--model", type=Path, default=Path(__file__).parent, metavar="FOLDER", help="another folder than this one")
    either("--input", type=Path, metavar="FILE", help="translate each line of this file")
    option("--json", action="store_true", help="print JSON: text, tokens, score, attention")
    option("--n-best", type=int, default=1, metavar="N", help="print the N best as number ||| text ||| score")
    option("--beam", "--beam-size", dest="beam_size", type=int, metavar="K", help="hypotheses; 1 is greedy search")
    option("--length-penalty", type=float, metavar="α", help="0 turns it off, more favours longer translations")
    option("--max-length", type=int, metavar="N", help="longest translation, in tokens")
    option("--batch-size", type=int, metavar="N", help="sentences translated at the same time")
    option("--threads", type=int, default=0, metavar="N", help="CPU threads (default: 1 for TEXT, or all)")
    return parser.parse_args()


def main() -> int:
    arguments, number = parsed(), 0
    if sys.stdout is None or (sys.stdin is None and not (arguments.text or arguments.input)):
        sys.exit("error: the standard stream that is needed is closed: open it")
    sys.stdout.reconfigure(encoding="utf-8", line_buffering=True)  # type: ignore[union-attr]
    changes = {name: getattr(arguments, name) for name in ("beam_size", "length_penalty", "max_length", "batch_size")}
    try:
        # For a few sentences more threads take longer to start.
        translator = Translator(arguments.model, arguments.threads or (1 if arguments.text else 0))
        for block in blocks(arguments):
            for translations in translator.translate(block, arguments.n_best, attention=arguments.json, **changes):
                print(line_of(number, translations, arguments))
                number += 1
    except BrokenPipeError:  # whoever read the output has gone, as `head` does
        os._exit(0)
    except KeyboardInterrupt:
        return 130
    except (Refused, OSError, ImportError) as error:
        if isinstance(error, OSError) and error.filename:
            error = Refused(f"{error.filename} cannot be read ({error.strerror}): check the path")
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

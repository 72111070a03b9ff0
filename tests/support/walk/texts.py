"""Text: sentences to translate, corpora, gold links, dictionaries, and the files that nmt keeps beside them."""

from __future__ import annotations

import gzip
import io
import json
import shutil
from contextlib import redirect_stderr
from pathlib import Path
from random import Random

from nmt.commands.output import resumable_output
from nmt.data.training_set import load_training_set
from nmt.evaluation.alignment import word_pairs
from nmt.system.files import with_checksum
from nmt.text.corpus import ParallelText, read_pairs
from nmt.text.unknown_words import read_dictionary
from nmt.translator import Translator
from support.texts import data_config, everything
from support.walk.checkpoints import KINDS, TEXT, models
from support.walk.family import Try, command, refused
from support.walk.odd import altered, text

LINES = 100  # that are translated together


def begin_lines(folder: Path) -> tuple[Try, int]:
    """Lines for `Translator.translate`: as many translations as lines, each of them one line."""
    translators = {kind: Translator.load(path, device="cpu") for kind, path in models(folder).items()}

    def attempt(number: int, chance: Random) -> bool:
        translator = translators[KINDS[number % len(KINDS)]]
        lines = [text(chance) for _ in range(LINES)]
        n_best, attention, replace_unk = chance.choice([1, 2]), chance.random() < 0.2, chance.random() < 0.3
        with redirect_stderr(io.StringIO()) as errors:
            translations = translator.translate(lines, n_best=n_best, attention=attention, replace_unk=replace_unk)
        assert len(translations) == LINES
        cut = [line for line in lines if len(translator.source.tokenizer.tokenize(line)) > 12]
        assert errors.getvalue().count("cut off after 12 tokens ") == len(cut)
        for translation in translations:
            assert "\n" not in translation.text
            assert len(translation.source_tokens) <= 13
            if attention:
                assert translation.attention is not None
                assert translation.attention.shape == (len(translation.tokens), len(translation.source_tokens))
        return False

    return attempt, 0


def begin_piped(folder: Path) -> tuple[Try, int]:
    """The standard input of `nmt translate`: a line of output for each of input, or one line that names the bad one."""
    paths = models(folder)

    def attempt(number: int, chance: Random) -> bool:
        lines = [text(chance).encode() for _ in range(LINES)]
        if spoilt := chance.random() < 0.2:
            wrong = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80"]
            lines[chance.randrange(LINES)] += chance.choice(wrong)
        form = chance.choice([[], ["--json"], ["--n-best", "2"], ["--replace-unk"]])
        refusal, written = command("translate", str(paths[KINDS[number % 4]]), *form, stdin=b"\n".join(lines) + b"\n")
        assert refusal == spoilt
        answers = written.split("\n")[:-1]
        if not spoilt and form == ["--n-best", "2"]:
            assert {int(line.split(" ||| ")[0]) for line in answers} == set(range(LINES))
        elif not spoilt:
            assert len(answers) == LINES
            assert form != ["--json"] or all("text" in json.loads(line) for line in answers)
        return refusal

    return attempt, 0


def _any_file(chance: Random, ending: str) -> bytes:
    content = "".join(f"{text(chance)}\n" for _ in range(chance.choice([1, 2, 2, 2, 2, 2, 2, 3]))).encode()
    if (ending == "gz") != (chance.random() < 0.05):
        content = gzip.compress(content, compresslevel=1)
    return altered(content, chance) if chance.random() < 0.3 else content


def begin_corpora(folder: Path) -> tuple[Try, int]:
    """Any bytes as two files of pairs."""

    def attempt(_: int, chance: Random) -> bool:
        ending = chance.choice(["txt", "txt", "gz"])
        paths = folder / f"source.{ending}", folder / f"target.{ending}"
        for path in paths:
            path.write_bytes(_any_file(chance, ending))
        read: list[ParallelText] = []
        if refused(lambda: read.append(read_pairs(*paths)), *paths):
            return True
        assert len(read[0].source) == len(read[0].target) > 0
        assert not any("\n" in line for line in read[0].source + read[0].target)
        return False

    return attempt, 0


_LINKS = ["0-0", "1?1", "0-1", "1?0"] * 9
_NO_LINKS = ["0-9", "9?0", "-1-0", "0-", "?", "0--0", "00-01", "999999999-0", "1" * 20 + "-0", "٠-٠", "0-0,", "²-0"]


def begin_links(folder: Path) -> tuple[Try, int]:
    """Gold word alignments and dictionaries of any kind."""
    pairs = ParallelText(["ba de fi", "go hu"], ["kip lom", "mun nar pes"])
    path = folder / "any"

    def attempt(_: int, chance: Random) -> bool:
        lines = [" ".join(chance.choices(_LINKS + _NO_LINKS, k=chance.randrange(5))) for _ in range(2)]
        content = "\n".join(lines).encode()
        path.write_bytes(altered(content, chance) if chance.random() < 0.3 else content)
        if chance.random() < 0.2:
            path.write_bytes(_any_file(chance, "txt"))
        if chance.random() < 0.2:
            return refused(lambda: read_dictionary(path), path)
        return refused(lambda: word_pairs(pairs, ("de", "en"), "whitespace", path), path)

    return attempt, 0


def begin_store(folder: Path) -> tuple[Try, int]:
    """A store of training pairs with a damaged file, or a file gone: it is built again, and is the same."""
    config = data_config(folder, TEXT, "char")
    whole = load_training_set(config)
    [store] = (folder / "cache").glob("pairs-*")
    files = {path.name: path.read_bytes() for path in store.iterdir()}

    def attempt(_: int, chance: Random) -> bool:
        store.mkdir(exist_ok=True)
        name = chance.choice(list(files))
        path = store / name
        match chance.randrange(20):
            case 0:
                path.unlink()
                path.mkdir()
            case 1:
                shutil.rmtree(store)
                store.write_bytes(b"")
            case 2 | 3 | 4 | 5 | 6:
                path.unlink()
            case _:
                path.write_bytes(altered(files[name], chance))
        with redirect_stderr(io.StringIO()):
            again = load_training_set(config)
        assert again.source == whole.source
        assert everything(again) == everything(whole)
        assert {path.name: path.read_bytes() for path in store.iterdir()} == files
        return False

    return attempt, 0


def begin_notes(folder: Path) -> tuple[Try, int]:
    """The note beside an unfinished output, and the output, changed in any way."""
    path, note = folder / "out", folder / "out.unfinished"

    def attempt(_: int, chance: Random) -> bool:
        good = {"sentences": 2, "bytes": 4, "made_by": {"--beam": 5}}
        place = chance.choice([*good])
        if chance.random() < 0.3:
            good[place] = chance.choice([None, -1, 2**70, 1e300, "x", [], {}, {"--beam": None}, True, "3"])
        content = chance.choice([with_checksum(good), json.dumps(good, indent=1).encode()])
        note.write_bytes(altered(content, chance) if chance.random() < 0.5 else content)
        path.write_bytes(b"a\nb\nc"[: chance.randrange(6)])

        def go_on() -> None:
            with resumable_output(path, {"--beam": 5}, resume=True) as (done, write):
                assert done == good["sentences"]
                write(1, ["c"])
            assert path.read_bytes() == b"a\nb\nc"[: good["bytes"]] + b"c\n"

        return refused(go_on, path)

    return attempt, 0

"""The page of one sentence as a single file."""

import json
import re
from pathlib import Path

import pytest
from support.cli import SOURCES, error_of

from nmt.cli import main
from nmt.page.explanation import explain
from nmt.translator import Translator


def test_the_file_holds_the_explanations_of_what_follows_other_words(best: str, tmp_path: Path) -> None:
    file, search = tmp_path / "new" / "sentence.html", {"beam_size": 2, "length_penalty": 0.5}
    options = ["--beam", "2", "--length-penalty", "0.5", "--alternatives", "1", "--device", "cpu", "--threads", "1"]
    assert main(["explain", best, SOURCES[0], "--html", str(file), *options]) == 0
    page = file.read_text(encoding="utf-8")
    assert not re.search(r'(?:src|href)="(?!data:|#)', page)
    [stored] = re.findall(r'id="stored">(.*?)</script>', page)
    models, first, *others = json.loads(stored)
    forced = [one for one in others if one["question"]["forced"]]
    alternatives = [one for one in others if not one["question"]["forced"]]
    assert models["answer"][0]["name"] == Path(best).parent.name
    translator = Translator.load(best)
    explained = explain(translator, SOURCES[0], **search)
    tokens = explained.translation.tokens
    assert first["answer"]["tokens"] == tokens
    for t, (one, token) in enumerate(zip(alternatives, tokens, strict=True)):
        prefix = one["question"]["prefix"]
        assert prefix[:-1] == tokens[:t]
        assert prefix[-1] != token
        assert one["answer"]["text"] == translator.translate([SOURCES[0]], prefix=[prefix], **search)[0].text
    assert len(forced) == 2 * len(tokens)
    for number, one in enumerate(forced):
        [[t, s]] = one["question"]["forced"]
        trace = explained.steps[number // 2].attention
        assert trace is not None
        assert t == number // 2
        assert (trace.weights[0] > trace.weights[0, s]).sum() == 1 + number % 2  # the second and the third most
        assert one["answer"]["text"] == explain(translator, SOURCES[0], **search, forced={t: s}).translation.text
        assert one["answer"]["steps"][t]["weights"][s] == 1


def test_wrong_options_are_one_line(best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there, new = tmp_path / "there.html", str(tmp_path / "new" / "page.html")
    there.symlink_to("nothing")
    for arguments, message in (
        (["a", "b", "--html", new], "shows one sentence, and 2 were given"),
        ([best, "a", "--html", new, "--beam", "51"], "--beam 51"),
        ([best, best, "a", "--html", new], "a single model"),
        ([best, "a"], "--html"),
        ([best, "a", "--html", str(there)], "already exists"),
        ([best, "a", "--html", new, "--device", "cuda:77"], "device"),
        (["some.safetensors", "Ein Hund.", "--html", new, "--from", "de"], "--from and --to choose a bundled model"),
    ):
        assert main(["explain", *arguments]) == 2
        assert message in error_of(capsys)
        assert list(tmp_path.iterdir()) == [there]


def test_without_a_checkpoint_the_bundled_model_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "dog.html"
    assert main(["explain", "Ein Hund.", "--html", str(file), "--alternatives", "0", "--threads", "1"]) == 0
    assert "dog" in file.read_text(encoding="utf-8")

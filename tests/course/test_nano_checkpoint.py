"""nano_nmt.py translates with checkpoints of the playground as nmt does. Belongs to both rooms."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nmt.playground.writing import captions
from nmt.translator import Translator

ROOT = Path(__file__).parents[2]


def trained(folder: Path, task: str, kind: str, updates: int) -> tuple[Path, list[str]]:
    """The checkpoint of a model that the page's engine has trained, and the sources held out."""
    file, order = folder / "model.safetensors", folder / "order.json"
    text, languages = ("".join(captions()), ["de", "en"]) if task == "pairs" else ("", ["xx", "xx"])
    what = {"do": "train", "hash": f"#task={task}&hidden=32&model={kind}", "text": text, "languages": languages}
    order.write_text(json.dumps(what | {"updates": updates, "file": str(file)}), encoding="utf-8")
    command = ["node", str(ROOT / "tests/playground/checkpoints.mjs"), str(order)]
    answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    joined = " " if task == "pairs" else ""
    return file, [joined.join(source).replace("▁", " ") for source in answer["sources"]]


def nano(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "docs/course/nano_nmt.py", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("task", "kind", "updates"),
    [
        ("dates", "bahdanau.additive.global", 100),
        ("reverse", "luong.general.global", 100),
        ("dates", "none", 100),
        ("pairs", "bahdanau.additive.global", 250),
    ],
)
def test_it_translates_as_nmt_does(tmp_path: Path, task: str, kind: str, updates: int) -> None:
    file, sources = trained(tmp_path, task, kind, updates)
    translations = Translator.load(file, device="cpu").translate(sources)
    ours = nano(file, *sources).stdout.splitlines()
    both = [(t.text, text) for t, text in zip(translations, ours, strict=True) if "<eos>" in t.tokens]
    assert len({text for text, _ in both}) > 30
    assert [text for _, text in both] == [text for text, _ in both]


def test_what_it_cannot_read_is_one_line(tmp_path: Path) -> None:
    file, _ = trained(tmp_path, "dates", "luong.dot.local_m.2.lstm", 1)
    done = nano(file, "1. Mai 1987")
    kinds = "'gru bahdanau additive global', 'gru luong general global True', 'gru none'"
    message = f"its cell and attention are 'lstm luong dot local_m True 2 0', and nano_nmt.py has {kinds}"
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"model.safetensors: {message}; give a checkpoint" in done.stderr
    done = nano(tmp_path / "no.safetensors", "1. Mai 1987")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no.safetensors" in done.stderr

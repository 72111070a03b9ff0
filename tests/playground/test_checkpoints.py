"""Models trained in the browser become checkpoints of nmt, and nmt's checkpoints train on there."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from nmt.checkpoint import contents as checkpoint
from nmt.cli import main
from nmt.data.batching import collate
from nmt.playground.writing import captions
from nmt.training.loss import BatchLoss
from nmt.translator import Translator

Engine = Callable[..., dict[str, Any]]
CPU = torch.device("cpu")


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """`engine("train", hash=…, …)`: what the page's engine answers (checkpoints.mjs)."""

    def run(what: str, **order: object) -> dict[str, Any]:
        file = tmp_path / "order.mjson"
        file.write_text(json.dumps({"do": what} | order), encoding="utf-8")
        command = ["node", str(Path(__file__).parent / "checkpoints.mjs"), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    return run


@pytest.mark.parametrize(
    ("task", "kind"),
    [
        ("dates", "bahdanau.additive.global"),
        ("dates", "bahdanau.additive.global.lstm"),
        ("reverse", "luong.dot.global.mingru"),
        ("dates", "luong_no_feeding.dot.local_diagonal.2"),
        ("reverse", "luong.general.local_p.3"),
        ("reverse", "bahdanau.general.local_m.5"),
        ("pairs", "none"),
    ],
)
def test_nmt_translates_with_a_model_of_the_page_as_the_page_does(
    tmp_path: Path, engine: Engine, task: str, kind: str
) -> None:
    file = tmp_path / "model.safetensors"
    text, languages = ("".join(captions()), ["de", "en"]) if task == "pairs" else ("", ["xx", "xx"])
    trained = engine(
        "train",
        hash=f"#task={task}&hidden=32&model={kind}",
        text=text,
        languages=languages,
        updates=250 if task == "pairs" else 60,
        file=str(file),
    )
    translator = Translator.load(file, device="cpu")
    joined = " " if task == "pairs" else ""
    sources = [joined.join(source).replace("▁", " ") for source in trained["sources"]]
    translations = translator.translate(sources)
    assert [t.source_tokens[:-1] for t in translations] == trained["sources"]
    assert [[token for token in t.tokens if token != "<eos>"] for t in translations] == trained["written"]
    assert len(set(map(tuple, trained["written"]))) > 5  # they are not all the same


def test_a_model_that_nmt_train_has_trained_on_has_the_same_loss_in_the_page(tmp_path: Path, engine: Engine) -> None:
    file = tmp_path / "page.safetensors"
    hash_of_page = "#task=dates&hidden=16&model=luong.general.local_diagonal.10"
    page = engine("train", hash=hash_of_page, text="", languages=["xx", "xx"], updates=1, file=str(file))
    for split, table in page["tables"].items():
        (tmp_path / f"dates-{split}.tsv").write_text(table, encoding="utf-8")
    config = checkpoint.load(file, CPU).config.model_dump(mode="json")
    config |= {"output_dir": str(tmp_path / "runs")}
    config["training"] |= {"max_updates": 30, "device": "cpu", "start_from": str(file)}
    for side in ("source", "target"):
        for split in ("train", "validation"):
            config["data"][side][split] = str(tmp_path / config["data"][side][split])
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    assert main(["train", str(tmp_path / "config.yaml")]) in (0, None)
    trained = tmp_path / "runs" / "playground-dates" / "best.safetensors"
    answer = engine("read", task="dates", text="", file=str(trained))
    assert (answer["mechanism"]["diagonal"], answer["mechanism"]["window"]) == (True, 10)
    translator = Translator.load(trained, device="cpu")
    pairs = [line.split("\t") for line in page["tables"]["held-out"].splitlines()[1:]]
    batch = collate(translator.examples(*map(list, zip(*pairs, strict=True))))
    with torch.no_grad():
        loss = BatchLoss(translator.model, 0.0)(batch).nll / batch.target_tokens
    assert answer["loss"] == pytest.approx(loss.item(), abs=1e-5)

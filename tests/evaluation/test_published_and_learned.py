"""sacreBLEU's own copies of test sets, and scores of models whose packages are not installed with nmt."""

import re
import sys
import urllib.error
import urllib.request
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch
from sacrebleu.dataset import DATASETS
from support.cli import SOURCES, TARGETS, error_of

from nmt.cli import main
from nmt.evaluation import learned
from nmt.evaluation.learned import LearnedScore, learned_score
from nmt.evaluation.published import published_test_set
from nmt.system.errors import UserError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where sacreBLEU keeps what it downloads."""
    for dataset in DATASETS.values():
        monkeypatch.setattr(dataset, "_outdir", str(tmp_path / "kept" / dataset.name))
        monkeypatch.setattr(dataset, "_rawdir", str(tmp_path / "kept" / dataset.name / "raw"))
    return tmp_path / "kept"


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A network without a name server; returns the addresses that are requested."""
    addresses = []

    def urlopen(address: str) -> None:
        addresses.append(address)
        raise urllib.error.URLError("Name or service not known")

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    return addresses


def put(folder: Path, name: str, pair: str) -> None:
    """What sacreBLEU leaves behind after downloading and unpacking."""
    (folder / name).mkdir(parents=True)
    source, target = (TARGETS, SOURCES) if pair == "en-de" else (SOURCES, TARGETS)
    for kind in DATASETS[name].fieldnames(pair):
        path = folder / name / f"{name.replace('/', '_')}.{pair}.{kind}"
        path.write_text("".join(f"{line}\n" for line in (source if kind == "src" else target)), encoding="utf-8")


@pytest.mark.parametrize(("name", "pair"), [("wmt14", "de-en"), ("multi30k/2016", "en-de")])
def test_a_published_set_is_scored_in_the_models_direction(
    best: str, folder: Path, network: list[str], capsys: pytest.CaptureFixture[str], name: str, pair: str
) -> None:
    put(folder, name, pair)
    text = published_test_set(name, ("de", "en")).text
    assert (text.source, text.target) == (SOURCES, TARGETS)
    capsys.readouterr()
    assert main(["evaluate", best, "--sacrebleu", name]) == 0
    printed = capsys.readouterr()
    assert f"sacreBLEU's {name}" in printed.out
    assert "Scores on de-en" in printed.out
    assert ("are swapped" in printed.err) == (pair == "en-de")
    assert network == []


@pytest.mark.usefixtures("folder")
def test_what_cannot_be_had(
    best: str, network: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned, "find_spec", lambda _: None)
    cases = {
        "--sacrebleu multi30k/2061": r"no such test set.*multi30k/2016",
        "--sacrebleu multi30k/2016 --split test": r"--split.*not allowed with.*--sacrebleu",
        "--sacrebleu wmt17/B": r"it has no de-en.*en-fi",
        "--metric comet": r"COMET is not installed: run pip install unbabel-comet",
        "--metric bertscore": r"BERTScore is not installed: run pip install bert-score",
        "--metric bleurt": r"--metric.*comet",
    }
    for arguments, words in cases.items():
        capsys.readouterr()
        assert main(["evaluate", best, *arguments.split()]) == 2
        assert re.search(words, error_of(capsys)), arguments
    assert network == []
    assert main(["evaluate", best, "--sacrebleu", "multi30k/2016"]) == 2
    words = r"multi30k/2016: it cannot be downloaded \(Name or service not known\).*--source FILE --reference FILE"
    assert re.search(words, error_of(capsys))
    assert len(network) == 1


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages with the interfaces of the real ones, whose scores tell whether they got the right text."""

    def predict(data: list[dict[str, str]], **_: object) -> SimpleNamespace:
        return SimpleNamespace(system_score=sum(d == {"src": "s", "mt": "h", "ref": "r"} for d in data) / len(data))

    def score(hypotheses: list[str], references: list[str], lang: str, return_hash: bool) -> object:
        assert return_hash
        pairs = zip(hypotheses, references, strict=True)
        f1 = torch.tensor([float(pair == ("h", "r") and lang == "en") for pair in pairs])
        return (f1, f1, f1), "roberta-large_L17"

    comet = {"download_model": str, "load_from_checkpoint": lambda _: SimpleNamespace(predict=predict)}
    for name, content in (("comet", comet), ("bert_score", {"score": score})):
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(learned, "find_spec", lambda _: object())
    monkeypatch.setattr(learned, "version", lambda _: "2.2")


@pytest.mark.usefixtures("packages")
def test_learned_scores_are_their_packages_own(
    best: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = (["s"] * 4, ["h", "h", "h", "x"], ["r"] * 4)
    comet, bertscore = (learned_score(metric, *texts, "en") for metric in ("comet", "bertscore"))
    assert comet == LearnedScore("COMET", 0.75, "unbabel-comet 2.2, Unbabel/wmt22-comet-da")
    assert bertscore == LearnedScore("BERTScore", 0.75, "bert-score 2.2, roberta-large_L17")
    capsys.readouterr()
    assert main(["evaluate", best, "--metric", "comet", "--metric", "bertscore"]) == 0
    printed = capsys.readouterr().out
    assert "COMET  BERTScore" in printed
    assert "COMET        unbabel-comet 2.2, Unbabel/wmt22-comet-da" in printed

    def fails(_: str) -> str:
        raise RuntimeError("no network\nat all")

    monkeypatch.setattr(sys.modules["comet"], "download_model", fails)
    with pytest.raises(UserError, match=r"--metric comet: COMET failed \(RuntimeError: no network at all\)"):
        learned_score("comet", ["s"], ["h"], ["r"], "en")

"""sacreBLEU's own copies of test sets, and scores of models whose packages are not installed with nmt."""

import io
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
from nmt.evaluation.learned import learned_score
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
    """A network of our own; returns what is asked for."""
    asked = []

    def urlopen(address: str) -> io.BytesIO:
        asked.append(address)
        raise urllib.error.URLError("Name or service not known")

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    return asked


def put(folder: Path, name: str, pair: str) -> None:
    """What sacreBLEU leaves behind after downloading and unpacking."""
    place = folder / name
    place.mkdir(parents=True)
    source, target = (TARGETS, SOURCES) if pair == "en-de" else (SOURCES, TARGETS)
    label = name.replace("/", "_")
    for kind in DATASETS[name].fieldnames(pair):
        lines = source if kind == "src" else target
        (place / f"{label}.{pair}.{kind}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


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
def test_without_a_network_it_says_so(best: str, network: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["evaluate", best, "--sacrebleu", "multi30k/2016"]) == 2
    error = error_of(capsys)
    assert "multi30k/2016: it cannot be downloaded (Name or service not known)" in error
    assert "--source FILE --reference FILE" in error
    assert len(network) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sacrebleu", "multi30k/2061"], ["no such test set", "multi30k/2016"]),
        (["--sacrebleu", "multi30k/2016", "--split", "test"], ["--split", "not allowed with", "--sacrebleu"]),
        (["--sacrebleu", "wmt17/B"], ["it has no de-en", "en-fi"]),
        (["--metric", "comet"], ["COMET is not installed: run pip install unbabel-comet"]),
        (["--metric", "bertscore"], ["BERTScore is not installed: run pip install bert-score"]),
        (["--metric", "bleurt"], ["--metric", "comet"]),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_cannot_be_had(
    best: str,
    network: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: list[str],
) -> None:
    monkeypatch.setattr(learned, "find_spec", lambda _: None)
    capsys.readouterr()
    assert main(["evaluate", best, *arguments]) == 2
    error = error_of(capsys)
    for word in words:
        assert word in error
    assert network == []


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages with the interfaces of the real ones, whose scores tell whether they got the right text."""
    model = SimpleNamespace(
        predict=lambda data, **_: SimpleNamespace(
            system_score=sum(d["src"] == "s" and d["mt"] == "h" and d["ref"] == "r" for d in data) / len(data)
        )
    )
    comet, bert_score = ModuleType("comet"), ModuleType("bert_score")
    comet.download_model = lambda name: f"/models/{name}"  # type: ignore[attr-defined]
    comet.load_from_checkpoint = lambda _: model  # type: ignore[attr-defined]

    def score(hypotheses: list[str], references: list[str], lang: str, return_hash: bool) -> object:
        assert return_hash
        f1 = torch.tensor(
            [float(h == "h" and r == "r" and lang == "en") for h, r in zip(hypotheses, references, strict=True)]
        )
        return (f1, f1, f1), "roberta-large_L17"

    bert_score.score = score  # type: ignore[attr-defined]
    for module in (comet, bert_score):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(learned, "find_spec", lambda _: object())
    monkeypatch.setattr(learned, "version", lambda _: "2.2")


@pytest.mark.usefixtures("packages")
def test_learned_scores_are_their_packages_own() -> None:
    texts = (["s"] * 4, ["h", "h", "h", "x"], ["r"] * 4)
    found = learned_score("comet", *texts, "en")
    assert (found.name, found.score) == ("COMET", 0.75)
    assert found.signature == "unbabel-comet 2.2, Unbabel/wmt22-comet-da"
    found = learned_score("bertscore", *texts, "en")
    assert (found.name, found.score, found.signature) == ("BERTScore", 0.75, "bert-score 2.2, roberta-large_L17")


@pytest.mark.usefixtures("packages")
def test_learned_scores_stand_beside_the_others(best: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["evaluate", best, "--metric", "comet", "--metric", "bertscore"]) == 0
    printed = capsys.readouterr().out
    assert "COMET  BERTScore" in printed
    assert "COMET        unbabel-comet 2.2, Unbabel/wmt22-comet-da" in printed


@pytest.mark.usefixtures("packages")
def test_a_package_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: str) -> str:
        raise RuntimeError("no network\nat all")

    monkeypatch.setattr(sys.modules["comet"], "download_model", fails)
    with pytest.raises(UserError, match=r"--metric comet: COMET failed \(RuntimeError: no network at all\)"):
        learned_score("comet", ["s"], ["h"], ["r"], "en")

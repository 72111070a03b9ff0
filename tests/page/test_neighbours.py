"""The nearest states, beside NumPy's on states that were computed one sentence and one step at a time."""

from pathlib import Path

import numpy as np
import pytest
import torch
from starlette.testclient import TestClient
from support.cli import error_of
from support.tiny_models import Variant, tiny_codecs, tiny_model

from nmt.cli import main
from nmt.config.search import SearchConfig
from nmt.data.batching import pad_source
from nmt.decoding.ensemble import Ensemble
from nmt.model.seq2seq import Seq2Seq
from nmt.page import schemas
from nmt.page.app import make_app
from nmt.page.neighbours import index
from nmt.page.neighbours.index import SIDES, Side
from nmt.system.errors import UserError
from nmt.text.vocabulary import BOS
from nmt.translator import Translator

PAIRS = [("a b c", "A B"), ("c", "D C B A"), ("d e f g h", "A"), ("", "A"), ("b a", "C C"), ("h h", ""), ("g", "H G")]
KEPT = [pair for pair in PAIRS if all(pair)]
VARIANTS = [Variant("bahdanau"), Variant("luong", "general"), Variant("none")]


def translator_of(variant: Variant) -> Translator:
    model = tiny_model(variant).float().eval()
    return Translator(model, *tiny_codecs(), SearchConfig(beam_size=2, max_length=6, precision="float32"))


@torch.inference_mode()
def one_by_one(translator: Translator, source: str, target: str) -> dict[Side, np.ndarray]:
    """The states of a pair, computed alone."""
    model = translator.model
    assert isinstance(model, Seq2Seq)
    ids, written = translator.source.encode(source), translator.target.encode(target)
    padded, lengths = pad_source([ids])
    encoded = model.encoder(padded, lengths)
    state, memory = model.decoder.initial_state(encoded), model.decoder.prepare(encoded)
    tops = []
    for last in [BOS, *written[:-1]]:
        _, state, _ = model.decoder.step(model.decoder.embed(torch.tensor([last])), state, memory)
        tops.append(model.decoder.rnn.top(state.hidden)[0].numpy())
    return {"source": encoded.values[0, : len(ids)].numpy(), "target": np.stack(tops)}


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("side", SIDES)
def test_the_nearest_are_those_of_numpy(variant: Variant, side: Side) -> None:
    translator = translator_of(variant)
    built = index.build(translator, PAIRS)
    rows, words = [], []
    for source, target in KEPT:
        for place, row in enumerate(one_by_one(translator, source, target)[side]):
            rows.append(row / np.linalg.norm(row))
            words.append((source.split(), target.split(), place))
    asked = index.vector(translator, "c d e", ["B", "A"], side, 1)
    own = one_by_one(translator, "c d e", "B A")[side][1]
    assert asked.numpy() == pytest.approx(own, abs=1e-5)
    likeness = np.stack(rows) @ (own / np.linalg.norm(own))
    found = built.nearest(side, asked, 5)
    assert [one.likeness for one in found] == pytest.approx(sorted(likeness, reverse=True)[:5], abs=2e-3)
    for one in found:
        assert likeness[words.index((one.source, one.target, one.place))] == pytest.approx(one.likeness, abs=2e-3)
    assert len(built.nearest(side, asked, 1000)) == len(rows)


def test_the_server_answers_with_them_and_refuses_where_there_are_none() -> None:
    translator = translator_of(VARIANTS[0])
    models = {number: (number, translator) for number in ("1", "2")}
    built = index.build(translator, PAIRS)
    with TestClient(make_app(models, indexes={"1": built}), base_url="http://127.0.0.1:8000") as client:
        question = {"text": "c d e", "target": ["B"], "place": 0}
        answer = client.post("/api/neighbours", json=question | {"count": 3}).json()
        schemas.Neighbours.model_validate(answer)
        expected = built.nearest("target", index.vector(translator, "c d e", ["B"], "target", 0), 3)
        assert [one["place"] for one in answer["neighbours"]] == [one.place for one in expected]
        for wrong in ({"model": "2"}, {"text": " "}, {"place": 1}):
            assert client.post("/api/neighbours", json=question | wrong).status_code == 422


def test_another_models_index_or_a_damaged_one_is_refused(tmp_path: Path) -> None:
    translator, other = translator_of(VARIANTS[0]), translator_of(VARIANTS[1])
    path = tmp_path / "x.index"
    index.save(index.build(translator, PAIRS), path)
    with pytest.raises(UserError, match="of another model"):
        index.load(path, other)
    whole = path.read_bytes()
    for damaged in (b"", b"x", whole[:100], whole[:-30], whole.replace(b"pairs", b"pears")):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match="make it again"):
            index.load(path, translator)


def test_what_cannot_be_indexed_is_refused() -> None:
    translator = translator_of(VARIANTS[0])
    with pytest.raises(UserError, match="nothing to index"):
        index.build(translator, [("", "A"), ("a", " ")])
    with pytest.raises(UserError, match="place: 2, and this target has 2 tokens"):
        index.vector(translator, "a", ["A", "B"], "target", 2)
    ensemble = Ensemble([translator.model, translator.model])  # type: ignore[list-item]  # the tiny one
    with pytest.raises(UserError, match="one checkpoint"):
        index.build(Translator(ensemble, translator.source, translator.target, translator.search), PAIRS)


def test_the_command_takes_pairs_from_all_parts_of_a_text(
    best: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, source, target = tmp_path / "best.index", tmp_path / "a", tmp_path / "b"
    source.write_text("".join(f"Ba {word}\n" for word in ("Ba", "De", "Fi", "Go")), encoding="utf-8")
    target.write_text("kip\nlom\nmun\nnar\n", encoding="utf-8")
    text = ["--source", str(source), "--target", str(target), "--sentences", "2"]
    assert main(["index", best, "--output", str(file), *text]) == 0
    assert "2 pairs" in capsys.readouterr().out
    assert [pair[1] for pair in index.load(file, Translator.load(best)).pairs] == [["kip"], ["mun"]]
    assert main(["index", best, "--output", str(tmp_path / "train.index"), "--sentences", "7"]) == 0
    assert "7 pairs" in capsys.readouterr().out
    for arguments, message in (
        ([best, "--output", str(file)], "already exists"),
        ([best, "--source", "x"], "--target"),
        (["hf://a/b"], "--output"),
    ):
        assert main(["index", *arguments]) == 2
        assert message in error_of(capsys)

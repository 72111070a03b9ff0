"""Facts about Multi30k itself. They need its files: from NMT_MULTI30K_MIRROR, or fetched before into data/multi30k."""

import os
from pathlib import Path

import pytest

from nmt.config.reading import load_config
from nmt.config.run import Config
from nmt.data import multi30k
from nmt.data.batching import epoch_batches, fill_rate
from nmt.data.splits import load_split
from nmt.data.training_set import load_training_set

ROOT = Path(__file__).parents[2]
FETCHED = ROOT / "data" / "multi30k"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    if all((FETCHED / f"{name}.{side}.gz").exists() for name in ("train", "val") for side in ("de", "en")):
        monkeypatch.setenv(multi30k.MIRROR_VARIABLE, str(FETCHED))
    elif not os.environ.get(multi30k.MIRROR_VARIABLE):
        pytest.skip(f"needs Multi30k: set {multi30k.MIRROR_VARIABLE}, or train configs/multi30k.yaml first")
    words = ["tokenizer: spacy", "vocabulary_size: null", "min_frequency: 2"]
    return load_config(
        ROOT / "configs" / "multi30k_bahdanau.yaml",
        [
            f"data.folder={tmp_path}",
            "data.joint_vocabulary=false",
            "model.tied_embeddings=target",
            *(f"data.{side}.{word.replace(': ', '=')}" for side in ("source", "target") for word in words),
        ],
    )


def test_every_pair_is_trained_on_and_batches_are_full(config: Config) -> None:
    pairs = load_training_set(config.data)
    assert len(pairs) == 29_000
    assert (pairs.skipped.empty, pairs.skipped.too_long) == (0, 0)
    assert (len(pairs.source.vocabulary), len(pairs.target.vocabulary)) == (7_851, 5_892)
    for unit, size in (("sentences", 64), ("tokens", 1024)):
        batches = epoch_batches(pairs.lengths, size, unit, seed=1, epoch=0)
        assert sorted(n for i in range(len(batches)) for n in batches[i]) == list(range(29_000))
        assert fill_rate(pairs.lengths, batches) >= 0.9
    assert len(load_split(config.data, "validation").source) == 1_014

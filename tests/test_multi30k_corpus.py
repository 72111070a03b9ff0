"""Facts about Multi30k itself. They need its files: from NMT_MULTI30K_MIRROR, or fetched before into data/multi30k."""

import os
from pathlib import Path

import pytest

from nmt.config import Config
from nmt.config_file import load_config
from nmt.data import multi30k
from nmt.data.batching import epoch_batches, fill_rate
from nmt.data.codec import build_codecs, encode_pairs
from nmt.data.splits import load_split

ROOT = Path(__file__).parent.parent
FETCHED = ROOT / "data" / "multi30k"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    here = all((FETCHED / f"{name}.{side}.gz").exists() for name in ("train", "val") for side in multi30k.LANGUAGES)
    if not here and not os.environ.get(multi30k.MIRROR_VARIABLE):
        pytest.skip(f"needs Multi30k: set {multi30k.MIRROR_VARIABLE}, or train one of configs/multi30k_*.yaml first")
    folder = ROOT / "data" if here else tmp_path
    words = ["tokenizer: spacy", "vocabulary_size: null", "min_frequency: 2"]
    return load_config(
        ROOT / "configs" / "multi30k_bahdanau.yaml",
        [
            f"data.folder={folder}",
            "data.joint_vocabulary=false",
            "model.tied_embeddings=target",
            *(f"data.{side}.{word.replace(': ', '=')}" for side in ("source", "target") for word in words),
        ],
    )


def test_every_pair_is_trained_on_and_batches_are_full(config: Config) -> None:
    text = load_split(config.data, "train")
    source, target, pairs, skipped = build_codecs(config.data, text)
    assert len(text.source) == len(pairs) == 29_000
    assert (skipped.empty, skipped.too_long) == (0, 0)
    assert (len(source.vocabulary), len(target.vocabulary)) == (7_851, 5_892)
    examples = encode_pairs(pairs, source, target)
    for unit, size in (("sentences", 64), ("tokens", 1024)):
        batches = epoch_batches(examples, size, unit, seed=1, epoch=0)
        assert sorted(i for batch in batches for i in batch) == list(range(29_000))
        assert fill_rate(examples, batches) >= 0.9
    assert len(load_split(config.data, "validation").source) == 1_014

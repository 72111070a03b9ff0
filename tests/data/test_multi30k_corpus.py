"""Facts about Multi30k itself. They need its files: from NMT_MULTI30K_MIRROR, or fetched before into data/multi30k."""

from pathlib import Path

import pytest
from support.fill_rate import fill_rate
from support.multi30k import lines_of

from nmt.config.data import DataConfig
from nmt.data import multi30k
from nmt.data.batching import epoch_batches
from nmt.data.splits import load_split
from nmt.data.training_set import load_training_set


def test_every_pair_is_trained_on_and_batches_are_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines_of("de", "train", "val")  # skips the test if they are not here
    monkeypatch.setenv(multi30k.MIRROR_VARIABLE, str(multi30k.origin_of(None) or multi30k.FOLDER.resolve()))
    sides = {side: {"tokenizer": "spacy", "min_frequency": 2} for side in ("source", "target")}
    config = DataConfig.model_validate({"corpus": "multi30k", "folder": str(tmp_path), **sides})
    pairs = load_training_set(config)
    assert len(pairs) == 29_000
    assert (pairs.skipped.empty, pairs.skipped.too_long) == (0, 0)
    assert (len(pairs.source.vocabulary), len(pairs.target.vocabulary)) == (7_853, 5_894)
    for unit, size in (("sentences", 64), ("tokens", 1024)):
        batches = epoch_batches(pairs.lengths, size, unit, seed=1, epoch=0)
        assert sorted(n for i in range(len(batches)) for n in batches[i]) == list(range(29_000))
        assert fill_rate(pairs.lengths, batches) >= 0.9
    assert len(load_split(config, "validation").source) == 1_014

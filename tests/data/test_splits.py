from collections.abc import Callable
from pathlib import Path

import pytest

from nmt.config.data import DataConfig
from nmt.config.run import Config
from nmt.data import multi30k
from nmt.data.splits import load_split
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText


def test_multi30k_by_our_names_and_its_own_in_both_directions(
    tmp_path: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(multi30k.MIRROR_VARIABLE, str(mirror))
    names = {"train": "train", "validation": "val", "test": "test_2016_flickr", "test_2017_mscoco": "test_2017_mscoco"}
    for source, target in (("de", "en"), ("en", "de")):
        sides = {"source": {"language": source}, "target": {"language": target}}
        config = DataConfig.model_validate({"corpus": "multi30k", "folder": str(tmp_path), **sides})
        for split, name in names.items():
            expected = ParallelText([f"{name}.{source}", "zwei"], [f"{name}.{target}", "zwei"])
            assert load_split(config, split) == expected
    assert len(list((tmp_path / "multi30k").iterdir())) == 2 * len(names)  # those that were read, and no others
    sides["source"] = {"language": "eo"}
    with pytest.raises(UserError, match=r"no 'train\.eo\.gz': .*de, en, fr, cs"):
        load_split(DataConfig.model_validate({"corpus": "multi30k", "folder": str(tmp_path), **sides}), "train")


def test_the_sample_comes_with_nmt_and_a_copy_is_read_where_it_is(tmp_path: Path) -> None:
    config = DataConfig(folder=str(tmp_path))
    assert len(load_split(config, "test").source) == 1000
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "sample").mkdir()
    for split in ("train", "validation", "test"):
        for language in ("de", "en"):
            (tmp_path / "sample" / f"{split}.{language}").write_text(f"{split} {language}\n", encoding="utf-8")
        assert load_split(config, split) == ParallelText([f"{split} de"], [f"{split} en"])


@pytest.mark.usefixtures("mirror")
def test_files_of_ones_own_and_unknown_splits(
    make_config: Callable[..., Config], text: dict[str, ParallelText], tmp_path: Path
) -> None:
    for split in ("train", "validation", "test"):
        assert load_split(make_config().data, split) == text[split]
    without_test = make_config("data.source.test=null", "data.target.test=null").data
    multi30k_tests = "test_2016_flickr, test_2017_flickr, test_2017_mscoco, test_2018_flickr"
    for config, split, names in (
        (DataConfig(folder=str(tmp_path / "none")), "dev", "train, validation, test"),
        (DataConfig(corpus="multi30k"), "dev", f"train, validation, test, {multi30k_tests}"),
        (make_config().data, "language", "train, validation, test"),
        (without_test, "test", "train, validation"),
    ):
        with pytest.raises(UserError) as caught:
            load_split(config, split)
        assert str(caught.value) == f"split '{split}': this corpus has no such split; it has {names}"
    assert not (tmp_path / "none").exists()

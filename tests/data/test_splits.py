import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from nmt.config.data import DataConfig
from nmt.config.run import Config
from nmt.data import multi30k
from nmt.data.splits import load_split
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with made-up files under Multi30k's names, and no way out to the network."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    sums = {}
    for split in multi30k.SPLITS:
        for language in multi30k.LANGUAGES:
            path = folder / f"{split}.{language}.gz"
            path.write_bytes(gzip.compress(f"{split} {language}\nzwei\n".encode()))
            sums[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(multi30k, "_SHA256", sums)
    monkeypatch.setattr(multi30k, "UPSTREAM", str(tmp_path / "nowhere"))
    monkeypatch.delenv(multi30k.MIRROR_VARIABLE, raising=False)
    return folder


def test_multi30k_by_our_names_and_its_own_in_both_directions(
    tmp_path: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(multi30k.MIRROR_VARIABLE, str(mirror))
    names = {"train": "train", "validation": "val", "test": "test_2016_flickr", "test_2017_mscoco": "test_2017_mscoco"}
    for source, target in (("de", "en"), ("en", "de")):
        sides = {"source": {"language": source}, "target": {"language": target}}
        for split, name in names.items():
            config = DataConfig.model_validate({"corpus": "multi30k", "folder": str(tmp_path / name), **sides})
            expected = ParallelText([f"{name} {source}", "zwei"], [f"{name} {target}", "zwei"])
            assert load_split(config, split) == expected
            kept = {path.name for path in (tmp_path / name / "multi30k").iterdir()}
            assert kept == {f"{name}.de.gz", f"{name}.en.gz"}


def test_multi30k_has_no_other_languages(tmp_path: Path, mirror: Path) -> None:
    values = {"corpus": "multi30k", "folder": str(tmp_path), "mirror": str(mirror), "source": {"language": "eo"}}
    with pytest.raises(UserError, match=r"no 'train\.eo\.gz': .*de, en, fr, cs"):
        load_split(DataConfig.model_validate(values), "train")


def test_the_sample_comes_with_nmt_and_a_copy_is_read_where_it_is(tmp_path: Path) -> None:
    config = DataConfig(folder=str(tmp_path))
    assert len(load_split(config, "test").source) == 1000
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "sample").mkdir()
    for split in ("train", "validation", "test"):
        for language in ("de", "en"):
            (tmp_path / "sample" / f"{split}.{language}").write_text(f"{split} {language}\n", encoding="utf-8")
        assert load_split(config, split) == ParallelText([f"{split} de"], [f"{split} en"])


def test_files_of_ones_own(make_config: Callable[..., Config], text: dict[str, ParallelText]) -> None:
    for split in ("train", "validation", "test"):
        assert load_split(make_config().data, split) == text[split]


def test_unknown_split_names_the_known_ones(make_config: Callable[..., Config], tmp_path: Path, mirror: Path) -> None:
    without_test = make_config("data.source.test=null", "data.target.test=null").data
    at_mirror = DataConfig(corpus="multi30k", folder=str(tmp_path / "data"), mirror=str(mirror))
    tests_of_multi30k = "test_2016_flickr, test_2017_flickr, test_2017_mscoco, test_2018_flickr"
    for config, split, known in (
        (DataConfig(folder=str(tmp_path / "none")), "dev", "train, validation, test"),
        (at_mirror, "dev", f"train, validation, test, {tests_of_multi30k}"),
        (make_config().data, "dev", "train, validation, test"),
        (without_test, "test", "train, validation"),
        (make_config().data, "language", "train, validation, test"),
    ):
        with pytest.raises(UserError) as caught:
            load_split(config, split)
        assert str(caught.value) == f"split '{split}': this corpus has no such split; it has {known}"
    assert not (tmp_path / "none").exists()

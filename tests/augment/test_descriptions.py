"""Multi30k's independent captions: fetched, checked, and without the lines by which models are judged."""

import hashlib
from pathlib import Path

import pytest

from nmt.augment import monolingual
from nmt.augment.monolingual import fetch_descriptions, load_monolingual
from nmt.config.data import DataConfig
from nmt.data import multi30k
from nmt.system.errors import UserError

CAPTIONS = {f"train.{n}.{language}.gz": f"{n} {language}".encode() for n in range(1, 6) for language in ("de", "en")}


def publish(monkeypatch: pytest.MonkeyPatch, module: object, content: dict[str, bytes]) -> None:
    """Files of our own in place of upstream's, which is nowhere."""
    monkeypatch.setattr(module, "_SHA256", {name: hashlib.sha256(data).hexdigest() for name, data in content.items()})
    monkeypatch.setattr(module, "UPSTREAM", "http://127.0.0.1:9/task2")


def written(folder: Path, content: dict[str, bytes]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, data in content.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture(autouse=True)
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    publish(monkeypatch, monolingual, CAPTIONS)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv(multi30k.MIRROR_VARIABLE, raising=False)


@pytest.mark.parametrize("scheme", ["file://", ""])
def test_they_come_from_a_folder_beside_a_mirror(tmp_path: Path, scheme: str) -> None:
    written(tmp_path / "multi30k_descriptions", CAPTIONS)
    paths = fetch_descriptions("de", tmp_path / "data", f"{scheme}{tmp_path}/mirror/")
    assert [path.read_bytes() for path in paths] == [f"{number} de".encode() for number in range(1, 6)]
    assert fetch_descriptions("de", tmp_path / "data", "/nowhere") == paths
    for language, error in (
        ("en", rf"9/task2/train\.1\.en\.gz cannot be fetched .*{multi30k.MIRROR_VARIABLE}"),
        ("fr", "none in 'fr'"),
    ):
        with pytest.raises(UserError, match=error):
            fetch_descriptions(language, tmp_path)


def test_they_lack_the_lines_of_validation_and_all_test_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = {f"{split}.de.gz": f"From {split}.de.gz\n".encode() for split in multi30k.SPLITS}
    lines = b"a line\nfrom  VAL.de.gz\nFrom test_2018_flickr.de.gz\nfrom train.de.gz\n"
    captions = dict.fromkeys([name for name in CAPTIONS if ".de." in name], lines)
    publish(monkeypatch, multi30k, judged)
    publish(monkeypatch, monolingual, captions)
    mirror = written(tmp_path / "mirror", judged)
    written(tmp_path / "multi30k_descriptions", captions)
    monkeypatch.setattr("nmt.augment.monolingual.iterate_lines", lambda path: path.read_text().splitlines())
    config = DataConfig(corpus="multi30k", folder=str(tmp_path), mirror=str(mirror))
    text = load_monolingual("multi30k_descriptions", "de", config)
    assert list(text) == ["a line", "from train.de.gz"] * 5
    assert (text.dropped(), len(text.held_out), capsys.readouterr().err) == (10, 5, "")
    for folder in (mirror, tmp_path / "multi30k"):
        (folder / "test_2018_flickr.de.gz").unlink()
    assert load_monolingual("multi30k_descriptions", "de", config).dropped() == 5
    assert "lines that equal one of test_2018_flickr.de are not left out: " in capsys.readouterr().err

"""The files that come with nmt are found by their names."""

from pathlib import Path

import pytest

from nmt.config.reading import load_config
from nmt.system import bundled


def test_the_bundled_files_exist() -> None:
    assert bundled.MODEL.is_file()
    models = bundled.models().values()
    assert bundled.MODEL in models
    assert all(path.with_name("README.md").is_file() for path in models)
    assert sum(path.stat().st_size for path in models) <= 16_000_000  # bytes, in each clone, wheel and image
    names = [path.stem for path in bundled.ablation_configs()]
    assert names == sorted(names)
    assert {"none", "luong_dot", "bahdanau_additive"} <= set(names)


@pytest.mark.parametrize(
    "name", ["quickstart", "quickstart.yaml", "configs/quickstart.yaml", "configs/quickstart", Path("quickstart")]
)
def test_a_bundled_config_is_used_where_there_is_none_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str | Path
) -> None:
    monkeypatch.chdir(tmp_path)
    found = bundled.find_config(name)
    assert load_config(found).name == "quickstart"
    assert capsys.readouterr().err == f"Using the bundled config {found}\n"


def test_files_of_ones_own_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").mkdir()
    assert bundled.find_config("quickstart") == bundled.CONFIGS / "quickstart.yaml"  # a folder is not a config
    capsys.readouterr()
    (tmp_path / "quickstart.yaml").write_text("name: mine\n", encoding="utf-8")
    assert bundled.find_config("quickstart.yaml") == Path("quickstart.yaml")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "name", ["", ".", "configs", "missing", "../configs/quickstart", "a/../quickstart", "/quickstart", "quickstart.yml"]
)
def test_other_names_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert bundled.find_config(name) == Path(name)
    assert capsys.readouterr().err == ""


def test_the_comparisons_configs_have_names_too() -> None:
    for name in ("ablation/none", "configs/ablation/none.yaml"):
        assert bundled.bundled_config(name) == bundled.CONFIGS / "ablation" / "none.yaml"

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


def test_a_bundled_config_is_used_where_there_is_none_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").mkdir()  # a folder is not a config
    paths = ("quickstart", "quickstart.yaml", "configs/quickstart.yaml", "configs/quickstart", Path("quickstart"))
    expected = {**dict.fromkeys(paths, "quickstart.yaml"), "ablation/none": "ablation/none.yaml"}
    for name, file in expected.items():
        path = bundled.find_config(name)
        assert path == bundled.CONFIGS / file
        assert capsys.readouterr().err == f"Using the bundled config {path}\n"
    assert load_config(bundled.find_config("quickstart")).name == "quickstart"
    capsys.readouterr()
    (tmp_path / "quickstart.yaml").write_text("name: mine\n", encoding="utf-8")  # a file of one's own comes first
    others = [
        "",
        ".",
        "configs",
        "missing",
        "../configs/quickstart",
        "a/../quickstart",
        "/quickstart",
        "quickstart.yml",
    ]
    for name in ("quickstart.yaml", *others):
        assert bundled.find_config(name) == Path(name)
        assert capsys.readouterr().err == ""

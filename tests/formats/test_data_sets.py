"""Data sets of the hub and mtdata's corpora, by stand-ins for what fetches them."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nmt.formats import hub
from nmt.system.errors import UserError
from nmt.text.corpus import of_language, read_lines, read_pairs, text_digest

CONVERTED = ["default/train/0000.parquet", "default/train/0001.parquet", "de-en/partial-train/0000.parquet"]
UPLOADED = ["README.md", "data/train-00000-of-00001.parquet", "data/test-00000-of-00001.parquet"]


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for the hub: one data set that it converted, and one as it was uploaded."""

    def list_repo_files(_: Any, repository: str, *, repo_type: str, revision: str | None) -> list[str]:
        assert repo_type == "dataset"
        if repository == "we/up" and revision is not None:
            response = SimpleNamespace(headers={}, request=None)
            raise huggingface_hub.errors.RevisionNotFoundError("no such revision", response=response)  # type: ignore[arg-type]
        return {"we/up": UPLOADED, "we/conv": CONVERTED, "we/empty": []}[repository]

    def download(repository: str, name: str, **of: Any) -> str:
        assert of["revision"] == ("refs/convert/parquet" if repository == "we/conv" else None)
        path = tmp_path / repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [{"translation": {"en": f"{name} {n}", "de": f"{n}\n"}} for n in range(2)]
        pq.write_table(pa.Table.from_pylist(rows), path)
        return str(path)

    monkeypatch.setattr(huggingface_hub.HfApi, "list_repo_files", list_repo_files)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    hub._files.cache_clear()
    return tmp_path


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("hf://datasets/we/conv", CONVERTED[:2]),
        ("hf://datasets/we/conv/de-en", CONVERTED[2:]),
        ("hf://datasets/we/up", UPLOADED[1:2]),
        ("hf://datasets/we/up:test", UPLOADED[2:]),
    ],
)
def test_data_sets_of_the_hub(address: str, names: list[str]) -> None:
    pairs = read_pairs(Path(address), Path(address), ("en", "de"))  # a Path has one slash of hf://
    assert pairs.source == [f"{name} {n}" for name in names for n in range(2)]
    assert pairs.target == ["0␤", "1␤"] * len(names)
    assert text_digest(Path(f"{address}#en")) != text_digest(Path(f"{address}#de"))
    with pytest.raises(UserError, match=rf"^{address}.* has no column or language fr: it has .*write {address}#"):
        read_lines(Path(f"{address}#fr"))


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("hf://datasets/we", "is not a data set: write hf://datasets/OWNER/NAME"),
        ("hf://datasets/we/empty", "has no Parquet files"),
        ("hf://datasets/we/conv/fr", "has no configuration fr: write hf://datasets/we/conv/de-en"),
        ("hf://datasets/we/up:dev", "has no split dev: write hf://datasets/we/up/default:test .there is test, train"),
    ],
)
def test_what_a_data_set_does_not_have(address: str, complaint: str) -> None:
    with pytest.raises(UserError, match=f"^{address} {complaint}"):
        read_lines(Path(f"{address}#en"))


PROGRAM = """
import sys
from pathlib import Path
*_, name, _, folder = sys.argv
if "none" in name:
    sys.exit("no such corpus")
folder = Path(folder) / "train-parts"
folder.mkdir(parents=True)
for code, text in (("deu", "Hallo\\n"), ("eng", "Hello\\n")):
    (folder / f"{name}.{code}").write_text(text)
"""


def test_corpora_of_mtdata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "Group-news-1-deu-eng"
    with pytest.raises(UserError, match=rf"mtdata:{name} needs the package mtdata: run pip install mtdata"):
        read_lines(of_language(f"mtdata:{name}", "en"))
    (tmp_path / "mtdata").mkdir()
    (tmp_path / "mtdata" / "__init__.py").touch()
    (tmp_path / "mtdata" / "__main__.py").write_text(PROGRAM, "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("MTDATA", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    path = Path(f"mtdata:{name}")
    pairs = read_pairs(path, path, ("de", "en"))
    assert (pairs.source, pairs.target) == (["Hallo"], ["Hello"])
    (tmp_path / "mtdata" / "__main__.py").write_text("raise SystemExit(1)", "utf-8")
    assert read_lines(Path(f"mtdata:{name}#eng")) == ["Hello"]  # which is kept
    with pytest.raises(UserError, match=r"mtdata cannot get it"):
        read_lines(Path("mtdata:Group-none-1-deu-eng#de"))
    for wrong, complaint in ((f"mtdata:{name}#fr", "has no column or language fr"), ("mtdata:x#de", "is not a name")):
        with pytest.raises(UserError, match=complaint):
            read_lines(Path(wrong))

"""The text files of an evaluation."""

from pathlib import Path

import pytest

from nmt.evaluation import translations
from nmt.system.errors import UserError
from nmt.text.corpus import ParallelText

TEXT = ParallelText(["ein Hund", "", "eine\u2028Katze"], ["a dog", "nothing", "a cat"])


def test_each_side_and_each_model_has_a_file_with_a_line_for_each_sentence(tmp_path: Path) -> None:
    outputs = {
        "runs/ä one/best.safetensors": ["A", "", "B"],
        "runs/two/best.safetensors": ["C"] * 3,
        "ensemble of 2": ["D"] * 3,
    }
    folder = translations.write(tmp_path / "new", TEXT, outputs)
    found = {path.name: path.read_bytes().decode() for path in folder.iterdir()}
    assert folder == tmp_path / "new" / "translations"
    assert found == {
        "source.txt": "ein Hund\n\neine\u2028Katze\n",
        "reference.txt": "a dog\nnothing\na cat\n",
        "ä_one.txt": "A\n\nB\n",
        "two.txt": "C\nC\nC\n",
        "ensemble_of_2.txt": "D\nD\nD\n",
    }


def test_no_file_takes_another_one_s_name(tmp_path: Path) -> None:
    outputs = {"source": ["A"] * 3, "a b": ["B"] * 3, "a_b": ["C"] * 3, "..": ["D"] * 3}
    folder = translations.write(tmp_path, TEXT, outputs)
    begins = {path.stem: path.read_text(encoding="utf-8")[0] for path in folder.iterdir()}
    sides = {"source": "e", "reference": "a"}
    assert begins == sides | {"source_2": "A", "a_b": "B", "a_b_2": "C", "model": "D"}


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "translations").write_text("")
    with pytest.raises(UserError, match="translations"):
        translations.write(tmp_path, TEXT, {})

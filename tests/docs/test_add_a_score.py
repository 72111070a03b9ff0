"""The page that adds a score, as its reader does: its files are written and its commands are run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.texts import write_part_of_sample

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "add-a-score.md"
# Some of the page's `tests`: against the formula, against finite differences, in both wirings, and that it learns.
TESTED = [
    "tests/model/test_attention.py::test_weights_and_context_are_those_of_the_formulas",
    "tests/model/test_attention_gradients.py::test_gradients_are_those_of_finite_differences",
    "tests/model/test_decoder.py::test_a_whole_pass_is_that_of_the_formulas",
    "tests/model/test_decoder.py::test_elsewhere_the_model_reads_its_own_best_token",
    "tests/model/test_seq2seq.py::test_overfitted_pairs_are_translated_back",
]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder outside the project with the page's files in it."""
    folder = tmp_path_factory.mktemp("user")
    block = re.compile(r"`(my_scores/[^`]+)`\.[^`]*?(?:`[^`]+`[^`]*?)*?^```\w+\n(.*?)^```", re.DOTALL | re.MULTILINE)
    blocks = block.findall(PAGE.read_text(encoding="utf-8"))
    assert [name for name, _ in blocks] == [f"my_scores/tempered{end}" for end in (".py", "_formula.py", ".yaml")]
    (folder / "my_scores").mkdir()
    for name, content in blocks:
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def run(folder: Path, *arguments: str, cwd: Path = ROOT, plugin: bool = True, code: int = 0) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    environment |= {"NMT_PLUGINS": str(folder / "my_scores" / "tempered.py")} if plugin else {}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, check=False, **streams)
    assert done.returncode == code, done.stdout
    return done.stdout


@pytest.mark.long
def test_the_tests_find_the_score(folder: Path) -> None:
    printed = run(folder, "-m", "pytest", "-p", "no:cacheprovider", "-rp", *TESTED, "-k", "tempered")
    assert all(f"PASSED {test}" in printed for test in TESTED)
    assert int(re.findall(r"(\d+) passed", printed)[0]) > 20


def test_schema_and_reference_have_it(folder: Path) -> None:
    run(folder, "docs/_ext/config_schema.py", str(folder / "schema.json"))
    assert '"With `score: tempered`: The temperature' in (folder / "schema.json").read_text(encoding="utf-8")
    (folder / "page.md").write_text("".join(f"<!-- begin {n}, x -->\n<!-- end {n} -->\n" for n in ("scores", "config")))
    run(folder, "docs/_ext/generated_parts.py", str(folder / "page.md"))
    printed = (folder / "page.md").read_text(encoding="utf-8")
    assert "`tempered`" in printed
    assert "With `score: tempered`: the temperature" in printed


def test_a_run_trains_it_and_its_checkpoint_runs_no_code_unasked(folder: Path) -> None:
    write_part_of_sample(folder / "data", train=100, validation=30, test=30)
    fields = "data.folder=data", "training.max_updates=3", "model.embedding_size=8", "search.max_length=3"
    small = [word for field in fields for word in ("--set", field)]
    train = ["-m", "nmt", "train", "my_scores/tempered.yaml", *small]
    refused = run(folder, *train, "--set", "model.attention.score=general", cwd=folder, plugin=False, code=2)
    assert "temperature (1.5) has no effect with score: general; remove it, or set score to tempered" in refused
    run(folder, *train, cwd=folder, plugin=False)
    translate = ["-m", "nmt", "translate", "checkpoints/tempered/best.safetensors", "ein satz"]
    refused = run(folder, *translate, cwd=folder, plugin=False, code=2)
    assert refused.count("\n") == 1
    assert f"needs the plugin {folder / 'my_scores' / 'tempered.py'}, which is not loaded" in refused
    run(folder, *translate, cwd=folder)

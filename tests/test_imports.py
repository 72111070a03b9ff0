"""Imports point one way, and start-up imports only what is needed."""

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import nmt
from nmt.checkpoint import contents as checkpoint
from nmt.config.run import Config
from nmt.decoding.translation import Translation
from nmt.translator import Translator

ROOT = Path(nmt.__file__).parent
# From the bottom to the top. A module imports from layers below its own, and inside its own package.
LAYERS = [
    ["nmt.system.errors", "nmt.system.startup"],
    ["nmt.system"],
    ["nmt.registry"],
    ["nmt.kernels"],
    ["nmt.text", "nmt.schedules", "nmt.optimizers", "nmt.data.ibm1", "nmt.augment.typos"],
    ["nmt.selection"],
    ["nmt.model"],
    ["nmt.config"],
    ["nmt.build"],
    ["nmt.data", "nmt.augment.monolingual", "nmt.augment.copying"],
    ["nmt.checkpoint"],
    ["nmt.plots"],
    ["nmt.decoding"],
    ["nmt.translator"],
    ["nmt.evaluation"],
    ["nmt.training"],
    ["nmt.commands.options", "nmt.commands.sentences", "nmt.commands.directions", "nmt.commands.results"],
    ["nmt.page", "nmt.export", "nmt.lab", "nmt.augment"],
    ["nmt.commands"],
    ["nmt.cli"],
    ["nmt.__main__"],
]
NO_CONFIG = [
    *[
        "nmt.decoding.beam_search",
        "nmt.text.tokenizers",
        "nmt.text.vocabulary",
        "nmt.text.corpus",
        "nmt.text.unknown_words",
    ],
    *["nmt.data.blocks", "nmt.data.store", "nmt.data.batching"],
]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in ROOT.rglob("*.py")}


def imports_of(path: Path) -> set[str]:
    """The modules that a file imports anywhere in it, those of nmt by their full names."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write the import in full"
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                found.add(module if module in MODULES else str(node.module))
    return found


IMPORTS = {name: imports_of(path) for name, path in MODULES.items()}


def layer_of(module: str) -> tuple[int, str]:
    """The number of a module's layer, from the bottom, and its place there."""
    for number, places in enumerate(LAYERS):
        for place in places:
            if module == place or module.startswith(f"{place}."):
                return number, place
    raise AssertionError(f"{module} has no layer: give it a place in LAYERS")


@pytest.mark.parametrize("module", sorted(MODULES.keys() - {"nmt", "nmt.model"}))
def test_imports_point_downwards(module: str) -> None:
    number, place = layer_of(module)
    for imported in IMPORTS[module] & MODULES.keys() - {"nmt"}:  # of which only the version is imported
        below, other = layer_of(imported)
        assert below < number or place == other, f"{module} imports {imported}"


def test_packages_import_nothing_by_themselves() -> None:
    assert IMPORTS["nmt"] <= {"os", "typing", "nmt.decoding.translation", "nmt.translator"}
    for package in ("nmt.model", "nmt.data", "nmt.training", "nmt.evaluation", "nmt.lab", "nmt.plots"):
        assert IMPORTS[package] == set()


def test_there_is_no_circle() -> None:
    graph = {
        name: {i for i in found if i in MODULES and i != "nmt"} for name, found in IMPORTS.items() if name != "nmt"
    }
    assert len(list(TopologicalSorter(graph).static_order())) == len(MODULES) - 1


def test_leaf_modules_do_not_know_the_config() -> None:
    for module in NO_CONFIG:
        assert not any(imported.startswith("nmt.config.run") for imported in IMPORTS[module])


def test_the_search_knows_no_model() -> None:
    assert not IMPORTS["nmt.decoding.beam_search"] & MODULES.keys()


def test_only_the_vocabulary_imports_torchtext() -> None:
    users = {name for name, found in IMPORTS.items() if any(i.split(".")[0] == "torchtext" for i in found)}
    assert users == {"nmt.text.vocabulary"}


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("nmt", ["torch", "numpy", "yaml", "pydantic", "nmt.translator"]),
        ("nmt.config.run", ["spacy", "torchtext", "matplotlib", "sacrebleu", "sentencepiece", "sacremoses"]),
        (
            "nmt.translator",
            ["spacy", "torchtext", "matplotlib", "sacrebleu", "sentencepiece", "sacremoses", "tensorboard"],
        ),
    ],
)
def test_start_up_imports_only_what_is_needed(module: str, unwanted: list[str]) -> None:
    loaded = loaded_by(f"import {module}")
    assert module in loaded
    assert not loaded & set(unwanted)


@pytest.mark.parametrize(
    ("tokenizer", "size", "its_own"),
    [
        ("whitespace", None, set()),
        ("sentencepiece", 24, {"sentencepiece"}),
        ("spacy", None, {"spacy", "sacremoses"}),
    ],
)
def test_translating_imports_what_the_model_needs_and_no_more(
    make_translator: Callable[..., tuple[Config, Translator]],
    tmp_path: Path,
    tokenizer: str,
    size: int | None,
    its_own: set[str],
) -> None:
    sides = [f"data.{side}.{field}" for side in ("source", "target") for field in ("tokenizer", "vocabulary_size")]
    values = [tokenizer, "null" if size is None else size] * 2
    config, translator = make_translator(*(f"{field}={value}" for field, value in zip(sides, values, strict=True)))
    path = tmp_path / "best.pt"
    checkpoint.save(path, config, translator.source, translator.target, translator.model)
    loaded = loaded_by(f"from nmt.cli import main; assert main(['translate', {str(path)!r}, 'Ba de']) == 0")
    tokenizers = {"spacy", "sentencepiece", "sacremoses"}
    others = {"torchtext", "matplotlib", "sacrebleu", "tensorboard", "sympy", "scipy", "pandas", "IPython", "beartype"}
    assert "torch" in loaded
    assert loaded & (tokenizers | others) == its_own
    assert not any(name.startswith(("nmt.training", "nmt.evaluation", "nmt.lab")) for name in loaded)


def loaded_by(program: str) -> set[str]:
    """The modules in a fresh process after the program."""
    result = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys; print(*sys.modules, file=sys.stderr)"],
        env=os.environ | {"PYTHONPATH": str(ROOT.parent)},
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT.parent,
    )
    return set(result.stderr.split())


def test_the_package_offers_the_translator() -> None:
    assert nmt.Translator is Translator
    assert nmt.Translation is Translation
    with pytest.raises(AttributeError, match="module 'nmt' has no attribute 'Transaltor'"):
        nmt.Transaltor  # noqa: B018

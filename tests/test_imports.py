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
ROOMS = (  # each: core alone
    *("fast", "page", "export", "lab", "augment", "migrate", "course", "constraints", "align", "formats", "clean"),
    *("documents", "service", "variants", "search_options", "comparison", "playground", "trackers", "risk", "latent"),
)
# The core's folders from the bottom to the top: an import points to the same level or to a lower one.
LEVELS = (
    "model < system < registry addons < text schedules optimizers components < config < build < plots < data"
    " < checkpoint < decoding acceleration < translator < evaluation < training < commands < cli < __main__"
)
LEVEL = {folder: number for number, folders in enumerate(LEVELS.split(" < ")) for folder in folders.split()}
LIMITS = {"nmt.model.seq2seq": 1600, "nmt.training.update": 3400, "nmt.translator": 4500}  # lines an import may load
NO_CONFIG = [
    *("nmt.decoding.beam_search", "nmt.text.tokenizers", "nmt.text.vocabulary", "nmt.text.corpus"),
    *("nmt.text.unknown_words", "nmt.data.store", "nmt.data.batching"),
]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in ROOT.rglob("*.py")}


def imports_of(path: Path) -> set[str]:
    """The modules that a file imports anywhere in it, those of nmt by their full names."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write the import in full"
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                imported.add(module if module in MODULES else str(node.module))
    return imported


IMPORTS = {name: imports_of(path) for name, path in MODULES.items()}


def folder_of(module: str) -> str:
    """The folder of `nmt` that a module is in, or the module's own name."""
    return module.split(".")[1]


EDGES = [  # each import of one of our modules by another
    (name, other) for name, imported in IMPORTS.items() for other in imported & MODULES.keys() if name != "nmt" != other
]


def test_the_core_imports_no_room_a_room_no_other_and_imports_in_the_core_point_downwards() -> None:
    for name, other in EDGES:
        above, below = folder_of(name), folder_of(other)
        if below in ROOMS:
            assert above == below, f"{name} imports {other}"
        elif above not in ROOMS and above != below:
            assert LEVEL[below] <= LEVEL[above], f"{name} imports {other}"


def test_packages_import_nothing_by_themselves() -> None:
    assert IMPORTS["nmt"] <= {"os", "typing", "nmt.decoding.translation", "nmt.translator"}
    for package in ("model", "data", "training", "evaluation", "plots", *ROOMS):
        assert IMPORTS.get(f"nmt.{package}", set()) <= {"importlib", "typing"}, package


def test_there_is_no_cycle() -> None:
    graph: dict[str, set[str]] = {name: set() for name in MODULES}
    for name, other in EDGES:
        graph[name].add(other)
    assert len(list(TopologicalSorter(graph).static_order())) == len(MODULES)


def test_an_import_loads_few_lines() -> None:
    for module, limit in LIMITS.items():
        loaded = loaded_by(f"import {module}") & MODULES.keys()
        assert sum(len(MODULES[name].read_text(encoding="utf-8").splitlines()) for name in loaded) <= limit, module


def test_leaf_modules_import_little() -> None:
    for module in NO_CONFIG:
        assert not any(imported.startswith("nmt.config.run") for imported in IMPORTS[module])
    assert not IMPORTS["nmt.decoding.beam_search"] & MODULES.keys()
    users = [name for name, imported in IMPORTS.items() if any(i.split(".")[0] == "torchtext" for i in imported)]
    assert users == ["nmt.text.vocabulary"]
    for name, imported in IMPORTS.items():
        if name.startswith("nmt.model."):
            others = {module.partition(".")[0] for module in imported if not module.startswith("nmt.model")}
            assert others <= {"torch", "jaxtyping", *sys.stdlib_module_names}, name


def test_start_up_imports_only_what_is_needed() -> None:
    heavy = {"spacy", "torchtext", "matplotlib", "sacrebleu", "sentencepiece", "sacremoses", "tensorboard"}
    loaded = loaded_by("import nmt.config.run, nmt.translator")
    assert "nmt.translator" in loaded
    assert not loaded & heavy
    detect = "from nmt.text.language import likeliest_language; likeliest_language('Ein Hund', ['de', 'en'])"
    assert not loaded_by(detect) & heavy  # py3langid has a model of its own
    assert not loaded_by("import nmt") & {"torch", "numpy", "yaml", "pydantic", "nmt.translator"}


@pytest.mark.parametrize(
    ("tokenizer", "size", "packages"),
    [
        ("whitespace", "null", set()),
        ("sentencepiece", "24", {"sentencepiece"}),
        ("spacy", "null", {"spacy", "sacremoses"}),
    ],
)
def test_translating_imports_what_the_model_needs_and_no_more(
    make_translator: Callable[..., tuple[Config, Translator]],
    tmp_path: Path,
    tokenizer: str,
    size: str,
    packages: set[str],
) -> None:
    fields = {"tokenizer": tokenizer, "vocabulary_size": size}
    overrides = [f"data.{side}.{field}={value}" for side in ("source", "target") for field, value in fields.items()]
    config, translator = make_translator(*overrides)
    path = tmp_path / "best.safetensors"
    checkpoint.save(path, config, translator.source, translator.target, translator.model)
    loaded = loaded_by(f"from nmt.cli import main; assert main(['translate', {str(path)!r}, 'Ba de']) == 0")
    tokenizers = {"spacy", "sentencepiece", "sacremoses"}
    others = {"torchtext", "matplotlib", "sacrebleu", "tensorboard", "sympy", "scipy", "pandas", "IPython", "beartype"}
    assert "torch" in loaded
    assert loaded & (tokenizers | others) == packages
    ours = loaded - {f"nmt.{room}{addon}" for room in ROOMS for addon in ("", ".addon", ".config")}
    in_use = ("fast", "constraints", "search_options", "variants")
    unwanted = ("training", "evaluation", *(room for room in ROOMS if room not in in_use))
    assert not any(name.startswith(f"nmt.{folder}.") for name in ours for folder in unwanted)


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

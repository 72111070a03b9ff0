"""The folder that runs anywhere: two graphs, what text needs, a card, and the script that translates with them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt import __version__
from nmt.checkpoint.contents import Loaded, check_same_tokens
from nmt.export.card import card
from nmt.export.graphs import trace
from nmt.export.precision import Precision, write
from nmt.model.ensemble import Ensemble
from nmt.system.errors import UserError
from nmt.system.files import TEMPORARY, make_folder, writing
from nmt.text.tokenizers import TOKENIZERS, case

FORMAT = 1  # of the folder, which `translate.py` names, too
SCRIPT = Path(__file__).with_name("standalone.py")
CASE = Path(case.__file__)  # which imports nothing of nmt
_BATCH = 32  # sentences: more take more memory, and no less time
_SEARCH = ("beam_size", "length_penalty", "max_length", "max_source_length", "batch_size")


def export(loaded: Mapping[str, Loaded], output: Path, precision: Precision, about: str = "") -> None:
    """Write the model of a checkpoint, or the ensemble of several, each given with its path. `about` ends the card.

    The folder is complete or absent at any moment. Raises `UserError` if it exists or cannot be written, if the
    script knows nothing of a tokenizer, or if the checkpoints' vocabularies differ; then nothing is written.
    """
    (path, first), *others = loaded.items()
    for side in ("source", "target"):
        _check_tokenizer(f"{path}: data.{side}.tokenizer", getattr(first.config.data, side).tokenizer)
    for other_path, other in others:
        check_same_tokens(path, first, other_path, other)
    if output.exists():
        raise UserError(f"{output} already exists: choose another --output, or remove it")
    make_folder(output.parent)
    unfinished = output.with_name(f".{output.name}.{os.getpid()}{TEMPORARY}")
    with writing(output):
        try:
            unfinished.mkdir()
            _fill(unfinished, loaded, precision, about)
            unfinished.rename(output)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def _check_tokenizer(field: str, kind: str) -> None:
    if (missing := TOKENIZERS[kind].beyond_export) is not None:
        able = ", ".join(name for name, tokenizer in TOKENIZERS.items() if tokenizer.beyond_export is None)
        raise UserError(f"{field}: {kind} needs {missing}, which an exported model does without: train with {able}")


def _fill(folder: Path, loaded: Mapping[str, Loaded], precision: Precision, about: str) -> None:
    first, *_ = loaded.values()
    models = [contents.model for contents in loaded.values()]
    graphs = trace(models[0] if len(models) == 1 else Ensemble(models))
    write(graphs.encoder, folder / "encoder.onnx", precision)
    write(graphs.step, folder / "step.onnx", precision)
    for side in ("source", "target"):
        tokens = getattr(first, side).vocabulary.tokens
        (folder / f"{side}.json").write_text(json.dumps(tokens, ensure_ascii=False), encoding="utf-8")
    if first.source.subword_model is not None:  # the target's is not needed: pieces are only joined
        (folder / "source.model").write_bytes(first.source.subword_model)
    if "sentencepiece_cased" in (first.config.data.source.tokenizer, first.config.data.target.tokenizer):
        shutil.copyfile(CASE, folder / "case.py")
    files = sorted(folder.iterdir())
    search = {name: getattr(first.config.search, name) for name in _SEARCH}
    config: dict[str, Any] = {
        "format": FORMAT,
        "nmt": __version__,
        "models": [contents.config.name for contents in loaded.values()],
        "precision": precision,
        "search": search | {"batch_size": min(search["batch_size"], _BATCH)},
        **{side: _described(getattr(first.config.data, side)) for side in ("source", "target")},
        "files": {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files},
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    shutil.copyfile(SCRIPT, folder / "translate.py")
    (folder / "translate.py").chmod(0o755)
    size = sum(file.stat().st_size for file in folder.iterdir())
    (folder / "README.md").write_text(card(config, size, about), encoding="utf-8")


def _described(side: Any) -> dict[str, Any]:
    return {"language": side.language, "tokenizer": side.tokenizer, "lowercase": side.lowercase}

"""The folder that runs anywhere: two graphs, what text needs, a card, and the script that translates with them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nmt import __version__
from nmt.checkpoint.contents import Loaded, check_same_tokens
from nmt.decoding.ensemble import Ensemble
from nmt.export.cards import folder_card
from nmt.export.graphs import trace
from nmt.export.precision import Precision, write
from nmt.system.errors import UserError
from nmt.system.files import TEMPORARY, make_folder, report_write_errors, require_new
from nmt.text import normalization
from nmt.text.tokenizers import case

FORMAT = 1  # of the folder, which `translate.py` names, too
SCRIPT = Path(__file__).with_name("standalone.py")
CASE, NORMALIZATION = Path(case.__file__), Path(normalization.__file__)  # which import nothing of nmt
TOKENIZERS = ("char", "sentencepiece", "sentencepiece_cased", "whitespace")  # that the script has
_BATCH = 32  # sentences: more take more memory, and no less time
SEARCH = ("beam_size", "length_penalty", "max_length", "max_source_length", "batch_size", "block_repeats")


def export(loaded: Mapping[str, Loaded], output: Path, precision: Precision, about: str = "") -> None:
    """Write the model of a checkpoint, or the ensemble of several, by their paths. `about` ends the card.

    The folder is complete or absent at any moment. Raises `UserError` if it exists or cannot be written, if the script
    does not support a tokenizer, or if the checkpoints' vocabularies differ; then nothing is written.
    """
    (path, first), *further = loaded.items()
    check_tokenizers(path, first)
    for other_path, other in further:
        check_same_tokens(path, first, other_path, other)
    with complete(output) as folder:
        _fill(folder, loaded, precision, about)


def check_tokenizers(path: str, loaded: Loaded) -> None:
    """Raise `UserError` if the script does not have a tokenizer."""
    for side in ("source", "target"):
        kind = getattr(loaded.config.data, side).tokenizer
        if kind not in TOKENIZERS:
            able = ", ".join(TOKENIZERS)
            raise UserError(f"{path}: data.{side}.tokenizer: an exported model has no {kind}: train with {able}")


@contextmanager
def complete(output: Path) -> Iterator[Path]:
    """A folder to fill, which becomes `output` when it is filled. Raises `UserError` if that exists."""
    require_new(output)
    make_folder(output.parent)
    unfinished = output.with_name(f".{output.name}.{os.getpid()}{TEMPORARY}")
    with report_write_errors(output):
        try:
            unfinished.mkdir()
            yield unfinished
            unfinished.rename(output)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def _fill(folder: Path, loaded: Mapping[str, Loaded], precision: Precision, about: str) -> None:
    first, *_ = loaded.values()
    models = [contents.model for contents in loaded.values()]
    for graph, content in trace(models[0] if len(models) == 1 else Ensemble(models)).items():
        write(content, folder / f"{graph}.onnx", precision)
    write_text_files(folder, first)
    if "sentencepiece_cased" in (first.config.data.source.tokenizer, first.config.data.target.tokenizer):
        shutil.copyfile(CASE, folder / "case.py")
    shutil.copyfile(NORMALIZATION, folder / "normalization.py")
    files = sorted(folder.iterdir())
    search = {name: getattr(first.config.search, name) for name in SEARCH}
    config: dict[str, Any] = {
        "format": FORMAT,
        "nmt": __version__,
        "models": [contents.config.name for contents in loaded.values()],
        "precision": precision,
        "search": search | {"batch_size": min(search["batch_size"], _BATCH)},
        **{side: described(first, side) for side in ("source", "target")},
        "files": {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files},
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    shutil.copyfile(SCRIPT, folder / "translate.py")
    (folder / "translate.py").chmod(0o755)
    size = sum(file.stat().st_size for file in folder.iterdir())
    (folder / "README.md").write_text(folder_card(config, size, about), encoding="utf-8")


def write_text_files(folder: Path, loaded: Loaded, *, with_target: bool = False) -> dict[str, str | None]:
    """Write the tokens of both sides, and the source's sentencepiece model, if it has one.

    The target's is needed only where text becomes target tokens; where it is the source's, it is not written twice.
    Returns the name of each side's model.
    """
    names: dict[str, str | None] = {}
    for side in ("source", "target"):
        codec = getattr(loaded, side)
        (folder / f"{side}.json").write_text(json.dumps(codec.vocabulary.tokens, ensure_ascii=False), encoding="utf-8")
        model, written = codec.subword_model, folder / "source.model"
        names[side] = None if model is None or (side == "target" and not with_target) else f"{side}.model"
        if names[side] and side == "target" and written.exists() and written.read_bytes() == model:
            names[side] = written.name
        elif names[side]:
            (folder / f"{side}.model").write_bytes(model)
    return names


def described(loaded: Loaded, name: str) -> dict[str, Any]:
    """What config.json says of a side's text."""
    data, side = loaded.config.data, getattr(loaded.config.data, name)
    of_side = {"language": side.language, "tokenizer": side.tokenizer, "lowercase": side.lowercase}
    return of_side | {"normalize": data.normalize}

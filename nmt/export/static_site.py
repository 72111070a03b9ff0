"""The page of `nmt.page` as a folder of static files: no server, the model runs in the reader's browser.

The page comes from the add-on that offers it (`nmt.addons.offered`). Without that add-on there is no `--page`.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

from nmt.addons import offered
from nmt.checkpoint.address import model_name
from nmt.checkpoint.contents import Loaded
from nmt.export.folder import check_tokenizers, complete, described, write_text_files
from nmt.export.graphs import trace
from nmt.export.precision import Precision, write
from nmt.model.scopes import LocalScope
from nmt.system.errors import UserError
from nmt.translator import Translator

ENGINE = Path(__file__).parent / "browser"
RUNTIME = ("ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm")  # of onnxruntime-web
ON_PAGE = ("api.js", "from_disk.js")  # files of the engine that belong to the page
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'"
)
FOOTER = (
    "<footer><p>The model runs in this browser: what you type stays here. Every view has its own address: copy it to "
    'share what you see. <a href="model/about.txt">About the model</a></p></footer>'
)


def write_page(path: str, loaded: Loaded, output: Path, precision: Precision, package: Path, about: str = "") -> None:
    """Write the page of the model in a checkpoint at `path`.

    `package` is the folder of the npm package onnxruntime-web; `about` is what is known of the model. The folder is
    complete or absent at any moment. Raises `UserError` if it exists or cannot be written, if the package is not there,
    or if the page does not support a tokenizer; then nothing is written.
    """
    check_tokenizers(path, loaded)
    runtime = [package / "dist" / name for name in RUNTIME]
    for file in runtime:
        if not file.is_file():
            raise UserError(f"{file} does not exist: name the folder of the npm package onnxruntime-web")
    with complete(output) as folder:
        for name in ("model", "runtime", "engine"):
            (folder / name).mkdir()
        for file in runtime:
            shutil.copyfile(file, folder / "runtime" / file.name)
        _write_model(folder, path, loaded, precision)
        (folder / "model" / "about.txt").write_text(about or "Nothing is known of this model.\n", encoding="utf-8")
        _write_static(folder)
        (folder / "index.html").write_text(_index(), encoding="utf-8")
        write_offline(folder, ("static/",))


def _write_model(folder: Path, path: str, loaded: Loaded, precision: Precision) -> None:
    model, model_folder = loaded.model, folder / "model"
    for graph, content in trace(model, offered("static_page")).items():
        write(content, model_folder / f"{graph}.onnx", precision, products=False)
    subwords = write_text_files(model_folder, loaded, with_target=True)
    scope = getattr(model.decoder.attention, "scope", None)
    files = [*sorted(model_folder.iterdir()), folder / "runtime" / RUNTIME[-1]]
    config: dict[str, Any] = {
        "model": offered("static_page").of_model("1", model_name(path), Translator.of({path: loaded})),
        "window": scope.window if isinstance(scope, LocalScope) else None,
        "segment_ends": list(model.segment_ends),
        "split": not model.segment_ends and loaded.config.search.split is not False,
        **{side: described(loaded, side) | {"subwords": subwords[side]} for side in ("source", "target")},
        "files": {file.relative_to(folder).as_posix(): file.stat().st_size for file in files},
    }
    (model_folder / "model.json").write_text(json.dumps(config, ensure_ascii=False), encoding="utf-8")


def _write_static(folder: Path) -> None:
    """The page's own modules, of which one is replaced, and those of the engine."""
    shutil.copytree(
        offered("static_page").STATIC,
        folder / "static",
        ignore=shutil.ignore_patterns("index.html", "api.js", "stored.js"),
    )
    style = folder / "static" / "page.css"
    style.write_text(style.read_text(encoding="utf-8").replace("/static/icon.svg", "icon.svg"), encoding="utf-8")
    for file in ENGINE.glob("*.js"):
        part = "static" if file.name in ON_PAGE else "." if file.name == "offline.js" else "engine"
        shutil.copyfile(file, folder / part / file.name)


def _index() -> str:
    """The page, whose parts lie beside it."""
    page = (offered("static_page").STATIC / "index.html").read_text(encoding="utf-8").replace('"/static/', '"static/')
    for pattern, replacement in (
        (r"(?=<title>)", f'<meta http-equiv="Content-Security-Policy" content="{POLICY}" />\n    '),
        (r"(?=<script )", '<script src="static/from_disk.js"></script>\n    '),
        (r"<footer>.*?</footer>", FOOTER),
    ):
        before, after = re.split(pattern, page, maxsplit=1, flags=re.DOTALL)
        page = before + replacement + after
    return page


def write_offline(folder: Path, first: tuple[str, ...]) -> None:
    """The service worker's own version and list of files: those below `first`, which the page loads before it."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name != "offline.js")
    digest = hashlib.sha256(b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files))
    names = [file.relative_to(folder).as_posix() for file in files]
    page = ["./", *(name for name in names if name.startswith(first) and "LICENSE" not in name)]
    worker = folder / "offline.js"
    text = worker.read_text(encoding="utf-8")
    for empty, filled in (
        ('const VERSION = "";', f'const VERSION = "{digest.hexdigest()[:16]}";'),
        ("const PAGE = [];", f"const PAGE = {json.dumps(page)};"),
    ):
        before, after = text.split(empty)
        text = before + filled + after
    worker.write_text(text, encoding="utf-8")

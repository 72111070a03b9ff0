"""nmt export: a folder that translates without PyTorch and without nmt, or a page that does so in the browser."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from nmt.addons import addons
from nmt.commands.options import Parser
from nmt.system import files
from nmt.system.errors import UserError

PRECISIONS = ("float32", "float16", "int8")


def parser() -> Parser:
    page = any("static_page" in addon.offers for addon in addons())  # which imports nothing
    parser = Parser(
        prog="nmt export",
        description="Write a folder with the model as ONNX graphs and a script, translate.py, that translates with "
        "NumPy, onnxruntime and, for subwords, sentencepiece. Several checkpoints are an ensemble."
        + page
        * " With --page, write the page of nmt serve as static files, whose model runs in the browser.",
    )
    add = parser.add_argument
    add("checkpoints", nargs="+", metavar="CHECKPOINT", help="such as checkpoints/NAME/best.safetensors")
    add("--output", type=Path, required=True, metavar="FOLDER", help="the new folder to write")
    precision = "precision of the weights; int8 also computes in integers, except with --page (default: float32)"
    add("--precision", choices=PRECISIONS, default="float32", help=precision)
    parser.set_defaults(page=None)
    if page:
        package = (
            "write a web page instead, with the npm package onnxruntime-web in this folder, such as "
            "node_modules/onnxruntime-web"
        )
        add("--page", type=Path, metavar="PACKAGE", help=package)
    return parser


def run(options: argparse.Namespace) -> int:
    """Export. Raises `UserError` if the packages are missing, the output exists, or a checkpoint does not serve."""
    files.require_new(options.output)
    if options.page and len(options.checkpoints) > 1:
        raise UserError(f"--page shows one model, and {len(options.checkpoints)} were given: leave the others out")
    try:
        from nmt.export.cards import description
        from nmt.export.folder import SEARCH, export
    except ImportError as error:
        if error.name is None or error.name.split(".")[0] not in ("onnx", "onnxruntime"):
            raise
        raise UserError(
            f"nmt export needs the package {error.name}: run pip install -e '.[export]' in the folder of nmt"
        ) from None

    import torch

    from nmt.checkpoint import contents as checkpoint

    loaded = {path: checkpoint.load(path, torch.device("cpu")) for path in options.checkpoints}
    for path, contents in loaded.items():
        if lacks := contents.config.search.model_dump(exclude_defaults=True).keys() - {*SEARCH, "precision", "split"}:
            print(f"{path}: an exported model has no search.{', '.join(sorted(lacks))}; left out", file=sys.stderr)
    about = description(options.checkpoints[0]) if len(loaded) == 1 else ""
    if options.page:
        from nmt.export.static_site import write_page

        [(path, contents)] = loaded.items()
        write_page(path, contents, options.output, options.precision, options.page, about)
    else:
        export(loaded, options.output, options.precision, about)
    size = sum(file.stat().st_size for file in options.output.rglob("*") if file.is_file())
    print(f"Written: {options.output} ({size / 1e6:.1f} MB)")
    return 0

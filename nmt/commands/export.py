"""nmt export: a folder that translates without PyTorch and without nmt."""

from __future__ import annotations

import argparse
from pathlib import Path

from nmt.commands.options import Parser, refuse_twice
from nmt.system.errors import UserError

PRECISIONS = ("float32", "float16", "int8")


def parser() -> Parser:
    parser = Parser(
        prog="nmt export",
        description="Write a folder with the model as ONNX graphs and a script, translate.py, that translates with "
        "NumPy and onnxruntime alone. Several checkpoints make one folder, an ensemble.",
    )
    parser.add_argument("checkpoints", nargs="+", metavar="CHECKPOINT", help="such as checkpoints/NAME/best.pt")
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="the new folder to write")
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default="float32",
        help="of the weights: float16 halves the files, int8 quarters them and computes in whole numbers "
        "(default: float32)",
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Export. Raises `UserError` if the packages are missing, the output exists, or a checkpoint does not serve."""
    refuse_twice(options.checkpoints)
    if options.output.exists():
        raise UserError(f"{options.output} already exists: choose another --output, or remove it")
    try:
        from nmt.export.folder import export
    except ImportError as error:
        if error.name is None or error.name.split(".")[0] not in ("onnx", "onnxruntime"):
            raise
        raise UserError(f"nmt export needs the package {error.name}: pip install 'nmt[export]'") from None

    import torch

    from nmt.checkpoint import contents as checkpoint

    loaded = {path: checkpoint.load(path, torch.device("cpu")) for path in options.checkpoints}
    export(loaded, options.output, options.precision, _about(options.checkpoints))
    size = sum(file.stat().st_size for file in options.output.iterdir())
    print(f"Written: {options.output} ({size / 1e6:.1f} MB)")
    return 0


def _about(checkpoints: list[str]) -> str:
    """The README.md beside a single checkpoint, as the bundled model's card with its terms of use."""
    readme = Path(checkpoints[0]).with_name("README.md")
    return readme.read_text(encoding="utf-8") if len(checkpoints) == 1 and readme.is_file() else ""

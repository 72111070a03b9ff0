"""Write a checkpoint with the mean of several checkpoints' weights.

Training cannot be resumed from it. Thresholds for text unlike the training text are fitted to the validation text, if
there is one. All checkpoints must come from one run, or from runs that started from the same checkpoint
(training.start_from).
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nmt.commands.options import Parser
from nmt.system import files
from nmt.system.errors import UserError

if TYPE_CHECKING:
    from nmt.checkpoint.contents import Loaded
    from nmt.config.data import DataConfig
    from nmt.text.corpus import ParallelText


def parser() -> Parser:
    parser = Parser(prog="nmt average", description=__doc__)
    add = parser.add_argument
    add("checkpoints", nargs="+", metavar="CHECKPOINT", help="checkpoints that share their initial weights")
    add("--output", type=Path, required=True, metavar="FILE", help="the file to write, such as NAME.safetensors")
    add = parser.add_mutually_exclusive_group().add_argument
    add("--half", action="store_true", help="store the weights in 16 bits (half precision)")
    add("--int8", action="store_true", help="store matrices in 8 bits, with a scale for each row")
    return parser


def run(options: argparse.Namespace) -> int:
    if options.output.suffix != ".safetensors":
        raise UserError(f"--output {options.output}: the name of a checkpoint ends in .safetensors")
    files.require_new(options.output)

    import torch

    from nmt.checkpoint import contents as checkpoint

    loaded = {path: checkpoint.load(path, torch.device("cpu")) for path in options.checkpoints}
    mean = mean_of(loaded)
    model = mean.model.half() if options.half else mean.model
    checkpoint.save(options.output, mean.config, mean.source, mean.target, model, int8=options.int8)
    if (text := _validation_text(mean.config.data)) is not None:
        from nmt.evaluation.calibration import store_thresholds
        from nmt.translator import Translator

        print(store_thresholds(options.output, Translator.load(options.output, device="cpu"), text))
    print(f"Written: {options.output} ({options.output.stat().st_size / 1e6:.1f} MB)")
    return 0


def _validation_text(config: DataConfig) -> ParallelText | None:
    """The validation text, if it is here; nothing is fetched."""
    from nmt.data.splits import load_split

    if config.corpus == "multi30k" and not (Path(config.folder) / "multi30k").is_dir():
        return None
    try:
        return load_split(config, "validation")
    except UserError:
        return None


def mean_of(loaded: Mapping[str, Loaded]) -> Loaded:
    """The first of some checkpoints, each given with its path, with the mean of all their weights.

    Raises `UserError` unless they are of one run, or of runs from one checkpoint (a soup: Wortsman et al. 2022).
    """
    import torch

    from nmt.checkpoint.contents import check_same_tokens, weight_differences

    (path, first), *rest = loaded.items()
    for other_path, other in rest:
        for difference in weight_differences(first.config.model, other.config.model):
            raise UserError(f"{path} and {other_path} differ in {difference}: average models of one kind")
        check_same_tokens(path, first, other_path, other)
        one, two = first.config.training, other.config.training
        if one.start_from != two.start_from or (one.seed != two.seed and one.start_from is None):
            # Units with the same function have other indices: the mean of their weights is useless.
            remedy = "average checkpoints of one run, or of runs with the same training.start_from"
            raise UserError(f"{path} and {other_path} began with different weights: {remedy}")
    states = [contents.model.state_dict() for contents in loaded.values()]
    mean = {name: torch.stack([state[name] for state in states]).mean(dim=0) for name in states[0]}
    first.model.load_state_dict(mean)
    return first._replace(training=None)

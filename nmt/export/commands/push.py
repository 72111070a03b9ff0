"""nmt push: give others a model, by the Hugging Face Hub."""

from __future__ import annotations

import argparse
from pathlib import Path

from nmt.commands.options import Parser


def parser() -> Parser:
    parser = Parser(
        prog="nmt push",
        description="Upload a checkpoint and its model card to the Hugging Face Hub. After that, hf://OWNER/NAME "
        "can be used as a checkpoint. The card is the README.md beside the checkpoint, or a few facts. "
        "Log in first: hf auth login.",
    )
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="such as checkpoints/NAME/best.safetensors")
    parser.add_argument("repository", metavar="OWNER/NAME", help="the repository, which is created if necessary")
    parser.add_argument("--private", action="store_true", help="create a repository that others cannot see")
    return parser


def run(options: argparse.Namespace) -> int:
    """Push. Raises `UserError` for a file that is no checkpoint, or if the hub refuses; nothing is sent before."""
    import torch

    from nmt.checkpoint import contents as checkpoint
    from nmt.checkpoint.address import local
    from nmt.export import hub
    from nmt.export.cards import description, hub_card

    loaded = checkpoint.load(options.checkpoint, torch.device("cpu"))
    card = hub_card(loaded, options.repository, description(options.checkpoint))
    address = hub.push(Path(local(options.checkpoint)), options.repository, card, private=options.private)
    print(f"Written: {address}")
    return 0

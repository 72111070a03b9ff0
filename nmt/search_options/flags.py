"""The options of commands that translate. Their values are those of the config's fields."""

from __future__ import annotations

import argparse

_OPTIONS = {
    "min_length": (int, "N", "write at least N tokens"),
    "block_ngrams": (int, "N", "write no sequence of N tokens twice; 0: off"),
    "repetition_penalty": (float, "θ", "multiply log-probabilities of tokens already written by θ (Keskar et al.)"),
    "coverage_penalty": (float, "β", "rank hypotheses lower that leave source tokens without attention (Wu et al.)"),
    "diverse_groups": (int, "G", "diverse beam search with G groups (Vijayakumar et al.)"),
    "diversity_strength": (float, "λ", "nats that a token loses for each hypothesis of earlier groups with it"),
}
NAMES = tuple(_OPTIONS)


def add_to(group: argparse._ActionsContainer) -> None:
    """Add an option for each field. By default the checkpoint's setting holds."""
    for name, (kind, metavar, text) in _OPTIONS.items():
        group.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar=metavar, help=text)

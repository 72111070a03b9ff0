"""The options of commands that translate. Their values are those of the config's fields."""

from __future__ import annotations

import argparse

_OPTIONS = {
    "min_length": (int, "N", "write at least N tokens"),
    "block_ngrams": (int, "N", "write no sequence of N tokens twice; 0 turns it off"),
    "repetition_penalty": (float, "θ", "multiply log-probabilities of tokens already written by θ (Keskar et al.)"),
    "coverage_penalty": (float, "β", "rank lower what leaves source tokens without attention (Wu et al.)"),
    "diverse_groups": (int, "G", "search with a beam of G groups that differ (Vijayakumar et al.)"),
    "diversity_strength": (float, "λ", "nats that a token loses for each hypothesis of earlier groups that has it"),
}
NAMES = tuple(_OPTIONS)


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add an option for each field. By default the checkpoint's setting holds."""
    for name, (kind, metavar, text) in _OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar=metavar, help=text)

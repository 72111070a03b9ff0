"""Every command and every option, from the parsers that read them."""

from __future__ import annotations

import argparse
import re

from nmt.cli import COMMANDS, module_of

OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")  # of this or another command, named in a text


def markdown() -> str:
    return "\n".join(_command(module_of(name).parser()) for name in COMMANDS)


def _command(parser: argparse.ArgumentParser) -> str:
    """A command's section: what it does, its usage, and each argument with an anchor of its own."""
    usage = parser.format_usage().removeprefix("usage: ").rstrip()
    parts = [f"## {parser.prog}", parser.description, f"```text\n{usage}\n```", f"```{{program}} {parser.prog}\n```"]
    for action in parser._actions:
        if not isinstance(action, argparse._HelpAction):
            parts.append(_argument(action))
    return "\n\n".join(map(str, parts)) + "\n"


def _argument(action: argparse.Action) -> str:
    if action.help in (None, argparse.SUPPRESS):
        raise ValueError(f"{action.dest} has no help text")
    choices = "{" + ",".join(map(str, action.choices or ())) + "}"
    value = action.metavar or (choices if action.choices else action.dest.upper())
    text = str(action.help).replace("%%", "%")
    text = OPTION.sub(r"`\g<0>`", text)
    if not text.startswith(tuple(f"{choice}" for choice in action.choices or ())):
        text = text[0].upper() + text[1:]
    text = f"{text}{'' if text.endswith('.') else '.'}"
    if not action.option_strings:
        return f"`{value}`\n: {text}"
    names = ", ".join(name if action.nargs == 0 else f"{name} {value}" for name in action.option_strings)
    return f"```{{option}} {names}\n{text}\n```"

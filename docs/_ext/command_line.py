"""Every command and every option, from the parsers that read them."""

from __future__ import annotations

import argparse
import re
from collections import defaultdict

from nmt.cli import COMMANDS, module_of

OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")  # of this or another command, named in a text


def markdown() -> str:
    first: dict[tuple[str, str], str] = {}  # names and text of an option: the command that describes it
    return "\n".join(_without_repetition(_command(module_of(name).parser()), first) for name in COMMANDS)


def _without_repetition(section: str, first: dict[tuple[str, str], str]) -> str:
    """A command's section; options of an earlier command are named in a last line, which refers to that one."""
    command = section.splitlines()[0].removeprefix("## ")
    lines, repeated = [], defaultdict(list)
    for line in section.splitlines():
        match = re.match(r"- <a .*</a>(`[^`]+`(?:, `[^`]+`)*): (.*)", line)
        if match and (other := first.setdefault((match[1], match[2]), command)) != command:
            repeated[other].append(f"`{match[1].strip('`').split('`')[0].split()[0]}`")
        else:
            lines.append(line)
    for other, names in repeated.items():
        lines.append(f"- {', '.join(names)}: [as in {other}](#{other.replace(' ', '-')}).")
    return "\n".join(lines) + "\n"


def _command(parser: argparse.ArgumentParser) -> str:
    """A command's section: what it does, how it is called, its arguments; options have anchors like nmt-train-set."""
    formatter = argparse.HelpFormatter(parser.prog, width=100)  # whatever the terminal's
    needed = [act for act in parser._actions if act.required or not act.option_strings]  # the list names the others
    formatter.add_usage(None, needed, [], prefix="")
    usage = formatter.format_help().strip()
    arguments = [_argument(parser.prog, act) for act in parser._actions if not isinstance(act, argparse._HelpAction)]
    text, *listed = re.split(r";?\n {2}", str(parser.description))  # `nmt clean` lists its rules
    rules = "\n".join(
        OPTION.sub(r"`\g<0>`", re.sub(r"(.+?):", r"- `\1`:", rule.rstrip("."), count=1)) for rule in listed
    )
    description = "\n\n".join(filter(None, [" ".join(text.split()), rules]))
    call = f"{usage} [OPTION ...]"
    block = f"```text\n{call}\n```" if rules else f"    {call}"  # after a list, an indented block would be in it
    return f"## {parser.prog}\n\n{description}\n\n{block}\n\n" + "\n".join(arguments) + "\n"


def _argument(command: str, action: argparse.Action) -> str:
    if action.help in (None, argparse.SUPPRESS):
        raise ValueError(f"{action.dest} has no help text")
    choices = "{" + ",".join(map(str, action.choices or ())) + "}"
    value = action.metavar or (choices if action.choices else action.dest.upper())
    value = " ".join(value) if isinstance(value, tuple) else value
    value = f"[{value}]" if action.nargs == argparse.OPTIONAL and action.option_strings else value
    text = str(action.help).replace("%%", "%")
    text = OPTION.sub(r"`\g<0>`", text)
    if not text.startswith(tuple(f"{choice}" for choice in action.choices or ())):
        text = text[0].upper() + text[1:]
    text = f"{text}{'' if text.endswith('.') else '.'}"
    if not action.option_strings:
        return f"- `{value}`: {text}"
    anchors = (f'<a id="{command.replace(" ", "-")}-{name.lstrip("-")}"></a>' for name in action.option_strings)
    names = ", ".join(f"`{name}`" if action.nargs == 0 else f"`{name} {value}`" for name in action.option_strings)
    return f"- {''.join(anchors)}{names}: {text}"

"""The command line's reference is made from the parsers, and complete."""

import argparse
from pathlib import Path

import pytest

from nmt.cli import COMMANDS, module_of

EXTENSIONS = str(Path(__file__).parents[2] / "docs" / "_ext")


def test_every_option_is_named_with_its_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXTENSIONS)
    import command_line

    reference = command_line.markdown()
    for name in COMMANDS:
        page = reference.partition(f"## nmt {name}\n")[2].partition("\n## ")[0]
        options = [option for action in module_of(name).parser()._actions for option in action.option_strings]
        assert page
        assert len(options) >= 2
        for option in set(options) - {"-h", "--help"}:
            assert f'<a id="nmt-{name}-{option.lstrip("-")}"></a>' in page
            assert f"`{option}`" in page or f"`{option} " in page


def test_an_option_without_help_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXTENSIONS)
    import command_line

    parser = argparse.ArgumentParser(prog="nmt x", description="Does x.")
    parser.add_argument("--silent")
    with pytest.raises(ValueError, match="silent has no help"):
        command_line._argument("nmt x", parser._actions[-1])

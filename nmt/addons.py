"""Add-ons: folders that the core works without. This is the only place where the core meets them.

An add-on is a package in `nmt` with a module `addon`, or one of your own with an entry point in the group `nmt.addons`.
Its `ADDON` is an `AddOn`. Add-ons import the core and never each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

HOME = {  # the add-on of each command that the project itself has outside the core
    **dict.fromkeys(("explain", "serve", "index"), "page"),
    **dict.fromkeys(("export", "push"), "export"),
    **{name: name for name in ("migrate", "course", "align", "clean")},
    "compare": "comparison",
    "ablation": "lab",
    "split": "clean",
    "back-translate": "augment",
}


@dataclass(frozen=True)
class AddOn:
    """What a package adds. Modules are named, not imported, so that a command starts fast.

    `commands` maps names to purposes; the module `PACKAGE.commands.NAME` has `parser()` and `run()`. `offers` maps a
    name, agreed between add-ons or with the core, to a module. `components` maps a kind of component, by the name of
    its registry's base class, to the package that holds more of them, a module each.
    """

    package: str
    commands: Mapping[str, str] = field(default_factory=dict)
    offers: Mapping[str, str] = field(default_factory=dict)
    components: Mapping[str, str] = field(default_factory=dict)


@cache
def addons() -> tuple[AddOn, ...]:
    """The add-ons that are installed: those in this package by name, then those of entry points."""
    names = sorted(path.parent.name for path in Path(__file__).parent.glob("*/addon.py"))
    inside = [import_module(f"nmt.{name}.addon").ADDON for name in names]
    return (*inside, *(entry.load() for entry in entry_points(group="nmt.addons")))


def commands() -> dict[str, tuple[str, str]]:
    """The commands of all add-ons, with the package and the purpose of each."""
    return {name: (addon.package, purpose) for addon in addons() for name, purpose in addon.commands.items()}


def offered(name: str) -> Any:
    """The module that an add-on offers under a name; None if no installed add-on does."""
    return next((import_module(addon.offers[name]) for addon in addons() if name in addon.offers), None)

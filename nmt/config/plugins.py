"""Plugins: Python files of the user's own that define components, such as a score.

A config names them, relative to its own folder, as in `plugins: [my_score.py]`. To load a plugin is to run it. So only
those that the user names himself are loaded: in a config that he gives to a command, or in the environment variable
`NMT_PLUGINS` (paths, joined as in `PATH`), which is read once, and extended for child processes. A checkpoint keeps the
path and the SHA-256 digest of each plugin of its run, but never loads one: it is refused until they are loaded.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

from pydantic import Field

from nmt import components as components  # whose registries a plugin adds to
from nmt.registry import PathString, Section, path_alone, register
from nmt.system.errors import UserError
from nmt.text import tokenizers as tokenizers  # as well

VARIABLE = "NMT_PLUGINS"


class Plugin(Section):
    """A Python file that defines components. Its path alone is enough."""

    path: PathString
    """The file. In a config that you write, the path is relative to the config's folder."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """The digest of the file's content, which a run writes into its `config.yaml` and its checkpoints."""


_loaded: dict[str, Plugin] = {}  # by their digests


def load_plugin(path: str | Path) -> Plugin:
    """Run a plugin and register its components. A file with the same content is run once.

    Raises `UserError` if it cannot be read, fails, or defines no component.
    """
    path = Path(path).expanduser().absolute()
    try:
        source = path.read_bytes()
    except OSError as error:
        raise UserError(f"plugin {path}: cannot read it: {error.strerror}; name a Python file") from None
    digest = hashlib.sha256(source).hexdigest()
    if digest not in _loaded:
        module = ModuleType(f"{__name__}.{path.stem}")
        module.__file__ = str(path)
        sys.modules[module.__name__] = module  # where `inspect`, `dataclasses` and `pickle` look for it
        try:
            exec(compile(source, path, "exec"), module.__dict__)
            has_components = register(module)
        except Exception as error:  # whatever the file raises
            raise UserError(f"plugin {path}: {type(error).__name__}: {error}") from None
        if not has_components:
            raise UserError(f"plugin {path}: it defines no score, scope, tokenizer, schedule or optimizer")
        _loaded[digest] = Plugin(path=str(path), sha256=digest)
        os.environ[VARIABLE] = os.pathsep.join(plugin.path for plugin in _loaded.values())  # for child processes
    return _loaded[digest]


def resolve_plugins(values: dict[str, Any], origin: str, folder: Path | None = None) -> None:
    """Fill in the paths and the digests of the plugins that a config's plain values name.

    They are loaded, relative to `folder`, if one is given. Otherwise files of their names must be loaded already, and
    another digest is reported. Raises `UserError` for one that is not loaded.
    """
    plugins = values.get("plugins")
    if not isinstance(plugins, list):
        return  # nothing, or what validation refuses
    for number, entry in enumerate(plugins):
        entry = path_alone(entry)
        if not isinstance(entry, dict) or not isinstance(path := entry.get("path"), str):
            continue
        if folder is not None:
            path = load_plugin(folder / Path(path).expanduser()).path
        plugin = {Path(plugin.path).name: plugin for plugin in _loaded.values()}.get(Path(path).name)
        if plugin is None:
            raise UserError(
                f"{origin}: it needs the plugin {path}, which is not loaded: if you trust that file, set "
                f"{VARIABLE}={path} (or where it is now)"
            )
        if entry.get("sha256") not in (None, plugin.sha256):
            print(f"{origin}: the plugin {plugin.path} is not the one it was made with", file=sys.stderr)
        plugins[number] = plugin.model_dump()


for name in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
    load_plugin(name)

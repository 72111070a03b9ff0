"""Plugins: Python files of the user's own that define components, such as a score.

A config names them, relative to its own folder, as in `plugins: [my_score.py]`. To load a plugin is to run it. So only
those that the user names himself are loaded: in a config that he gives to a command, or in the environment variable
`NMT_PLUGINS` (paths, joined as in `PATH`), which is read once, and extended for child processes. A checkpoint keeps the
path of each plugin of its run, but never loads one: it is refused until they are loaded.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from nmt import components as components  # whose registries a plugin adds to
from nmt.registry import register
from nmt.system.errors import UserError
from nmt.text import tokenizers as tokenizers  # as well

VARIABLE = "NMT_PLUGINS"

_loaded: dict[bytes, str] = {}  # their contents and paths


def load_plugin(path: str | Path) -> str:
    """Run a plugin, register its components, and return its path. A file with the same content is run once.

    Raises `UserError` if it cannot be read, fails, or defines no component.
    """
    path = Path(path).expanduser().absolute()
    try:
        source = path.read_bytes()
    except OSError as error:
        raise UserError(f"plugin {path}: cannot read it: {error.strerror}; name a Python file") from None
    if source not in _loaded:
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
        _loaded[source] = str(path)
        os.environ[VARIABLE] = os.pathsep.join(_loaded.values())  # for child processes
    return _loaded[source]


def resolve_plugins(values: dict[str, Any], origin: str, folder: Path | None = None) -> None:
    """Fill in the paths of the plugins that a config's plain values name.

    They are loaded, relative to `folder`, if one is given. Otherwise files of their names must be loaded already.
    Raises `UserError` for one that is not loaded.
    """
    plugins = values.get("plugins")
    if not isinstance(plugins, list):
        return  # nothing, or what validation refuses
    for number, entry in enumerate(plugins):
        path = entry.get("path") if isinstance(entry, dict) else entry  # in older files: with a digest
        if not isinstance(path, str):
            continue
        if folder is not None:
            path = load_plugin(folder / Path(path).expanduser())
        plugins[number] = {Path(loaded).name: loaded for loaded in _loaded.values()}.get(Path(path).name)
        if plugins[number] is None:
            fix = f"if you trust that file, set {VARIABLE}={path} (or where it is now)"
            raise UserError(f"{origin}: it needs the plugin {path}, which is not loaded: {fix}")


for name in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
    load_plugin(name)

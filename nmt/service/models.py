"""Models that are loaded at their first use, and models that are replaced while requests are answered."""

from __future__ import annotations

import argparse
import asyncio
from functools import cached_property
from pathlib import Path
from typing import Any

from nmt.service.keys import Keys, read_keys
from nmt.service.logs import LOG
from nmt.service.metrics import RELOADS
from nmt.system.errors import UserError
from nmt.translator import Translator


class OnDemand:
    """A served model whose weights are loaded at first use, by the thread that computes. `served` is not kept."""

    def __init__(self, served: Any) -> None:
        self.name, self.index, self.described = served.name, served.index, served.described
        self.source, self.search, self.languages = served.source, served.search, served.languages
        self.splits, self.takes_glossary, self._type = served.splits, served.takes_glossary, type(served)
        self._path, self._device = served.translator.name, str(served.translator.model.device)

    @cached_property
    def _loaded(self) -> Any:
        LOG.info("%s is loaded from %s", self.name, self._path)
        return self._type(self.name, Translator.load(self._path, device=self._device), self.index)

    @property
    def translator(self) -> Translator:
        translator: Translator = self._loaded.translator
        return translator

    @property
    def explaining(self) -> Translator:
        translator: Translator = self._loaded.explaining
        return translator

    @property
    def searching(self) -> Translator:
        translator: Translator = self._loaded.searching
        return translator


class Reloader:
    """Loads again what has changed: the checkpoints of a server's models, and the file of keys."""

    def __init__(self, server: Any, options: argparse.Namespace, keys: Keys) -> None:
        self._server, self._keys_path, self._keys, self._is_lazy = server, options.keys, keys, options.lazy
        self._files = {
            number: (served.translator.name, str(served.translator.model.device), type(served))
            for number, served in server.models.items()
        }
        self._stamps = {number: _stamp(path) for number, (path, *_) in self._files.items()}
        self._lock = asyncio.Lock()
        if options.lazy:
            server.models.update({number: OnDemand(served) for number, served in server.models.items()})

    async def reload(self) -> None:
        """Replace each model whose file has changed. One that cannot be loaded stays as it is, and the log says why.

        Requests that are being answered, or wait, keep the model that they began with.
        """
        async with self._lock:
            self._reload_keys()
            for number, (path, *_) in self._files.items():
                stamp, name = _stamp(path), self._server.models[number].name
                if stamp == self._stamps[number]:
                    continue
                try:
                    fresh = await asyncio.to_thread(self._load, number)
                except Exception as error:
                    reason = error if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
                    LOG.error("%s is not replaced, the old model stays: %s", name, " ".join(str(reason).split()))
                    RELOADS.labels("failed").inc()
                else:
                    self._server.models[number], self._stamps[number] = fresh, stamp
                    LOG.info("%s is replaced by the model now in %s", name, path)
                    RELOADS.labels("replaced").inc()

    def _load(self, number: str) -> Any:
        """The model of a file, which has translated something: so it is ready, and its weights are numbers."""
        path, device, served_type = self._files[number]
        served = served_type(self._server.models[number].name, Translator.load(path, device=device))
        served.searching.translate(["."])
        return OnDemand(served) if self._is_lazy else served

    def _reload_keys(self) -> None:
        if self._keys_path is not None:
            try:
                self._keys.replace(read_keys(self._keys_path))
            except UserError as error:
                LOG.error("the old keys stay: %s", error)


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino

"""Plugins that a test loads."""

import pytest

from nmt.config import plugins
from nmt.registry import _registries


def forget_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without plugins; what is registered from now on is forgotten at the end of the test."""
    monkeypatch.setattr(plugins, "_loaded", {})
    for registry in _registries:
        classes = dict(registry._components)
        monkeypatch.setattr(registry, "_components", classes)
        monkeypatch.setattr(registry, "_classes", classes)

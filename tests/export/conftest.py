"""What the tests of exported models share."""

from __future__ import annotations

from types import ModuleType

import pytest
from support import exported


@pytest.fixture(scope="session")
def script() -> ModuleType:
    return exported.script()

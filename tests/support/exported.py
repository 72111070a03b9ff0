"""`translate.py` of exported folders as a module, which knows nothing of nmt."""

import importlib.util
from pathlib import Path
from types import ModuleType


def script() -> ModuleType:
    path = Path(__file__).parents[2] / "nmt" / "export" / "standalone.py"
    specification = importlib.util.spec_from_file_location("standalone_script", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module

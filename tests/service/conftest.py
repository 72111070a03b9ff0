from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from nmt.page.app import make_app
from nmt.system import bundled
from nmt.translator import Translator

BASE = "http://127.0.0.1:8000"
Models = dict[str, tuple[str, Translator]]


@pytest.fixture(scope="session")
def models() -> Models:
    """The bundled models: from German into English, and back."""
    paths = bundled.checkpoints()
    return {str(number): (path.parent.name, Translator.load(path)) for number, path in enumerate(paths, start=1)}


@pytest.fixture(scope="session")
def translator(models: Models) -> Translator:
    """The first of them."""
    return models["1"][1]


@pytest.fixture(scope="session")
def client(models: Models) -> Iterator[TestClient]:
    with TestClient(make_app(models), base_url=BASE) as client:
        yield client


@pytest.fixture
def guarded(models: Models, tmp_path: Path) -> Callable[..., TestClient]:
    """A client of a server with a token and a file of keys, and with other options."""

    def make(keys: str, token: str | None = "the-token-of-the-page", **options: object) -> TestClient:
        path = tmp_path / "keys.txt"
        path.write_text(keys, encoding="utf-8")
        namespace = Namespace(**{"keys": path, "log_format": None, "lazy": False} | options)
        return TestClient(make_app(models, token=token, options=namespace), base_url=BASE)

    return make

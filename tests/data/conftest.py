"""A mirror of made-up files under Multi30k's names."""

import gzip
import hashlib
from pathlib import Path

import pytest

from nmt.data import multi30k

NAMES = tuple(multi30k._SHA256)


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, whose files count as the published ones. There is no way out to the network."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    for name in NAMES:
        content = gzip.compress(f"{name.removesuffix('.gz')}\nzwei\n".encode())
        (folder / name).write_bytes(content)
        monkeypatch.setitem(multi30k._SHA256, name, hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(multi30k, "UPSTREAM", "http://127.0.0.1:9/upstream")
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv(multi30k.MIRROR_VARIABLE, raising=False)
    return folder

"""How long PyTorch's threads wait for each other in a busy loop, which nmt shortens before torch is imported."""

import os
import runpy

import pytest

import nmt


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [({}, "3000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)],
)
def test_threads_wait_briefly_unless_the_user_has_chosen(
    chosen: dict[str, str], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
        if name in chosen:
            monkeypatch.setenv(name, chosen[name])
    runpy.run_path(nmt.__file__)
    assert os.environ.get("GOMP_SPINCOUNT") == expected

"""The planted errors of `make test-mutations` fit today's code."""

from pathlib import Path

from support.planted_errors import MUTATIONS

ROOT = Path(__file__).parents[1]


def test_each_replaces_a_text_that_occurs_once_and_names_tests_that_exist() -> None:
    assert len(MUTATIONS) >= 30
    for mutation in MUTATIONS:
        path = ROOT / mutation.file
        assert path.exists(), path
        assert path.read_text(encoding="utf-8").count(mutation.old) == 1, mutation
        assert all((ROOT / test.split("::")[0]).exists() for test in mutation.tests), mutation

"""Runs that several tests compare theirs with."""

from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from support.crashes import write_corpus
from support.runs import HARD, ConfigMaker, finish
from support.tiny_config import config_maker, write_splits

from nmt.text.corpus import ParallelText


@pytest.fixture(scope="session")
def shared_config(tmp_path_factory: pytest.TempPathFactory, text: dict[str, ParallelText]) -> ConfigMaker:
    """`make_config` for runs in a folder of the whole session, whose corpus no test may change."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "corpus").mkdir()
    write_splits(folder / "corpus", text)
    return config_maker(folder, folder / "corpus")


@pytest.fixture(scope="session")
def straight(shared_config: ConfigMaker) -> Callable[..., Path]:
    """`straight("a.b=VALUE", …)`: the folder of a run of `HARD`, so changed, that nothing disturbed."""
    numbers = count()

    @cache
    def trained(*overrides: str) -> Path:
        return finish(shared_config(*HARD, *overrides, f"name=straight-{next(numbers)}"))

    return trained


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the runs of `support.crashes`, with their corpus."""
    folder = tmp_path_factory.mktemp("processes")
    write_corpus(folder)
    return folder

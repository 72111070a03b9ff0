"""What several tests share: a made-up language pair, a tiny configuration, a tiny untrained translator."""

import os
import zlib
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import jaxtyping
import pytest
import torch
from hypothesis import settings
from support.cli import write_config
from support.tiny_config import ConfigMaker, config_maker, made_up_text, write_splits

from nmt import addons
from nmt.build import build_model
from nmt.cli import main
from nmt.config.run import Config
from nmt.data.training_set import load_training_set
from nmt.text.corpus import ParallelText
from nmt.translator import Translator

# No deadlines: this may be a busy machine. The same inputs each time, but for the long form, which looks for new ones.
settings.register_profile("default", deadline=None, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=5_000)
settings.load_profile("default")
vars(os)["fsync"] = lambda _: None  # each takes milliseconds, and nobody pulls the plug
collect_ignore = [] if "NMT_TEST_BROWSER" in os.environ else ["browser"]  # `make test-browser` sets it
collect_ignore += [] if torch.cuda.is_available() else ["gpu"]
PAIRS = {"train": 45, "validation": 9, "test": 5}


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _annotations(request: pytest.FixtureRequest) -> None:
    """Checking shapes and types doubles a test's time. So of parametrized tests only a quarter of the cases does it."""
    is_case = hasattr(request.node, "callspec")
    jaxtyping.config.update("jaxtyping_disable", is_case and zlib.crc32(request.node.nodeid.encode()) % 4 > 0)


@pytest.fixture(autouse=True)
def _no_tensorboard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing it takes seconds."""
    if (room := addons.offered("trackers")) is not None:
        monkeypatch.setattr(room, "tensorboard", lambda *_: nullcontext(lambda _: None))


@pytest.fixture(scope="session")
def text() -> dict[str, ParallelText]:
    return made_up_text(**PAIRS)


@pytest.fixture
def corpus(tmp_path: Path, text: dict[str, ParallelText]) -> Path:
    """A folder with the files `train.src`, `train.tgt`, and so on."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    write_splits(folder, text)
    return folder


@pytest.fixture
def make_config(tmp_path: Path, corpus: Path) -> ConfigMaker:
    """`make_config("a.b=VALUE", …)`: a run on the corpus above that takes a second, with these fields changed."""
    return config_maker(tmp_path, corpus)


@pytest.fixture
def make_translator(make_config: ConfigMaker) -> Callable[..., tuple[Config, Translator]]:
    """`make_translator("a.b=VALUE", …)`: a tiny configuration and its untrained translator, in evaluation mode."""

    def make(*overrides: str) -> tuple[Config, Translator]:
        config = make_config(*overrides)
        pairs = load_training_set(config.data)
        source, target = pairs.source, pairs.target
        torch.manual_seed(config.training.seed)
        model = build_model(config.model, len(source.vocabulary), len(target.vocabulary)).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(3)  # far from the uniform distribution, so that sentences have different translations
        return config, Translator(model, source, target, config.search)

    return make


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the finished runs `bahdanau` and `none`."""
    folder = tmp_path_factory.mktemp("cli")
    config = write_config(folder)
    for wiring in ("bahdanau", "none"):
        arguments = ["--set", f"name={wiring}", "--set", f"model.attention.wiring={wiring}"]
        assert main(["train", str(config), *arguments]) == 0
    return folder / "runs"


@pytest.fixture(scope="session")
def best(runs: Path) -> str:
    return str(runs / "bahdanau" / "best.safetensors")

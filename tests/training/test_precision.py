"""`training.precision: auto`: a rule from the processor's features, and a resumed run keeps what it began with."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support.runs import HARD, ConfigMaker, assert_same_run, finish, run_and_stop

from nmt.checkpoint.contents import load
from nmt.kernels import linear, use
from nmt.kernels.processor import Processor, fastest_library, fastest_precision, this_processor
from nmt.training import precision
from nmt.training.precision import choose_precision

CPU = torch.device("cpu")
AMX = Processor("GenuineIntel", frozenset({"avx512f", "avx512_bf16", "amx_bf16", "amx_tile"}))
ZEN4 = Processor("AuthenticAMD", frozenset({"avx512f", "avx512_bf16"}))
ZEN3 = Processor("AuthenticAMD", frozenset({"avx2"}))
ICE_LAKE = Processor("GenuineIntel", frozenset({"avx512f"}))
UNKNOWN = Processor("arm", frozenset())


@pytest.mark.parametrize(
    ("processor", "products", "library"),
    [
        (AMX, "bf16", "torch"),
        (ZEN4, "bf16", "onednn"),
        (ZEN3, "float32", "onednn"),
        (ICE_LAKE, "float32", "torch"),
        (UNKNOWN, "float32", "onednn"),
    ],
)
def test_each_processor_gets_its_fastest_products(
    processor: Processor, products: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fastest_library(processor) == library
    assert fastest_precision(processor)[0] == products
    assert fastest_precision(processor, torch.device("cuda"))[0] == "float32"
    monkeypatch.setattr(precision, "this_processor", lambda: processor)
    monkeypatch.setattr("nmt.kernels.linear.this_processor", lambda: processor)
    assert choose_precision("auto", CPU).precision == products
    assert [choose_precision(forced, CPU, "bf16").precision for forced in ("float32", "bf16")] == ["float32", "bf16"]
    with use("plain"):
        assert choose_precision("auto", CPU).precision == "float32"
    rows, weight = torch.rand(300, 40), torch.rand(30, 40)
    if library == "torch":
        assert torch.equal(linear.multiply(rows, weight.t()), rows @ weight.t())
    assert linear.has_kernel(rows) == (library == "onednn")


def test_this_processor_has_features_where_linux_tells_them() -> None:
    if Path("/proc/cpuinfo").exists():
        assert this_processor().features


def test_a_resumed_run_keeps_its_precision_on_another_processor(
    make_config: ConfigMaker, straight: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(*HARD, "training.precision=auto")
    monkeypatch.setattr(precision, "this_processor", lambda: ZEN4)
    folder = run_and_stop(monkeypatch, config, 6)
    assert load(folder / "last.pt", CPU).config.training.precision == "bf16"
    assert "precision: auto" in (folder / "config.yaml").read_text(encoding="utf-8")
    monkeypatch.setattr(precision, "this_processor", lambda: ZEN3)
    assert_same_run(finish(config, resume=True), straight("training.precision=bf16"))

"""`training.precision: auto`: a rule from the processor's features, and a resumed run keeps what it began with."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from support.runs import HARD, ConfigMaker, assert_same_run, finish, run_and_stop

from nmt import translator
from nmt.checkpoint.contents import load
from nmt.config.search import SearchConfig
from nmt.kernels import linear, use
from nmt.kernels.processor import (
    Processor,
    fastest_library,
    fastest_precision,
    fastest_search_precision,
    this_processor,
)
from nmt.training import precision
from nmt.training.precision import choose_precision

CPU = torch.device("cpu")
AMX = Processor("GenuineIntel", frozenset({"avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_bf16"}))
ZEN4 = Processor("AuthenticAMD", frozenset({"avx512f", "avx512_bf16"}))
ZEN3 = Processor("AuthenticAMD", frozenset({"avx2"}))
ICE_LAKE = Processor("GenuineIntel", frozenset({"avx512f", "avx512_vnni"}))
COOPER_LAKE = Processor("GenuineIntel", frozenset({"avx512f", "avx512_vnni", "avx512_bf16"}))
ALDER_LAKE = Processor("GenuineIntel", frozenset({"avx2", "avx_vnni"}))
UNKNOWN = Processor("arm", frozenset())


@pytest.mark.parametrize(
    ("processor", "products", "library"),
    [
        (AMX, "bf16", "torch"),
        (ZEN4, "bf16", "onednn"),
        (ZEN3, "float32", "onednn"),
        (ICE_LAKE, "float32", "torch"),
        (COOPER_LAKE, "bf16", "torch"),
        (ALDER_LAKE, "float32", "torch"),
        (UNKNOWN, "float32", "onednn"),
    ],
)
def test_each_processor_gets_its_fastest_products(
    processor: Processor, products: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fastest_library(processor) == library
    assert fastest_precision(processor, CPU)[0] == products
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


VNNI = Processor("AuthenticAMD", frozenset({"avx512f", "avx512_bf16", "avx512_vnni"}))


@pytest.mark.parametrize(
    ("processor", "products"),
    [
        (AMX, "bf16"),
        (ICE_LAKE, "int8"),
        (ALDER_LAKE, "int8"),
        (VNNI, "int8"),
        (ZEN4, "bf16"),
        (ZEN3, "float32"),
        (UNKNOWN, "float32"),
    ],
)
def test_search_takes_each_processors_fastest_products(
    processor: Processor, products: str, make_translator: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translator, "this_processor", lambda: processor)
    taken = []
    decode = translator.decoding.decode

    def noting(model: Any, sources: Any, search: SearchConfig, **options: Any) -> Any:
        taken.append(search.precision)
        return decode(model, sources, search, **options)

    monkeypatch.setattr(translator.decoding, "decode", noting)
    _, tiny = make_translator("search.precision=auto")
    found = tiny.translate(["Ba De"])
    assert [t.tokens for t in found] == [t.tokens for t in tiny.translate(["Ba De"], precision=products)]
    with use("plain"):
        tiny.translate(["Ba De"])
    tiny.translate(["Ba De"], precision="float32")
    assert taken == [products, products, "float32", "float32"]
    assert fastest_search_precision(processor, torch.device("cuda")) == "float32"


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

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
from nmt.kernels import byte_products, linear, private, use
from nmt.kernels.processor import (
    Processor,
    fastest_library,
    fastest_precision,
    fastest_search_precision,
    this_processor,
)
from nmt.training import precision
from nmt.training.distributed import World
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
        (ICE_LAKE, "int8", "torch"),
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
    monkeypatch.setattr(precision, "this_processor", lambda: processor)
    monkeypatch.setattr(private, "has_byte_product", lambda: True)  # nothing is multiplied in 8 bits here
    monkeypatch.setattr("nmt.kernels.linear.this_processor", lambda: processor)
    assert choose_precision("auto", CPU).precision == products
    for forced in ("float32", "bf16", "int8"):
        assert choose_precision(forced, CPU, "bf16").precision == forced
        assert choose_precision("auto", CPU, forced).precision == forced
    with use("plain"):
        assert choose_precision("auto", CPU).precision == "float32"
    rows, weight = torch.rand(300, 40), torch.rand(30, 40)
    if library == "torch":
        assert torch.equal(linear.multiply(rows, weight.t()), rows @ weight.t())
    assert linear.has_kernel(rows) == (library == "onednn")


@pytest.mark.parametrize(("capability", "products"), [((7, 5), "float32"), ((8, 0), "bf16"), ((9, 0), "bf16")])
@pytest.mark.parametrize("processor", [AMX, ZEN3])
def test_each_gpu_gets_its_fastest_products(
    capability: tuple[int, int], products: str, processor: Processor, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = torch.device("cuda:1")
    capabilities = {gpu: capability}
    monkeypatch.setattr(torch.cuda, "get_device_capability", capabilities.__getitem__)
    assert fastest_precision(processor, gpu)[0] == products
    assert choose_precision("auto", gpu).precision == products
    assert choose_precision("auto", gpu, "float32").precision == "float32"
    assert choose_precision("auto", gpu, "int8").precision == products, "8 bits are for processors"
    assert choose_precision("float32", gpu, "bf16").precision == "float32"
    assert fastest_precision(processor, torch.device("mps"))[0] == "float32"
    with monkeypatch.context() as patched:
        patched.setattr(torch.version, "hip", "6.4")  # AMD's GPUs count their capabilities otherwise
        assert fastest_precision(processor, gpu)[0] == "float32"
    for alone, in_graphs in ((True, False), (False, True)):
        world = World() if alone else World(0, 2)
        monkeypatch.setattr(World, "total", lambda _, *values: values)
        assert choose_precision("auto", gpu, world=world, in_graphs=in_graphs).precision == "float32"


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


def test_8_bits_are_for_the_fast_kernels_on_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that began with them goes on without them elsewhere."""
    monkeypatch.setattr(precision, "this_processor", lambda: ICE_LAKE)
    monkeypatch.setattr(private, "has_byte_product", lambda: False)
    assert choose_precision("auto", CPU).precision == "float32"
    assert choose_precision("auto", CPU, "int8").precision == "int8"
    with use("plain"):
        assert choose_precision("auto", CPU, "int8").precision == "float32"


@pytest.mark.parametrize("first", ["float32", "bf16", "int8"])
def test_processes_follow_the_first_one(first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []
    monkeypatch.setattr(World, "total", lambda _, *values: (told.extend(values), [sum(told)])[1])
    assert choose_precision(first, CPU, world=World(0, 2)).precision == first
    assert choose_precision("auto", CPU, "bf16", World(1, 2)).precision == first


@pytest.mark.parametrize(("processor", "kept"), [(ZEN4, "bf16")])
def test_a_resumed_run_keeps_its_precision_on_another_processor(
    processor: Processor,
    kept: str,
    make_config: ConfigMaker,
    straight: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(byte_products, "ENOUGH", 1)
    config = make_config(*HARD, "training.precision=auto")
    monkeypatch.setattr(precision, "this_processor", lambda: processor)
    folder = run_and_stop(monkeypatch, config, 6)
    assert load(folder / "last.safetensors", CPU).config.training.precision == kept
    assert "precision: auto" in (folder / "config.yaml").read_text(encoding="utf-8")
    monkeypatch.setattr(precision, "this_processor", lambda: ZEN3)
    finished = finish(config, resume=True)
    assert_same_run(finished, straight(f"training.precision={kept}"))
    with pytest.raises(AssertionError):
        assert_same_run(finished, straight("training.precision=float32"))

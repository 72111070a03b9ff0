"""`training.precision: auto`: a rule from the CPU's features, and a resumed run keeps what it began with."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from support.runs import HARD, ConfigMaker, assert_same_run, finish, run_and_stop

from nmt import acceleration
from nmt.checkpoint.contents import load
from nmt.fast import processor as cpu
from nmt.fast.processor import Processor, auto_precision
from nmt.system.errors import UserError
from nmt.training.distributed import ProcessGroup
from nmt.training.prepare import choose_precision

CPU = torch.device("cpu")
PROCESSORS = {  # with the precision of training, and that of search
    "AMX": ("GenuineIntel", "avx512f avx512_vnni avx_vnni avx512_bf16 amx_bf16", "bf16", "bf16"),
    "Zen 4": ("AuthenticAMD", "avx512f avx512_bf16 avx512_vnni", "bf16", "int8"),
    "Zen 3": ("AuthenticAMD", "avx2", "float32", "float32"),
    "Ice Lake": ("GenuineIntel", "avx512f avx512_vnni", "float32", "int8"),
    "Alder Lake": ("GenuineIntel", "avx2 avx_vnni", "float32", "int8"),
    "unknown": ("arm", "", "float32", "float32"),
}


def be(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    vendor, features, *_ = PROCESSORS[name]
    monkeypatch.setattr(cpu, "this_processor", lambda: Processor(vendor, frozenset(features.split())))


@pytest.mark.parametrize("name", PROCESSORS)
def test_each_processor_has_its_fastest_products(
    name: str, make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    be(monkeypatch, name)
    *_, training, search = PROCESSORS[name]
    auto = make_config("training.precision=auto")
    assert (auto_precision(CPU, "training"), auto_precision(CPU, "search")) == (training, search)
    assert auto_precision(torch.device("cuda"), "search") == "float32"
    assert choose_precision(auto, CPU) == training
    assert choose_precision(make_config("training.precision=auto", "training.fast=false"), CPU) == "float32"
    for precision in ("float32", "bf16"):
        assert choose_precision(make_config(f"training.precision={precision}"), CPU, "bf16") == precision
        assert choose_precision(auto, CPU, precision) == precision


def test_search_in_the_precision_of_the_processor(
    make_translator: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    be(monkeypatch, "Zen 4")
    _, tiny = make_translator("search.precision=auto")
    tiny.translate(["Ba De"])
    tiny.fast = False
    tiny.translate(["Ba De"])
    assert list(tiny._prepared) == [("int8", True), ("float32", False)]


@pytest.mark.parametrize(("capability", "products"), [((7, 5), "float32"), ((8, 0), "bf16"), ((9, 0), "bf16")])
def test_each_gpu_gets_its_fastest_products(
    capability: tuple[int, int], products: str, make_config: ConfigMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = torch.device("cuda:1")
    monkeypatch.setattr(torch.cuda, "get_device_capability", {gpu: capability}.__getitem__)
    auto = make_config("training.precision=auto", "model.attention.wiring=none")
    local = make_config("training.precision=auto", "model.attention.scope=local_m")
    assert choose_precision(auto, gpu) == products
    assert choose_precision(auto, gpu, "float32") == "float32"
    assert choose_precision(local, gpu) == "float32"
    assert auto_precision(torch.device("mps"), "training") == "float32"
    with monkeypatch.context() as patched:
        patched.setattr(torch.version, "hip", "6.4")  # AMD's GPUs count their capabilities otherwise
        assert choose_precision(auto, gpu) == "float32"
    monkeypatch.setattr(ProcessGroup, "total", lambda _, *values: values)
    assert choose_precision(auto, gpu, group=ProcessGroup(0, 2)) == "float32"
    monkeypatch.setattr(ProcessGroup, "total", lambda _, value: [value + 1])  # the first one's choice is bf16
    assert choose_precision(make_config("training.precision=float32"), CPU, group=ProcessGroup(1, 2)) == "bf16"


def test_without_its_folder_nothing_is_fast(
    make_config: ConfigMaker, make_translator: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    be(monkeypatch, "AMX")
    monkeypatch.setattr(acceleration, "find_spec", lambda _: None)
    assert choose_precision(make_config("training.precision=auto"), CPU) == "float32"
    with pytest.raises(UserError, match=r"training\.sampled_softmax needs nmt\.fast"):
        acceleration.for_training(torch.nn.Linear(1, 1), "float32", (torch.ones(3), 2))
    with pytest.raises(UserError, match=r"search\.precision: bf16 needs nmt\.fast, .*: use float32"):
        make_translator()[1].translate(["Ba De"], precision="bf16")


def test_a_resumed_run_keeps_its_precision_on_another_processor(
    make_config: ConfigMaker, straight: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(*HARD, "training.precision=auto")
    be(monkeypatch, "Zen 4")
    folder = run_and_stop(monkeypatch, config, 6)
    assert load(folder / "last.safetensors", CPU).config.training.precision == "bf16"
    assert "precision: auto" in (folder / "config.yaml").read_text(encoding="utf-8")
    be(monkeypatch, "Zen 3")
    finished = finish(config, resume=True)
    assert_same_run(finished, straight("training.precision=bf16"))
    with pytest.raises(AssertionError):
        assert_same_run(finished, straight("training.precision=float32"))

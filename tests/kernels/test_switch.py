"""The switch between fast and plain kernels."""

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location

import pytest
import torch
from support.tiny_models import Variant, tiny_model

from nmt import kernels
from nmt.kernels import switch
from nmt.kernels.packed import packed
from nmt.kernels.switch import fast
from nmt.system.errors import UserError


@pytest.fixture(autouse=True)
def _restored():
    with kernels.use(kernels.in_use()):
        yield


def test_a_function_holds_for_good_and_a_context_for_its_block():
    assert kernels.in_use() == "fast"
    with kernels.use("plain"):
        assert kernels.in_use() == "plain"
        with kernels.use("fast"):
            assert kernels.in_use() == "fast"
        assert kernels.in_use() == "plain"
    assert kernels.in_use() == "fast"
    kernels.use("plain")
    assert kernels.in_use() == "plain"
    with pytest.raises(ZeroDivisionError), kernels.use("fast"):
        _ = 1 / 0
    assert kernels.in_use() == "plain"


def test_it_decides_about_tensors_on_processors_alone():
    assert fast(torch.zeros(1))
    assert not fast(torch.zeros(1, device="meta"))
    with torch.autocast("cpu", torch.bfloat16):
        assert not fast(torch.zeros(1))
    with kernels.use("plain"):
        assert not fast(torch.zeros(1))


def test_plain_kernels_share_and_pack_nothing():
    model = tiny_model(Variant("bahdanau")).float()
    tensor = torch.zeros(3, requires_grad=True)
    assert kernels.reused(tensor) is not tensor
    with kernels.use("plain"):
        assert kernels.reused(tensor) is tensor
        assert packed(model) is model


def test_an_unknown_name_is_refused():
    with pytest.raises(UserError, match=r"nmt\.kernels\.use: 'quick' is not a set of kernels; set it to plain or fast"):
        kernels.use("quick")
    assert kernels.in_use() == "fast"


def begun_with(monkeypatch, value):
    """The module, as a process finds it that has this value in its environment."""
    monkeypatch.setenv("NMT_KERNELS", value)
    spec = spec_from_file_location("switch_of_another_process", switch.__file__)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("value", ["plain", "fast"])
def test_the_environment_says_what_a_process_begins_with(value, monkeypatch):
    assert begun_with(monkeypatch, value).in_use() == value


@pytest.mark.parametrize("value", ["slow", ""])
def test_another_value_is_refused(value, monkeypatch):
    with pytest.raises(UserError, match=f"NMT_KERNELS: '{value}' is not a set of kernels; set it to plain or fast"):
        begun_with(monkeypatch, value)


def test_the_command_line_refuses_it_in_one_line():
    command = [sys.executable, "-m", "nmt", "translate", "model.safetensors"]
    ended = subprocess.run(command, env=os.environ | {"NMT_KERNELS": "slow"}, capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr == "error: NMT_KERNELS: 'slow' is not a set of kernels; set it to plain or fast\n"

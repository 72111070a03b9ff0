"""PyTorch's private functions, each used here alone, and checked before its first use.

They may be missing from another version of PyTorch, take other arguments, or give other values on some CPU. So each is
tried once in a process. One that fails is not used: its plain twin runs, and one line on standard error says so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor


def product(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`F.linear` by oneDNN, of a weight or of its `blocks`."""
    return _product(rows, weight, bias) if has_product(rows.dtype) else F.linear(rows, weight, bias)


def blocks(weight: Tensor) -> Tensor:
    """A weight in oneDNN's own layout, which only `product` can read; itself where there is no such layout."""
    return _blocks(weight) if has_blocks(weight.dtype) else weight


def byte_product(left: Tensor, right: Tensor) -> Tensor:
    """left @ right of 8-bit integers, summed exactly, in float32."""
    if has_byte_product():
        return torch._int_mm(left, right).float()
    return (left.double() @ right.double()).float()


def backward_pass() -> int:
    """A number of the backward pass that is running, which no other has."""
    return torch._C._current_graph_task_id()


@cache
def has_product(dtype: torch.dtype) -> bool:
    """Whether oneDNN gives the values of `F.linear` for this type."""
    has_bfloat16 = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True)
    if dtype == torch.bfloat16 and not has_bfloat16():  # such as a CPU with AVX2 alone: nothing is wrong then
        return False
    return _works("torch.ops.mkldnn._linear_pointwise", dtype, lambda: _is_linear(dtype, lambda weight: weight))


@cache
def has_blocks(dtype: torch.dtype) -> bool:
    """Whether it gives them from its own layout too."""
    if not has_product(dtype):
        return False
    return _works("torch.ops.mkldnn._reorder_linear_weight", dtype, lambda: _is_linear(dtype, _blocks))


@cache
def has_byte_product() -> bool:
    """Whether 8-bit products are summed in 32 bits: without VNNI, some kernels first sum two products in 16.

    That is a property of the CPU, so it is not reported; wrong products of small values are.
    """
    return _works("torch._int_mm", torch.int8, lambda: _is_exact(63)) and _is_exact(127)


@cache
def has_backward_passes() -> bool:
    """Whether there is a `backward_pass`."""
    return _works("torch._C._current_graph_task_id", None, lambda: isinstance(backward_pass(), int))


def _product(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")


def _blocks(weight: Tensor) -> Tensor:
    return torch.ops.mkldnn._reorder_linear_weight(weight, 64)  # for 64 rows: any number can be multiplied


_REPORTED: set[str] = set()


def _works(name: str, dtype: torch.dtype | None, trial: Callable[[], bool]) -> bool:
    try:
        with torch.inference_mode(False), torch.no_grad(), torch.autocast("cpu", enabled=False):
            if trial():
                return True
        trouble = "gives other numbers than expected"
    except Exception as error:  # whatever a private function may raise
        trouble = "is missing" if isinstance(error, AttributeError) else f"fails ({type(error).__name__})"
    if name not in _REPORTED:  # once, for whatever type it was first tried
        _REPORTED.add(name)
        of_type = "" if dtype is None else f" for {str(dtype).removeprefix('torch.')}"
        print(
            f"nmt: {name} {trouble}{of_type} in PyTorch {torch.__version__}; its slower, public counterpart is used",
            file=sys.stderr,
            flush=True,
        )
    return False


def _is_linear(dtype: torch.dtype, layout: Callable[[Tensor], Tensor]) -> bool:
    """Whether products are those of float64, of values that no random generator draws: training's draws stay."""
    rows, weight, bias = (
        torch.arange(torch.Size(shape).numel(), dtype=torch.float32).mul(0.7).sin().view(shape).to(dtype)
        for shape in ((16, 24), (8, 24), (8,))
    )
    expected = F.linear(rows.double(), weight.double(), bias.double())
    tolerance = 1e-5 if dtype == torch.float32 else 2**-6  # bfloat16 results have 8 bits
    cases = [(rows, weight), (rows.t().contiguous().t(), weight.t().contiguous().t())]  # both layouts of a matrix
    products = [_product(rows, layout(weight), bias) for rows, weight in cases]
    return all(x.dtype == dtype and torch.allclose(x.double(), expected, tolerance, tolerance) for x in products)


def _is_exact(limit: int) -> bool:
    """Whether products of weights up to `limit` are right: pairs of up to 63 fit into 16 bits in any kernel."""
    largest = torch.full((16, 64), 127, dtype=torch.int8)
    weight = torch.arange(-64, 64, dtype=torch.int8).clamp(-limit, limit).repeat(8).view(16, 64)
    return all(
        torch.equal(torch._int_mm(largest, other.t()).long(), largest.long() @ other.t().long())
        for other in (torch.full_like(weight, limit), weight)
    )

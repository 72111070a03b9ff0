"""What `torch.onnx.export` needs around it: nested tuples as rows of tensors, and silence.

The tracer is that of `dynamo=False`. The newer one fixes the number of sentences where a shape depends on it, and takes
ten times as long.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jaxtyping
import onnx
import torch
from torch import Tensor, nn

OPSET = 17  # since 2022


@contextmanager
def quietly() -> Iterator[None]:
    """Without warnings, that the tracer is old and that sizes are read, advice to quantize otherwise, and shape checks.

    A size is a tensor while a graph is traced, which the shapes in signatures do not allow.
    """
    before = jaxtyping.config.jaxtyping_disable, logging.root.manager.disable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jaxtyping.config.update("jaxtyping_disable", True)
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            jaxtyping.config.update("jaxtyping_disable", before[0])
            logging.disable(before[1])


def leaves(tree: Any) -> Iterator[Tensor]:
    """The tensors of nested tuples, in order."""
    if isinstance(tree, Tensor):
        yield tree
    elif tree is not None:
        for branch in tree:
            yield from leaves(branch)


def like(tree: Any, tensors: Iterator[Tensor]) -> Any:
    """Nested tuples as those of a tree, with other tensors."""
    if tree is None:
        return None
    if isinstance(tree, Tensor):
        return next(tensors)
    branches = [like(branch, tensors) for branch in tree]
    return type(tree)(*branches) if hasattr(tree, "_fields") else type(tree)(branches)


def without_unread(graph: onnx.ModelProto, among: Container[str] | None = None) -> onnx.ModelProto:
    """The graph without inputs that nothing in it reads; those of some names, or any."""
    used = {name for node in graph.graph.node for name in node.input}
    for value in [v for v in graph.graph.input if v.name not in used and (among is None or v.name in among)]:
        graph.graph.input.remove(value)
    return graph


def numbered(kind: str, tree: Any) -> dict[str, Tensor]:
    return {f"{kind}_{i}": leaf for i, leaf in enumerate(leaves(tree))}


def traced(
    module: nn.Module, inputs: Sequence[Tensor], names: list[str], outputs: list[str], dynamic: dict[str, Any]
) -> onnx.ModelProto:
    file = io.BytesIO()
    torch.onnx.export(
        module.eval(),
        tuple(inputs),
        file,  # type: ignore[arg-type]  # a file takes any of them
        input_names=names,
        output_names=outputs,
        dynamic_axes=dynamic,
        opset_version=OPSET,
        dynamo=False,
    )
    return onnx.load_from_string(file.getvalue())

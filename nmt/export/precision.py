"""Graphs made smaller: weights in 16 bits, or products of whole numbers."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

Precision: TypeAlias = Literal["float32", "float16", "int8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
_SMALL = 1024  # numbers of a tensor that stays as it is


def write(graph: onnx.ModelProto, path: Path, precision: Precision) -> None:
    """Write a graph of 32 bits, tidied by onnxruntime.

    `float16` stores weights in 16 bits, and computes in 32 as before. `int8` has onnxruntime quantize matrices, one
    scale for each column, and what they multiply as it comes; weights of 7 bits, because the products of processors
    without VNNI would overflow with 8. What it cannot quantize, such as a GRU, is stored in 16 bits.
    """
    with tempfile.TemporaryDirectory() as folder:
        tidied, quantized = Path(folder) / "tidied.onnx", Path(folder) / "quantized.onnx"
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = str(tidied)
        options.log_severity_level = 4
        onnxruntime.InferenceSession(graph.SerializeToString(), options, ["CPUExecutionProvider"])
        if precision == "int8":
            with _quiet():
                quantize_dynamic(tidied, quantized, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)
        written = onnx.load(quantized if precision == "int8" else tidied)
    if precision != "float32":
        _store_in_16_bits(written.graph)
    used = {node.domain for node in written.graph.node}
    for opset in [opset for opset in written.opset_import if opset.domain not in used]:
        written.opset_import.remove(opset)
    onnx.save(written, path)


def _store_in_16_bits(graph: onnx.GraphProto) -> None:
    """Store each large weight in 16 bits; a node makes 32 of them, once, when the graph is loaded."""
    casts = []
    for weight in graph.initializer:
        if weight.data_type != TensorProto.FLOAT or np.prod(weight.dims) < _SMALL:
            continue
        name, stored = weight.name, f"{weight.name}_16"
        largest = np.finfo(np.float16).max
        values = numpy_helper.to_array(weight).clip(-largest, largest).astype(np.float16)
        weight.CopyFrom(numpy_helper.from_array(values, stored))
        casts.append(helper.make_node("Cast", [stored], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the advice of onnxruntime's quantization."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)

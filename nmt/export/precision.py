"""Graphs made smaller: weights in 16 bits, or products of integers."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidProtobuf
from onnxruntime.quantization import QuantType, quantize_dynamic

from nmt.export.tracing import quietly

Precision: TypeAlias = Literal["float32", "float16", "int8"]
_SMALL = 1024  # elements of a tensor that stays as it is
_Stored: TypeAlias = tuple[list[onnx.TensorProto], list[onnx.NodeProto]]


def write(graph: onnx.ModelProto, path: Path, precision: Precision, *, products: bool = True) -> None:
    """Write a graph in float32, optimized by onnxruntime.

    `float16` stores weights in 16 bits, and computes in float32. `int8` has onnxruntime quantize matrices, one scale
    for each column, and their inputs dynamically; weights in 7 bits, because products on CPUs without VNNI would
    overflow with 8. What it cannot quantize, such as a GRU, is stored in 16 bits. Without `products` all weights are
    stored in 8 bits, one scale for each slice of the longest dimension, and computed with in float32: then translations
    do not depend on how a machine rounds products.
    """
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:  # the disk that needs room anyway
        optimized, quantized = Path(folder) / "optimized.onnx", Path(folder) / "quantized.onnx"
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = str(optimized)
        options.log_severity_level = 4
        try:
            onnxruntime.InferenceSession(graph.SerializeToString(), options, ["CPUExecutionProvider"])
        except InvalidProtobuf as error:  # all that onnxruntime says of a file that it cannot write
            raise OSError(errno.EIO, "onnxruntime cannot write there") from error
        in_integers = products and precision == "int8"
        if in_integers:
            with quietly():
                quantize_dynamic(optimized, quantized, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)
        written = onnx.load(quantized if in_integers else optimized)
    if precision != "float32":
        _store(written.graph, _in_8_bits if precision == "int8" and not products else _in_16_bits)
    used = {node.domain for node in written.graph.node}
    for opset in [opset for opset in written.opset_import if opset.domain not in used]:
        written.opset_import.remove(opset)
    onnx.save(written, path)


def _store(graph: onnx.GraphProto, smaller: Callable[[str, npt.NDArray[np.float32]], _Stored]) -> None:
    """Store each large weight in fewer bits; nodes convert it to float32, once, when the graph is loaded."""
    nodes: list[onnx.NodeProto] = []
    for weight in [w for w in graph.initializer if w.data_type == TensorProto.FLOAT and np.prod(w.dims) >= _SMALL]:
        stored, making = smaller(weight.name, numpy_helper.to_array(weight))
        graph.initializer.remove(weight)
        graph.initializer.extend(stored)
        nodes += making
    nodes += graph.node
    del graph.node[:]
    graph.node.extend(nodes)


def _in_16_bits(name: str, values: npt.NDArray[np.float32]) -> _Stored:
    largest = np.finfo(np.float16).max
    stored = numpy_helper.from_array(values.clip(-largest, largest).astype(np.float16), f"{name}_16")
    return [stored], [helper.make_node("Cast", [stored.name], [name], to=TensorProto.FLOAT)]


def _in_8_bits(name: str, values: npt.NDArray[np.float32]) -> _Stored:
    axis = int(np.argmax(values.shape))
    reduced = tuple(i for i in range(values.ndim) if i != axis)
    scale = np.abs(values).max(axis=reduced, keepdims=True).clip(1e-12) / 127
    whole = numpy_helper.from_array(np.rint(values / scale).astype(np.int8), f"{name}_8")
    scales = numpy_helper.from_array(scale, f"{name}_scale")
    # Not DequantizeLinear: onnxruntime would run it at each step, to look for products of integers.
    cast = helper.make_node("Cast", [whole.name], [f"{name}_whole"], to=TensorProto.FLOAT)
    return [whole, scales], [cast, helper.make_node("Mul", [f"{name}_whole", scales.name], [name])]

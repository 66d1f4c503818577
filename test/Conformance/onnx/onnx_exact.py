"""Computes a model of float16 in float64 with the package's own reference, to judge results that differ from the
expected float16 numbers.

numpy sums float16 in float16. The error of some expected results is therefore larger than the tolerance.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx_cases import Case
from onnx.reference import ReferenceEvaluator

HALF, DOUBLE = onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE


def widen_tensor(tensor: onnx.TensorProto) -> None:
    if tensor.data_type == HALF:
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


def widen_graph(graph: onnx.GraphProto) -> None:
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.elem_type == HALF:
            value.type.tensor_type.elem_type = DOUBLE
    for tensor in graph.initializer:
        widen_tensor(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype") and attribute.i == HALF:
                attribute.i = DOUBLE
            widen_tensor(attribute.t)
            widen_graph(attribute.g)


def is_finer(case: Case, inputs: list, number: int, got: np.ndarray, want: np.ndarray) -> bool:
    """Returns whether result `number`, of float16, is at least as close to float64's result as the expected one."""
    if want.dtype != np.float16:
        return False
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    widen_graph(model.graph)
    feeds = {value.name: array.astype(np.float64) if array.dtype == np.float16 else array
             for value, array in zip(model.graph.input, inputs, strict=True)}  # fmt: skip
    exact = ReferenceEvaluator(model).run(None, feeds)[number]
    if exact.dtype != np.float64 or not np.isfinite(exact).all() or not np.isfinite(got).all():
        return False
    return np.abs(got - exact).max() <= np.abs(want - exact).max()

"""Writes the .onnx files that test/Tools/onnx.test reads; requires the package onnx. Run this script in its folder after you change it."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

here = Path(__file__).resolve().parent


def save(name, nodes, inputs, outputs, initializers=(), opset=17, **more):
    values = [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs], [helper.make_tensor_value_info(n, t, s) for n, t, s in outputs]
    graph = helper.make_graph(nodes, name, *values, [numpy_helper.from_array(a, n) for n, a in initializers])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8, producer_name="tilewright", **more)
    onnx.checker.check_model(model)
    onnx.save(model, here / name)


rng = np.random.default_rng(0)
F = TensorProto.FLOAT
# As in models that torch exports, several nodes compute the shape of y, which is [n * 2, 2].
save(
    "perceptron.onnx",
    [
        helper.make_node("Gemm", ["x", "weight", "bias"], ["h"], transB=1, name="layer"),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Shape", ["r"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"], axis=0),
        helper.make_node("Mul", ["n", "two"], ["rows"]),
        helper.make_node("Concat", ["rows", "columns"], ["shape"], axis=0),
        helper.make_node("Reshape", ["r", "shape"], ["y"]),
    ],
    [("x", F, ["batch", 8])],
    [("y", F, ["rows", 2])],
    [
        ("weight", rng.standard_normal((4, 8), dtype=np.float32)),
        ("bias", rng.standard_normal(4, dtype=np.float32)),
        ("zero", np.array([0], np.int64)),
        ("two", np.array([2], np.int64)),
        ("columns", np.array([-1], np.int64)),
    ],
)
# A model with several nodes that cannot be compiled.
save(
    "refused.onnx",
    [
        helper.make_node("NonZero", ["x"], ["places"], name="find"),
        helper.make_node("Cast", ["places"], ["p"], to=F),
        helper.make_node("Reshape", ["x", "shape"], ["z"], name="turn"),
        helper.make_node("Bernoulli", ["x"], ["b"], name="draw"),
    ],
    [("x", F, [2, 3]), ("shape", TensorProto.INT64, [2])],
    [("p", F, [2, "found"]), ("z", F, [3, 2]), ("b", F, [2, 3])],
)

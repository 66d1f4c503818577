"""Writes digits.onnx: a small convolutional network with random weights, for 28 x 28 images and a fixed batch size of 1."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(7)
weights = {
    "filters": rng.standard_normal((8, 1, 5, 5)) * 0.2,
    "filter_bias": rng.standard_normal(8) * 0.1,
    "classes": rng.standard_normal((8 * 12 * 12, 10)) * 0.05,
    "class_bias": rng.standard_normal(10) * 0.1,
}
nodes = [
    helper.make_node("Conv", ["image", "filters", "filter_bias"], ["features"], name="conv"),
    helper.make_node("Relu", ["features"], ["active"]),
    helper.make_node("MaxPool", ["active"], ["pooled"], kernel_shape=[2, 2], strides=[2, 2]),
    helper.make_node("Flatten", ["pooled"], ["flat"]),
    helper.make_node("Gemm", ["flat", "classes", "class_bias"], ["scores"], name="classify"),
    helper.make_node("Softmax", ["scores"], ["probabilities"], axis=-1),
]
graph = helper.make_graph(
    nodes,
    "digits",
    [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 28, 28])],
    [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [1, 10])],
    [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()],
)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "digits.onnx")

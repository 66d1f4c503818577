"""Sizes that violate a guard are errors of the call, for each kind of input: run, libraries, .mlir and .pt2
(lib/Graph/GuardSizes.cpp).

Each ONNX case is valid if its symbols have the values `inside`, and invalid for those of `outside`. The expected
result is computed by numpy or torch.
"""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

import tilewright

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(tilewright.__file__).parents[2] / "bin" / "tilewright"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="tilewright was not imported from a build tree")

WEIGHT = np.random.default_rng(0).standard_normal((17, 8)).astype("f4")
KERNEL = np.random.default_rng(1).standard_normal((4, 3, 3, 3)).astype("f4")
PLACES = np.random.default_rng(2).integers(0, 8, (17, 3))


def command(*words, guarded=False):
    environment = {**os.environ, "TILEWRIGHT_GUARD_PAGES": "1"} if guarded else None
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300, env=environment)


def save(path, nodes, inputs, outputs=("y",), **weights):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes) for name, sizes in inputs.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    made = [helper.make_node(op, list(ins), list(outs), name=f"the_{op}", **attributes) for op, ins, outs, attributes in nodes]
    graph = helper.make_graph(made, "g", values, results, [numpy_helper.from_array(np.asarray(w), name) for name, w in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def node(op, *inputs, outputs=("y",), **attributes):
    return [(op, inputs, outputs, attributes)]


def depth_to_space(x):
    n, c, h, w = x.shape
    return x.reshape(n, 2, 2, c // 4, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, c // 4, 2 * h, 2 * w)


def space_to_depth(x):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 3, 5, 1, 2, 4).reshape(n, 4 * c, h // 2, w // 2)


X = {"x": ["n", 8]}
# name: (nodes, inputs, weights, symbol values that the guards accept, symbol values that they refuse, expected result)
CASES = {
    "Concat": (node("Concat", "x", "w", axis=1), X, {"w": WEIGHT}, {"n": 17}, [{"n": 9}, {"n": 18}],
               lambda x: np.concatenate([x, WEIGHT], 1)),
    "Concat of two": (node("Concat", "x", "z", axis=1), {"x": ["n", 8], "z": ["m", 8]}, {}, {"n": 9, "m": 9}, [{"n": 9, "m": 5}],
                      lambda x, z: np.concatenate([x, z], 1)),
    "Reshape": (node("Reshape", "x", "s"), X, {"s": [17, 8]}, {"n": 17}, [{"n": 9}], lambda x: x),
    "Reshape to -1, 7": (node("Reshape", "x", "s"), X, {"s": [-1, 7]}, {"n": 14}, [{"n": 9}], lambda x: x.reshape(-1, 7)),
    "Reshape to -1, 16": (node("Reshape", "x", "s"), X, {"s": [-1, 16]}, {"n": 8}, [{"n": 9}], lambda x: x.reshape(-1, 16)),
    "Conv": (node("Conv", "x", "w"), {"x": [1, "c", 8, 8]}, {"w": KERNEL}, {"c": 3}, [{"c": 9}, {"c": 2}],
             lambda x: F.conv2d(torch.from_numpy(x), torch.from_numpy(KERNEL)).numpy()),
    "Conv of a small image": (node("Conv", "x", "w"), {"x": [1, 3, "h", 8]}, {"w": KERNEL}, {"h": 3}, [{"h": 1}, {"h": 2}],
                              lambda x: F.conv2d(torch.from_numpy(x), torch.from_numpy(KERNEL)).numpy()),
    "GatherElements": (node("GatherElements", "x", "i", axis=1), X, {"i": PLACES}, {"n": 17}, [{"n": 9}],
                       lambda x: np.take_along_axis(x, PLACES, 1)),
    "TopK": (node("TopK", "x", "k", outputs=("y", "p"), axis=0), X, {"k": [17]}, {"n": 19}, [{"n": 9}],
             lambda x: -np.sort(-x, 0)[:17]),
    "SpaceToDepth": (node("SpaceToDepth", "x", blocksize=2), {"x": [1, 2, "n", 4]}, {}, {"n": 8}, [{"n": 9}], space_to_depth),
    "DepthToSpace": (node("DepthToSpace", "x", blocksize=2), {"x": [1, "c", 3, 4]}, {}, {"c": 8}, [{"c": 9}], depth_to_space),
    "MatMul": (node("MatMul", "x", "w"), {"x": [3, "n"]}, {"w": WEIGHT}, {"n": 17}, [{"n": 9}], lambda x: x @ WEIGHT),
    "Add": (node("Add", "x", "w"), X, {"w": WEIGHT}, {"n": 17}, [{"n": 9}], lambda x: x + WEIGHT),
    "Slice": (node("Slice", "x", "s", "e"), X, {"s": [3], "e": [11]}, {"n": 12}, [{"n": 9}, {"n": 2}], lambda x: x[3:11]),
    "Split": (node("Split", "x", "s", outputs=("y", "z"), axis=0), X, {"s": [5, 12]}, {"n": 17}, [{"n": 9}], lambda x: x[:5]),
    "Squeeze": (node("Squeeze", "x", "a"), X, {"a": [0]}, {"n": 1}, [{"n": 9}], lambda x: x[0]),
    "Expand": (node("Expand", "x", "s"), X, {"s": [17, 8]}, {"n": 17}, [{"n": 9}], lambda x: x),
    "Gemm": (node("Gemm", "x", "w", "c", transB=1), X, {"w": WEIGHT, "c": np.ones((17, 17), "f4")}, {"n": 17}, [{"n": 9}],
             lambda x: x @ WEIGHT.T + 1),
    "Slice that is read twice": ([("Slice", ["x", "s", "e"], ["a"], {}), ("Greater", ["a", "one"], ["b"], {}), ("Where", ["b", "a", "w"], ["y"], {})],
                                 {"x": ["n"]}, {"s": [13], "e": [1 << 60], "one": np.ones(1, "f4"), "w": WEIGHT[0, :1].repeat(19)}, {"n": 32},
                                 [{"n": 31}, {"n": 9}], lambda x: np.where(x[13:] > 1, x[13:], WEIGHT[0, 0])),
    "Einsum": (node("Einsum", "x", "w", equation="ij,ik->jk"), X, {"w": WEIGHT}, {"n": 17}, [{"n": 9}], lambda x: x.T @ WEIGHT),
}


def arrays_of(inputs, sizes):
    random = np.random.default_rng(3)
    return {name: random.standard_normal([sizes.get(d, d) for d in dims]).astype("f4") for name, dims in inputs.items()}


def run(path, arrays, folder, *more, guarded=False):
    words = []
    for number, (name, array) in enumerate(arrays.items()):
        np.save(folder / f"{number}.npy", array)
        words += ["--input", f"{name}={folder}/{number}.npy"]
    return command("run", path, *words, "--output", folder / "results", *more, guarded=guarded)


@pytest.mark.parametrize("case", CASES)
def test_onnx_model_refuses_sizes_that_violate_a_guard(case, tmp_path):
    nodes, inputs, weights, inside, outside, result = CASES[case]
    path, library = tmp_path / "m.onnx", tmp_path / "m.so"
    save(path, nodes, inputs, **weights)
    done = command("compile", path, "-o", library)
    assert done.returncode == 0, done.stderr
    given = arrays_of(inputs, inside)
    for file, more in ((path, ["--check"]), (library, [])):
        done = run(file, given, tmp_path, *more, guarded=True)
        assert done.returncode == 0, done.stderr
        np.testing.assert_allclose(np.load(tmp_path / "results" / "y.npy"), result(**given), rtol=1e-4, atol=1e-4)
        for sizes in outside:
            done = run(file, arrays_of(inputs, sizes), tmp_path, *more)
            assert done.returncode == 1, (file, sizes, done.stdout)
            assert "the sizes of the inputs do not fit the model" in done.stderr and any(f"the_{one[0]}: " in done.stderr for one in nodes), done.stderr


def test_error_names_node_sizes_and_values(tmp_path):
    nodes, inputs, weights, *_ = CASES["Concat"]
    save(tmp_path / "m.onnx", nodes, inputs, **weights)
    said = run(tmp_path / "m.onnx", arrays_of(inputs, {"n": 9}), tmp_path).stderr
    assert "the sizes of the inputs do not fit the model: Concat the_Concat: n must be 17; here it is 9" in said
    nodes, inputs, weights, *_ = CASES["Concat of two"]
    save(tmp_path / "m.onnx", nodes, inputs, **weights)
    said = run(tmp_path / "m.onnx", arrays_of(inputs, {"n": 9, "m": 5}), tmp_path).stderr
    assert "Concat the_Concat: m must be n; here they are 5 and 9" in said, said


def test_c_functions_of_a_library_report_violated_guards(tmp_path):
    """Tests shape() and run() of a library's instance, which stays usable after an error."""
    sys.path.insert(0, str(ROOT / "test" / "Conformance" / "onnx_sizes"))
    from size_trial import Library

    nodes, inputs, weights, *_ = CASES["Reshape to -1, 7"]
    save(tmp_path / "m.onnx", nodes, inputs, **weights)
    assert command("compile", tmp_path / "m.onnx", "-o", tmp_path / "m.so").returncode == 0
    library = Library(tmp_path / "m.so", "m")
    for rows, fits in ((14, True), (9, False), (7, True), (9, False), (21, True)):
        x = np.random.default_rng(rows).standard_normal((rows, 8)).astype("f4")
        results, error = library.call([x])
        assert (results is not None) == fits, error
        if fits:
            np.testing.assert_array_equal(results[0], x.reshape(-1, 7))
        else:
            assert "Reshape the_Reshape: n * 8 must be" in error


def test_mlir_model_refuses_sizes_that_violate_a_guard(tmp_path):
    path = tmp_path / "m.mlir"
    path.write_text("""
func.func @main(%n: index {tw.symbol = "n", tw.min = 1 : i64}, %x: tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>> {tw.name = "x"},
                %w: tensor<17x8xf32> {tw.name = "w"}) -> tensor<?x16xf32, affine_map<()[s0] -> (s0, 16)>> {
  %0 = tw.concat %x, %w {dim = 1 : i64} : (tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>, tensor<17x8xf32>) -> tensor<?x16xf32, affine_map<()[s0] -> (s0, 16)>>
  return %0 : tensor<?x16xf32, affine_map<()[s0] -> (s0, 16)>>
}
""")
    assert command("run", path, "--sizes", "17", "--check").returncode == 0
    done = command("run", path, "--sizes", "9", "--check")
    assert done.returncode == 1 and "tw.concat at " in done.stderr and "m.mlir:4: n must be 17; here it is 9" in done.stderr, done.stderr


def test_exported_model_refuses_sizes_that_violate_a_guard(tmp_path):
    """Assumptions of torch.export about sizes are checked at the call."""
    class Rows(nn.Module):
        def forward(self, x, y):
            return x + 1, y.view(-1, x.shape[0] * 2)

    auto = ({0: Dim.AUTO}, {0: Dim.AUTO})
    tilewright.export(Rows(), (torch.randn(8, 4), torch.randn(32)), tmp_path / "m.pt2", dynamic_shapes=auto)
    for rows, length, fits in ((8, 32, True), (5, 30, True), (5, 32, False)):
        given = {"x": np.ones((rows, 4), "f4"), "y": np.arange(length, dtype="f4")}
        done = run(tmp_path / "m.pt2", given, tmp_path)
        assert (done.returncode == 0) == fits, done.stderr
        if fits:
            np.testing.assert_array_equal(np.load(tmp_path / "results" / "1.npy"), given["y"].reshape(-1, 2 * rows))
        else:
            assert "do not fit the model" in done.stderr and "must hold" in done.stderr, done.stderr


def test_onnx_length_that_the_exporter_fixed_is_guarded(tmp_path):
    """torch.onnx.export(dynamo=False) writes the traced length of a sequence into reshapes: other lengths are
    refused."""
    import warnings

    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=False)
    model = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, (torch.randn(17, 2, 32),), str(tmp_path / "m.onnx"), dynamo=False, input_names=["x"], output_names=["y"],
                          dynamic_axes={"x": {0: "length", 1: "batch"}}, opset_version=17)
    for length, batch in ((17, 2), (17, 5), (9, 2)):
        x = torch.randn(length, batch, 32)
        done = run(tmp_path / "m.onnx", {"x": x.numpy()}, tmp_path, guarded=True)
        if done.returncode == 0:  # an exporter that writes no fixed length would be right as well
            with torch.no_grad():
                np.testing.assert_allclose(np.load(tmp_path / "results" / "y.npy"), model(x).numpy(), rtol=1e-3, atol=1e-4)
        else:
            assert length == 9 and "do not fit the model" in done.stderr, done.stderr


def test_guard_pages_find_a_read_past_the_end(tmp_path):
    """A kernel whose check of the index is wrong reads row 64 of a tensor with 64 rows. With guard pages, its library
    crashes."""
    (tmp_path / "m.mlir").write_text("""
func.func @main(%x: tensor<64x64xf32> {tw.name = "x"}, %i: tensor<64xi64> {tw.name = "i"}) -> (tensor<64x64xf32> {tw.name = "y"}) {
  %0 = tw.take %x[%i] {dim = 0 : i64} : (tensor<64x64xf32>, tensor<64xi64>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
""")
    done = command("compile", tmp_path / "m.mlir", "--emit=structured")
    right, bound = done.stdout, "%c64 = arith.constant 64 : index"
    assert done.returncode == 0 and right.count(bound) == 1, done.stderr + right
    last = {"x": np.ones((64, 64), "f4"), "i": np.full(64, 63)}
    behind = {**last, "i": np.full(64, 64)}
    for text, given, guarded, status in ((right, last, True, 0), (right, behind, True, 1), (right.replace(bound, bound.replace(" 64", " 65")), last, True, 0),
                                         (right.replace(bound, bound.replace(" 64", " 65")), behind, True, -11)):
        (tmp_path / "s.mlir").write_text(text)
        done = command("compile", "--start-at=structured", tmp_path / "s.mlir", "-o", tmp_path / "s.so")
        assert done.returncode == 0, done.stderr
        done = run(tmp_path / "s.so", given, tmp_path, guarded=guarded)
        assert done.returncode == status, (done.returncode, done.stderr)

"""ONNX operators for which references disagree, or which the importer once refused, against torch or numpy.

The evaluator of the package onnx (1.23) is wrong, or fails, for cubic GridSample with border padding, SAME_LOWER
pools with strides, recurrent layers with sequence_lens and negative pads. onnxruntime, torch and Tilewright agree
(compared with onnxruntime 1.32).
"""

import itertools

import numpy as np
import pytest
import tilewright  # noqa: F401
import torch
import torch.nn.functional as F
from test_onnx import PROGRAM, call, command, save
from torch import nn

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="tilewright was not imported from a build tree")

FLOAT = TensorProto.FLOAT
random = np.random.default_rng(5)


def floats(*shape):
    return random.standard_normal(shape).astype("f4")


def run(folder, nodes, feeds, outputs=("y",), opset=19, symbols=None, **weights):
    """Returns the results of a graph. `symbols` names the symbolic sizes of inputs."""
    folder.mkdir(exist_ok=True)
    infos = [(name, helper.np_dtype_to_tensor_dtype(array.dtype), (symbols or {}).get(name, array.shape)) for name, array in feeds.items()]
    save(folder / "m.onnx", nodes, infos, [(name, FLOAT, None) for name in outputs],
         [numpy_helper.from_array(np.asarray(w), name) for name, w in weights.items()], opset)
    results = call(folder / "m.onnx", feeds, folder)
    return [results[name] for name in outputs]


def close(result, expected, tolerance=1e-5):
    expected = expected.numpy() if isinstance(expected, torch.Tensor) else expected
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_cubic_grid_sample_matches_torch(padding, align, tmp_path):
    x, grid = floats(2, 3, 6, 7), (random.random((2, 5, 4, 2)) * 3 - 1.5).astype("f4")
    node = helper.make_node("GridSample", ["x", "g"], ["y"], mode="cubic", padding_mode=padding, align_corners=align)
    (y,) = run(tmp_path, [node], {"x": x, "g": grid}, opset=20)
    close(y, F.grid_sample(torch.from_numpy(x), torch.from_numpy(grid), mode="bicubic", padding_mode=padding, align_corners=bool(align)), 2e-5)


def same_pads(size, kernel, stride, lower):
    total = max(0, (-(-size // stride) - 1) * stride + kernel - size)
    return (total - total // 2, total // 2) if lower else (total // 2, total - total // 2)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "Conv"])
@pytest.mark.parametrize("mode", ["SAME_LOWER", "SAME_UPPER"])
def test_pools_and_convolution_with_same_padding_match_torch(op, mode, tmp_path):
    """Tests models with fixed and with symbolic sizes, with two strides and three sizes of images."""
    weight = floats(5, 2, 3, 3)
    for i, (stride, (h, w)) in enumerate(itertools.product((1, 2), ((7, 8), (8, 9), (5, 5)))):
        x = floats(1, 2, h, w)
        (top, bottom), (left, right) = (same_pads(size, 3, stride, mode == "SAME_LOWER") for size in (h, w))
        whole = torch.from_numpy(x)
        pads = (left, right, top, bottom)
        if op == "MaxPool":
            expected = F.max_pool2d(F.pad(whole, pads, value=-torch.inf), 3, stride)
        elif op == "Conv":
            expected = F.conv2d(F.pad(whole, pads), torch.from_numpy(weight), stride=stride)
        else:
            sums, counts = (F.avg_pool2d(F.pad(t, pads), 3, stride) for t in (whole, torch.ones_like(whole)))
            expected = sums / counts
        inputs, weights = (["x", "w"], {"w": weight}) if op == "Conv" else (["x"], {})
        node = helper.make_node(op, inputs, ["y"], kernel_shape=[3, 3], strides=[stride, stride], auto_pad=mode)
        for symbols in (None, {"x": [1, 2, "h", "w"]}):
            (y,) = run(tmp_path / f"{i}{bool(symbols)}", [node], {"x": x}, symbols=symbols, **weights)
            close(y, expected)


@pytest.mark.parametrize("sizes, block, strides, dilations, pads", [
    ((5, 5), (1, 5), (1, 1), (1, 1), (0, 0, 0, 0)), ((6, 8), (2, 2), (2, 2), (1, 1), (0, 0, 0, 0)), ((7, 9), (3, 2), (1, 2), (1, 1), (1, 0, 1, 0)),
    ((9, 8), (2, 3), (2, 1), (3, 2), (2, 1, 2, 1)), ((6, 7), (2, 2), (3, 3), (1, 1), (0, 0, 0, 0)), ((8,), (3,), (2,), (1,), (1, 1)),
    ((4, 5, 3), (2, 3, 1), (1, 2, 2), (1, 1, 1), (1, 0, 0, 1, 0, 0)), ((6, 6), (3, 3), (1, 1), (1, 1), (0, 2, 1, 0)),
])  # fmt: skip
@pytest.mark.parametrize("symbolic", [False, True])
def test_col2im_matches_sum_in_float64(sizes, block, strides, dilations, pads, symbolic, tmp_path):
    """The result is compared with a sum over windows in float64. One element of a column is infinite, and must not affect
    pixels to which it is not added."""
    rank = len(sizes)
    counts = [(s + pads[i] + pads[rank + i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i, s in enumerate(sizes)]
    x = floats(2, 3 * int(np.prod(block)), int(np.prod(counts)))
    x[0, 0, 0] = np.inf
    image = np.zeros((2, 3, *(s + pads[i] + pads[rank + i] for i, s in enumerate(sizes))))
    columns = x.reshape(2, 3, *block, *counts)
    for places in itertools.product(*map(range, block), *map(range, counts)):
        at = tuple(places[rank + i] * strides[i] + places[i] * dilations[i] for i in range(rank))
        image[(slice(None), slice(None), *at)] += columns[(slice(None), slice(None), *places)]
    expected = image[(slice(None), slice(None), *(slice(pads[i], pads[i] + s) for i, s in enumerate(sizes)))]
    node = helper.make_node("Col2Im", ["x", "image", "block"], ["y"], strides=strides, dilations=dilations, pads=pads)
    (y,) = run(tmp_path, [node], {"x": x}, symbols={"x": ["n", x.shape[1], "l"]} if symbolic else None, image=np.array(sizes), block=np.array(block))
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_lstm_with_sequence_lengths_matches_torch(direction, tmp_path):
    """The result is compared with torch's LSTM on packed sequences."""
    steps, batch, width, size, count = 6, 3, 4, 5, 2 if direction == "bidirectional" else 1
    x, lengths = floats(steps, batch, width), np.array([6, 3, 1], np.int32)
    w, r, b = floats(count, 4 * size, width), floats(count, 4 * size, size), floats(count, 8 * size)
    h, c = floats(count, batch, size), floats(count, batch, size)
    model = nn.LSTM(width, size, bidirectional=count == 2)
    order = [0, 2, 3, 1]  # ONNX's gates are input, output, forget, cell; torch's input, forget, cell, output

    def reordered(t, d):
        return torch.from_numpy(np.concatenate([np.split(t[d], 4)[k] for k in order]))

    with torch.no_grad():
        for d in range(count):
            end = "_reverse" if d else ""
            for name, value in (("weight_ih_l0", reordered(w, d)), ("weight_hh_l0", reordered(r, d)), ("bias_ih_l0", reordered(b[:, :4 * size], d)),
                                ("bias_hh_l0", reordered(b[:, 4 * size:], d))):
                getattr(model, name + end).copy_(value)
        given = torch.from_numpy(x)
        if direction == "reverse":
            given = torch.stack([torch.cat([given[:n, i].flip(0), given[n:, i]]) for i, n in enumerate(lengths)], 1)
        packed = nn.utils.rnn.pack_padded_sequence(given, torch.from_numpy(lengths).long())
        results, (last, cell) = model(packed, (torch.from_numpy(h), torch.from_numpy(c)))
        y = nn.utils.rnn.pad_packed_sequence(results)[0].reshape(steps, batch, count, size).transpose(1, 2)
        if direction == "reverse":
            y = torch.stack([torch.cat([y[:n, :, i].flip(0), y[n:, :, i]]) for i, n in enumerate(lengths)], 2)
    node = helper.make_node("LSTM", ["x", "w", "r", "b", "n", "h", "c"], ["y", "yh", "yc"], hidden_size=size, direction=direction)
    found = run(tmp_path, [node], {"x": x, "n": lengths, "h": h, "c": c}, ("y", "yh", "yc"), w=w, r=r, b=b)
    for result, expected in zip(found, (y, last, cell)):
        close(result, expected)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_negative_pads_equal_numpy(mode, tmp_path):
    """Negative pads are applied first; positive pads extend the remaining elements (onnxruntime's rule)."""
    x = floats(2, 5, 6)
    for i, pads in enumerate(([0, -1, 0, 0, 0, -2], [0, -1, 2, 0, 1, -2], [0, 1, -2, 0, -1, 1], [0, 0, -2, 0, 0, 3])):
        cut = x[:, max(0, -pads[1]):5 - max(0, -pads[4]), max(0, -pads[2]):6 - max(0, -pads[5])]
        added = [(max(0, pads[k]), max(0, pads[k + 3])) for k in range(3)]
        (y,) = run(tmp_path / str(i), [helper.make_node("Pad", ["x", "p"], ["y"], mode=mode)], {"x": x}, p=pads)
        close(y, np.pad(cut, added, mode=mode), 0)


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
def test_quantized_convolution_matches_float64(per_channel, groups, tmp_path):
    """A convolution between DequantizeLinear and QuantizeLinear ops is compared with products and sums of the dequantized numbers in f64. The last
    rounding may differ by one step."""
    x, w = floats(1, 4, 6, 6), random.integers(-128, 128, (6, 4 // groups, 3, 3)).astype(np.int8)
    scale = (random.random(6) * 0.05 + 0.01).astype("f4") if per_channel else np.array(0.02, "f4")
    zero = random.integers(-20, 20, 6).astype(np.int8) if per_channel else np.array(3, np.int8)
    step, middle, end, half = np.array(0.03, "f4"), np.array(120, np.uint8), np.array(0.07, "f4"), np.array(128, np.uint8)
    bytes_ = np.clip(np.rint(x / step) + 120, 0, 255)
    wide = lambda v: np.broadcast_to(v, 6).astype("f8")[:, None, None, None]  # noqa: E731
    numbers, weights = (bytes_ - 120) * step.astype("f8"), (w - wide(zero)) * wide(scale)
    expected = F.conv2d(torch.from_numpy(numbers), torch.from_numpy(weights), padding=1, groups=groups).numpy()
    nodes = [helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["q"]), helper.make_node("DequantizeLinear", ["q", "sx", "zx"], ["d"]),
             helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["f"], axis=0),
             helper.make_node("Conv", ["d", "f"], ["c"], group=groups, pads=[1, 1, 1, 1]),
             helper.make_node("QuantizeLinear", ["c", "so", "zo"], ["e"]), helper.make_node("DequantizeLinear", ["e", "so", "zo"], ["y"])]
    c, y = run(tmp_path, nodes, {"x": x}, ("c", "y"), opset=13, sx=step, zx=middle, w=w, sw=scale, zw=zero, so=end, zo=half)
    close(c, expected)
    rounded = np.clip(np.rint(expected / 0.07), -128, 127) * 0.07
    assert np.abs(y - rounded).max() < 0.0701 and (np.abs(y - rounded) > 0.01).mean() < 0.02


@pytest.mark.parametrize("mode,align", [("bilinear", False), ("bilinear", True), ("bicubic", False), ("bicubic", True), ("nearest", None)])
def test_resize_of_symbolic_sizes_matches_torch(mode, align, tmp_path):
    """The resize is specified by scales, or by the sizes of another tensor."""
    how = {"mode": {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode), "cubic_coeff_a": -0.75,
           "coordinate_transformation_mode": "asymmetric" if mode == "nearest" else "align_corners" if align else "half_pixel"}
    if mode == "nearest":
        how["nearest_mode"] = "floor"
    flags = {} if align is None else {"align_corners": align}
    sizes = {"x": ["n", 3, "h", "w"], "z": ["n", 2, "a", "b"]}
    for i, (h, w, a, b) in enumerate(((5, 6, 10, 7), (8, 3, 4, 9), (1, 4, 3, 3))):
        x, z = floats(2, 3, h, w), floats(2, 2, a, b)
        (y,) = run(tmp_path / f"s{i}", [helper.make_node("Resize", ["x", "", "s"], ["y"], **how)], {"x": x}, symbols={"x": sizes["x"]},
                   s=np.array([1, 1, 2, 2], "f4"))
        close(y, F.interpolate(torch.from_numpy(x), scale_factor=2.0, mode=mode, **flags), 1e-4)
        nodes = [helper.make_node("Shape", ["z"], ["all"]), helper.make_node("Slice", ["all", "two", "four"], ["plane"]),
                 helper.make_node("Shape", ["x"], ["own"]), helper.make_node("Slice", ["own", "zero", "two"], ["rest"]),
                 helper.make_node("Concat", ["rest", "plane"], ["sizes"], axis=0), helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **how)]
        (y,) = run(tmp_path / f"z{i}", nodes, {"x": x, "z": z}, symbols=sizes, zero=[0], two=[2], four=[4])
        close(y, F.interpolate(torch.from_numpy(x), size=(a, b), mode=mode, **flags), 1e-4)


def test_nodes_in_any_order_are_read_and_a_cycle_is_refused(tmp_path):
    """The float16 converter writes casts after all nodes. Functions and subgraphs may have any order, too; a cycle
    is reported."""
    x = floats(3, 4)
    nodes = [helper.make_node("Add", ["b", "x"], ["y"]), helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Neg", ["x"], ["a"])]
    (y,) = run(tmp_path, nodes, {"x": x})
    close(y, np.maximum(-x, 0) + x, 0)
    body = helper.make_graph([helper.make_node("Mul", ["t", "late"], ["r"]), helper.make_node("Neg", ["late"], ["t"])], "then", [],
                             [helper.make_tensor_value_info("r", FLOAT, None)])
    nodes = [helper.make_node("If", ["yes"], ["y"], then_branch=body, else_branch=body), helper.make_node("Tanh", ["x"], ["late"])]
    (y,) = run(tmp_path, nodes, {"x": x}, yes=np.array(True))
    close(y, -np.tanh(x) ** 2)
    save(tmp_path / "c.onnx", [helper.make_node("Add", ["x", "b"], ["a"], name="one"), helper.make_node("Neg", ["a"], ["b"])],
         [("x", FLOAT, x.shape)], [("b", FLOAT, None)])
    done = command("compile", tmp_path / "c.onnx", "--emit=graph")
    assert done.returncode == 1 and "is not the result of an earlier node" in done.stderr

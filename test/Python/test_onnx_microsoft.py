"""Operators of com.microsoft, which onnxruntime's optimizers write, against numpy in float64 and, if it is installed,
onnxruntime.

Each case is one node; the number after a name is the seed of its inputs. Every case with a batch has symbolic
sizes.
"""

import math
import os
import pathlib
import subprocess

import numpy as np
import pytest

import tilewright

onnx = pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

PROGRAM = pathlib.Path(tilewright.__file__).parents[2] / "bin" / "tilewright"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="tilewright was not imported from a build tree")

erf = np.vectorize(math.erf)
gelu = lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2)))  # noqa: E731
fast_gelu = lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))  # noqa: E731


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x, gamma, beta=0, eps=1e-12, centred=True):
    mean = x.mean(-1, keepdims=True) if centred else 0
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + eps) * gamma + beta


def heads(x, count):
    return x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)


def attended(q, k, v, bias, scale=None):
    scores = q @ k.swapaxes(-1, -2) * (scale or 1 / math.sqrt(q.shape[-1])) + bias
    result = (softmax(scores) @ v).transpose(0, 2, 1, 3)
    return result.reshape(*result.shape[:2], -1)


def causal(rows, columns):
    return np.where(np.arange(columns) <= np.arange(rows)[:, None] + columns - rows, 0.0, -np.inf)


def fused_attention(x, w, b, count, bias=0.0, past=None):
    q, k, v = (heads(part, count) for part in np.split(x @ w + b, 3, -1))
    if past is not None:
        k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
    return attended(q, k, v, bias), np.stack([k, v])


class Make:
    """The inputs of a case, in order: named arrays and, for each, the symbolic dimensions."""

    def __init__(self, seed=0):
        self.random, self.arrays, self.symbols, self.fixed = np.random.default_rng(seed), {}, {}, set()

    def floats(self, name, *shape, symbols=(), dtype=np.float32):
        self.arrays[name] = self.random.standard_normal(shape).astype(dtype)
        self.symbols[name] = dict(symbols)
        return self.arrays[name].astype(np.float64)

    def weight(self, name, *shape):
        self.fixed.add(name)
        return self.floats(name, *shape) * 1.0

    def given(self, name, array, symbols=(), fixed=False):
        self.arrays[name] = array
        self.symbols[name] = dict(symbols)
        if fixed:
            self.fixed.add(name)
        return array


def run(folder, op, make, names, expected, attributes=(), domain="com.microsoft", outputs=None, tolerance=1e-5):
    """Checks that the node `op` on `names` ("" is an omitted input) returns `expected`, in Tilewright and in
    onnxruntime."""
    results = outputs or [f"y{i}" for i in range(len(expected))]
    node = helper.make_node(op, list(names), results, name=op, domain=domain, **dict(attributes))
    infos, weights = [], []
    for name, array in make.arrays.items():
        if name in make.fixed:
            weights.append(numpy_helper.from_array(array, name))
            continue
        sizes = [make.symbols[name].get(dim, size) for dim, size in enumerate(array.shape)]
        infos.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), sizes))
    kept = list(zip([name for name in results if name], expected, strict=True))
    element = next(helper.np_dtype_to_tensor_dtype(a.dtype) for a in make.arrays.values() if a.dtype.kind == "f")
    types = [helper.make_tensor_value_info(name, onnx.TensorProto.INT32 if value.dtype == np.int32 else element, None) for name, value in kept]
    graph = helper.make_graph([node], "g", infos, types, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=9)
    path = folder / f"{op}.onnx"
    path.write_bytes(model.SerializeToString())
    feeds = {name: array for name, array in make.arrays.items() if name not in make.fixed}
    if onnxruntime:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        compare(session.run([name for name, _ in kept], feeds), kept, max(tolerance, 2e-5), "onnxruntime")
    words = []
    for number, (name, array) in enumerate(feeds.items()):
        np.save(folder / f"{number}.npy", array)
        words += ["--input", f"{name}={folder}/{number}.npy"]
    done = subprocess.run([PROGRAM, "run", path, *words, "--output", folder / "results"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    compare([np.load(folder / "results" / f"{name}.npy") for name, _ in kept], kept, tolerance, "tilewright")


def compare(results, kept, tolerance, who):
    for result, (name, value) in zip(results, kept, strict=True):
        assert result.shape == value.shape, (who, name, result.shape, value.shape)
        error = np.abs(result.astype(np.float64) - value).max(initial=0)
        assert error <= tolerance * max(1, np.abs(value).max(initial=0)), (who, name, error)


@pytest.mark.parametrize("op,function", [("Gelu", gelu), ("BiasGelu", gelu), ("FastGelu", fast_gelu), ("FastGelu", None), ("QuickGelu", None)])
def test_gelu_variants_match_numpy(op, function, tmp_path):
    make = Make()
    x = make.floats("x", 3, 5, 16, symbols={0: "n"})
    names, attributes = ["x"], {}
    if op == "BiasGelu" or (op == "FastGelu" and function):
        x = x + make.weight("b", 16)
        names.append("b")
    if op == "QuickGelu":
        attributes, function = {"alpha": 1.5}, lambda v: v / (1 + np.exp(-1.5 * v))
    run(tmp_path, op, make, names, [(function or fast_gelu)(x)], attributes)


def test_skip_layer_norm_matches_numpy(tmp_path):
    make = Make(1)
    x, skip = (make.floats(name, 2, 5, 16, symbols={0: "n", 1: "s"}) for name in ("x", "skip"))
    gamma, beta, bias = (make.weight(name, 16) for name in ("gamma", "beta", "bias"))
    total = x + skip + bias
    run(tmp_path, "SkipLayerNormalization", make, ["x", "skip", "gamma", "beta", "bias"], [layer_norm(total, gamma, beta, 1e-5), total],
        {"epsilon": 1e-5}, outputs=["y", "", "", "total"])


def test_skip_simplified_layer_norm_matches_numpy(tmp_path):
    make = Make(2)
    x, skip = (make.floats(name, 2, 5, 16, symbols={0: "n"}) for name in ("x", "skip"))
    gamma = make.weight("gamma", 16)
    run(tmp_path, "SkipSimplifiedLayerNormalization", make, ["x", "skip", "gamma"], [layer_norm(x + skip, gamma, eps=1e-6, centred=False)],
        {"epsilon": 1e-6})


def test_simplified_layer_norm_matches_numpy(tmp_path):
    make = Make(3)
    x, gamma = make.floats("x", 4, 16, symbols={0: "n"}), make.weight("gamma", 16)
    run(tmp_path, "SimplifiedLayerNormalization", make, ["x", "gamma"], [layer_norm(x, gamma, eps=1e-5, centred=False)],
        {"axis": -1, "epsilon": 1e-5}, domain="")


@pytest.mark.parametrize("masked", [True, False])
def test_embed_layer_norm_matches_numpy(masked, tmp_path):
    make = Make(4)
    ids = make.given("ids", make.random.integers(0, 20, (2, 6)).astype(np.int32), {0: "n", 1: "s"})
    segments = make.given("segments", make.random.integers(0, 2, (2, 6)).astype(np.int32), {0: "n", 1: "s"})
    words, places, kinds = make.weight("words", 20, 16), make.weight("places", 10, 16), make.weight("kinds", 2, 16)
    gamma, beta = make.weight("gamma", 16), make.weight("beta", 16)
    names, counts = ["ids", "segments", "words", "places", "kinds", "gamma", "beta"], np.zeros(2, np.int32)
    if masked:
        mask = make.given("mask", np.array([[1] * 6, [1, 1, 1, 0, 0, 0]], np.int32), {0: "n", 1: "s"})
        names, counts = [*names, "mask"], mask.sum(1).astype(np.int32)
    total = words[ids] + places[:6] + kinds[segments]
    run(tmp_path, "EmbedLayerNormalization", make, names, [layer_norm(total, gamma, beta), counts])


@pytest.mark.parametrize("transposed", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_fused_matmul_with_transposed_operands_matches_numpy(transposed, tmp_path):
    make = Make(5)
    a = make.floats("a", 3, *((4, 5) if transposed[0] else (5, 4)), symbols={0: "n"})
    b = make.floats("b", 3, *((6, 4) if transposed[1] else (4, 6)), symbols={0: "n"})
    a, b = a.swapaxes(1, 2) if transposed[0] else a, b.swapaxes(1, 2) if transposed[1] else b
    run(tmp_path, "FusedMatMul", make, ["a", "b"], [0.25 * (a @ b)], {"alpha": 0.25, "transA": transposed[0], "transB": transposed[1]})


def test_fused_matmul_with_batch_dimension_after_rows_matches_numpy(tmp_path):
    make = Make(6)
    a, b = make.floats("a", 5, 3, 4, symbols={1: "n"}), make.floats("b", 3, 4, 6, symbols={0: "n"})
    run(tmp_path, "FusedMatMul", make, ["a", "b"], [a.transpose(1, 0, 2) @ b], {"transBatchA": 1})


@pytest.mark.parametrize("activation", ["Relu", "Tanh", "Sigmoid", "LeakyRelu"])
def test_fused_gemm_and_conv_match_numpy(activation, tmp_path):
    function = {"Relu": lambda v: np.maximum(v, 0), "Tanh": np.tanh, "Sigmoid": lambda v: 1 / (1 + np.exp(-v)),
                "LeakyRelu": lambda v: np.where(v > 0, v, 0.2 * v)}[activation]
    make = Make(7)
    a, b, c = make.floats("a", 5, 4, symbols={0: "n"}), make.weight("b", 6, 4), make.weight("c", 6)
    run(tmp_path, "FusedGemm", make, ["a", "b", "c"], [function(a @ b.T + c)], {"transB": 1, "activation": activation, "activation_alpha": 0.2})
    make = Make(8)
    x, w, bias = make.floats("x", 2, 3, 4, 4, symbols={0: "n"}), make.weight("w", 5, 3, 1, 1), make.weight("bias", 5)
    y = np.einsum("nchw,fc->nfhw", x, w[:, :, 0, 0]) + bias[:, None, None]
    more = {"activation_params": [0.2]} if activation == "LeakyRelu" else {}
    run(tmp_path, "FusedConv", make, ["x", "w", "bias"], [function(y)], {"kernel_shape": [1, 1], "activation": activation, **more})


MASKS = {"none": None, "lengths": (2,), "ends and starts": (4,), "keys": (2, 6), "pairs": (2, 6, 6)}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("unidirectional", [0, 1])
def test_attention_with_each_mask_kind_matches_numpy(mask, unidirectional, tmp_path):
    make, sizes = Make(9), MASKS[mask]
    symbols = {0: "n", 1: "s"}
    x, w, b = make.floats("x", 2, 6, 16, symbols=symbols), make.weight("w", 16, 48), make.weight("b", 48)
    names, bias = ["x", "w", "b"], np.zeros((1, 1, 1, 1))
    if mask == "lengths":
        ends = make.given("mask", np.array([6, 4], np.int32), {0: "n"})
        bias = np.where(np.arange(6) < ends[:, None], 0.0, -10000.0)[:, None, None]
    elif mask == "ends and starts":
        make.symbols["x"] = {1: "s"}
        both = make.given("mask", np.array([6, 4, 1, 0], np.int32))
        inside = (np.arange(6) < both[:2, None]) & (np.arange(6) >= both[2:, None])
        bias = np.where(inside, 0.0, -10000.0)[:, None, None]
    elif sizes:
        seen = (make.random.random(sizes) < 0.7) | (np.arange(6) == 0)
        seen = make.given("mask", seen.astype(np.int32), {0: "n", 1: "s", 2: "s"} if len(sizes) == 3 else symbols)
        bias = np.where(seen, 0.0, -10000.0).reshape(2, 1, -1, 6)
    if sizes:
        names.append("mask")
    if unidirectional:
        bias = bias + causal(6, 6)
    expected, _ = fused_attention(x, w, b, 4, bias)
    run(tmp_path, "Attention", make, names, [expected], {"num_heads": 4, "unidirectional": unidirectional})


@pytest.mark.parametrize("unidirectional", [0, 1])
def test_attention_with_past_keys_and_values_matches_numpy(unidirectional, tmp_path):
    make = Make(10)
    x, w, b = make.floats("x", 2, 3, 16, symbols={0: "n", 1: "s"}), make.weight("w", 16, 48), make.weight("b", 48)
    past = make.floats("past", 2, 2, 4, 5, 4, symbols={1: "n", 3: "p"})
    expected, present = fused_attention(x, w, b, 4, causal(3, 8) if unidirectional else 0.0, past)
    run(tmp_path, "Attention", make, ["x", "w", "b", "", "past"], [expected, present], {"num_heads": 4, "unidirectional": unidirectional})


@pytest.mark.parametrize("keys", ["flat", "heads"])
@pytest.mark.parametrize("masked", [False, True])
def test_multi_head_attention_matches_numpy(keys, masked, tmp_path):
    make = Make(11)
    q = make.floats("q", 2, 6, 16, symbols={0: "n", 1: "s"})
    if keys == "flat":
        k, v = (make.floats(name, 2, 7, 16, symbols={0: "n", 1: "t"}) for name in "kv")
        bias = make.weight("bias", 48)
        names = ["q", "k", "v", "bias"]
        q, k, v = (heads(part + own, 4) for part, own in zip((q, k, v), np.split(bias, 3)))
    else:
        k, v = (make.floats(name, 2, 4, 7, 4, symbols={0: "n", 2: "t"}) for name in "kv")
        names, q = ["q", "k", "v", ""], heads(q, 4)
    scores = np.zeros((1, 1, 1, 7))
    if masked:
        seen = make.given("mask", np.array([[1] * 7, [1, 1, 1, 1, 0, 0, 0]], np.int32), {0: "n", 1: "t"})
        scores, names = np.where(seen, 0.0, -10000.0)[:, None, None], [*names, "mask"]
    run(tmp_path, "MultiHeadAttention", make, names, [attended(q, k, v, scores)], {"num_heads": 4})


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("places", ["all", "first"])
def test_rotary_embedding_matches_numpy(interleaved, places, tmp_path):
    make = Make(12)
    x = make.floats("x", 2, 5, 16, symbols={0: "n", 1: "s"})
    at = make.random.integers(0, 12, (2, 5)) if places == "all" else np.array([3])
    make.given("places", at.astype(np.int64), {0: "n", 1: "s"} if places == "all" else {})
    angle = np.arange(12)[:, None] * (0.3 ** np.arange(4))
    cosine, sine = (make.given(name, f(angle).astype(np.float32), fixed=True).astype(np.float64) for name, f in (("c", np.cos), ("s", np.sin)))
    at = at if places == "all" else 3 + np.arange(5)[None].repeat(2, 0)
    c, s, halves = cosine[at][:, :, None], sine[at][:, :, None], x.reshape(2, 5, 2, 8)
    a, b = (halves[..., ::2], halves[..., 1::2]) if interleaved else (halves[..., :4], halves[..., 4:])
    pair = (a * c - b * s, a * s + b * c)
    rotated = np.stack(pair, -1).reshape(halves.shape) if interleaved else np.concatenate(pair, -1)
    run(tmp_path, "RotaryEmbedding", make, ["x", "places", "c", "s"], [rotated.reshape(x.shape)], {"interleaved": interleaved})


def test_expand_dims_matches_numpy(tmp_path):
    make = Make(14)
    x = make.floats("x", 2, 3, symbols={0: "n"})
    make.given("axis", np.array(1, np.int32), fixed=True)
    run(tmp_path, "ExpandDims", make, ["x", "axis"], [x[:, None]])


def test_f16_skip_layer_norm_matches_numpy(tmp_path):
    make = Make(15)
    x = make.floats("x", 2, 5, 16, symbols={0: "n"}, dtype=np.float16)
    gamma, beta, bias = (make.given(name, make.random.standard_normal(16).astype(np.float16), fixed=True).astype(np.float64)
                         for name in ("gamma", "beta", "bias"))
    make.floats("skip", 2, 5, 16, symbols={0: "n"}, dtype=np.float16)
    total = x + make.arrays["skip"].astype(np.float64) + bias
    run(tmp_path, "SkipLayerNormalization", make, ["x", "skip", "gamma", "beta", "bias"], [layer_norm(total, gamma, beta, 1e-5)],
        {"epsilon": 1e-5}, tolerance=4e-3)


def test_unsupported_operator_is_reported_once(tmp_path):
    """Nodes that depend on a refused node (Shape, Concat, Reshape...) are not reported as further reasons."""
    nodes = [helper.make_node("QAttention", ["x"], ["a"], name="bad", domain="com.microsoft"),
             helper.make_node("Shape", ["a"], ["s"], name="shape"),
             helper.make_node("Gather", ["s", "zero"], ["d"], name="gather"),
             helper.make_node("Concat", ["d", "rest"], ["w"], axis=0, name="concat"),
             helper.make_node("Reshape", ["a", "w"], ["y"], name="reshape")]
    weights = [numpy_helper.from_array(np.array([0]), "zero"), numpy_helper.from_array(np.array([-1]), "rest")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, ["n", 8])], [helper.make_tensor_value_info("y", 1, None)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=9)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    done = subprocess.run([PROGRAM, "compile", tmp_path / "m.onnx", "--emit=graph"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and done.stderr.count("not supported") == 1, done.stderr
    assert "com.microsoft.QAttention (operator set 1) 'bad': this operator is not supported" in done.stderr


if __name__ == "__main__":
    raise SystemExit(pytest.main([os.fspath(__file__), "-q"]))

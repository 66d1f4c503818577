"""Tests casts between every pair of the dtypes in DTYPES at their limits, by torch.compile, .pt2, ONNX's Cast and MLIR: bitwise equal to eager.

If eager's result is undefined (NaN and values outside of an integer's range, by the C++ standard), a value must only
have the same result at every index of a tensor (in a vector, in a remainder, and as the only element)."""

import math
import pathlib
import subprocess

import numpy as np
import pytest
import torch
from numbers_rule import compiled_strictly

import tilewright

PROGRAM = pathlib.Path(tilewright.__file__).parents[2] / "bin" / "tilewright"
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.float8_e4m3fn, torch.float8_e5m2]
DTYPES = [torch.bool, *INTEGERS, *FLOATS]
MLIR = {torch.bool: "i1", torch.uint8: "ui8", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.uint16: "ui16",
        torch.uint32: "ui32", torch.uint64: "ui64", torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64",
        torch.float8_e4m3fn: "f8E4M3FN", torch.float8_e5m2: "f8E5M2"}  # fmt: skip
BYTES = {torch.bfloat16: ("V2", torch.int16), torch.float8_e4m3fn: ("V1", torch.uint8), torch.float8_e5m2: ("V1", torch.uint8)}
PLACES = 61  # the smallest number of additional elements of a tensor, which fill vectors and a tail


def values_of(dtype):
    """Returns the values near the limits of every integer type that `dtype` can represent, and its own limits."""
    if dtype is torch.bool:
        return torch.tensor([False, True])
    ends = [0, 1, 2, 3, 100]
    for bits in (7, 8, 15, 16, 31, 32, 63, 64):
        ends += [2**bits - 2, 2**bits - 1, 2**bits, 2**bits + 1, 2**bits + 2**bits // 2, 3 * 2**bits // 4]
    ends += [-e for e in ends]
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        kept = sorted({e for e in ends if info.min <= e <= info.max} | {info.min, info.max})
        return torch.tensor(np.array(kept, dtype=str(dtype).removeprefix("torch.")))
    floats = [float(e) + part for e in ends for part in (0, 0.25, 0.5, 0.75)] + [math.inf, -math.inf, math.nan, -0.0, 1e-30, 5e-324, 1.7e308, 65504.0, 65519.9, 65520.0, 448.0, 463.9,
                                                                                 464.0, 57344.0, 61439.9, 61440.0, 3.4e38, 3.3961775e38, 1e-8, 6e-8]  # fmt: skip
    return torch.tensor(floats, dtype=torch.float64).to(dtype)


def is_defined(values, to):
    """Returns a mask of the `values` whose conversion to `to` is defined in eager."""
    if not values.is_floating_point() or to.is_floating_point or to is torch.bool:
        return torch.ones(len(values), dtype=torch.bool)
    info, exact = torch.iinfo(to), [float(v) for v in values.double()]
    return torch.tensor([math.isfinite(v) and info.min <= int(v) <= info.max for v in exact])


def bits(tensor):
    """Returns the bits of the elements as integers. All NaNs have the same bits."""
    if tensor.dtype is torch.bool:
        return tensor.to(torch.uint8)
    raw = tensor.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.itemsize]).clone()
    if tensor.is_floating_point():
        raw[tensor.double().isnan()] = 0x7F if tensor.itemsize == 1 else -2
    return raw


def spread(values):
    """Returns a longer tensor with each of `values` at several indices."""
    raw = values.view(torch.uint8).reshape(len(values), -1)
    return torch.cat([raw, raw.repeat(1 + PLACES // len(values), 1).flip(0), raw[:1]]).flatten().view(values.dtype)


def check(values, results, targets, what):
    for to, result in zip(targets, results, strict=True):
        assert result.dtype == to, (what, result.dtype, to)
        want, defined = values.to(to), is_defined(values, to)
        got, exact = bits(result), bits(want)
        wrong = (got != exact) & defined
        pairs = list(zip(values[wrong].double().tolist(), result.double()[wrong].tolist(), want.double()[wrong].tolist(), strict=True))
        assert not wrong.any(), f"{what}: {values.dtype} to {to}: (value, ours, eager's) {pairs[:8]}"
        # A value has the same result at every index.
        seen = {}
        for bit, number in zip(bits(values).tolist(), got.tolist(), strict=True):
            assert seen.setdefault(bit, number) == number, f"{what}: {values.dtype} to {to}: the result depends on the index"


def to_numpy(tensor):
    return tensor.view(BYTES[tensor.dtype][1]).numpy().view(BYTES[tensor.dtype][0]) if tensor.dtype in BYTES else tensor.numpy()


def from_numpy(array, dtype):
    return torch.from_numpy(array.view(np.int16 if array.itemsize == 2 else np.uint8)).view(dtype) if dtype in BYTES else torch.from_numpy(array)


def run(model, values, targets, folder, as_bytes=False):
    """Returns the results y0, y1, ... of a model file."""
    np.save(folder / "x.npy", values.view(torch.uint8).numpy() if as_bytes else to_numpy(values))
    done = subprocess.run([PROGRAM, "run", model, "--input", f"x={folder}/x.npy", "--output", folder / "results"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [from_numpy(np.load(folder / "results" / f"y{i}.npy"), to) for i, to in enumerate(targets)]


@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_torch_compile_casts_equal_eager(source):
    torch._dynamo.reset()
    values, targets = spread(values_of(source)), [to for to in DTYPES if to != source]
    check(values, compiled_strictly(lambda x: [x.to(to) for to in targets])(values), targets, "torch.compile")
    alone = values_of(source)[-1:]
    for one in (alone, alone.reshape(())):
        torch._dynamo.reset()
        results = compiled_strictly(lambda x: [x.to(to) for to in targets])(one)
        check(alone, [r.reshape(1) for r in results], targets, "torch.compile of one")


@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_mlir_casts_equal_eager(source, tmp_path):
    values, targets = spread(values_of(source)), [to for to in DTYPES if to != source]
    n, types = len(values), [f"tensor<{len(values)}x{MLIR[to]}>" for to in targets]
    lines = [f"  %{i} = tw.cast %x : (tensor<{n}x{MLIR[source]}>) -> {t}" for i, t in enumerate(types)]
    results = ", ".join(f'{t} {{tw.name = "y{i}"}}' for i, t in enumerate(types))
    (tmp_path / "m.mlir").write_text(f'func.func @main(%x: tensor<{n}x{MLIR[source]}> {{tw.name = "x"}}) -> ({results}) {{\n' + "\n".join(lines)
                                     + f"\n  return {', '.join(f'%{i}' for i in range(len(types)))} : {', '.join(types)}\n}}\n")  # fmt: skip
    check(values, run(tmp_path / "m.mlir", values, targets, tmp_path), targets, "MLIR")


class Casts(torch.nn.Module):
    def __init__(self, targets):
        super().__init__()
        self.targets = targets

    def forward(self, x):
        return {f"y{i}": x.to(to) for i, to in enumerate(self.targets)}


@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_exported_program_casts_equal_eager(source, tmp_path):
    values, targets = spread(values_of(source)), [to for to in DTYPES if to != source]
    tilewright.export(Casts(targets), (), tmp_path / "m.pt2", kwargs={"x": values})
    check(values, run(tmp_path / "m.pt2", values, targets, tmp_path), targets, ".pt2")


@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_onnx_casts_equal_eager(source, tmp_path):
    onnx = pytest.importorskip("onnx")
    names = {torch.bool: "BOOL", torch.float32: "FLOAT", torch.float64: "DOUBLE", torch.float8_e4m3fn: "FLOAT8E4M3FN", torch.float8_e5m2: "FLOAT8E5M2"}
    kind = lambda dtype: getattr(onnx.TensorProto, names.get(dtype, str(dtype).removeprefix("torch.").upper()))  # noqa: E731
    values = spread(values_of(source))
    # Casts to float8 are not tested, because ONNX saturates values outside of float8's range.
    targets = [to for to in DTYPES if to != source and to.itemsize >= (1 if not to.is_floating_point else 2)]
    nodes = [onnx.helper.make_node("Cast", ["x"], [f"y{i}"], to=kind(to)) for i, to in enumerate(targets)]
    graph = onnx.helper.make_graph(nodes, "casts", [onnx.helper.make_tensor_value_info("x", kind(source), [len(values)])],
                                   [onnx.helper.make_tensor_value_info(f"y{i}", kind(to), [len(values)]) for i, to in enumerate(targets)])  # fmt: skip
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)]), tmp_path / "m.onnx")
    check(values, run(tmp_path / "m.onnx", values, targets, tmp_path, as_bytes=source.itemsize == 1 and source.is_floating_point), targets, "ONNX")

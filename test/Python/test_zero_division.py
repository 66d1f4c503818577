"""An integer divided by 0 raises eager's error for each kind of input. The least integer divided by -1 wraps around,
and shifts by the width or more have eager's results."""

import pathlib
import subprocess

import numpy as np
import pytest
import torch
from numbers_rule import check, compiled_strictly

import tilewright

PROGRAM = pathlib.Path(tilewright.__file__).parents[2] / "bin" / "tilewright"
OPS = ["div_trunc", "div_floor", "remainder", "fmod"]
TYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64}
N = 37  # whole vectors, and a remainder


def run(model, folder, **arrays):
    words = []
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
        words += ["--input", f"{name}={folder / name}.npy"]
    return subprocess.run([PROGRAM, "run", model, *words, "--output", folder / "results"], capture_output=True, text=True, timeout=300)


def quotients(x, y):
    """Returns div_trunc, div_floor, remainder and fmod of Python's integers, wrapped into the type."""
    info, kind = np.iinfo(x.dtype), x.dtype.type
    rows = []
    for a, b in zip(map(int, x), map(int, y), strict=True):
        trunc = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        rows.append([trunc, a // b, a % b, a - trunc * b])
    wrapped = [[(v - info.min) % (info.max - info.min + 1) + info.min for v in row] for row in rows]
    return [np.array(column, dtype=kind) for column in zip(*wrapped, strict=True)]


def of_mlir(kind, folder):
    t = f"tensor<{N}x{kind}>"
    results = ", ".join(f'{t} {{tw.name = "{op}"}}' for op in OPS)
    lines = [f"  %{i} = tw.{op} %x, %y : ({t}, {t}) -> {t}" for i, op in enumerate(OPS)]
    (folder / "m.mlir").write_text(f'func.func @main(%x: {t} {{tw.name = "x"}}, %y: {t} {{tw.name = "y"}}) -> ({results}) {{\n' + "\n".join(lines)
                                   + f"\n  return %0, %1, %2, %3 : {t}, {t}, {t}, {t}\n}}\n")  # fmt: skip
    return folder / "m.mlir"


@pytest.mark.parametrize("kind", TYPES)
def test_mlir_integer_division_wraps_and_by_zero_is_an_error(kind, tmp_path):
    info = np.iinfo(TYPES[kind])
    draw = np.random.default_rng(0)
    x = draw.integers(info.min, info.max, N, dtype=TYPES[kind], endpoint=True)
    y = draw.integers(info.min, info.max, N, dtype=TYPES[kind], endpoint=True)
    y[y == 0] = 3
    x[[0, 17, 36]], y[[0, 17, 36]] = info.min, -1 if info.min else info.max
    x[5], y[5] = info.max, 1
    model = of_mlir(kind, tmp_path)
    done = run(model, tmp_path, x=x, y=y)
    assert done.returncode == 0, done.stderr
    for op, want in zip(OPS, quotients(x, y), strict=True):
        np.testing.assert_array_equal(np.load(tmp_path / "results" / f"{op}.npy"), want, err_msg=op)
    for place in (0, 20, 36):
        bad = y.copy()
        bad[place] = 0
        done = run(model, tmp_path, x=x, y=bad)
        assert done.returncode == 1 and "ZeroDivisionError" in done.stderr and "m.mlir:" in done.stderr, (place, done)


def test_library_integer_division_by_zero_is_an_error(tmp_path):
    model = of_mlir("i32", tmp_path)
    made = subprocess.run([PROGRAM, "compile", model, "-o", tmp_path / "m.so"], capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr
    x, y = np.arange(N, dtype=np.int32), np.full(N, -1, dtype=np.int32)
    x[3] = np.iinfo(np.int32).min
    assert run(tmp_path / "m.so", tmp_path, x=x, y=y).returncode == 0
    y[36] = 0
    done = run(tmp_path / "m.so", tmp_path, x=x, y=y)
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr, done


class Quotients(torch.nn.Module):
    def forward(self, x, y):
        return {"q": x // y, "r": x % y, "t": torch.div(x, y, rounding_mode="trunc")}


def test_exported_integer_division_by_zero_is_an_error(tmp_path):
    x, y = torch.arange(N), torch.full((N,), 3)
    tilewright.export(Quotients(), (), tmp_path / "m.pt2", kwargs={"x": x, "y": y})
    done = run(tmp_path / "m.pt2", tmp_path, x=x.numpy(), y=y.numpy())
    assert done.returncode == 0, done.stderr
    y[30] = 0
    done = run(tmp_path / "m.pt2", tmp_path, x=x.numpy(), y=y.numpy())
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr, done


@pytest.mark.parametrize("op", ["Div", "Mod"])
def test_onnx_integer_division_by_zero_is_an_error(op, tmp_path):
    onnx = pytest.importorskip("onnx")
    info = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, [N]) for name in "xyz"]
    graph = onnx.helper.make_graph([onnx.helper.make_node(op, ["x", "y"], ["z"])], "g", info[:2], info[2:])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    x, y = np.arange(N), np.full(N, 5)
    x[7], y[7] = np.iinfo(np.int64).min, -1
    done = run(tmp_path / "m.onnx", tmp_path, x=x, y=y)
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "results" / "z.npy")[7] == (x[7] if op == "Div" else 0)
    y[12] = 0
    done = run(tmp_path / "m.onnx", tmp_path, x=x, y=y)
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr, done


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8], ids=str)
def test_shifts_by_the_width_or_more_equal_eager(dtype):
    bits = torch.iinfo(dtype).bits
    x = torch.tensor([torch.iinfo(dtype).min, torch.iinfo(dtype).max, 1, 5, 100] * 9, dtype=dtype)
    y = torch.tensor([0, 1, bits - 1, bits, bits + 1, 2 * bits, 100, 127, 3] * 5, dtype=dtype)
    check(lambda x, y: (x << y, x >> y, x << bits, x >> bits, x >> (bits + 3)), x, y)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64], ids=str)
def test_least_integer_divided_by_minus_one_wraps(dtype):
    least = torch.full((N,), torch.iinfo(dtype).min, dtype=dtype)
    minus = torch.full((N,), -1, dtype=dtype)
    compiled = compiled_strictly(lambda x, y: (x // y, x % y, torch.fmod(x, y), torch.div(x, y, rounding_mode="trunc"), x // -1, x % -1, x.abs(), -x))
    quotient, remainder, fmod, trunc, by_number, remainder_by_number, absolute, negative = compiled(least, minus)
    for value in (quotient, trunc, by_number, absolute, negative):
        assert torch.equal(value, least)
    for value in (remainder, fmod, remainder_by_number):
        assert not value.any()


def test_pool_with_window_below_one_is_refused(tmp_path):
    """Kernels, strides and dilations of a pool are at least 1, whatever the source of the graph is."""
    template = """func.func @main(%x: tensor<1x1x8x8xf32>) -> tensor<1x1x4x4xf32> {{
  %r, %i = tw.max_pool %x {{kernel = array<i64: {k}, 2>, stride = array<i64: 2, {s}>, padding = array<i64: {p}, 0>, dilation = array<i64: {d}, 1>}} : tensor<1x1x8x8xf32> -> tensor<1x1x4x4xf32>, tensor<1x1x4x4xi64>
  %a = tw.avg_pool %x {{kernel = array<i64: {k}, 2>, stride = array<i64: 2, {s}>, padding = array<i64: {p}, 0>}} : tensor<1x1x8x8xf32> -> tensor<1x1x4x4xf32>
  %m = tw.add %r, %a : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  return %m : tensor<1x1x4x4xf32>
}}
"""
    good = dict(k=2, s=2, p=0, d=1)
    for name, values in {"none": [None], "k": [0, -2, -(2**63)], "s": [0, -1], "p": [-1], "d": [0, -1, -(2**63)]}.items():
        for value in values:
            (tmp_path / "m.mlir").write_text(template.format(**good | ({} if value is None else {name: value})))
            done = subprocess.run([PROGRAM, "run", tmp_path / "m.mlir"], capture_output=True, text=True, timeout=300)
            assert done.returncode == (0 if value is None else 1), (name, value, done)
            assert value is None or "at least" in done.stderr or "pool" in done.stderr, done.stderr

"""Checks integers of any width and 4-bit floats of MLIR graphs, through .npy files, against NumPy."""

import pathlib
import subprocess

import numpy as np
import pytest

import tilewright

PROGRAM = pathlib.Path(tilewright.__file__).parents[2] / "bin" / "tilewright"

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="tilewright was not imported from a build tree")

TARGETS = {
    "cpu": ["--target=cpu"],
    "checked": ["--target=cpu", "--check", "--threads=1"],
    "reference": ["--target=reference"],
    "cuda": ["--target=cuda", "--device=emulated"],
}
# Each op with its expected result, for x: 4x6 i4, y: 4x6 i4, u: 3x5 ui4, v: 5x7 ui2, w: 4x6 i12.
OPS = {
    "tw.add %x, %y : (tensor<4x6xi4>, tensor<4x6xi4>) -> tensor<4x6xi4>": lambda x, y, u, v, w: x + y,
    "tw.mul %u, %u : (tensor<3x5xui4>, tensor<3x5xui4>) -> tensor<3x5xui4>": lambda x, y, u, v, w: u * u,
    "tw.mul %w, %w : (tensor<4x6xi12>, tensor<4x6xi12>) -> tensor<4x6xi12>": lambda x, y, u, v, w: w * w,
    "tw.lt %x, %y : (tensor<4x6xi4>, tensor<4x6xi4>) -> tensor<4x6xi1>": lambda x, y, u, v, w: x < y,
    "tw.cast %x : (tensor<4x6xi4>) -> tensor<4x6xf32>": lambda x, y, u, v, w: x,
    "tw.cast %w : (tensor<4x6xi12>) -> tensor<4x6xi4>": lambda x, y, u, v, w: w,
    "tw.reduce max %x {dims = array<i64: 1>} : tensor<4x6xi4> -> tensor<4xi4>": lambda x, y, u, v, w: x.max(1),
    "tw.reduce sum %v {dims = array<i64: 0>} : tensor<5x7xui2> -> tensor<7xui2>": lambda x, y, u, v, w: v.sum(0),
    "tw.permute %u {permutation = array<i64: 1, 0>} : tensor<3x5xui4> -> tensor<5x3xui4>": lambda x, y, u, v, w: u.T,
    "tw.permute %v {permutation = array<i64: 1, 0>} : tensor<5x7xui2> -> tensor<7x5xui2>": lambda x, y, u, v, w: v.T,
    "tw.reshape %u : tensor<3x5xui4> -> tensor<15xui4>": lambda x, y, u, v, w: u.reshape(15),
    "tw.slice %x {offsets = affine_map<() -> (1, 1)>, strides = array<i64: 1, 2>} : tensor<4x6xi4> -> tensor<3x3xi4>": (
        lambda x, y, u, v, w: x[1:, 1::2]
    ),
    "tw.slice %x {offsets = affine_map<() -> (0, 2)>, strides = array<i64: 1, 1>} : tensor<4x6xi4> -> tensor<4x4xi4>": (
        lambda x, y, u, v, w: x[:, 2:]
    ),
    "tw.flip %x {dims = array<i64: 0, 1>} : tensor<4x6xi4> -> tensor<4x6xi4>": lambda x, y, u, v, w: x[::-1, ::-1],
    "tw.concat %x, %y {dim = 0 : i64} : (tensor<4x6xi4>, tensor<4x6xi4>) -> tensor<8x6xi4>": (
        lambda x, y, u, v, w: np.concatenate([x, y])
    ),
    "tw.pad %u {low = array<i64: 0, 1>, high = array<i64: 0, 1>, value = 7 : ui4} : tensor<3x5xui4> -> tensor<3x7xui4>": (
        lambda x, y, u, v, w: np.pad(u, ((0, 0), (1, 1)), constant_values=7)
    ),
    "tw.constant dense<[1, -2, 3, -8, 7]> : tensor<5xi4>": lambda x, y, u, v, w: np.array([1, -2, 3, -8, 7]),
}
HEAD = "func.func @main(%x: tensor<4x6xi4>, %y: tensor<4x6xi4>, %u: tensor<3x5xui4>, %v: tensor<5x7xui2>, %w: tensor<4x6xi12>)"


def inputs():
    """Returns the five inputs. Their first elements are the least and the greatest values of the types."""
    random = np.random.default_rng(0)
    tensors = []
    for low, high, shape, dtype in [
        (-8, 8, (4, 6), np.int8),
        (-8, 8, (4, 6), np.int8),
        (0, 16, (3, 5), np.uint8),
        (0, 4, (5, 7), np.uint8),
        (-2048, 2048, (4, 6), np.int16),
    ]:
        tensor = random.integers(low, high, shape).astype(dtype)
        tensor[0, :2] = low, high - 1
        tensors.append(tensor)
    return tensors


def run(folder, module, target, tensors):
    (folder / "model.mlir").write_text(module)
    words = ["run", folder / "model.mlir", *target, "--output", folder / "results"]
    for number, tensor in enumerate(tensors):
        np.save(folder / f"{number}.npy", tensor)
        words += ["--input", f"input{number}={folder / f'{number}.npy'}"]
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300)


def wrapped(values, element):
    """Returns integers modulo the range of the element type `element`."""
    if element in ("f32", "i1"):
        return values.astype(np.float64)
    bits = int(element.lstrip("ui"))
    offset = 0 if element.startswith("ui") else 1 << (bits - 1)
    return ((np.asarray(values, np.int64) + offset) % (1 << bits) - offset).astype(np.float64)


@pytest.mark.parametrize("target", TARGETS)
def test_ops_on_narrow_integers_have_the_values_of_wide_integers_wrapped_around(target, tmp_path):
    types = [op.rsplit(" ", 1)[1] for op in OPS]
    lines = [f"  %r{number} = {op}" for number, op in enumerate(OPS)]
    results = ", ".join(f"%r{number}" for number in range(len(OPS)))
    module = f"{HEAD} -> ({', '.join(types)}) {{\n" + "\n".join(lines) + f"\n  return {results} : {', '.join(types)}\n}}\n"
    tensors = inputs()
    done = run(tmp_path, module, TARGETS[target], tensors)
    assert done.returncode == 0, done.stderr
    wide = [tensor.astype(np.int64) for tensor in tensors]
    for number, (op, expected) in enumerate(OPS.items()):
        element = types[number].rstrip(">").rsplit("x", 1)[1]
        actual = np.load(tmp_path / "results" / f"{number}.npy").astype(np.float64)
        np.testing.assert_array_equal(actual, wrapped(expected(*wide), element), err_msg=op)


@pytest.mark.parametrize("target", TARGETS)
def test_four_bit_floats_are_viewed_copied_and_stored_bit_by_bit(target, tmp_path):
    module = """func.func @main(%x: tensor<3x5xf4E2M1FN>) -> (tensor<5x3xf4E2M1FN>, tensor<5x3xf4E2M1FN>, tensor<3x5xf4E2M1FN>) {
      %0 = tw.permute %x {permutation = array<i64: 1, 0>} : tensor<3x5xf4E2M1FN> -> tensor<5x3xf4E2M1FN>
      %1 = tw.reshape %x : tensor<3x5xf4E2M1FN> -> tensor<5x3xf4E2M1FN>
      return %0, %1, %x : tensor<5x3xf4E2M1FN>, tensor<5x3xf4E2M1FN>, tensor<3x5xf4E2M1FN>
    }"""
    bits = np.arange(15, dtype=np.uint8).reshape(3, 5)
    done = run(tmp_path, module, TARGETS[target], [bits.view("V1")])
    assert done.returncode == 0, done.stderr
    for number, expected in enumerate([bits.T, bits.reshape(5, 3), bits]):
        np.testing.assert_array_equal(np.load(tmp_path / "results" / f"{number}.npy").view(np.uint8), expected)
    # The expected result is the sum of the values 0, 0.5, 1, 1.5, 2, 3, 4, 6 and of the negative values except -6.
    assert "result 2: f4E2M1FN[3, 5] sum 6 magnitude 30" in done.stdout


def test_column_major_files_of_narrow_integers_are_read(tmp_path):
    module = "func.func @main(%x: tensor<3x5xui4>) -> tensor<3x5xui4> {\n  return %x : tensor<3x5xui4>\n}"
    values = np.arange(15, dtype=np.uint8).reshape(3, 5)
    done = run(tmp_path, module, ["--target=cpu"], [np.asfortranarray(values)])
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "results" / "0.npy"), values)


@pytest.mark.parametrize("element, dtype, value", [("i4", np.int8, 8), ("i4", np.int8, -9), ("ui2", np.uint8, 4), ("f4E2M1FN", "V1", 16)])
def test_numbers_beyond_the_range_of_a_narrow_type_are_refused(element, dtype, value, tmp_path):
    module = f"func.func @main(%x: tensor<4x{element}>) -> tensor<4x{element}> {{\n  return %x : tensor<4x{element}>\n}}"
    values = np.zeros(4, np.int8 if value < 0 else np.uint8)
    values[2] = value
    done = run(tmp_path, module, ["--target=cpu"], [values.view(dtype)])
    assert done.returncode == 1
    assert "the element 2 is not a number of" in done.stderr


def test_a_library_refuses_four_bit_integers(tmp_path):
    (tmp_path / "model.mlir").write_text("func.func @main(%x: tensor<4xi4>) -> tensor<4xi4> {\n  return %x : tensor<4xi4>\n}")
    words = [PROGRAM, "compile", tmp_path / "model.mlir", "-o", tmp_path / "model.so"]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert "input 'input0' has elements of" in done.stderr


def assert_design_passes_its_bench(tmp_path, module: str):
    """Compiles the target hls's design of `module`, and runs its test bench, which compares it with the target reference."""
    (tmp_path / "model.mlir").write_text(module)
    design = tmp_path / "design"
    made = subprocess.run([PROGRAM, "compile", tmp_path / "model.mlir", "--target=hls", "-o", design], capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr
    build = ["g++", "-std=c++17", "-I", "check", "-I", ".", "-o", "bench", "kernel.cpp", "test_bench.cpp", "-lpthread"]
    subprocess.run(build, cwd=design, check=True, timeout=300)
    done = subprocess.run(["./bench"], cwd=design, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "PASS" in done.stdout, done.stdout


def test_a_hardware_design_of_narrow_integers_computes_what_the_reference_computes(tmp_path):
    module = """func.func @main(%x: tensor<4x6xi4>, %u: tensor<5xui4>) -> (tensor<4x6xi4>, tensor<5xui4>, tensor<6x4xi4>) {
      %0 = tw.add %x, %x : (tensor<4x6xi4>, tensor<4x6xi4>) -> tensor<4x6xi4>
      %1 = tw.mul %u, %u : (tensor<5xui4>, tensor<5xui4>) -> tensor<5xui4>
      %2 = tw.permute %x {permutation = array<i64: 1, 0>} : tensor<4x6xi4> -> tensor<6x4xi4>
      return %0, %1, %2 : tensor<4x6xi4>, tensor<5xui4>, tensor<6x4xi4>
    }"""
    assert_design_passes_its_bench(tmp_path, module)


@pytest.mark.parametrize("width", [8, 31, 33, 37, 64])
def test_a_hardware_design_compares_all_bits_of_unsigned_integers(tmp_path, width):
    """The four constants differ only in bits that are missing in an `unsigned int` if they have more than 32 bits."""
    high = 1 << width - 1
    numbers = f"tensor<4xui{width}>"
    module = f"""func.func @main(%x: {numbers}) -> (tensor<4xi1>, tensor<4xi1>) {{
      %a = tw.constant dense<[0, {high}, {high + 1}, 1]> : {numbers}
      %b = tw.constant dense<[{high}, 0, 1, {high + 1}]> : {numbers}
      %s = tw.bitwise_and %a, %x : ({numbers}, {numbers}) -> {numbers}
      %0 = tw.lt %a, %b : ({numbers}, {numbers}) -> tensor<4xi1>
      %1 = tw.le %s, %b : ({numbers}, {numbers}) -> tensor<4xi1>
      return %0, %1 : tensor<4xi1>, tensor<4xi1>
    }}"""
    assert_design_passes_its_bench(tmp_path, module)


@pytest.mark.parametrize("width", [4, 8, 16, 32, 37, 64])
def test_a_hardware_design_shifts_unsigned_integers_by_computed_amounts(tmp_path, width):
    """The highest bit of the shifted constants is set, and the amounts are inputs of the design."""
    high = 1 << width - 1
    numbers = f"tensor<4xui{width}>"
    module = f"""func.func @main(%x: {numbers}) -> {numbers} {{
      %a = tw.constant dense<[{high}, {high + 1}, {2 * high - 1}, 5]> : {numbers}
      %three = tw.constant dense<3> : {numbers}
      %s = tw.bitwise_and %three, %x : ({numbers}, {numbers}) -> {numbers}
      %0 = tw.shift_right %a, %s : ({numbers}, {numbers}) -> {numbers}
      return %0 : {numbers}
    }}"""
    assert_design_passes_its_bench(tmp_path, module)

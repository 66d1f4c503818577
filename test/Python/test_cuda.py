"""Tests of the target cuda on the emulated device: ptx-check executes every kernel without an error, and results
satisfy the numbers rule."""

import copy
import os
import pathlib
import re
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F

from models import MODELS, first_tensor
from numbers_rule import assert_numbers, check, check_gradient
from tilewright.dynamo.backend import tilewright

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools" / "dev"))
from find_ptxas import find_ptxas as find_ptxas_of_machine  # noqa: E402

EPILOGUES = {
    "none": lambda y, bias, residual: y,
    "bias": lambda y, bias, residual: y + bias,
    "gelu": lambda y, bias, residual: F.gelu(y + bias),
    "residual": lambda y, bias, residual: F.relu(y + bias) + residual,
    "scale": lambda y, bias, residual: (y * 0.125).float(),
}


@pytest.fixture(autouse=True)
def emulated(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_TARGET", "cuda")
    monkeypatch.setenv("TILEWRIGHT_DEVICE", "emulated")


def product(m, n, k, dtype, turned_a=False, turned_b=False):
    a = torch.randn(k, m).t() if turned_a else torch.randn(m, k)
    b = torch.randn(n, k).t() if turned_b else torch.randn(k, n)
    return a.to(dtype), b.to(dtype)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("turned_a", [False, True])
@pytest.mark.parametrize("turned_b", [False, True])
def test_half_precision_product_of_transposed_operands_matches_eager(dtype, turned_a, turned_b):
    check(lambda a, b: a @ b, *product(128, 128, 128, dtype, turned_a, turned_b))


@pytest.mark.parametrize("epilogue", EPILOGUES)
def test_product_with_epilogue_matches_eager(epilogue):
    a, b = product(100, 130, 70, torch.bfloat16)
    check(lambda a, b, bias, residual: EPILOGUES[epilogue](a @ b, bias, residual), a, b,
          torch.randn(130).bfloat16(), torch.randn(100, 130).bfloat16())  # fmt: skip


@pytest.mark.parametrize("rows", [1, 3, 17])
def test_product_of_few_rows_matches_eager(rows):
    a, b = product(rows, 96, 80, torch.bfloat16, turned_b=True)
    check(lambda a, b, bias: F.silu(a @ b + bias), a, b, torch.randn(96).bfloat16())


@pytest.mark.parametrize("sizes", [(256, 384, 512), (64, 65, 33), (129, 63, 47)])
def test_product_with_whole_and_partial_tiles_matches_eager(sizes):
    check(lambda a, b: a @ b, *product(*sizes, torch.bfloat16))


def test_batched_product_matches_eager():
    check(torch.matmul, torch.randn(3, 40, 48).bfloat16(), torch.randn(3, 48, 56).bfloat16())
    check(torch.matmul, torch.randn(2, 3, 24, 32).half(), torch.randn(2, 3, 40, 32).half().transpose(-1, -2))


def test_product_with_symbolic_sizes_matches_eager():
    check(lambda a, b: F.relu(a @ b), *product(70, 64, 72, torch.bfloat16), dynamic=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int8])
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False)])
def test_product_of_f32_f64_and_integers_matches_eager(dtype, transposed):
    a, b = product(100, 130, 70, torch.float64, *transposed)
    check(lambda a, b: a @ b, (a * 9).to(dtype), (b * 9).to(dtype))


def test_f32_product_has_the_accuracy_of_f32():
    check(lambda a, b: a @ b, torch.randn(33, 50), torch.randn(50, 41))
    check(lambda a, b, c: F.gelu(a @ b + c) * 2, torch.randn(3, 300), torch.randn(300, 65), torch.randn(65))
    check(torch.matmul, torch.randn(2, 3, 24, 32), torch.randn(2, 3, 40, 32).transpose(-1, -2))
    check(lambda a, b: F.relu(a @ b), *product(70, 64, 72, torch.float32), dynamic=True)
    # Infinities and NaN in the last elements along k must not be multiplied by padding.
    a, b = torch.randn(20, 37), torch.randn(37, 20)
    a[3, 36], b[5, 7] = float("inf"), float("nan")
    check(lambda a, b: a @ b, a, b)


@pytest.mark.parametrize("turned_b", [False, True])
def test_int8_product_on_tensor_cores_equals_eager(turned_b):
    """Sums wrap around. Operands that are contiguous along k are copied 16 numbers at a time, and other operands are
    gathered."""
    a, b = product(129, 72, 144, torch.float64, turned_b=turned_b)
    check(lambda a, b: a @ b, (a * 40).to(torch.int8), (b * 40).to(torch.int8))
    check(torch.matmul, torch.full((2, 17, 70), -128, dtype=torch.int8), torch.full((2, 70, 16), 127, dtype=torch.int8))


def test_f32_product_of_many_rows_and_columns_matches_eager():
    check(lambda a, b: a @ b, torch.randn(1200, 20), torch.randn(20, 1300))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("how", [dict(padding=1), dict(stride=2, padding=1), dict(dilation=2)])
def test_conv2d_matches_eager(dtype, how):
    x, w, b = torch.randn(2, 16, 9, 11).to(dtype), torch.randn(24, 16, 3, 3).to(dtype), torch.randn(24).to(dtype)
    check(lambda x, w, b: F.relu(F.conv2d(x, w, b, **how)), x, w, b)
    check(lambda x, w, b: F.conv2d(x, w, b, **how), x.to(memory_format=torch.channels_last), w, b)
    check(lambda x, w: F.conv2d(x, w), x, torch.randn(24, 16, 1, 1).to(dtype))
    check(lambda x, w: F.conv2d(x, w, **how), torch.randn(1, 3, 12, 13).to(dtype), torch.randn(24, 3, 3, 3).to(dtype))


def test_product_with_permuted_result_matches_eager():
    a, b = product(70, 40, 48, torch.bfloat16)
    check(lambda a, b: (a @ b).t().contiguous(), a, b)
    check(lambda a, b: torch.relu(a @ b).permute(2, 0, 1).contiguous(), torch.randn(2, 24, 48).bfloat16(), b)
    check(lambda a, b: (a @ b).t().contiguous(), a.float(), b.float())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("columns", [7, 512, 4099])
def test_softmax_layer_norm_and_rms_norm_match_eager(dtype, columns):
    x, weight, bias = torch.randn(5, columns).to(dtype), torch.randn(columns).to(dtype), torch.randn(columns).to(dtype)
    check(lambda x: torch.softmax(x, -1), x)
    check(lambda x, w, b: F.layer_norm(x, [columns], w, b), x, weight, bias)
    check(lambda x, w: F.rms_norm(x, [columns], w, 1e-5), x, weight)


def test_softmax_of_long_rows_matches_eager():
    check(lambda x: torch.softmax(x, -1), torch.randn(2, 40000))


@pytest.mark.parametrize("dims", [0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_reductions_over_each_set_of_dimensions_match_eager(dims):
    x = torch.randn(6, 17, 33)
    for fn in (torch.sum, torch.mean, torch.amax):
        check(lambda x: fn(x, dims), x)
    check(lambda x: torch.sum(x, dims), torch.randint(-9, 9, (6, 17, 33)))


def test_softmax_of_symbolic_size_matches_eager():
    check(lambda x: torch.softmax(x * 2, -1), torch.randn(9, 70), dynamic=True)


def test_chain_of_views_and_indexing_matches_eager():
    def fn(x, index):
        y = torch.cat([x.flip(0)[:, 1:], F.pad(x, (1, 2))], 1)
        return y[index].transpose(0, 1) + x.reshape(-1)[:68, None].expand(68, 4)

    check(fn, torch.randn(6, 33), torch.tensor([3, 0, 5, -1]))


def test_argument_at_unaligned_address_matches_eager():
    x = torch.randn(4 * 64 + 1)[1:].view(4, 64)
    assert x.data_ptr() % 16
    check(lambda x: x.exp() + 1, x)


def test_in_place_write_to_argument_matches_eager():
    def step(p, g):
        p.sub_(0.1 * g)
        return p * 2

    p, g = torch.randn(33, 8), torch.randn(33, 8)
    wanted, own = p.clone(), p.clone()
    torch.testing.assert_close(torch.compile(step, backend=tilewright, options={"strict": True})(own, g), step(wanted, g))
    torch.testing.assert_close(own, wanted)


def test_out_of_range_index_raises_error():
    compiled = torch.compile(lambda x, i: x[i], backend=tilewright, options={"strict": True})
    x = torch.randn(5, 8)
    torch.testing.assert_close(compiled(x, torch.tensor([1, 4])), x[[1, 4]])
    with pytest.raises(Exception, match="index 9 is out of range"):
        compiled(x, torch.tensor([1, 9]))


def test_bf16_mlp_with_layer_norm_matches_eager():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(48, 96), torch.nn.GELU(), torch.nn.LayerNorm(96), torch.nn.Linear(96, 10))
    model = model.bfloat16().eval()
    with torch.no_grad():
        own = [p.detach() for p in model.parameters()]

        def forward(x, w0, b0, scale, shift, w1, b1):
            hidden = F.layer_norm(F.gelu(F.linear(x, w0, b0)), [96], scale, shift)
            return torch.softmax(F.linear(hidden, w1, b1).float(), -1)

        check(forward, torch.randn(17, 48).bfloat16(), *own)


def test_all_unsupported_ops_are_named_in_one_error():
    def fn(x):
        return x.double().exp(), torch.fmod(x, 2), x.double().log()

    with pytest.raises(Exception) as caught:
        torch.compile(fn, backend=tilewright, options={"strict": True})(torch.randn(4, 8))
    message = str(caught.value)
    for part in ("exp of float64", "log of float64", "remainder of floats", "test_cuda.py", "target cpu computes it"):
        assert part in message


def test_invalid_arch_and_device_options_are_refused():
    def run(options):
        return torch.compile(torch.exp, backend=tilewright, options=options)(torch.randn(4))

    with pytest.raises(Exception, match="has no arch 'sm_75'; there are sm_80, sm_86, sm_89, sm_90a"):
        run({"target": "cuda", "device": "emulated", "arch": "sm_75"})
    with pytest.raises(Exception, match="target 'cpu' takes no arch, an option of target 'cuda'"):
        run({"target": "cpu", "device": "", "arch": "sm_80"})
    with pytest.raises(Exception, match="options\\['device'\\] must be '', 'cuda', 'cuda:N' with a number N, or 'emulated', not 'tpu'"):
        run({"target": "cuda", "device": "tpu"})


def test_f64_functions_without_polynomial_match_eager():
    x = torch.rand(3, 33, dtype=torch.float64) + 0.5
    check(lambda x: (torch.rsqrt(x), torch.sqrt(x), torch.round(x * 3), torch.floor(x), x.abs().trunc()), x)
    check(lambda x: F.rms_norm(x, [33], None, 1e-5), x)


def test_long_sums_of_positive_numbers_match_eager():
    """Each sum has 2304 terms. Rounding errors must not accumulate over all of them."""
    check(lambda x, w: F.conv2d(x, w, padding=1), torch.rand(1, 256, 8, 8), torch.rand(8, 256, 3, 3))


def test_remainder_of_floats_is_refused():
    """LLVM's frem is wrong for large quotients."""
    with pytest.raises(Exception, match="the remainder of floats has no exact implementation"):
        torch.compile(torch.fmod, backend=tilewright, fullgraph=True)(torch.randn(9), torch.randn(9))


PROGRAM = pathlib.Path(__file__).parents[2] / "build" / "bin" / "tilewright"
MODEL = """
func.func @main(%x: tensor<7x510xf32>) -> tensor<7x510xf32> {
  %e = tw.exp %x : (tensor<7x510xf32>) -> tensor<7x510xf32>
  return %e : tensor<7x510xf32>
}
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [(("vector = 2", "vector = 4"), "whose vector does not divide the rows of its results"), (("threads = 256", "threads = 5000"), "it has 5000 threads"),
     (("threads = 256", "threads = 100"), "it has 100 threads")])  # fmt: skip
def test_schedules_that_do_not_fit_are_refused(tmp_path, change, message):
    (tmp_path / "m.mlir").write_text(MODEL)
    driver = [PROGRAM, "compile", "--target=cuda"]
    subprocess.run([*driver, tmp_path / "m.mlir", "--emit=tiled", "--whole-constants", "-o", tmp_path / "t.mlir"], check=True, timeout=60)
    text = (tmp_path / "t.mlir").read_text()
    assert change[0] in text, text
    (tmp_path / "t.mlir").write_text(text.replace(*change))
    done = subprocess.run([*driver, tmp_path / "t.mlir", "--start-at=tiled", "--emit=ptx"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and message in done.stderr


def test_out_of_memory_for_the_arena_is_reported(tmp_path):
    (tmp_path / "big.mlir").write_text("""
func.func @main(%x: tensor<1000000x8xbf16>, %y: tensor<8x1000000xbf16>, %z: tensor<1000000x1xbf16>) -> tensor<1000000x1xbf16> {
  %m = tw.matmul %x, %y : (tensor<1000000x8xbf16>, tensor<8x1000000xbf16>) -> tensor<1000000x1000000xbf16>
  %n = tw.matmul %m, %z : (tensor<1000000x1000000xbf16>, tensor<1000000x1xbf16>) -> tensor<1000000x1xbf16>
  return %n : tensor<1000000x1xbf16>
}
""")
    done = subprocess.run([PROGRAM, "run", tmp_path / "big.mlir", "--target=cuda", "--device=emulated"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "out of memory: this call needs an arena of" in done.stderr


PRODUCT = """
func.func @main(%x: tensor<{m}x{k}x{type}> {{tw.name = "x"}}, %w: tensor<{k}x{n}x{type}> {{tw.name = "w"}}) -> tensor<{m}x{n}x{type}> {{
  %h = tw.matmul %x, %w : (tensor<{m}x{k}x{type}>, tensor<{k}x{n}x{type}>) -> tensor<{m}x{n}x{type}>
  return %h : tensor<{m}x{n}x{type}>
}}
"""


@pytest.mark.parametrize("sizes", [(128, 160, 96), (100, 130, 70), (17, 300, 64)])
@pytest.mark.parametrize("type", ["bf16", "f16"])
def test_drawn_schedules_of_a_product_pass_the_reference_check(tmp_path, sizes, type):
    """The code of every drawn schedule runs without an error of ptx-check, and `--check` compares its results with the
    reference."""
    m, n, k = sizes
    model = tmp_path / "m.mlir"
    model.write_text(PRODUCT.format(m=m, n=n, k=k, type=type))
    drawn = subprocess.run([PROGRAM, "tune", "--draw=6", f"--seed={m}", "--target=cuda", model], capture_output=True, text=True, check=True, timeout=60)
    schedules = drawn.stdout.splitlines()
    assert len(schedules) == 6
    for schedule in schedules:
        (tmp_path / "s.json").write_text(schedule)
        done = subprocess.run([PROGRAM, "run", model, "--target=cuda", "--device=emulated", f"--schedule-file={tmp_path / 's.json'}", "--check"],
                              capture_output=True, text=True, timeout=120)  # fmt: skip
        assert done.returncode == 0, schedule + done.stderr


def find_ptxas():
    """Returns the path of ptxas, or None. In CI, ptxas must exist."""
    found = find_ptxas_of_machine()
    assert found or not os.environ.get("CI"), "there is no ptxas: run tools/setup.sh"
    return found


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_90a"])
@pytest.mark.parametrize("name", ["product", "softmax", "long-rows", "attention", "fma", "convolution", "product-i8", "product-f8", "wgmma", "convolution-wgmma"])
def test_ptxas_reports_no_spills(arch, name, tmp_path):
    ptxas = find_ptxas()
    if not ptxas:
        pytest.skip("there is no ptxas: run tools/setup.sh")
    source = pathlib.Path(__file__).parents[1] / "Codegen" / "NVPTX" / f"{name}.mlir"
    driver = PROGRAM
    ptx = tmp_path / "kernels.ptx"
    subprocess.run([driver, "compile", source, "--target=cuda", f"--arch={arch}", "--emit=ptx", "-o", ptx], check=True)
    done = subprocess.run([ptxas, f"-arch={arch}", "-v", ptx, "-o", tmp_path / "kernels.cubin"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    spilled = re.findall(r"(\d+) bytes spill stores", done.stderr)
    assert spilled and set(spilled) == {"0"}, done.stderr


def test_reductions_over_outer_dimensions_match_eager():
    """There are few results. Each result is a reduction of many elements that are not contiguous. The lanes of a warp compute different results."""
    x = torch.randn(2, 24, 112, 112).to(memory_format=torch.channels_last)
    check(lambda v: v.sum((0, 2, 3)), x)
    x = torch.randn(2, 40, 44, 24)
    check(lambda v: (v.mean((0, 1, 2)), v.amax((0, 1, 2))), x)
    check(lambda v: v.sum(0), torch.randn(2000, 33))
    check(lambda v: (v.bfloat16() > 0).sum(0), torch.randn(300, 33))
    check(lambda v: torch.softmax(v, 0), torch.randn(70, 40))


@pytest.mark.parametrize("fn", [torch.sin, torch.cos, torch.tan])
def test_sin_cos_and_tan_of_large_angles_match_eager(fn):
    x = torch.cat([torch.randn(64) * scale for scale in (1, 1e4, 1e6, 1e10, 1e20, 1e38)])
    check(fn, torch.cat([x, torch.tensor([float("inf"), float("-inf"), float("nan"), 3.4e38, 100000.5, -131072.0])]))


def test_argmin_and_argmax_of_odd_row_lengths_match_eager():
    check(lambda x: torch.argmin(x, 1), torch.randn(7, 13))
    check(lambda x: torch.argmax(x, 1), torch.randn(33, 67))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_attention_with_each_mask_kind_matches_eager(dtype):
    def attend(**how):
        return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **how)

    q, k, v = (torch.randn(2, 4, n, 16).to(dtype) for n in (24, 40, 40))
    check(attend(), q, k, v)
    check(attend(is_causal=True), q, k[:, :, :24], v[:, :, :24])
    check(attend(enable_gqa=True), q, k[:, :2], v[:, :2])
    mask = torch.rand(24, 40) > 0.3
    check(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, mask), q, k, v)
    check(attend(), q[:, :, :1], k, v)


def test_cumsum_and_cumprod_match_eager():
    check(lambda x: torch.cumsum(x, 1), torch.randn(5, 33))
    check(lambda x: torch.cumsum(x, 0), torch.randint(-5, 9, (17, 3)))
    check(lambda x: torch.cumprod(x, 1), torch.rand(3, 9).bfloat16())


def test_exp_has_an_error_of_at_most_3_ulp():
    """exp is computed with ex2.approx. The results cover all magnitudes, and include denormal numbers, 0, infinity and NaN."""
    x = torch.cat([torch.linspace(-110, 95, 2999), torch.tensor([0.0, -0.0, -103.9, -87.5, 88.7, 88.8, 1e30, -1e30, float("inf"), -float("inf"), float("nan")])])
    torch._dynamo.reset()
    got, exact = torch.compile(torch.exp, backend=tilewright, options={"strict": True})(x), x.double().exp()
    assert torch.equal(got.isnan(), x.isnan()) and torch.equal(got.isinf(), exact.float().isinf())
    normal = (exact > 2.0**-126) & got.isfinite()
    ulp = 2.0 ** (exact[normal].log2().floor() - 23)
    assert ((got.double() - exact)[normal].abs() / ulp).max() <= 3
    rest = (exact <= 2.0**-126) & ~x.isnan()
    assert (got.double() - exact)[rest].abs().max() <= 2.0**-148


def test_scatter_and_index_put_match_eager():
    x, source, index = torch.randn(9, 7), torch.randn(5, 7), torch.randint(0, 9, (5, 7))
    check(lambda x, i, s: x.scatter_add(0, i, s), x, index, source)
    check(lambda x, i, s: x.scatter(0, i, s), x, torch.stack([torch.randperm(9)[:5] for _ in range(7)], 1), source)
    check(lambda x, i, s: torch.index_put(x, (i,), s, accumulate=True), x, torch.tensor([1, 8, 1, -2, 0]), source)
    check(lambda x, s: torch.select_scatter(x, s, 1, 3), x, torch.randn(9))
    compiled = torch.compile(lambda x, i, s: x.index_add(0, i, s), backend=tilewright, options={"strict": True})
    with pytest.raises(IndexError, match="index 9 is out of range for a dimension of size 9"):
        compiled(x, torch.tensor([1, 2, 3, 4, 9]), source)


@pytest.mark.parametrize("width", [1, 5, 96, 256, 1100])
def test_scatter_of_rows_matches_eager(width):
    """Each warp computes one row of the destination. The rows have one element, or fewer or more elements than the
    lanes hold. Several indices write some rows, and no index writes other rows."""
    index = torch.randint(0, 37, (3, 50))
    index[0, 0] = -1
    x, source = torch.randn(37, width), torch.randn(3, 50, width)
    check(lambda x, i, s: torch.index_put(x, (i,), s, accumulate=True), x, index, source)
    check(lambda x, i, s: torch.index_put(x, (i,), s, accumulate=True), x.bfloat16(), index, source.bfloat16())
    check(lambda x, i, s: x.index_add(0, i, s), (x * 9).int(), index[1], (source[1] * 9).int())
    check_gradient(lambda w: F.embedding(index[1:], w), x)


def index_add(x, i, s):
    return x.index_add(0, i, s)


@pytest.mark.parametrize("threads", [64, 96, 256, 1024])
def test_scatter_of_many_source_rows_matches_eager(threads, tmp_path):
    """The threads of a block test the indices of many source rows at the same time. Some rows are divided among several
    warps, the last block has fewer rows than warps, and the number of source rows is not a multiple of the step."""
    schedule = tmp_path / "s.json"
    schedule.write_text(f'{{"*": {{"threads": {threads}, "vector": 4}}}}')
    x, index, source = torch.randn(301, 1100), torch.randint(0, 301, (2500,)), torch.randn(2500, 1100)
    compiled = torch.compile(index_add, backend=tilewright, options={"strict": True, "schedule_file": str(schedule)})
    exact = index_add(x.double(), index, source.double())
    assert_numbers([compiled(x, index, source)], [[index_add(x, index, source)]], [exact])


def test_scatter_with_an_index_out_of_range_among_many_raises_index_error():
    compiled = torch.compile(index_add, backend=tilewright, options={"strict": True})
    index = torch.randint(0, 40, (3000,))
    index[2100] = 40
    with pytest.raises(IndexError, match="index 40 is out of range for a dimension of size 40"):
        compiled(torch.randn(40, 8), index, torch.randn(3000, 8))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int32])
@pytest.mark.parametrize("shape", [(2, 768, (16, 128)), (3, 5, (1, 4096)), (40, 33, (999,)), (1, 1, (2048,))])
def test_scatter_to_few_rows_matches_eager(shape, dtype):
    """The source rows are divided into parts, whose sums are added by a second kernel, except for bf16."""
    rows, width, of_index = shape
    index = torch.randint(-rows, rows, of_index)
    source, x = torch.randn(*of_index, width), torch.randn(rows, width)
    if not dtype.is_floating_point:
        source, x = source * 9, x * 9
    check(lambda x, i, s: torch.index_put(x, (i,), s, accumulate=True), x.to(dtype), index, source.to(dtype))


def test_gradient_of_an_embedding_of_few_words_matches_eager():
    check_gradient(lambda w: F.embedding(torch.arange(2048).reshape(4, 512) % 2, w), torch.randn(2, 96))


def test_scatter_with_symbolic_sizes_matches_eager():
    compiled = torch.compile(index_add, backend=tilewright, options={"strict": True}, dynamic=True)
    for rows in (1500, 40):
        x, index, source = torch.randn(60, 24), torch.randint(0, 60, (rows,)), torch.randn(rows, 24)
        exact = index_add(x.double(), index, source.double())
        assert_numbers([compiled(x, index, source)], [[index_add(x, index, source)]], [exact])


def test_scatter_along_other_dimensions_matches_eager():
    check(lambda x, i, s: x.index_copy(1, i, s), torch.randn(5, 37, 6), torch.randperm(37)[:9], torch.randn(5, 9, 6))
    check(lambda x, i, s: x.index_add(2, i, s), torch.randn(5, 3, 11), torch.randint(0, 11, (40,)), torch.randn(5, 3, 40))
    check(lambda x, i, s: torch.index_put(x, (i, i), s), torch.randn(37, 37), torch.tensor([3, 5, -1]), torch.randn(3))
    check(lambda x, i, s: x.index_add(0, i, s), torch.randn(37, 24), torch.randint(0, 37, (70,)), torch.randn(70, 24), dynamic=True)


def small(name):
    """Returns a model of two layers with hidden size 256, and an input of 64 tokens."""
    import transformers

    sizes = dict(hidden_size=256, num_hidden_layers=2, num_attention_heads=4, intermediate_size=512, vocab_size=500,
                 max_position_embeddings=64)  # fmt: skip
    if name == "bert":
        model = transformers.BertModel(transformers.BertConfig(**sizes))
        return model, lambda model, tokens: model(input_ids=tokens).last_hidden_state
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(num_key_value_heads=2, **sizes))
    return model, lambda model, tokens: model(input_ids=tokens, use_cache=False).logits


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_transformer_runs_without_fallback_and_matches_eager(name):
    pytest.importorskip("transformers")
    if name == "bert" and not os.environ.get("TILEWRIGHT_TEST_FULL"):
        pytest.skip("it takes 10 s: --full")
    model, call = small(name)
    model = model.eval()
    tokens = torch.randint(0, 500, (1, 64))
    wide = copy.deepcopy(model).double()
    narrow = model.bfloat16()
    compiled = torch.compile(lambda tokens: call(narrow, tokens), backend=tilewright, options={"strict": True})
    with torch.no_grad():
        assert_numbers([compiled(tokens)], [[call(narrow, tokens)]], [call(wide, tokens)])


@pytest.mark.skipif(not os.environ.get("TILEWRIGHT_TEST_FULL"), reason="a minute: tools/test.sh --full")
@pytest.mark.parametrize("name", ["gpt2", "vit", "resnet50"])
def test_model_runs_without_fallback_and_matches_eager(name):
    model, inputs = MODELS[name]()
    model = model.eval()
    wide = copy.deepcopy(model).double()
    compiled = torch.compile(lambda x: first_tensor(model(x)), backend=tilewright, options={"strict": True})
    (x,) = inputs
    with torch.no_grad():
        exact = first_tensor(wide(x.double() if x.is_floating_point() else x))
        assert_numbers([compiled(x)], [[first_tensor(model(x))]], [exact])


def test_training_step_matches_eager():
    model = torch.nn.Sequential(torch.nn.Embedding(50, 24), torch.nn.Linear(24, 32), torch.nn.LayerNorm(32), torch.nn.GELU(),
                                torch.nn.Linear(32, 10))  # fmt: skip
    tokens, wanted = torch.randint(0, 50, (6, 5)), torch.randint(0, 10, (30,))

    def gradients(model, call):
        loss = F.cross_entropy(call(tokens).reshape(30, 10), wanted)
        return [loss.detach(), *torch.autograd.grad(loss, list(model.parameters()))]

    wide = copy.deepcopy(model).double()
    compiled = torch.compile(model, backend=tilewright, options={"strict": True})
    assert_numbers(gradients(model, compiled), [gradients(model, model)], gradients(wide, wide))

"""Tests of 8-bit floats on the emulated GPU: products with mma on sm_89, with wgmma on sm_90a, and as products of f16
on older chips; and conversions with the chip's instructions. For every kernel, ptx-check reports no error, results
satisfy the numbers rule, and ptxas reports no spills."""

import os
import re
import subprocess

import pytest
import torch
import torch.nn.functional as F

from test_cuda import PROGRAM, find_ptxas
from test_float8 import E4M3, E5M2, ONE_SCALE, all_bytes, all_floats, check_bits, check_scaled, operands

ARCHES = {"sm_89": "mma", "sm_90a": "wgmma"}
FULL = bool(os.environ.get("TILEWRIGHT_TEST_FULL"))
full = pytest.mark.skipif(not FULL, reason="a minute: tools/test.sh --full")
KINDS = [(E4M3, E4M3), (E4M3, E5M2), (E5M2, E4M3), (E5M2, E5M2)]


@pytest.fixture(autouse=True)
def emulated(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_TARGET", "cuda")
    monkeypatch.setenv("TILEWRIGHT_DEVICE", "emulated")
    monkeypatch.setenv("TILEWRIGHT_DUMP", str(tmp_path / "dump"))


@pytest.fixture(params=["sm_89", "sm_90a"])
def arch(request, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_ARCH", request.param)
    return request.param


def newest(tmp_path, stage):
    return max((tmp_path / "dump").rglob(f"*-{stage}*"), key=lambda file: file.stat().st_mtime_ns).read_text()


def on_tensor_cores(tmp_path, kind):
    """Checks the kinds of schedules of the last compilation."""
    assert re.findall(r'tw.schedule = #tw_gpu.schedule<kind = (\w+)', newest(tmp_path, "tiled")) == [kind]


RESIDUAL = torch.randn(100, 136).bfloat16()
FOLLOWING = {
    "gelu": lambda y: F.gelu(y),
    "residual": lambda y: F.relu(y) + RESIDUAL.to(y.dtype),
    "scale": lambda y: y * 0.125,
    "quantized": lambda y: (y.float() * 0.5).to(torch.float16),
}


@pytest.mark.parametrize("kinds", KINDS)
def test_scaled_product_of_each_dtype_pair_uses_tensor_cores(arch, kinds, tmp_path):
    check_scaled(*operands(128, 128, 128, kinds), *ONE_SCALE)
    on_tensor_cores(tmp_path, ARCHES[arch])


@pytest.mark.parametrize("rows", [1, 3, 17])
def test_scaled_product_of_few_rows_uses_tensor_cores(arch, rows, tmp_path):
    check_scaled(*operands(rows, 96, 160), torch.rand(rows, 1) + 0.5, torch.rand(1, 96) + 0.5, torch.randn(96).bfloat16())
    on_tensor_cores(tmp_path, ARCHES[arch])


@pytest.mark.parametrize("following", FOLLOWING)
def test_epilogue_of_scaled_product_is_in_its_kernel(arch, following, tmp_path):
    m, n, k = 100, 136, 112
    a, b = operands(m, n, k)
    check_scaled(a, b, torch.rand(m, 1) + 0.5, torch.rand(1, n) + 0.5, torch.randn(n).bfloat16(), then=FOLLOWING[following])
    on_tensor_cores(tmp_path, ARCHES[arch])


def test_scaled_product_of_rows_not_aligned_to_16_bytes_uses_mma(arch, tmp_path):
    """TMA does not support these operands, so the products use mma. If cp.async cannot copy an operand, the kernel gathers its elements."""
    check_scaled(*operands(100, 130, 70), torch.rand(100, 1), torch.rand(1, 130), torch.randn(130).bfloat16(), out=torch.float32)
    on_tensor_cores(tmp_path, "mma")
    a, b = operands(40, 48, 64)
    check_scaled(a, b.contiguous(), *ONE_SCALE)  # b is contiguous along its columns
    on_tensor_cores(tmp_path, "mma")


@pytest.mark.parametrize("arch", ["sm_80", "sm_86"])
def test_chips_without_float8_products_multiply_f16(arch, tmp_path, monkeypatch):
    """These GPUs have no instructions for products of 8-bit floats, so products are computed in f16, which can represent every 8-bit float."""
    monkeypatch.setenv("TILEWRIGHT_ARCH", arch)
    check_scaled(*operands(40, 48, 64, (E5M2, E4M3)), torch.rand(40, 1), torch.rand(1, 48), torch.randn(48).bfloat16())
    kinds = re.findall(r'tw.schedule = #tw_gpu.schedule<kind = (\w+)', newest(tmp_path, "tiled"))
    assert "mma" in kinds and set(kinds) <= {"mma", "elements"}, kinds


@pytest.mark.parametrize("arch", ["sm_80", "sm_89"])
def test_float8_conversions_equal_eager(arch, monkeypatch):
    """From sm_89 on, conversions use the instruction cvt, which saturates. On older GPUs, conversions use integer instructions."""
    monkeypatch.setenv("TILEWRIGHT_ARCH", arch)
    floats = torch.cat([all_floats()[:: 1 if FULL else 41], torch.tensor([61439.99, 61440, -61440, 57344, 464, 465, -500, 1e30])])
    for kind in (E4M3, E5M2):
        check_bits(lambda x: x.to(kind), floats)
        check_bits(lambda x: (x.float(), x.to(torch.bfloat16), x.to(torch.float16)), all_bytes(kind))
        check_bits(lambda x: (x * 3).to(kind).float() + 1, torch.randn(100).bfloat16())
    check_bits(lambda x: x.to(E5M2), all_bytes(E4M3))


def test_float8_copies_views_and_comparisons_equal_eager(arch):
    x, y = torch.randn(6, 20).to(E4M3), torch.randn(6, 20).to(E4M3)
    check_bits(lambda x, y: (x.t().contiguous(), torch.cat([x, y], 1), torch.where(y.float() > 0, x, y), x[1:4, ::3].clone()), x, y)
    check_bits(lambda x, y: (x == y, x.float().amax(1)), x, y)


@full
@pytest.mark.parametrize("sizes", [(256, 384, 512), (128, 128, 1024), (65, 200, 336)])
@pytest.mark.parametrize("kinds", KINDS)
def test_scaled_product_of_each_size_and_result_dtype_matches_eager(arch, sizes, kinds, tmp_path):
    for out in (torch.float32, torch.bfloat16, torch.float16):
        check_scaled(*operands(*sizes, kinds), torch.rand(sizes[0], 1) + 0.5, torch.rand(1, sizes[1]) + 0.5, out=out)
        # A long sum with few results is split into parts, which other kernels add.
        assert ARCHES[arch] in re.findall(r'tw.schedule = #tw_gpu.schedule<kind = (\w+)', newest(tmp_path, "tiled"))


def test_scaled_product_of_several_tiles_uses_tensor_cores(arch, tmp_path):
    check_scaled(*operands(256, 384, 512), *ONE_SCALE)
    on_tensor_cores(tmp_path, ARCHES[arch])


PRODUCT = """
func.func @main(%x: tensor<{m}x{k}xf8E4M3FN>, %w: tensor<{n}x{k}xf8E5M2>) -> tensor<{m}x{n}xbf16> {{
  %t = tw.permute %w {{permutation = array<i64: 1, 0>}} : tensor<{n}x{k}xf8E5M2> -> tensor<{k}x{n}xf8E5M2>
  %h = tw.matmul %x, %t : (tensor<{m}x{k}xf8E4M3FN>, tensor<{k}x{n}xf8E5M2>) -> tensor<{m}x{n}xbf16>
  return %h : tensor<{m}x{n}xbf16>
}}
"""


@pytest.mark.parametrize("sizes", [(128, 160, 384), pytest.param((300, 272, 640), marks=full)])
def test_drawn_schedules_pass_the_reference_check_without_spills(arch, sizes, tmp_path):
    """The code of every drawn schedule runs without an error of ptx-check, and `--check` compares its results with the
    reference. If ptxas is installed, it assembles the code without spills and without a notice that it serializes
    wgmma."""
    m, n, k = sizes
    model, driver = tmp_path / "m.mlir", [PROGRAM]
    model.write_text(PRODUCT.format(m=m, n=n, k=k))
    on = ["--target=cuda", f"--arch={arch}"]
    drawn = subprocess.run([PROGRAM, "tune", f"--draw={12 if FULL else 2}", "--seed=7", *on, model], capture_output=True, text=True, check=True, timeout=60)
    ptxas = find_ptxas()
    for schedule in drawn.stdout.splitlines():
        (tmp_path / "s.json").write_text(schedule)
        with_schedule = [*on, f"--schedule-file={tmp_path / 's.json'}"]
        done = subprocess.run([*driver, "run", model, *with_schedule, "--device=emulated", "--check"], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, schedule + done.stderr
        if not ptxas:
            continue
        subprocess.run([*driver, "compile", model, *with_schedule, "--emit=ptx", "-o", tmp_path / "k.ptx"], check=True, timeout=60)
        done = subprocess.run([ptxas, f"-arch={arch}", "-v", tmp_path / "k.ptx", "-o", tmp_path / "k.cubin"], capture_output=True, text=True)
        assert done.returncode == 0 and "serialized" not in done.stderr, schedule + done.stderr
        assert set(re.findall(r"(\d+) bytes spill stores", done.stderr)) == {"0"}, schedule + done.stderr

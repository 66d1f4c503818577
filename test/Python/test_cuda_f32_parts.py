"""Tests of f32 products that are computed as products of bf16 parts, on the emulated device: results satisfy the numbers
rule of f32, and ptx-check reports no error."""

import re

import pytest
import torch

from numbers_rule import check, check_gradient
from test_cuda_wgmma import dumped, hopper  # noqa: F401 (a fixture of all tests)
from warp_group_kernels import assert_assembled_without_spills


def schedules(tiled):
    """Returns the schedule kinds of the kernels with products of bf16 parts."""
    return re.findall(r"@\w*_bf16(?:_joined)?\(.*?#tw_gpu.schedule<kind = (\w+)", tiled)


def check_by_parts(tmp_path, kernels, fn, *inputs):
    check(fn, *inputs)
    assert schedules(dumped(tmp_path, "tiled")) == ["wgmma"] * kernels


def test_product_with_each_layout_satisfies_the_rule_of_f32(tmp_path):
    """The number of columns is not a multiple of a tile's columns, and the number of terms is not a multiple of a step along k."""
    x, w = torch.randn(264, 584), torch.randn(72, 584)
    check_by_parts(tmp_path, 1, lambda x, w: x @ w.T, x, w)
    check_by_parts(tmp_path, 1, lambda x, w: x @ w, x, w.T.contiguous())
    check_by_parts(tmp_path, 1, lambda x, w: x.T @ w.T, x.T.contiguous(), w)
    check_by_parts(tmp_path, 1, lambda x, w: x.T @ w, x.T.contiguous(), w.T.contiguous())


def test_linear_with_activation_and_batches_satisfies_the_rule_of_f32(tmp_path):
    x, w, b = torch.randn(3, 90, 512), torch.randn(136, 512), torch.randn(136)
    check_by_parts(tmp_path, 1, lambda x, w, b: torch.nn.functional.gelu(torch.nn.functional.linear(x, w, b)), x, w, b)
    check_by_parts(tmp_path, 1, lambda x, w: torch.bmm(x, w), torch.randn(3, 140, 512), torch.randn(3, 512, 72))


@pytest.mark.parametrize("magnitude", [1e-30, 1e-3, 1e15])
def test_operands_of_very_different_magnitudes_satisfy_the_rule_of_f32(magnitude, tmp_path):
    x = torch.randn(256, 512) * torch.logspace(-4, 4, 512)
    check_by_parts(tmp_path, 1, lambda x, w: x @ w, x, torch.randn(512, 64) * magnitude)


def test_sums_that_cancel_satisfy_the_rule_of_f32(tmp_path):
    x = torch.randn(256, 512)
    x[:, 256:] = -x[:, :256] * (1 + 1e-6)
    w = torch.randn(256, 64).repeat(2, 1)
    check_by_parts(tmp_path, 1, lambda x, w: x @ w, x, w)


def test_products_that_share_an_operand_read_the_same_parts(tmp_path):
    x, w, v = torch.randn(256, 512), torch.randn(64, 512), torch.randn(64, 512)
    check_by_parts(tmp_path, 1, lambda x, w, v: (x @ w.T, torch.relu(x @ v.T)), x, w, v)
    tiled = dumped(tmp_path, "tiled")
    assert len(re.findall(r"call @\w*_parts\w*\(.*-> tensor<256x3x512xbf16>", tiled)) == 1


def test_gradients_of_a_linear_layer_satisfy_the_rule_of_f32(tmp_path):
    check_gradient(torch.nn.functional.linear, torch.randn(320, 512), torch.randn(200, 512), torch.randn(200))
    assert schedules(dumped(tmp_path, "tiled"))


def test_infinite_elements_give_results_that_are_not_finite(tmp_path):
    x, w = torch.randn(256, 512), torch.randn(512, 64)
    x[3, 5], x[7, 9] = float("inf"), float("nan")
    out = torch.compile(lambda x, w: x @ w, backend="tilewright")(x, w)
    assert schedules(dumped(tmp_path, "tiled")) == ["wgmma"]
    assert (~out[3].isfinite()).all() and out[7].isnan().all()
    assert out[[0, 1, 2, 4, 5, 6, 8]].isfinite().all()


def test_results_that_overflow_are_not_finite(tmp_path):
    x, w = torch.rand(256, 512) * 1e38 + 1e38, torch.rand(512, 64) * 1e3 + 1e3
    out = torch.compile(lambda x, w: x @ w, backend="tilewright")(x, w)
    assert schedules(dumped(tmp_path, "tiled")) == ["wgmma"]
    assert (~out.isfinite()).all()


def test_option_f32_fma_keeps_products_on_cuda_cores(tmp_path):
    x, w = torch.randn(256, 512), torch.randn(512, 64)
    out = torch.compile(lambda x, w: x @ w, backend="tilewright", options={"f32_fma": True})(x, w)
    torch.testing.assert_close(out, x @ w, rtol=1e-4, atol=1e-4)
    assert schedules(dumped(tmp_path, "tiled")) == []


def test_small_products_are_not_divided(tmp_path):
    check_by_parts(tmp_path, 0, lambda x, w: x @ w, torch.randn(32, 32), torch.randn(32, 32))


def test_ptxas_reports_no_spills(tmp_path):
    assert_assembled_without_spills("""func.func @main(%x: tensor<4096x768xf32>, %w: tensor<768x3072xf32>) -> tensor<4096x3072xf32> {
  %r = tw.matmul %x, %w : (tensor<4096x768xf32>, tensor<768x3072xf32>) -> tensor<4096x3072xf32>
  return %r : tensor<4096x3072xf32>
}
""", tmp_path)  # fmt: skip

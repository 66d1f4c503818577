"""Tests of kernels for sm_90a that compute a pair of products of one operand and combine both results, on the emulated device."""

import json

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check, check_gradient
from test_cuda_join_products import assert_scheduled, calls
from test_cuda_wgmma import dumped, hopper, run_dynamic  # noqa: F401
from warp_group_kernels import assert_assembled_without_spills


def products(tmp_path):
    return [name for name in calls(tmp_path) if "matmul" in name or "convolution" in name]


def inputs(rows, terms, columns, dtype=torch.bfloat16):
    return torch.randn(rows, terms).to(dtype), *(torch.randn(columns, terms).to(dtype) for _ in range(2))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_swiglu_is_one_kernel(dtype, tmp_path):
    for rows, terms, columns in [(200, 128, 136), (64, 64, 8), (130, 200, 72)]:
        check(lambda x, g, u: F.silu(F.linear(x, g)) * F.linear(x, u), *inputs(rows, terms, columns, dtype))
        assert products(tmp_path) == ["matmul_silu_mul_paired"]


def test_weights_that_are_contiguous_along_columns_form_a_pair(tmp_path):
    x, g, u = torch.randn(130, 72).bfloat16(), torch.randn(72, 200).bfloat16(), torch.randn(72, 200).bfloat16()
    check(lambda x, g, u: F.gelu(x @ g, approximate="tanh") * (x @ u), x, g, u)
    assert len(products(tmp_path)) == 1 and products(tmp_path)[0].endswith("paired")


def test_order_of_the_products_and_epilogues_with_biases_and_residuals(tmp_path):
    x, g, u = inputs(72, 64, 64)
    bias, residual = torch.randn(64).bfloat16(), torch.randn(72, 64).bfloat16()

    def reversed_order(x, g, u, bias, residual):
        up = F.linear(x, u, bias)
        return residual + F.relu(F.linear(x, g, bias)) * up

    check(reversed_order, x, g, u, bias, residual)
    assert len(products(tmp_path)) == 1
    check(lambda x, g, u, b, r: (torch.sigmoid(F.linear(x, g, b)) * r - F.linear(x, u)).exp(), x, g, u, bias, residual)
    assert len(products(tmp_path)) == 1


def test_gate_that_other_kernels_read_is_also_a_result(tmp_path):
    """A training step keeps the gate for the backward pass."""
    x, g, u = inputs(72, 64, 64)

    def kept(x, g, u):
        gate = F.linear(x, g)
        return F.silu(gate) * F.linear(x, u), gate, gate.float().sum()

    check(kept, x, g, u)
    assert len(products(tmp_path)) == 1
    assert "tensor<72x64xbf16>, tensor<72x64xbf16>)" in dumped(tmp_path, "tiled")


def test_gradients_of_swiglu_match_eager():
    check_gradient(lambda x, g, u: F.silu(F.linear(x, g)) * F.linear(x, u), *(each.requires_grad_() for each in inputs(72, 64, 64)))


def test_batched_products_form_a_pair(tmp_path):
    x, g, u = torch.randn(3, 72, 64).bfloat16(), torch.randn(3, 64, 64).bfloat16(), torch.randn(3, 64, 64).bfloat16()
    check(lambda x, g, u: F.silu(x @ g) * (x @ u), x, g, u)
    assert len(products(tmp_path)) == 1


def test_f32_pair_by_bf16_parts_matches_eager(tmp_path):
    x, g, u = inputs(320, 512, 64, torch.float32)
    check(lambda x, g, u: F.silu(F.linear(x, g)) * F.linear(x, u), x, g, u)
    assert [name for name in products(tmp_path) if not name.endswith("_bf16_parts")] == ["matmul_silu_mul_bf16_paired"]


def test_convolutions_of_one_image_form_a_pair(tmp_path):
    x = torch.randn(2, 64, 9, 11).bfloat16().to(memory_format=torch.channels_last)
    g, u = torch.randn(64, 64, 3, 3).bfloat16(), torch.randn(64, 64, 3, 3).bfloat16()
    check(lambda x, g, u: torch.sigmoid(F.conv2d(x, g, padding=1)) * F.conv2d(x, u, padding=1), x, g, u)
    assert len(products(tmp_path)) == 1


@pytest.mark.parametrize("knobs", [
    {"consumer_rows": 64, "consumers": 1, "n": 16, "stages": 2}, {"consumer_rows": 64, "consumers": 2, "n": 192, "stages": 3, "tiles_per_block": 2},
    {"consumer_rows": 128, "consumers": 2, "n": 128, "stages": 2, "tile_rows_per_band": 2}])  # fmt: skip
def test_pair_with_each_schedule_matches_eager(knobs, tmp_path, monkeypatch):
    (tmp_path / "s.json").write_text(json.dumps({"matmul*": knobs}))
    monkeypatch.setenv("TILEWRIGHT_SCHEDULE_FILE", str(tmp_path / "s.json"))
    check(lambda x, g, u: F.silu(F.linear(x, g)) * F.linear(x, u), *inputs(260, 128, 200))
    assert len(products(tmp_path)) == 1
    assert_scheduled(tmp_path, **knobs)


def test_layers_share_the_kernel_of_a_pair(tmp_path):
    x, *weights = inputs(72, 64, 64), *inputs(64, 64, 64)[1:], *inputs(64, 64, 64)[1:]

    def layers(x, a, b, c, d):
        for g, u in ((a, b), (c, d)):
            x = F.silu(F.linear(x, g)) * F.linear(x, u) / 8
        return x

    check(layers, x[0], *weights)
    main, *kernels = dumped(tmp_path, "tiled").split("func.func private")
    assert main.count(" call @") == 2 and len(kernels) == 1


def test_products_that_are_not_a_pair_are_separate_kernels(tmp_path):
    x, g, u = inputs(72, 64, 64)
    y, narrow = torch.randn(72, 64).bfloat16(), torch.randn(8, 64).bfloat16()
    # The first operands are different, the sizes are different, and the gate is an operand of the second product.
    for other in (lambda x, g, u, y, n: F.silu(F.linear(x, g)) * F.linear(y, u),
                  lambda x, g, u, y, n: F.silu(F.linear(x, g))[:, :8] * F.linear(x, n),
                  lambda x, g, u, y, n: F.linear(F.linear(x, g), u)):  # fmt: skip
        check(other, x, g, u, y, narrow)
        assert len(products(tmp_path)) == 2 and not any("paired" in name for name in products(tmp_path))


def test_second_product_that_depends_on_the_gate_prevents_a_pair(tmp_path):
    x, g, _ = inputs(64, 64, 64)

    def earlier(x, g):
        gate = F.linear(x, g)
        return F.silu(gate) * F.linear(x, gate.softmax(-1)), gate

    check(earlier, x, g)
    assert not any("paired" in name for name in products(tmp_path))


def test_gate_that_is_not_read_elementwise_prevents_a_pair(tmp_path):
    """A thread has only its own elements of the gate."""
    x, g, u = inputs(64, 64, 64)
    index = torch.randint(0, 64, (64,))

    def transposed(x, g, u, index):
        return F.silu(F.linear(x, g)).t() * F.linear(x, u)

    def reversed_rows(x, g, u, index):
        gate = F.linear(x, g)
        return gate * F.linear(x, u) + gate.flip(0)

    def sliced(x, g, u, index):
        gate = F.linear(x, g)
        return gate * F.linear(x, u) + gate[:, :1], gate

    def gathered(x, g, u, index):
        gate = F.silu(F.linear(x, g))
        return gate * F.linear(x, u) + gate[index]

    def other_batch(x, g, u, index):
        x, g, u = (each.expand(64, 64, 64) for each in (x, g, u))
        return F.silu(x @ g).transpose(0, 1) * (x @ u)

    for fn in (transposed, reversed_rows, sliced, gathered, other_batch):
        check(fn, x, g, u, index)
        assert not any("paired" in name for name in products(tmp_path)), fn.__name__
    image, v, w = torch.randn(2, 64, 8, 8).bfloat16().to(memory_format=torch.channels_last), torch.randn(64, 64, 1, 1).bfloat16(), torch.randn(64, 64, 1, 1).bfloat16()
    check(lambda x, g, u: torch.sigmoid(F.conv2d(x, g)).transpose(2, 3) * F.conv2d(x, u), image, v, w)
    assert not any("paired" in name for name in products(tmp_path))


def test_products_of_symbolic_sizes_are_separate_kernels_without_a_pair(tmp_path):
    _, g, u = inputs(1, 64, 72)
    run_dynamic(lambda x, g, u: (F.silu(F.linear(x, g)) * F.linear(x, u)).sum(),
                [((x, g, u), [x]) for rows in (70, 5) for x in [torch.randn(rows, 64).bfloat16()]])  # fmt: skip
    assert not any("paired" in name for name in calls(tmp_path))


def test_ptxas_reports_no_spills_of_a_pair(tmp_path):
    text = """func.func @main(%x: tensor<512x768xbf16>, %a: tensor<768x1024xbf16>, %b: tensor<768x1024xbf16>) -> tensor<512x1024xbf16> {
  %y = tw.matmul %x, %a : (tensor<512x768xbf16>, tensor<768x1024xbf16>) -> tensor<512x1024xbf16>
  %s = tw.silu %y : (tensor<512x1024xbf16>) -> tensor<512x1024xbf16>
  %z = tw.matmul %x, %b : (tensor<512x768xbf16>, tensor<768x1024xbf16>) -> tensor<512x1024xbf16>
  %r = tw.mul %s, %z : (tensor<512x1024xbf16>, tensor<512x1024xbf16>) -> tensor<512x1024xbf16>
  return %r : tensor<512x1024xbf16>
}
"""
    (tmp_path / "s.json").write_text(json.dumps({"matmul*": {"consumer_rows": 64, "consumers": 2, "n": 256, "stages": 4}}))
    assert "_paired_512x2048x768" in assert_assembled_without_spills(text, tmp_path, f"--schedule-file={tmp_path / 's.json'}")

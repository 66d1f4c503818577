"""Tests of the gradient of attention on tensor cores of the emulated device: ptx-check reports no error, and results
satisfy the numbers rule."""

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check_gradient
from test_cuda_attention_mma import attend, operands
from test_cuda_wgmma import kinds


@pytest.fixture(autouse=True)
def emulated(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_TARGET", "cuda")
    monkeypatch.setenv("TILEWRIGHT_DEVICE", "emulated")
    monkeypatch.setenv("TILEWRIGHT_DUMP", str(tmp_path / "dump"))


def check_on_tensor_cores(tmp_path, fn, *inputs):
    """Checks that one kernel of the last graph, the backward one, is the gradient of attention."""
    check_gradient(fn, *inputs)
    assert "attention" in kinds(tmp_path)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("rows, columns", [(64, 64), (64, 96), (33, 70), (130, 17), (1, 40)])
def test_attention_gradient_matches_eager(tmp_path, dtype, rows, columns):
    check_on_tensor_cores(tmp_path, attend(), *operands(rows, columns, dtype=dtype))


@pytest.mark.parametrize("rows, columns", [(96, 96), (70, 70), (96, 40), (40, 96), (130, 130)])
def test_causal_attention_gradient_matches_eager(tmp_path, rows, columns):
    """Keys that no query attends to have a gradient of zero."""
    check_on_tensor_cores(tmp_path, attend(is_causal=True, scale=0.2), *operands(rows, columns))


@pytest.mark.parametrize("size", [8, 16, 40, 64, 72, 80, 96, 128])
def test_attention_gradient_with_each_head_size_matches_eager(tmp_path, size):
    """If a head has up to 64 elements, the rows of a thread are in registers; otherwise they are in shared memory.
    attention-gradient.mlir tests values with another head size."""
    check_on_tensor_cores(tmp_path, attend(), *operands(40, 70, size))
    check_on_tensor_cores(tmp_path, attend(is_causal=True), *operands(70, 70, size, heads=1, key_heads=1))


def test_attention_gradient_with_large_head_size_uses_products(tmp_path):
    check_gradient(attend(), *operands(20, 20, 256, heads=1, key_heads=1))
    assert "attention" not in kinds(tmp_path)


@pytest.mark.parametrize("rows", [96, 13])
def test_masked_attention_gradient_matches_eager(tmp_path, rows):
    q, k, v = operands(rows, 75, batches=2)
    seen = torch.rand(rows, 75) > 0.4
    seen[:, 3] = True
    for mask in (seen, torch.randn(2, 1, rows, 75).bfloat16(), torch.randn(1, 75).bfloat16()):
        def forward(q, k, v, mask=mask):
            return F.scaled_dot_product_attention(q, k, v, mask.to(q.dtype) if mask.is_floating_point() else mask)

        check_on_tensor_cores(tmp_path, forward, q, k, v)


def test_gradient_of_fully_masked_rows_is_zero_and_finite():
    """A row whose keys are all masked has no weights. Its gradient is zero, and it contributes nothing to the
    gradients of keys and values."""
    q, k, v = (x.requires_grad_() for x in operands(32, 64))
    mask = torch.rand(32, 64) > 0.3
    mask[5] = False
    torch.compile(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, mask), backend="tilewright")(q, k, v).sum().backward()
    assert (q.grad[:, :, 5] == 0).all()
    assert all(x.grad.isfinite().all() for x in (q, k, v))


def test_attention_gradient_of_heads_strided_within_rows_matches_eager(tmp_path):
    def forward(q, k, v):
        q, k, v = (x.view(2, 40, 3, 64).transpose(1, 2) for x in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(2, 40, 192)

    check_on_tensor_cores(tmp_path, forward, *(torch.randn(2, 40, 192).bfloat16() for _ in range(3)))


@pytest.mark.parametrize("causal", [False, True])
def test_attention_gradient_with_symbolic_lengths_matches_eager(tmp_path, causal):
    q, k, v = operands(50, 70)
    for value in (q, k, v):
        torch._dynamo.mark_dynamic(value, 2)
    check_on_tensor_cores(tmp_path, attend(is_causal=causal), q, k, v)


def assert_same_gradients_twice(fn, *operands):
    """Checks that two calls of the compiled function return gradients with the same bits."""
    compiled = torch.compile(fn, backend="tilewright")

    def gradients():
        inputs = [x.clone().requires_grad_() for x in operands]
        compiled(*inputs).sum().backward()
        return [x.grad for x in inputs]

    assert all(torch.equal(a, b) for a, b in zip(gradients(), gradients()))


def test_attention_gradient_is_deterministic():
    assert_same_gradients_twice(attend(), *operands(100, 130))

"""Attention in f16, and in f64, which the cpu's online softmax does not take: it is taken apart."""

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check, check_gradient


def qkv(dtype, key_heads=4):
    return [torch.randn(2, h, n, 8).to(dtype) for h, n in ((4, 17), (key_heads, 23), (key_heads, 23))]


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_attention(dtype):
    check(F.scaled_dot_product_attention, *qkv(dtype))
    check(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), *qkv(dtype))
    check(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), *qkv(dtype, key_heads=2))
    check(F.scaled_dot_product_attention, *qkv(dtype), torch.rand(17, 23) > 0.3)
    check(F.scaled_dot_product_attention, *qkv(dtype), torch.randn(2, 1, 17, 23).to(dtype))
    check(lambda q, k, v: F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 17, 32) * 2, *qkv(dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_attention_of_permuted_operands_and_symbolic_sizes(dtype):
    x = torch.randn(2, 17, 3, 4, 8).to(dtype)
    fn = lambda x: F.scaled_dot_product_attention(*[x[:, :, i].transpose(1, 2) for i in range(3)])  # noqa: E731
    check(fn, x)
    torch._dynamo.mark_dynamic(x, 0)
    torch._dynamo.mark_dynamic(x, 1)
    check(fn, x)


def test_attention_gradient_in_f64():
    check_gradient(F.scaled_dot_product_attention, *qkv(torch.float64))

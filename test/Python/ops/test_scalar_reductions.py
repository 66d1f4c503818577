"""Tests reductions of tensors without dimensions, which reduce over no dimension, and of tensors with one element: the
results and gradients equal those of eager."""

import math

import pytest
import torch
from numbers_rule import check, compiled_strictly

ROWS, NUMBER, ONE = torch.randn(3, 70), torch.tensor(1.5), torch.randn(1)

CASES = {
    "std of a number": (lambda x: x.std(correction=0), NUMBER), "var of a number": (lambda x: x.var(correction=0), NUMBER),
    "std of a sum": (lambda x: x.sum().std(correction=0), ROWS), "var of a mean": (lambda x: x.mean().var(correction=0) + 1, ROWS),
    "var_mean": (lambda x: torch.var_mean(x.sum(), correction=0), ROWS), "std_mean": (lambda x: torch.std_mean(x, correction=0), NUMBER),
    "var unbiased": (lambda x: x.sum().var(), ROWS), "sum": (lambda x: x.sum().sum(), ROWS), "sum, no dims": (lambda x: x.exp().sum(()), NUMBER),
    "mean": (lambda x: x.sum().mean(), ROWS), "prod": (lambda x: x.sum().prod(), ROWS), "amax": (lambda x: x.sum().amax(), ROWS), "amin": (lambda x: x.amin(), NUMBER),
    "max": (lambda x: x.sum().max(), ROWS), "max.dim": (lambda x: tuple(x.sum().max(0)), ROWS), "argmax": (lambda x: x.sum().argmax(), ROWS), "any": (lambda x: x.sum().any(), ROWS),
    "all": (lambda x: x.all(), NUMBER), "logsumexp": (lambda x: x.sum().logsumexp(0), ROWS), "softmax": (lambda x: x.sum().softmax(0), ROWS),
    "log_softmax": (lambda x: x.log_softmax(0), NUMBER), "norm": (lambda x: torch.linalg.vector_norm(x.sum()), ROWS), "norm 0": (lambda x: torch.linalg.vector_norm(x.sum(), 0), ROWS),
    "norm inf": (lambda x: torch.linalg.vector_norm(x, math.inf), NUMBER), "cumsum": (lambda x: x.sum().cumsum(0), ROWS), "cumprod": (lambda x: x.cumprod(0), NUMBER),
    "sort": (lambda x: tuple(x.sum().sort()), ROWS), "topk": (lambda x: tuple(x.sum().topk(1)), ROWS), "median": (lambda x: x.sum().median(), ROWS),
    "var of one": (lambda x: x.var(correction=0), ONE), "std of the only dimension": (lambda x: x.std(0, correction=0), ONE), "nansum": (lambda x: x.sum().nansum(), ROWS),
    "aminmax": (lambda x: tuple(x.sum().aminmax()), ROWS), "count_nonzero": (lambda x: x.sum().count_nonzero(), ROWS), "var of bf16": (lambda x: x.bfloat16().sum().var(correction=0), ROWS),
    "mean of sums": (lambda x: x.sum(1).exp().sum().std(correction=0) + x.sum(0).mean(), ROWS), "std of a double": (lambda x: x.double().sum().std(correction=0), ROWS),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_reduction_of_scalar_matches_eager(name):
    check(*CASES[name])


@pytest.mark.parametrize("dynamic", [False, True])
def test_gradient_of_scalar_variance_matches_eager(dynamic):
    torch._dynamo.reset()
    compiled = compiled_strictly(lambda x: x.sum().var(correction=0) + x.mean(), dynamic=dynamic)
    x, y = ROWS.clone().requires_grad_(), ROWS.clone().requires_grad_()
    compiled(x).backward()
    (y.sum().var(correction=0) + y.mean()).backward()
    torch.testing.assert_close(x.grad, y.grad)

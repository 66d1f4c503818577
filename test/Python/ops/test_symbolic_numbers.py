"""Sizes that a program passes as numbers of an operator (alpha, value, beta) become constants with guards: the graph is
compiled whole, and another size compiles it again."""

import warnings

import pytest
import torch
import torch.nn.functional as F

CASES = {
    "addcmul": lambda x: torch.addcmul(x, x, x, value=x.shape[0]),
    "elu": lambda x: F.elu(x, alpha=x.shape[0]),
    "celu": lambda x: F.celu(x, alpha=x.shape[0]),
    "softplus": lambda x: F.softplus(x, beta=x.shape[0], threshold=x.shape[1]),
    "hardtanh": lambda x: F.hardtanh(x, -x.shape[0], x.shape[1]),
    "leaky_relu": lambda x: F.leaky_relu(x, x.shape[0]),
    "threshold": lambda x: F.threshold(x, x.shape[0], x.shape[1]),
    "lerp": lambda x: torch.lerp(x, x * 2, x.shape[0]),
    "addmm": lambda x: torch.addmm(x @ x.t(), x, x.t(), beta=x.shape[0], alpha=x.shape[1]),
    "baddbmm": lambda x: torch.baddbmm((x @ x.t())[None], x[None], x.t()[None], beta=x.shape[0], alpha=x.shape[1]),
    "addmv": lambda x: torch.addmv(x[:, 0], x, x[0], beta=x.shape[0], alpha=x.shape[1]),
    "std": lambda x: x.std(correction=x.shape[1] - 1),
}


@pytest.mark.parametrize("fn", CASES.values(), ids=CASES.keys())
def test_sizes_as_numbers_of_an_operator_are_constants_with_guards(fn):
    torch._dynamo.reset()
    compiled = torch.compile(fn, backend="tilewright", dynamic=True, fullgraph=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*run in eager.*")
        for size in (3, 4), (5, 4), (3, 6):
            x = torch.randn(*size)
            torch.testing.assert_close(compiled(x), fn(x), rtol=1e-4, atol=1e-5)


def test_the_gradient_uses_the_constant():
    def fn(x):
        return F.elu(x * 2, alpha=x.shape[0]).sum()

    compiled = torch.compile(fn, backend="tilewright", dynamic=True)
    for size in (3, 4), (5, 4):
        x = torch.randn(*size, requires_grad=True)
        (got,), (want,) = torch.autograd.grad(compiled(x), x), torch.autograd.grad(fn(x), x)
        torch.testing.assert_close(got, want)


def test_a_number_that_follows_from_data_runs_in_eager():
    def fn(x, n):
        return F.elu(x, alpha=n.item())

    x = torch.randn(8)
    compiled = torch.compile(fn, backend="tilewright", dynamic=True)
    for n in 2, 3:
        torch.testing.assert_close(compiled(x, torch.tensor(n)), fn(x, torch.tensor(n)))

"""Zero tensors without memory, which autograd makes (the gradient of sgn), as arguments of compiled functions."""

import pytest
import torch

from tilewright.dynamo.backend import tilewright


def zeros():
    x = torch.randn(3, 4, requires_grad=True)
    made = torch.autograd.grad(torch.sgn(x).sum(), x)[0]
    assert made._is_zerotensor()
    return made


@pytest.mark.parametrize("first", [True, False])
def test_zero_tensor_arguments_are_read_as_zeros(first):
    torch._dynamo.reset()
    compiled = torch.compile(lambda a, b: a + b, backend=tilewright)
    if not first:
        compiled(torch.ones(3, 4), torch.ones(3, 4))
    assert torch.equal(compiled(zeros(), torch.ones(3, 4)), torch.ones(3, 4))
    assert torch.equal(compiled(torch.ones(3, 4), zeros().t().contiguous().t()), torch.ones(3, 4))


def test_write_to_a_zero_tensor_raises_the_error_of_eager():
    torch._dynamo.reset()
    compiled = torch.compile(lambda a, b: a.add_(b), backend=tilewright)
    with pytest.raises(RuntimeError, match="ZeroTensors are immutable"):
        compiled(zeros(), torch.ones(3, 4))


def test_other_tensors_without_memory_are_refused():
    torch._dynamo.reset()
    compiled = torch.compile(lambda a, b: a + b, backend=tilewright)
    compiled(torch.ones(3, 4), torch.ones(3, 4))
    empty = torch.ones(3, 4)
    empty.untyped_storage().resize_(0)
    with pytest.raises(ValueError, match="has elements but no memory"):
        compiled(empty, torch.ones(3, 4))

"""Tensors that a forward graph saves for its backward graph have the layout that is best for the kernels of both."""

import copy

import pytest
import torch

import tilewright
from numbers_rule import assert_numbers


class Images(torch.nn.Module):
    """Two convolutions with a batch norm. The second result is also returned to the user."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Conv2d(8, 8, 3, stride=2)
        self.norm = torch.nn.BatchNorm2d(8)

    def forward(self, x):
        y = torch.relu(self.norm(self.first(x)))
        z = torch.relu(self.second(y))
        return z, z.mean((2, 3)).flatten(1)


class Heads(torch.nn.Module):
    """A convolution, then four-dimensional tensors that are not images."""

    def __init__(self):
        super().__init__()
        self.patches, self.mix = torch.nn.Conv2d(3, 32, 4, stride=4), torch.nn.Linear(32, 32)

    def forward(self, x):
        tokens = self.mix(self.patches(x).flatten(2).transpose(1, 2))
        heads = tokens.view(tokens.shape[0], -1, 4, 8).transpose(1, 2)
        return torch.softmax(heads @ heads.transpose(-2, -1), -1) @ heads


def saved_by(step):
    found = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: found.append(t) or t, lambda t: t):
        loss = step()
    return found, loss


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("options", [{}, {"check": "eager"}])
def test_images_are_saved_for_backward_in_channels_last(dynamic, options):
    torch.manual_seed(0)
    model = Images().train()
    eager, reference = copy.deepcopy(model), copy.deepcopy(model).double()
    compiled = torch.compile(model, backend="tilewright", dynamic=dynamic, options={"strict": True, **options})
    tilewright.report(clear=True)
    x = torch.randn(2, 3, 17, 19)
    saved, results = saved_by(lambda: compiled(x))

    def gradients(results, model):
        sum(r.square().sum() for r in results).backward()
        # The gradient of the bias before the batch norm consists only of rounding errors.
        return [*results, *(p.grad for name, p in model.named_parameters() if name != "first.bias")]

    assert_numbers(gradients(results, model), [gradients(eager(x), eager)], gradients(reference(x.double()), reference))
    assert results[0].is_contiguous()  # returned to the user
    if not dynamic:  # strides are known only if the sizes are
        images = [t for t in saved if t.dim() == 4 and t.shape[1] == 8 and t.shape[2] > 3]
        assert images
        assert any(t.is_contiguous(memory_format=torch.channels_last) and not t.is_contiguous() for t in images)
        assert not [name for graph in tilewright.report() for name in graph.copied_inputs]


def test_tensors_that_are_not_images_keep_their_layout():
    model = Heads().train()
    compiled = torch.compile(model, backend="tilewright", dynamic=False, options={"strict": True})
    saved, result = saved_by(lambda: compiled(torch.randn(2, 3, 16, 16)))
    result.sum().backward()
    assert not [t for t in saved if t.dim() == 4 and t.shape[-1] == 8 and t.stride(1) == 1]


def test_saved_result_has_the_strides_of_eager():
    """Pooling is decomposed, and the results of its parts are not channels-last, although the result of the op is.
    This result is also saved for backward."""
    x = torch.rand(1, 2, 1, 1).as_strided([1, 2, 1, 1], [2, 1, 2, 2]).requires_grad_()
    double = x.detach().double().requires_grad_()

    def pooled(x):
        return torch.sigmoid(torch.nn.functional.adaptive_avg_pool2d(x, 3))

    eager, ours, exact = pooled(x), torch.compile(pooled, backend="tilewright")(x), pooled(double)
    assert ours.stride() == eager.stride() == (18, 1, 6, 2)
    assert_numbers([ours], [[eager]], [exact])
    weights = torch.linspace(0.5, 1.5, eager.numel()).reshape(eager.shape)
    gradients = [torch.autograd.grad(y, of, weights.to(y.dtype))[0] for y, of in [(ours, x), (eager, x), (exact, double)]]
    assert_numbers(gradients[:1], [gradients[1:2]], gradients[2:])


@pytest.mark.parametrize("pool", [torch.nn.functional.adaptive_max_pool2d, torch.nn.functional.adaptive_avg_pool2d])
def test_results_that_share_a_pool_have_the_strides_of_eager(pool):
    """Found by the fuzzer (graphs 201374 and 9372): if two results were one tensor, or one was read again in a
    training graph, the results had the strides of the ops into which the pool is decomposed."""
    x = torch.rand(3, 5, 7, 4).contiguous(memory_format=torch.channels_last)
    weight = torch.rand(2, 3, requires_grad=True)

    def twice(x, weight):
        y = pool(x, 3)
        return y, y.transpose(-3, 1), torch.nn.functional.linear(y, weight)

    for w in (weight.detach(), weight):
        eager, ours = twice(x, w), torch.compile(twice, backend="tilewright")(x, w)
        assert [y.stride() for y in ours] == [y.stride() for y in eager]
        assert_numbers([y.detach() for y in ours], [[y.detach() for y in eager]], twice(x.double(), w.detach().double()))


def test_aliases_are_saved_once():
    """A relu's result is saved for itself and for the following convolution: as one tensor, without a copy."""
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 4, 3)).train()
    compiled = torch.compile(model, backend="tilewright", dynamic=False, options={"strict": True})
    saved, result = saved_by(lambda: compiled(torch.randn(2, 3, 9, 9)))
    result.sum().backward()
    places = [t.data_ptr() for t in saved if t.dim() == 4 and t.shape == (2, 8, 7, 7)]
    assert len(set(places)) == 1

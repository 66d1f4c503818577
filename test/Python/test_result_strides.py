"""Sizes, strides and offsets of results equal eager's, for ops whose fake results in torch have others."""

import pytest
import torch
from torch.nn import functional as F

from tilewright.dynamo.backend import tilewright

aten = torch.ops.aten
PLAIN, LAST = torch.contiguous_format, torch.channels_last
TABLE, IDS, BAGS = torch.randn(10, 4), torch.randint(0, 10, (8,)), torch.tensor([0, 4])


def images(format=PLAIN):
    return torch.randn(2, 4, 6, 6).contiguous(memory_format=format)


def weight_gradient(grad, x, w):
    return aten.convolution_backward(grad, x, w, [4], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, True])


def norm(x, training=True):
    return F.batch_norm(x, torch.zeros(x.shape[1]), torch.ones(x.shape[1]), training=training)


CASES = {
    "convolution_backward, weight in channels-last": (weight_gradient, (images(), images()[:, :3], torch.randn(4, 3, 3, 3).contiguous(memory_format=LAST))),
    "convolution_backward, input in channels-last": (weight_gradient, (images(), images(LAST)[:, :3], torch.randn(4, 3, 3, 3))),
    "batch norm of a transposed input": (norm, (torch.randn(7, 6, 5).transpose(1, 2),)),
    "batch norm of a transposed input, inference": (lambda x: norm(x, False), (torch.randn(7, 6, 5).transpose(1, 2),)),
    "batch norm of transposed images": (norm, (images().transpose(2, 3),)),
    "batch norm in channels-last": (norm, (images(LAST),)),
    "what reads a batch norm": (lambda x: torch.relu(norm(x)) + 1, (torch.randn(7, 6, 5).transpose(1, 2),)),
    "batch norm by other strides": (lambda x: norm(x).as_strided((3, 4), (1, 3)), (torch.randn(7, 6, 5).transpose(1, 2),)),
    "channel_shuffle in channels-last": (lambda x: torch.channel_shuffle(x, 2), (images(LAST),)),
    "channel_shuffle": (lambda x: torch.channel_shuffle(x, 2), (images(),)),
    "channel_shuffle by other strides": (lambda x: F.channel_shuffle(x, 2).as_strided((2, 4, 3, 3), (36, 9, 3, 1)), (images(LAST),)),
    "roll by other strides": (lambda x: torch.roll(x, 1, 0).as_strided((3, 4), (1, 3)), (torch.randn(4, 3).t(),)),
}  # fmt: skip
for mode in (0, 1, 2):
    for op in (aten._embedding_bag, aten._embedding_bag_forward_only):
        for padding in (-1, 2):
            CASES[f"{op.__name__} {mode} {padding}"] = (
                lambda w, i, o, op=op, mode=mode, padding=padding: op(w, i, o, False, mode, False, None, False, padding), (TABLE, IDS, BAGS))  # fmt: skip


def layouts(results):
    results = results if isinstance(results, (list, tuple)) else [results]
    return [(tuple(r.shape), r.stride(), r.storage_offset()) for r in results]


@pytest.mark.parametrize("name", CASES)
def test_sizes_strides_and_offsets_of_results_equal_eager(name):
    function, arguments = CASES[name]
    want = function(*arguments)
    torch._dynamo.reset()
    got = torch.compile(function, backend=tilewright)(*arguments)
    assert layouts(got) == layouts(want)
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)


def test_gradient_of_weighted_embedding_bag_sum_matches_eager():
    """The forward pass does not return each element's bag; the backward pass computes it."""
    weights = torch.rand(8)

    def function(table, weights):
        return F.embedding_bag(IDS, table, BAGS, mode="sum", per_sample_weights=weights).square().sum()

    ours = [t.clone().requires_grad_() for t in (TABLE, weights)]
    theirs = [t.clone().requires_grad_() for t in (TABLE, weights)]
    torch.compile(function, backend=tilewright)(*ours).backward()
    function(*theirs).backward()
    torch.testing.assert_close([t.grad for t in ours], [t.grad for t in theirs], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_gradient_of_transposed_input_has_strides_of_eager(training):
    results = []
    for wrap in (lambda f: torch.compile(f, backend=tilewright), lambda f: f):
        x = torch.arange(210.0).view(7, 6, 5).sin().transpose(1, 2).requires_grad_()
        wrap(lambda x: norm(x, training))(x).square().mean().backward()
        results.append(x.grad)
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-4)
    assert results[0].stride() == results[1].stride()


@pytest.mark.parametrize("layout", ["part", "dense"])
def test_views_of_a_flattened_tensor_have_the_base_of_eager(layout):
    """Flattening a part of a tensor copies it. The copy is not a view, and is the base of its own views."""

    def function(x):
        flat = x.flatten(0, 1)
        return flat, flat.chunk(2, 0)[-1]

    x = torch.arange(25).view(5, 5)
    x = x[1:4, 1:4] if layout == "part" else x.clone()
    torch._dynamo.reset()
    (flat, part), (want, _) = torch.compile(function, backend=tilewright)(x), function(x)
    assert (flat._base is None) == (want._base is None)
    assert part._base is (flat if flat._base is None else flat._base)


@pytest.mark.filterwarnings("ignore:tilewright. these ops run in eager")
def test_view_in_eager_of_a_view_that_is_compiled_has_the_offset_of_eager():
    """The range of the sizes does not decide the length of the diagonal, so this view runs in eager."""

    def function(x):
        return F.pad(x.unsqueeze(-1), (1, 2)).select(-1, 1).diagonal(1)

    torch._dynamo.reset()
    compiled = torch.compile(function, backend=tilewright, dynamic=True)
    for shape in ((7, 9), (9, 8)):
        x = torch.randn(shape)
        got, want = compiled(x), function(x)
        assert torch.equal(got, want) and got.stride() == want.stride()
        assert got.storage_offset() in (0, want.storage_offset()), got.storage_offset()

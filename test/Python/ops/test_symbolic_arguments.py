"""Tests numbers that depend on symbolic sizes in arguments that usually are constants: pads, shifts, diagonals, k, windows. One compilation
serves all sizes."""

import pytest
import torch
import torch._dynamo.testing
import torch.nn.functional as F

from numbers_rule import compiled_strictly, leaves

NUMBERS = {
    "to a multiple": lambda x: F.pad(x, (0, -x.shape[-1] % 8)) * 2,
    "windows": lambda x: F.pad(x, (0, -x.shape[1] % 7, 0, -x.shape[0] % 7)).unflatten(0, (-1, 7)).unflatten(2, (-1, 7)).transpose(1, 2) + 1,
    "in front": lambda x: F.pad(x, (x.shape[-1] // 2, 0))[..., : x.shape[-1]],
    "cropped": lambda x: F.pad(x, (-(x.shape[-1] // 4), -(x.shape[-1] // 3)), value=2.0),
    "padded or cropped": lambda x: F.pad(x, (30 - x.shape[-1], 0), value=2.0), "to a length": lambda x: F.pad(x, (0, 30 - x.shape[-1])),
    "one symbol of two": lambda x: F.pad(x, (1, 2, x.shape[0] // 3, 1)), "integers": lambda x: F.pad((x * 4).int(), (x.shape[1] // 3, 1), value=3),
    "shift": lambda x: x.roll(x.shape[-1] // 2, -1), "shift of a symbolic size": lambda x: x.roll((3, -45), (0, 1)), "flat": lambda x: x.roll(5) + 1,
    "upper": lambda x: torch.triu(x, x.shape[-1] // 2), "lower": lambda x: torch.tril(x, 3 - x.shape[0] // 2),
    "largest": lambda x: x.topk(x.shape[-1] // 2, -1), "least": lambda x: x.topk(x.shape[0] // 3, 0, largest=False).values,
    "k-th": lambda x: x.kthvalue(x.shape[0] // 2, 0), "medians": lambda x: (x.median(), x.nanmedian(1)), "mode": lambda x: x.round().mode(1).values,
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_argument_computed_from_sizes_equals_eager(name):
    torch._dynamo.reset()
    function = NUMBERS[name]
    counter = torch._dynamo.testing.CompileCounter()  # counts the graphs that Dynamo makes with eager
    ours, theirs = compiled_strictly(function, dynamic=True), torch.compile(function, backend=counter, dynamic=True)
    before = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    for seed, (rows, columns) in enumerate([(20, 23), (24, 32), (33, 17), (21, 41)]):
        x = torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))
        got, want = ours(x), function(x)
        for a, b in zip(leaves(got), leaves(want), strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=0)
    graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"] - before
    for rows, columns in [(20, 23), (24, 32), (33, 17), (21, 41)]:
        theirs(torch.randn(rows, columns))
    assert graphs <= counter.frame_count


def test_padding_to_whole_windows_equals_eager():
    torch._dynamo.reset()

    def function(x):
        return F.pad(x, (0, -x.shape[3] % 7, 0, -x.shape[2] % 7), value=0.5) * 2

    ours = compiled_strictly(function)
    for size in (20, 23, 28):
        for memory in (torch.contiguous_format, torch.channels_last):
            x = torch.randn(2, 3, size, size + 1).to(memory_format=memory)
            torch._dynamo.mark_dynamic(x, 2)
            torch._dynamo.mark_dynamic(x, 3)
            got, want = ours(x), function(x)
            torch.testing.assert_close(got, want, rtol=0, atol=0)
            assert got.stride() == want.stride()


POINTS = [(9, 4), (33, 7), (300, 5)]
IMAGES = [(2, 3, 20, 23), (2, 3, 28, 15), (3, 3, 9, 41)]
WITH_GRADIENTS = {
    "average of lines": (lambda x: F.adaptive_avg_pool1d(x, 5), [(2, 3, 20), (3, 4, 41)]), "averages": (lambda x: F.adaptive_avg_pool2d(x, 7), [(2, 3, 20, 23), (2, 3, 28, 14), (3, 3, 9, 41)]),
    "averages of volumes": (lambda x: F.adaptive_avg_pool3d(x, 3), [(2, 3, 7, 8, 9), (3, 4, 5, 6, 11)]),
    "largest": (lambda x: F.adaptive_max_pool2d(x, (3, 5), True), [(2, 3, 20, 23), (2, 3, 28, 15), (3, 3, 9, 41)]),
    "apart": (lambda x: F.avg_pool2d(x, 2), IMAGES), "with gaps": (lambda x: F.avg_pool2d(x, 2, 3, 1), IMAGES),
    "overlapping": (lambda x: F.avg_pool2d(x, 3, 2, 1), IMAGES), "without padding": (lambda x: F.avg_pool2d(x, 5, 2, 2, count_include_pad=False), IMAGES),
    "beyond the edge": (lambda x: F.avg_pool2d(x, 3, 2, 1, True, False), IMAGES), "other divisor": (lambda x: F.avg_pool2d(x, (3, 2), (2, 1), (1, 0), divisor_override=5), IMAGES),
    "lines": (lambda x: F.avg_pool1d(x, 3, 2), [(2, 3, 20), (3, 4, 41)]), "volumes": (lambda x: F.avg_pool3d(x, 3, 2, 1, True, False), [(2, 3, 7, 8, 9), (3, 4, 5, 6, 11)]),
    "repeated ends": (lambda x: F.pad(x, (2, 3), mode="replicate"), [(2, 3, 20), (3, 4, 41)]), "repeated edges": (lambda x: F.pad(x, (1, 0, 2, 3), mode="replicate"), IMAGES),
    "repeated faces": (lambda x: F.pad(x, (0, 0, 0, 0, 0, 1), mode="replicate"), [(2, 3, 7, 8, 9), (3, 4, 5, 6, 11)]),
    "distances of pairs": (lambda x: F.pdist(x), POINTS), "largest distances of pairs": (lambda x: F.pdist(x, float("inf")), POINTS), "distances": (lambda x: torch.cdist(x, x[1:] * 1.5, 1.0), POINTS),
}  # fmt: skip


@pytest.mark.parametrize("name", WITH_GRADIENTS)
def test_gradient_with_symbolic_sizes_matches_eager(name):
    function, shapes = WITH_GRADIENTS[name]
    torch._dynamo.reset()
    ours = compiled_strictly(function, dynamic=True)
    for sizes in shapes:
        inputs = [torch.randn(sizes, generator=torch.Generator().manual_seed(0)).requires_grad_() for _ in range(2)]
        results = [leaves(fn(x)) for fn, x in zip((ours, function), inputs)]
        for got, want in zip(*results, strict=True):
            torch.testing.assert_close(got, want)
        for values in results:
            (values[0] * torch.linspace(0.5, 1.5, values[0].numel()).reshape(values[0].shape)).sum().backward()
        torch.testing.assert_close(inputs[0].grad, inputs[1].grad)

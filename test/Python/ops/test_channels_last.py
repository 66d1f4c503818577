"""Tests ops with a channels-last input, in graphs of one op and after a convolution. For any loop order, results must
satisfy the numbers rule and have eager's strides."""

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check, check_gradient

OPS = {
    "pad": lambda x: F.pad(x, (1, 2, 0, 3), value=0.5), "reflect": lambda x: F.pad(x, (1, 2, 2, 1), mode="reflect"),
    "replicate": lambda x: F.pad(x, (1, 2, 2, 1), mode="replicate"), "circular": lambda x: F.pad(x, (1, 2, 2, 1), mode="circular"),
    "max_pool": lambda x: F.max_pool2d(x, 3, 2, 1), "avg_pool": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "max_pool_indices": lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
    "adaptive": lambda x: F.adaptive_avg_pool2d(x, (3, 2)), "cat": lambda x: torch.cat([x, x * 2, x[:, :3]], 1),
    "softmax": lambda x: F.softmax(x, 1), "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "bilinear": lambda x: F.interpolate(x, (13, 17), mode="bilinear"), "bicubic": lambda x: F.interpolate(x, (13, 17), mode="bicubic"),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 2), "pixel_unshuffle": lambda x: F.pixel_unshuffle(x[:, :, :8, :10], 2),
    "channel_shuffle": lambda x: x.view(2, 4, 2, 9, 11).transpose(1, 2).reshape(2, 8, 9, 11) + 1,
    "lines": lambda x: x[:, :, torch.tensor([3, 0, -1])], "columns": lambda x: x[:, :, :, torch.tensor([[3, 0], [-1, 2]])],
    "channels": lambda x: x[:, torch.tensor([5, 5, 0])], "images": lambda x: x[torch.tensor([1, 0, 1])],
    "lines_and_columns": lambda x: x[:, :, torch.tensor([[3], [0]]), torch.tensor([1, 2, 10])],
    "channels_and_lines": lambda x: x[:, torch.tensor([3, 0]), torch.tensor([1, 8])],
    "windows": lambda x: x[:, :, :8, :10].permute(0, 2, 3, 1).reshape(2, 4, 2, 5, 2, 8).permute(0, 1, 3, 2, 4, 5).reshape(40, 4, 8) * 2,
    "heads": lambda x: x.reshape(2, 2, 4, 99).softmax(-1), "group_norm": lambda x: F.group_norm(x, 4),
    "flip": lambda x: x.flip(1, 3), "mean": lambda x: x.mean((2, 3)), "variance": lambda x: x.var(1),
}  # fmt: skip


def image(*sizes):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(0)).to(memory_format=torch.channels_last)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", OPS)
def test_op_on_channels_last_input_matches_eager(name, dynamic):
    check(OPS[name], image(2, 8, 9, 11), dynamic=dynamic)


@pytest.mark.parametrize("name", OPS)
def test_op_after_convolution_matches_eager(name):
    x, weight = image(2, 3, 9, 11), image(8, 3, 3, 3)
    check(lambda x, weight: OPS[name](F.conv2d(x, weight, padding=1)), x, weight)


@pytest.mark.parametrize("name", OPS)
def test_gradient_of_op_on_channels_last_input_matches_eager(name):
    check_gradient(OPS[name], image(2, 8, 9, 11))


@pytest.mark.parametrize("op", [
    lambda x: F.max_pool3d(x, 2), lambda x: F.avg_pool3d(x, 2), lambda x: F.max_pool3d(x, 3, 2, 1, return_indices=True),
    lambda x: F.max_pool3d(x, (1, 2, 3), (2, 1, 2), (0, 1, 1), 1, True), lambda x: F.avg_pool3d(x, 3, 2, 1, count_include_pad=False),
    lambda x: F.pad(x, (1, 1, 0, 2, 1, 0)), lambda x: x[:, :, :, [1, 0]],
])  # fmt: skip
def test_op_on_channels_last_3d_input_and_gradient_match_eager(op):
    x = torch.randn(2, 4, 6, 7, 8, generator=torch.Generator().manual_seed(0)).to(memory_format=torch.channels_last_3d)
    check(op, x)
    check_gradient(op, x)


# Without indices and gradients, eager's max_pool1d returns contiguous results, unlike torch's meta function. Therefore the first op calls contiguous().
@pytest.mark.parametrize("op", [lambda x: F.max_pool1d(x, 3, 2, 1).contiguous(), lambda x: F.max_pool1d(x, 2, return_indices=True), lambda x: F.avg_pool1d(x, 3, 2, 1)])
def test_pool1d_of_transposed_input_and_gradient_match_eager(op):
    check(lambda x: op(x.transpose(1, 2)), torch.randn(2, 19, 24))
    check_gradient(lambda x: op(x.transpose(1, 2)), torch.randn(2, 19, 24))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("sizes, groups", [((2, 12, 5, 7), 3), ((3, 12, 5, 7), 12), ((2, 12, 5, 7), 1), ((1, 64, 33, 17), 8), ((2, 6, 3, 4, 5), 2)])
def test_channels_last_group_norm_and_gradient_match_eager(sizes, groups, dtype):
    """The kernel computes the statistics of each channel first, and then those of the group. The channels of the
    input have very different means."""
    last = torch.channels_last if len(sizes) == 4 else torch.channels_last_3d
    x = (torch.randn(sizes) * 3 + 7 * torch.randn(sizes[1]).view(-1, *[1] * (len(sizes) - 2))).to(dtype).to(memory_format=last)
    weight, bias = torch.randn(sizes[1]), torch.randn(sizes[1])
    check_gradient(lambda x, w, b: F.group_norm(x, groups, w, b), x, weight.to(dtype), bias.to(dtype))
    check_gradient(lambda x: F.group_norm(x, groups, eps=0.1), x)
    arguments = (x.shape[0], x.shape[1], x[0, 0].numel(), groups, 1e-5)
    for w, b in [(None, None), (weight.to(dtype), None), (None, bias.to(dtype))] + [(weight, bias)] * (dtype.itemsize == 2):
        check(lambda x, w, b: torch.ops.aten.native_group_norm(x, w, b, *arguments), x, w, b)
    if dtype == torch.float32:
        x[0, 0].view(-1)[3] = float("inf")
        x[-1, -1].view(-1)[0] = float("nan")
        check(lambda x, w, b: F.group_norm(x, groups, w, b), x, weight, bias)

"""Tests grouped convolutions and their gradients: depthwise, with several filters per channel, and with small and large
groups."""

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check, check_gradient

DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64]
# name: (groups, channels per group, filters per group, window, options)
KINDS = {
    "depthwise": (40, 1, 1, (3, 3), dict(padding=1)), "stride": (40, 1, 1, (3, 3), dict(padding=1, stride=2)),
    "dilated": (24, 1, 1, (5, 5), dict(padding=4, dilation=2)), "7x7": (20, 1, 1, (7, 7), dict(padding=3)),
    "one line": (17, 1, 1, (1, 9), dict(padding=(0, 4))), "long window": (16, 1, 1, (2, 13), dict(padding=(0, 6), stride=(1, 3))),
    "past the image": (16, 1, 1, (3, 3), dict(padding=5, dilation=3)), "no padding": (33, 1, 1, (4, 3), dict(stride=(2, 1))),
    "two filters": (20, 1, 2, (3, 3), dict(padding=1)), "three filters": (7, 1, 3, (3, 3), dict(padding=1)),
    "groups of 4": (10, 4, 4, (3, 3), dict(padding=1)), "groups of 8": (5, 8, 8, (3, 3), dict(padding=1, stride=2)),
    "groups of 16": (3, 16, 16, (3, 3), dict(padding=1)), "groups of 40": (2, 40, 40, (3, 3), dict(padding=1)),
    "odd groups": (5, 3, 5, (3, 2), dict(padding=1)), "few filters": (4, 24, 2, (3, 3), dict(padding=1)),
}  # fmt: skip


def operands(groups, channels, filters, window, dtype, size=(9, 17), batch=2):
    x = torch.randn(batch, groups * channels, *size)
    return x.to(dtype), torch.randn(groups * filters, channels, *window).to(dtype), torch.randn(groups * filters).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_grouped_conv2d_matches_eager(kind, dtype):
    groups, channels, filters, window, options = KINDS[kind]
    x, w, b = operands(groups, channels, filters, window, dtype)
    fn = lambda x, w, b: F.relu(F.conv2d(x, w, b, groups=groups, **options))  # noqa: E731
    check(fn, x, w, b)
    check(fn, x.contiguous(memory_format=torch.channels_last), w, b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", KINDS)
def test_grouped_conv2d_gradient_matches_eager(kind, dtype):
    groups, channels, filters, window, options = KINDS[kind]
    x, w, b = operands(groups, channels, filters, window, dtype)
    fn = lambda x, w, b: F.conv2d(x, w, b, groups=groups, **options)  # noqa: E731
    check_gradient(fn, x.contiguous(memory_format=torch.channels_last), w, b)


@pytest.mark.parametrize("groups", [1, 7, 15, 16, 17, 31, 32, 33, 64, 97])
def test_depthwise_conv2d_with_any_channel_count_matches_eager(groups):
    x, w, b = operands(groups, 1, 1, (3, 3), torch.float32)
    fn = lambda x, w, b: F.conv2d(x, w, b, groups=groups, padding=1)  # noqa: E731
    check(fn, x, w, b)
    check_gradient(fn, x, w, b)


# Lines of one pixel, shorter than a window, of one block, of a block and one pixel, of several blocks; and empty batches.
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (5, 14), (5, 15), (3, 57), (57, 3)], ids=str)
@pytest.mark.parametrize("batch", [0, 1, 3])
def test_depthwise_conv2d_with_any_image_size_matches_eager(size, batch):
    for options in (dict(padding=2), dict(padding=2, stride=2), dict(padding=4, dilation=2)):
        x, w, b = operands(18, 1, 1, (5, 5), torch.float32, size, batch)
        fn = lambda x, w, b: F.conv2d(x, w, b, groups=18, **options)  # noqa: E731, B023
        check(fn, x, w, b)
        if batch:
            check_gradient(fn, x, w, b)


@pytest.mark.parametrize("kind", ["depthwise", "stride", "dilated", "past the image", "groups of 4", "groups of 40"])
def test_grouped_conv2d_with_dynamic_sizes_matches_eager(kind):
    groups, channels, filters, window, options = KINDS[kind]
    # In a module, the weight and the hyperparameters are constants of the graph.
    conv = torch.nn.Conv2d(groups * channels, groups * filters, window, groups=groups, **options).requires_grad_(False)
    fn = lambda x: conv._conv_forward(x, conv.weight.to(x.dtype), conv.bias.to(x.dtype))  # noqa: E731
    for size in [(9, 17), (23, 41), (6, 5)]:
        check(fn, operands(groups, channels, filters, window, torch.float32, size, batch=3)[0], dynamic=True)


@pytest.mark.parametrize("options", [dict(padding=1), dict(stride=2, padding=1, output_padding=1), dict(stride=2), dict(stride=3),
                                     dict(padding=1, dilation=2), dict(stride=2, padding=2, dilation=2)], ids=str)  # fmt: skip
@pytest.mark.parametrize("groups,channels,filters", [(20, 1, 1), (6, 4, 4), (5, 2, 3)])
def test_grouped_conv_transpose2d_and_gradient_match_eager(groups, channels, filters, options):
    x, w, b = torch.randn(2, groups * channels, 6, 9), torch.randn(groups * channels, filters, 3, 3), torch.randn(groups * filters)
    fn = lambda x, w, b: F.conv_transpose2d(x, w, b, groups=groups, **options)  # noqa: E731
    check(fn, x, w, b)
    check_gradient(fn, x, w, b)


def test_causal_depthwise_conv1d_and_gradient_match_eager():
    x, w, b = torch.randn(2, 24, 50), torch.randn(24, 1, 4), torch.randn(24)
    fn = lambda x, w, b: F.silu(F.conv1d(x, w, b, padding=3, groups=24)[..., :50])  # noqa: E731
    check(fn, x, w, b)
    check_gradient(fn, x, w, b)


def test_depthwise_conv2d_epilogues_match_eager():
    """The epilogues are batch norm, hardswish and a residual, a layer norm over the channels, and a scaling by the
    mean of a plane."""
    x, w, b = operands(24, 1, 1, (3, 3), torch.float32, (14, 14))
    mean, scale = torch.randn(24), torch.rand(24) + 0.5
    check(lambda x, w, m, s: x + F.hardswish(F.batch_norm(F.conv2d(x, w, None, 1, 1, 1, 24), m, s, s, m)), x, w, mean, scale)
    check(lambda x, w, b, s: F.layer_norm(F.conv2d(x, w, b, 1, 1, 1, 24).permute(0, 2, 3, 1), (24,), s, b), x, w, b, scale)

    def squeeze(x, w, b):
        y = F.silu(F.conv2d(x, w, b, 1, 1, 1, 24))
        return y * torch.sigmoid(y.mean((2, 3), keepdim=True))

    check(squeeze, x, w, b)


@pytest.mark.parametrize("pads", [(1, 1, 1, 1), (0, 1, 0, 1), (2, 0, 1, 3)])
@pytest.mark.parametrize("groups", [1, 4, 8])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_zeros_that_are_padded_before_a_convolution_match_eager(pads, groups, dtype):
    """The zeros become padding of the convolution, whose amounts may differ on both sides."""
    x, w = torch.randn(2, 8, 9, 10).to(dtype), torch.randn(16, 8 // groups, 3, 3).to(dtype)
    for layout in (torch.contiguous_format, torch.channels_last):
        x = x.contiguous(memory_format=layout)
        check(lambda x, w: F.conv2d(F.pad(x, pads), w, stride=2, padding=1, groups=groups), x, w)
    check_gradient(lambda x, w: F.conv2d(F.pad(x, pads), w, stride=2, groups=groups), x, w)
    check(lambda x, w: F.conv2d(F.pad(F.pad(x, pads), (1, 0)), w, groups=groups), x, w)
    check(lambda x, w: F.conv2d(F.pad(x, pads, value=1.0), w, padding=1, groups=groups), x, w)
    check(lambda x, w: F.conv2d(F.pad(x, (-1, 1, 0, 1)), w, padding=1, groups=groups), x, w)


def test_zeros_that_are_padded_before_convolutions_of_one_and_three_dimensions_match_eager():
    check(lambda x, w: F.conv1d(F.pad(x, (2, 1)), w, padding=1), torch.randn(2, 6, 11), torch.randn(4, 6, 3))
    check(lambda x, w: F.conv3d(F.pad(x, (2, 1, 0, 1, 1, 0)), w, padding=1), torch.randn(1, 3, 4, 5, 6), torch.randn(4, 3, 3, 3, 3))

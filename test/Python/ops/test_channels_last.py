"""Operations whose input lies in channels-last memory, alone and behind a convolution: in whatever order they are computed, numbers
and strides are eager's."""

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
def test_alone(name, dynamic):
    check(OPS[name], image(2, 8, 9, 11), dynamic=dynamic)


@pytest.mark.parametrize("name", OPS)
def test_behind_a_convolution(name):
    x, weight = image(2, 3, 9, 11), image(8, 3, 3, 3)
    check(lambda x, weight: OPS[name](F.conv2d(x, weight, padding=1)), x, weight)


@pytest.mark.parametrize("name", OPS)
def test_gradient(name):
    check_gradient(OPS[name], image(2, 8, 9, 11))


@pytest.mark.parametrize("op", [lambda x: F.max_pool3d(x, 2), lambda x: F.avg_pool3d(x, 2), lambda x: F.pad(x, (1, 1, 0, 2, 1, 0)), lambda x: x[:, :, :, [1, 0]]])
def test_of_volumes(op):
    x = torch.randn(2, 4, 6, 7, 8, generator=torch.Generator().manual_seed(0)).to(memory_format=torch.channels_last_3d)
    check(op, x)

"""Tests tensors whose last dimension has few elements (lib/Codegen/CPU/Vectorize/InterleavedLoops.cpp) or a small stride, and concatenations and paddings
in tasks (lib/Codegen/CPU/Schedule/TileInserts.cpp)."""

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check, check_gradient

LENGTHS = [1, 3, 4, 16, 17, 45, 130]
# f32 is tested with all lengths, and each of the other dtypes below with two lengths.
WIDTHS = [(torch.float32, n) for n in LENGTHS] + [(d, n) for d in (torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.float64) for n in (17, 70)]
STEPS = [(torch.float32, n) for n in (2, 31, 64, 97, 260)] + [(d, n) for d in (torch.bfloat16, torch.int8) for n in (31, 130)]


def values(*shape, dtype=torch.float32):
    torch.manual_seed(0)
    return torch.randn(shape).mul(40).to(dtype)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
@pytest.mark.parametrize(("dtype", "length"), WIDTHS)
def test_stack_along_new_last_dimension_matches_eager(count, dtype, length):
    parts = values(count, 3, length, dtype=dtype)
    check(lambda x: torch.stack(list(x), -1), parts)
    check(lambda x: torch.stack([~t if dtype == torch.bool else t * 2 for t in x], -1), parts, dynamic=True)


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("length", LENGTHS)
def test_ops_on_short_last_dimension_match_eager(count, length):
    x, scale = values(3, length, count), values(count)
    check(lambda x, s: (x * s).exp().neg(), x / 100, scale)
    check(lambda x: x.flip(-1), x)
    check(lambda x: x[..., 0] * x[..., count - 1], x)
    check(lambda x: x.transpose(1, 2).contiguous() + 1, x, dynamic=True)
    check_gradient(lambda x, s: (x * s).tanh() + x.flip(-1), x, scale)


@pytest.mark.parametrize("step", [2, 3, 4, 5])
@pytest.mark.parametrize(("dtype", "length"), STEPS)
def test_slices_with_step_in_last_dimension_match_eager(step, dtype, length):
    """The last element may be at the end of its allocation, so vectors must not read past it."""
    x = values(2, length * step - step + 1, dtype=dtype)
    check(lambda x: x[:, ::step] * 2, x)
    check(lambda x: x[:, step - 1 :: step] + x[:, : x.shape[1] - step + 1 : step], x, dynamic=False)


@pytest.mark.parametrize("length", [8, 32, 50])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_interleaved_rotary_embedding_matches_eager(length, dtype):
    x, c, s = values(2, 4, 6, 2 * length, dtype=dtype), values(6, 2 * length, dtype=dtype), values(6, 2 * length, dtype=dtype)

    def rotated(x, c, s):
        return x * c + torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2) * s

    check(rotated, x, c, s)
    check(rotated, x, c, s, dynamic=True)
    check_gradient(rotated, x, c, s)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("dim", [0, 1, 2, 3])
def test_cat_stack_slice_scatter_and_pad_in_tasks_match_eager(dim, dynamic):
    x, y = values(6, 33, 20, 40), values(6, 33, 20, 40)
    part = y.narrow(dim, 1, 4)
    check(lambda x, y: torch.cat((x, y, x), dim), x, part, dynamic=dynamic)
    check(lambda x, y: torch.stack((x, x * y), dim), x, y, dynamic=dynamic)
    check(lambda x, y: torch.slice_scatter(x, y, dim, 1, 5), x, part, dynamic=dynamic)
    check(lambda x, y: torch.slice_scatter(x, y, dim, 0, 7, 2), x, part.narrow(dim, 0, 3) if dim == 0 else part, dynamic=dynamic)
    check(lambda x: F.pad(x, [1, 2] * (4 - dim) if dim < 3 else [3, 0], value=7.0), x, dynamic=dynamic)
    check(lambda x: F.pad(x, [0, 0] * (3 - dim) + [2, -1]), x, dynamic=dynamic)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_cat_of_fused_producers_matches_eager(dim, dynamic):
    """The kernel of a concatenation also computes the producers of its parts, except producers that have other consumers."""
    x, y = values(6, 33, 40), values(6, 33, 40)
    part = y.narrow(dim, 1, 4)
    check(lambda x, y: torch.cat((x.exp(), y * 2, x), dim), x, part, dynamic=dynamic)
    check(lambda x, y: torch.cat((x + y.sum(dim, keepdim=True), y[:1] * x.mean()), dim) if dim == 0 else torch.cat((-x, y.relu()), dim), x, part, dynamic=dynamic)
    check(lambda x: torch.cat((-x.narrow(dim, 3, 3), x.narrow(dim, 0, 3)), dim) * x.narrow(dim, 0, 6), x, dynamic=dynamic)  # swaps parts
    check(lambda x, y: (torch.cat((z := x.exp(), y), dim), z), x, part, dynamic=dynamic)
    check(lambda x, y: torch.slice_scatter(x, y * 2 + 1, dim, 1, 5), x, part, dynamic=dynamic)
    check(lambda x: torch.cat((x.transpose(0, 1) * 2, x.transpose(0, 1).exp()), dim), x, dynamic=dynamic)
    check(lambda x: torch.cat([x * n for n in range(1, 12)], dim), x, dynamic=dynamic)  # many parts have separate kernels
    check(lambda x, y: torch.cat((x.bfloat16() * 2, y.bfloat16().exp()), dim), x, part, dynamic=dynamic)
    check(lambda x, y: torch.cat((x > 0, y.isnan()), dim), x, part, dynamic=dynamic)
    check_gradient(lambda x, y: torch.cat((x.exp(), y.sin()), dim) * 2, x, part)

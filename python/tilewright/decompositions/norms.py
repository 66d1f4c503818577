"""Group norm of images in channels-last memory.

The mean and variance of each channel are computed first, as reductions of columns, and then combined for each group.
Therefore the image is not transposed. Formulas: Chan, Golub and LeVeque (1983).
"""

from __future__ import annotations

import torch

aten = torch.ops.aten


def _channels_last(x) -> bool:
    if x.dim() not in (4, 5) or x.device.type != "cpu" or not all(isinstance(size, int) and size > 0 for size in x.shape):
        return False
    return not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last if x.dim() == 4 else torch.channels_last_3d)


def group_norm(x, weight, bias, N, C, HxW, group, eps):
    """Returns (the result, the means, the reciprocal standard deviations). The statistics have the shape [N, group]."""
    if not _channels_last(x) or not x.is_floating_point():
        return NotImplemented
    plane, each = x.shape[2:], C // group
    columns = (x.float() if x.dtype in (torch.bfloat16, torch.float16) else x).movedim(1, -1).reshape(N, HxW, C)
    variance, mean = torch.var_mean(columns, 1, correction=0)
    variance, mean = variance.view(N, group, each), mean.view(N, group, each)
    of_group = mean.mean(2, keepdim=True)
    rstd = torch.rsqrt((variance + (mean - of_group) ** 2).mean(2, keepdim=True) + eps)
    factor = rstd.expand(N, group, each)
    if weight is not None:
        factor = factor * weight.to(columns.dtype).view(1, group, each)
    result = (columns - of_group.expand(N, group, each).reshape(N, 1, C)) * factor.reshape(N, 1, C)
    if bias is not None:
        result = result + bias.to(columns.dtype)
    statistics = x.dtype if weight is None else weight.dtype
    made = result.to(x.dtype).view(N, *plane, C).movedim(-1, 1)
    return made, of_group.view(N, group).to(statistics), rstd.view(N, group).to(statistics)


TABLE = {aten.native_group_norm.default: group_norm}

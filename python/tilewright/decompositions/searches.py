"""Binary search of many values in sorted rows at once (searchsorted, bucketize), and the ops nonzero_static and histc."""

from __future__ import annotations

import torch

aten = torch.ops.aten


def _search(rows, values, right: bool, sorter=None):
    """Returns for each element of `values` [..., m] the number of elements of the sorted `rows` [..., n] that precede it."""
    size = rows.shape[-1]
    if not isinstance(size, int):
        return None
    low = torch.zeros_like(values, dtype=torch.int64)
    high = torch.full_like(low, size)
    for _ in range(size.bit_length()):
        middle = (low + high) // 2
        inside = middle.clamp_max(max(size - 1, 0))
        if sorter is not None:
            inside = sorter.gather(-1, inside)
        held = rows[inside] if rows.dim() == 1 else rows.gather(-1, inside)
        # Comparisons are negated, because NaN is sorted after all numbers.
        after = ~(held > values) if right else ~(held >= values)
        after = after & (low < high)
        low, high = torch.where(after, middle + 1, low), torch.where(after, high, middle)
    return low


def searchsorted(rows, values, *, out_int32=False, right=False, side=None, sorter=None):
    right = right or side == "right"
    if sorter is not None and rows.dim() == 1:
        rows, sorter = rows[sorter], None
    common = torch.promote_types(rows.dtype, values.dtype)
    shape = values.shape
    if rows.dim() > 1 and rows.shape[:-1] != shape[:-1]:
        return NotImplemented
    found = _search(rows.to(common), values.to(common) if values.dim() else values.to(common).reshape(1), right, sorter)
    if found is None:
        return NotImplemented
    return found.reshape(shape).to(torch.int32 if out_int32 else torch.int64)


def searchsorted_scalar(rows, value, *, out_int32=False, right=False, side=None, sorter=None):
    if rows.dim() != 1:
        return NotImplemented
    return searchsorted(rows, torch.scalar_tensor(value, dtype=torch.result_type(rows, value)), out_int32=out_int32, right=right,
                        side=side, sorter=sorter)  # fmt: skip


def bucketize(values, boundaries, *, out_int32=False, right=False):
    return searchsorted(boundaries, values, out_int32=out_int32, right=right)


def nonzero_static(x, *, size, fill_value=-1):
    """Returns the indices of nonzero elements. Element k (from 0) is where the cumulative count of nonzero elements reaches k + 1."""
    if not all(isinstance(s, int) for s in [*x.shape, size]):
        return NotImplemented
    flat = (x != 0).reshape(-1)
    if x.dim() == 0 or flat.shape[0] == 0 or size == 0:
        return x.new_full((size, x.dim()), fill_value, dtype=torch.int64)
    counts = flat.to(torch.int64).cumsum(0)
    wanted = torch.arange(1, size + 1, dtype=torch.int64)
    found = _search(counts, wanted, False).clamp_max(flat.shape[0] - 1)
    columns = []
    for extent in reversed(x.shape):
        columns.append(found % extent)
        found = found // extent
    return torch.where((wanted <= counts[-1]).unsqueeze(1), torch.stack(columns[::-1], 1), fill_value)


def histc(x, bins=100, min=0, max=0):
    """Computes a histogram between the edges `min` and `max`. If they are equal, the edges are the minimum and the maximum of x, which must
    be finite, as eager checks."""
    if min == max or not x.is_floating_point():
        return NotImplemented
    flat = x.reshape(-1)
    bin_indices = ((flat - min) * bins / (max - min)).to(torch.int64).clamp(0, bins - 1)
    bin_indices = torch.where((flat >= min) & (flat <= max), bin_indices, bins)  # a NaN is in no bin
    return x.new_zeros(bins + 1).scatter_add(0, bin_indices, torch.ones_like(flat))[:bins].clone()


TABLE = {
    aten.histc.default: histc,
    aten.nonzero_static.default: nonzero_static,
    aten.searchsorted.Tensor: searchsorted, aten.searchsorted.Scalar: searchsorted_scalar, aten.bucketize.Tensor: bucketize,
}  # fmt: skip

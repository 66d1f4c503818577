"""Ops that are computed by sorting rows: medians, the k-th value, the most frequent value."""

from __future__ import annotations

import torch

from .sizes import some

aten = torch.ops.aten


def _take(values, indices, index, dim, keepdim):
    """Selects the element at `index` in each row of the sorted values and of their indices."""
    at = index if isinstance(index, torch.Tensor) else torch.full((1,) * values.dim(), index, dtype=torch.int64)
    at = at.expand([1 if d == dim else size for d, size in enumerate(values.shape)])
    found = [part.gather(dim, at) for part in (values, indices)]
    return tuple(part if keepdim else part.squeeze(dim) for part in found)


def _rows(of_row):
    """Wraps a function of rows, so that it also accepts a 0-d tensor, which is a row of one element."""

    def whole(x, *arguments, **keywords):
        if x.dim():
            return of_row(x, *arguments, **keywords)
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)

    return whole


def kthvalue(x, k, dim=-1, keepdim=False):
    if not some(x.shape[dim]):
        return NotImplemented
    dim %= x.dim()
    values, indices = torch.sort(x, dim=dim, stable=True)
    return _take(values, indices, k - 1, dim, keepdim)


def median_dim(x, dim, keepdim=False):
    """Returns the lower of the two middle elements of each row, or NaN if the row contains NaN, which is sorted to the end."""
    if not some(x.shape[dim]):
        return NotImplemented
    dim %= x.dim()
    values, indices = torch.sort(x, dim=dim, stable=True)
    size = x.shape[dim]
    middle = (size - 1) // 2
    if not x.is_floating_point():
        return _take(values, indices, middle, dim, keepdim)
    numbers = size - torch.isnan(x).sum(dim, keepdim=True)
    return _take(values, indices, torch.where(numbers < size, numbers, middle), dim, keepdim)


def nanmedian_dim(x, dim, keepdim=False):
    if not x.is_floating_point():
        return median_dim(x, dim, keepdim)
    if not some(x.shape[dim]):
        return NotImplemented
    dim %= x.dim()
    values, indices = torch.sort(x, dim=dim, stable=True)
    numbers = (~torch.isnan(x)).sum(dim, keepdim=True)
    return _take(values, indices, (numbers - 1).clamp_min(0) // 2, dim, keepdim)


def _of_all(of_dim):
    def median(x):
        found = of_dim(x.reshape(-1), 0)
        return found if found is NotImplemented else found[0]

    return median


def mode(x, dim=-1, keepdim=False):
    """Returns the most frequent value of each row and the last index of this value. The value is that of the first of the longest runs of
    equal elements in the sorted row."""
    if not some(x.shape[dim]):
        return NotImplemented
    if x.dtype is torch.bool:
        found = mode(x.to(torch.uint8), dim, keepdim)
        return found[0].to(torch.bool), found[1]
    dim %= x.dim()
    values, indices = torch.sort(x, dim=dim, stable=True)
    size = x.shape[dim]
    shape = [size if d == dim else 1 for d in range(x.dim())]
    at = torch.arange(size, dtype=torch.int64).reshape(shape)
    before = torch.cat([values.narrow(dim, 0, 1), values.narrow(dim, 0, size - 1)], dim)
    begins = torch.where((values != before) | (at == 0), at, 0)
    length = at - torch.cummax(begins, dim).values
    return _take(values, indices, length.argmax(dim, keepdim=True), dim, keepdim)


TABLE = {
    aten.kthvalue.default: _rows(kthvalue), aten.median.dim: _rows(median_dim), aten.nanmedian.dim: _rows(nanmedian_dim),
    aten.median.default: _of_all(median_dim), aten.nanmedian.default: _of_all(nanmedian_dim), aten.mode.default: _rows(mode),
}  # fmt: skip

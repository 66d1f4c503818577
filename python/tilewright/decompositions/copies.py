"""Copies of views, writes into views, and tensors of zeros."""

from __future__ import annotations

import torch

from .constants import constant

aten = torch.ops.aten


def _row_major(x: torch.Tensor) -> torch.Tensor:
    return x.clone(memory_format=torch.contiguous_format)


def narrow_copy(x, dim, start, length):
    return _row_major(aten.slice.Tensor(x, dim, start, start + length))


def permute_copy(x, dims):
    return _row_major(x.permute(dims))


def unbind_copy(x, dim=0):
    return [_row_major(part) for part in x.unbind(dim)]


def as_strided_copy(x, size, stride, storage_offset=None):
    return _row_major(aten.as_strided.default(x, size, stride, storage_offset))


def channel_shuffle(x, groups):
    """Shuffles channels. The result is always a copy, as in eager. torch's decomposition returns a view if no channel moves."""
    if x.dim() < 3 or groups == 0:
        return NotImplemented
    grouped = x.reshape([x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]])
    return _row_major(grouped.transpose(1, 2)).reshape(x.shape)


def diagonal_scatter(x, src, offset=0, dim1=0, dim2=1):
    """Writes `src` to the diagonal, which is selected by a pair of index tensors for rows and columns."""
    dim1, dim2 = dim1 % x.dim(), dim2 % x.dim()
    rest = [d for d in range(x.dim()) if d not in (dim1, dim2)]
    order = [dim1, dim2, *rest]
    along = torch.arange(src.shape[-1], dtype=torch.int64)
    rows, columns = along + max(-offset, 0), along + max(offset, 0)
    written = aten.index_put.default(x.permute(order), [rows, columns], src.movedim(-1, 0))
    return _row_major(written.permute([order.index(d) for d in range(x.dim())]))


def put(x, index, source, accumulate=False):
    flat = aten.index_put.default(x.reshape(-1), [index.reshape(-1)], source.reshape(-1), accumulate)
    return flat.reshape(x.shape)


def triangle_indices(lower: bool):
    """Returns a decomposition of tril_indices or triu_indices, whose result is a constant because it is known when the graph is traced."""

    def indices(row, col, offset=0, *, dtype=torch.int64, layout=None, device=None, pin_memory=None):
        if not all(isinstance(v, int) for v in (row, col, offset)) or row * col > 1 << 16:
            return NotImplemented
        pairs = [(r, c) for r in range(row) for c in range(col) if (c - r <= offset if lower else c - r >= offset)]
        if not pairs:
            return torch.empty((2, 0), dtype=dtype)
        return constant([[r for r, _ in pairs], [c for _, c in pairs]], dtype)

    return indices


def efficient_zero(size, *, dtype=None, layout=None, device=None, pin_memory=None):
    """Returns a tensor of zeros that has memory. The op, which second-order gradients use, returns a zero tensor without memory."""
    return torch.zeros(size, dtype=dtype, device=device)


def zeros_as(x, other, *, self_num_batch_dims=0):
    """Returns zeros in the shape of `other`, with the batch dimensions of x, for tangents. Only forward-mode differentiation depends on the
    layout of the result."""
    if self_num_batch_dims == 0:
        return torch.zeros_like(other)
    return other.new_zeros([*x.shape[:self_num_batch_dims], *other.shape])


TABLE = {
    aten._efficientzerotensor.default: efficient_zero, aten._new_zeros_with_same_feature_meta.default: zeros_as,
    aten.channel_shuffle.default: channel_shuffle, aten.native_channel_shuffle.default: channel_shuffle,
    aten.narrow_copy.default: narrow_copy, aten.permute_copy.default: permute_copy, aten.unbind_copy.int: unbind_copy,
    aten.as_strided_copy.default: as_strided_copy, aten.diagonal_scatter.default: diagonal_scatter,
    aten.put.default: put, aten.tril_indices.default: triangle_indices(True), aten.triu_indices.default: triangle_indices(False),
}  # fmt: skip

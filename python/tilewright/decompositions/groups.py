"""Grouped matrix products, in which each group of rows is multiplied by a separate matrix (mixture of experts).

Rows are gathered into blocks, each of which contains rows of one group. Each block is multiplied by the matrix of its
group. The generated kernel reads the matrix without copying it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

aten = torch.ops.aten

MOST = 64  # maximum number of rows of a block; larger blocks do not reuse the matrix more efficiently
UNKNOWN = 16  # number of rows of a block if the total number of rows is a symbol


@dataclass
class Blocks:
    """An assignment of rows to blocks. It is computed from `ends`, the index after the last row of each group."""

    group: torch.Tensor  # [blocks]: the group of each block
    rows: torch.Tensor  # [blocks, size]: the rows of each block
    inside: torch.Tensor  # [blocks, size]: True if the position has a row of the block's group
    position: torch.Tensor  # [rows]: the position of each row among the positions of all blocks
    in_group: torch.Tensor  # [rows]: False for rows after the last group


def _blocks(ends, count, groups: int, size: int) -> Blocks:
    ends = ends.to(torch.int64)
    starts = torch.cat([ends.new_zeros(1), ends[:-1]])
    lengths = (ends - starts + size - 1) // size
    block_ends = lengths.cumsum(0)
    block_starts = block_ends - lengths
    blocks = count // size + groups if size > 1 else count  # an upper bound of the number of blocks, for all group sizes
    at, row = torch.arange(blocks, dtype=torch.int64), torch.arange(count, dtype=torch.int64)
    # The blocks after the last used block are assigned to the last group.
    group = (block_ends[:-1] <= at[:, None]).sum(1)
    first = starts[group] + (at - block_starts[group]) * size
    rows = first[:, None] + torch.arange(size, dtype=torch.int64)
    of_row = (ends[:-1] <= row[:, None]).sum(1)
    row_in_group = row - starts[of_row]
    position = (block_starts[of_row] + row_in_group // size) * size + row_in_group % size
    return Blocks(group, rows.clamp(0, count - 1), rows < ends[group][:, None], position, row < ends[-1])


def _size(count, groups: int, share: float) -> int:
    """Returns the number of rows of a block: a power of 2 that is at most `share` times the mean group size."""
    if not isinstance(count, int):
        return UNKNOWN
    size = 1
    while size * 2 <= min(MOST, share * count / groups):
        size *= 2
    return size


def _product(x, matrices, ends):
    count, groups = x.shape[0], matrices.shape[0]
    blocks = _blocks(ends, count, groups, _size(count, groups, 0.5))
    made = torch.bmm(x[blocks.rows], matrices.index_select(0, blocks.group))
    found = made.reshape(-1, made.shape[-1])[torch.where(blocks.in_group, blocks.position, 0)]
    return torch.where(blocks.in_group[:, None], found, 0.0)


def _known(x, matrices) -> bool:
    sizes = [*x.shape[1:], *matrices.shape]
    return x.dim() == 2 and matrices.dim() == 3 and all(isinstance(s, int) and s > 0 for s in sizes) and not _is_none(x.shape[0])


def _is_none(size) -> bool:
    return isinstance(size, int) and size == 0


def grouped_mm(x, matrices, offs=None, bias=None, out_dtype=None):
    if offs is None or bias is not None or out_dtype not in (None, x.dtype) or not _known(x, matrices):
        return NotImplemented
    return _product(x, matrices, offs)


def grouped_mm_fallback(x, matrices, offs):
    return _product(x, matrices, offs) if _known(x, matrices) else NotImplemented


def grouped_mm_fallback_backward(x, matrices, offs, grad):
    """Computes the gradients of x and of the matrices. The gradient of a matrix is the sum of the products of its blocks. Blocks are chosen
    so large that there are at most twice as many blocks as groups."""
    if not _known(x, matrices):
        return NotImplemented
    count, groups = x.shape[0], matrices.shape[0]
    size = 1
    while isinstance(count, int) and size * groups < count:
        size *= 2
    blocks = _blocks(offs, count, groups, size if isinstance(count, int) else MOST)
    part = torch.where(blocks.inside[:, :, None], x[blocks.rows], 0.0)
    sums = torch.bmm(part.transpose(1, 2), grad[blocks.rows])
    found = torch.zeros_like(matrices).index_add(0, blocks.group, sums)
    return _product(grad, matrices.transpose(1, 2), offs), found


TABLE = {aten._grouped_mm.default: grouped_mm}
# Decompositions of custom operators of other libraries, by operator. A decomposition is registered when the library is imported.
OF_LIBRARIES = {
    "transformers::grouped_mm_fallback": grouped_mm_fallback,
    "transformers::grouped_mm_fallback_backward": grouped_mm_fallback_backward,
}

"""Sums, means and maxima of bags of a table's rows (embedding_bag), and their gradients.

A bag is a contiguous range of `indices`, and `offsets` contains the start of each bag. The bag of an element is computed
as the number of starts up to this element, minus 1.
"""

from __future__ import annotations

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .demands import demand
from .halves import widened
from .sizes import none, some

aten = torch.ops.aten

SUM, MEAN, MAX = 0, 1, 2


def _of_counts(index, length, amounts=None):
    """Counts how often each number from 0 to `length` - 1 occurs in `index`. With `amounts`, returns the sum of the amounts of each number
    instead."""
    amounts = torch.ones_like(index, dtype=torch.int64) if amounts is None else amounts
    return torch.zeros(length, dtype=torch.int64).index_add(0, index, amounts)


def _bags(indices, offsets):
    """Returns the index of the bag of each element, as int32 if the number of elements is known to be below 2^31, else as int64."""
    count = indices.shape[0]
    dtype = torch.int32 if statically_known_true(count < 2**31) else torch.int64
    before = torch.where(torch.arange(count + 1) == 0, -1, 0).to(dtype)  # an empty bag at the end starts after the last element
    begins = before.index_add(0, offsets.to(torch.int64), torch.ones_like(offsets, dtype=dtype))
    # If offsets[0] is not 0, the check `demand` raises an error after the call. Until then, the elements before the first bag have the
    # index -1, which index_add() does not accept, so it is clamped to 0.
    return begins.cumsum(0, dtype=dtype).narrow(0, 0, count).clamp_min(0)


def embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=SUM, sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=-1):  # fmt: skip
    """Returns (the row of each bag, the bag of each element, the number of elements of each bag, the indices of the table rows with the
    maxima)."""
    if weight.dim() != 2 or indices.dim() != 1 or not weight.is_floating_point():
        return NotImplemented
    count = indices.shape[0]
    if mode == MAX and not none(count) and not some(count):
        return NotImplemented
    if include_last_offset:
        offsets = offsets[:-1]
    if some(offsets.shape[0]):
        demand(offsets.narrow(0, 0, 1) == 0, "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0.")
        demand(offsets.diff() >= 0, "offsets of embedding_bag must not fall: each bag begins where the one before ends")
    bags = _bags(indices, offsets)
    total, columns = offsets.shape[0], weight.shape[1]
    # For sums, eager's CPU kernels return zeros instead of the numbers of elements of the bags. If in addition the table's columns and
    # `per_sample_weights` have unit stride, the table is not float64, and there is no padding index, these kernels return an empty tensor
    # instead of the bag of each element.
    plain = mode == SUM and weight.device.type == "cpu"
    strides = [weight.stride(1), 1 if per_sample_weights is None else per_sample_weights.stride(0)]
    dense = all(statically_known_true(stride == 1) for stride in strides)
    unnamed = plain and dense and padding_idx < 0 and weight.dtype != torch.float64
    rows = widened(weight.index_select(0, indices))
    inside = indices != padding_idx if padding_idx >= 0 else None
    lengths = _of_counts(bags, total, None if inside is None else inside.to(torch.int64))
    if mode == MAX and none(count):
        result = torch.zeros([total, columns], dtype=weight.dtype)
        rows_of = torch.zeros([total, columns], dtype=torch.int64)
    elif mode == MAX:
        least = -float("inf")
        held = rows if inside is None else torch.where(inside[:, None], rows, least)
        bags = bags.to(torch.int64)
        largest = torch.full([total, columns], least, dtype=held.dtype).scatter_reduce(0, bags[:, None].expand(held.shape), held, "amax")
        # If several elements of a bag are equal to the maximum, the index of the first of these elements is returned.
        at = torch.arange(held.shape[0], dtype=torch.int64)[:, None]
        first = torch.where(held == largest.index_select(0, bags), at, held.shape[0] - 1)
        chosen = torch.full([total, columns], held.shape[0] - 1, dtype=torch.int64)
        chosen = chosen.scatter_reduce(0, bags[:, None].expand(held.shape), first, "amin")
        result = torch.where((lengths > 0)[:, None], largest, 0.0)
        rows_of = indices[chosen]
    else:
        rows_of = lengths if mode == MEAN else torch.zeros_like(lengths)
        if per_sample_weights is not None:
            rows = rows * per_sample_weights.to(rows.dtype)[:, None]
        if inside is not None:
            rows = torch.where(inside[:, None], rows, 0.0)
        result = torch.zeros([total, columns], dtype=rows.dtype).index_add(0, bags, rows)
        if mode == MEAN:
            result = result / lengths.clamp_min(1)[:, None]
    if unnamed:
        bags = bags.new_empty([0])
    if plain:
        lengths = torch.zeros_like(lengths)
    return result.to(weight.dtype), bags.to(offsets.dtype), lengths.to(offsets.dtype), rows_of.to(offsets.dtype)


def dense_backward(grad, indices, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode, per_sample_weights=None,
                   padding_idx=-1):  # fmt: skip
    # With scale_grad_by_freq, eager's kernel divides by the count of a wrong row (indices_data[i] in torch's EmbeddingBag.cpp). To get the
    # same result, this case is not decomposed and runs in eager.
    if scale_grad_by_freq or not some(num_weights, *grad.shape, *indices.shape, *offset2bag.shape):
        return NotImplemented
    wide = widened(grad)
    made = torch.zeros([num_weights, grad.shape[1]], dtype=wide.dtype)
    if mode == MAX:
        part = torch.where((bag_size > 0)[:, None], wide, 0.0)
        return made.scatter_add(0, maximum_indices.to(torch.int64), part).to(grad.dtype)
    bags = offset2bag.to(torch.int64)
    if mode == MEAN:
        wide = wide / bag_size.clamp_min(1)[:, None]
    rows = wide.index_select(0, bags)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.to(rows.dtype)[:, None]
    if padding_idx >= 0:
        rows = torch.where((indices != padding_idx)[:, None], rows, 0.0)
    return made.index_add(0, indices, rows).to(grad.dtype)


def _named(indices, offsets, offset2bag):
    """Returns the bag of each element. Computes it if the forward pass has omitted it."""
    return _bags(indices, offsets) if none(offset2bag.shape[0]) and not none(indices.shape[0]) else offset2bag


def backward(grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode, sparse,
             per_sample_weights, padding_idx=-1):  # fmt: skip
    if sparse:
        return NotImplemented
    bags = _named(indices, offsets, offset2bag)
    return dense_backward(grad, indices, bags, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode, per_sample_weights, padding_idx)


def per_sample_weights_backward(grad, weight, indices, offsets, offset2bag, mode, padding_idx=-1):
    offset2bag = _named(indices, offsets, offset2bag)
    if mode != SUM or not some(*grad.shape, *indices.shape, *offset2bag.shape):
        return NotImplemented
    part, table = widened(grad), widened(weight.index_select(0, indices))
    found = (part.index_select(0, offset2bag) * table).sum(1)
    if padding_idx >= 0:
        found = torch.where(indices != padding_idx, found, 0.0)
    return found.to(grad.dtype)


TABLE = {
    aten._embedding_bag.default: embedding_bag, aten._embedding_bag_forward_only.default: embedding_bag,
    aten._embedding_bag_dense_backward.default: dense_backward, aten._embedding_bag_backward.default: backward,
    aten._embedding_bag_per_sample_weights_backward.default: per_sample_weights_backward,
}  # fmt: skip

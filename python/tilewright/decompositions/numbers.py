"""Elementwise ops, ranges, distances and losses for which torch's decomposition is imprecise, or for which torch has
none."""

from __future__ import annotations

import torch

from .constants import constant
from .halves import widened
from .sizes import none

aten = torch.ops.aten


def soft_margin_loss_backward(grad, x, target, reduction=1):
    """Computes the derivative with sigmoid(-z), not with sigmoid(z) - 1."""
    result = -target * grad * torch.sigmoid(-target * x)
    return result / x.numel() if reduction == 1 else result


def dist(x, other, p=2.0):
    return torch.linalg.vector_norm(x - other, ord=p)


def addbmm(x, batch1, batch2, *, beta=1, alpha=1):
    """Concatenates the batches along the summed dimension, so that one matrix product computes the sum."""
    b, m, k = batch1.shape
    wide = batch1.transpose(0, 1).reshape(m, b * k)
    return torch.addmm(x, wide, batch2.reshape(b * k, -1), beta=beta, alpha=alpha)


def trilinear(i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim=1):
    for dim in sorted(expand1):
        i1 = i1.unsqueeze(dim)
    for dim in sorted(expand2):
        i2 = i2.unsqueeze(dim)
    for dim in sorted(expand3):
        i3 = i3.unsqueeze(dim)
    product = i1 * i2 * i3
    return product.sum(sumdim, dtype=product.dtype)


def _distance(difference, p):
    """Returns the p-norm of the last dimension, or 0 if that is empty. torch's maximum norm of no elements raises an error."""
    if any(isinstance(size, int) and size == 0 for size in difference.shape):
        return difference.sum(-1)
    return torch.linalg.vector_norm(difference, ord=p, dim=-1)


def cdist(x1, x2, p, compute_mode):
    return _distance(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)


def pdist(x, p=2.0):
    n = x.shape[0]
    if isinstance(n, int):
        if n > 256:
            return NotImplemented
        pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
        if not pairs:
            return x.new_zeros(0)
        first, second = constant([i for i, _ in pairs]), constant([j for _, j in pairs])
    else:
        # The pairs (i, j) with i < j are numbered in lexicographic order. The first pair of an i has the number i (2 n - 1 - i) / 2. The
        # float64 solution for i has an error of at most 1, which the next lines correct.
        number = torch.arange(n * (n - 1) // 2, dtype=torch.int64)
        first = ((2 * n - 1 - ((2 * n - 1) * (2 * n - 1) - 8 * number).double().sqrt()) / 2).to(torch.int64)
        first = first - (first * (2 * n - 1 - first) // 2 > number).to(torch.int64)
        first = first + ((first + 1) * (2 * n - 2 - first) // 2 <= number).to(torch.int64)
        second = number - first * (2 * n - 1 - first) // 2 + first + 1
    return _distance(x.index_select(0, first) - x.index_select(0, second), p)


def _of_distances(grad, difference, p, distance):
    """Returns the gradient of the p-norm of the last dimension with respect to the difference. If the distance is 0, returns the
    subgradient 0, as torch does."""
    grad, distance = grad.unsqueeze(-1), distance.unsqueeze(-1)
    size, sign = difference.abs(), difference.sign()
    if p == 0:
        return torch.zeros_like(difference * grad)
    if p == 1:
        return grad * sign
    if p == float("inf"):  # compare with this difference, not with `distance`, whose difference may have been rounded differently
        return torch.where(size == size.amax(-1, keepdim=True), grad * sign, 0.0)
    nonzero = distance != 0
    if p == 2:
        return torch.where(nonzero, grad * difference / distance, 0.0)
    if p < 2:
        nonzero = nonzero & (size != 0) if p < 1 else nonzero
        return torch.where(nonzero, sign * size.pow(p - 1) * grad / distance.pow(p - 1), 0.0)
    return torch.where(nonzero, difference * size.pow(p - 2) * grad / distance.pow(p - 1), 0.0)


def cdist_backward(grad, x1, x2, p, distances):
    if none(*x1.shape, *x2.shape):
        return x1.new_zeros(x1.shape)
    return _of_distances(grad, x1.unsqueeze(-2) - x2.unsqueeze(-3), p, distances).sum(-2)


def pdist_backward(grad, x, p, distances):
    """Sums the gradients of all pairs of rows. `distances` contains each pair (i, j) once, with i < j."""
    n, width = x.shape
    if isinstance(n, int):
        if n > 256:
            return NotImplemented
        if n < 2 or none(width):
            return x.new_zeros(x.shape)
        order = [[abs(i - j) - 1 + min(i, j) * n - min(i, j) * (min(i, j) + 1) // 2 if i != j else 0 for j in range(n)] for i in range(n)]
        index = constant(order).reshape(-1)
    else:
        i, j = torch.arange(n, dtype=torch.int64)[:, None], torch.arange(n, dtype=torch.int64)
        less = torch.minimum(i, j)
        index = torch.where(i == j, 0, (i - j).abs() - 1 + less * n - less * (less + 1) // 2).reshape(-1)
    grads, lengths = (t.index_select(0, index).reshape(n, n) for t in (grad, distances))
    difference = x.unsqueeze(1) - x.unsqueeze(0)
    different = torch.arange(n)[:, None] != torch.arange(n)
    return torch.where(different.unsqueeze(-1), _of_distances(grads, difference, p, lengths), 0.0).sum(1)


def logcumsumexp(x, dim):
    """Computes the scan by recursive doubling: each step combines sums of 1, 2, 4, ... elements."""
    if x.dim() == 0:
        return x.clone()
    if not isinstance(x.shape[dim], int) or x.dtype.is_complex:
        return NotImplemented
    wide = widened(x)
    size, step = x.shape[dim], 1
    while step < size:
        gap = torch.full_like(wide.narrow(dim, 0, step), -float("inf"))
        wide = torch.logaddexp(wide, torch.cat([gap, wide.narrow(dim, 0, size - step)], dim))
        step *= 2
    return wide.to(x.dtype).contiguous()  # contiguous, like the op's result: views of it may be saved for a gradient


def weight_norm_interface_backward(grad, v, g, norms, dim):
    """Returns the gradients of g v / |v|, where |v| is the norm over all dimensions except `dim`."""
    others = [d for d in range(v.dim()) if d != dim % v.dim()]
    part, v, g = (t.to(norms.dtype) for t in (grad, v, g))
    along = (part * v).sum(others, keepdim=True)
    of_v = g / norms * (part - v * (along / (norms * norms)))
    return of_v.to(grad.dtype).contiguous(), (along / norms).to(grad.dtype)


TABLE = {
    aten._weight_norm_interface_backward.default: weight_norm_interface_backward,
    aten.logcumsumexp.default: logcumsumexp,
    aten.soft_margin_loss_backward.default: soft_margin_loss_backward,
    aten.dist.default: dist, aten.addbmm.default: addbmm, aten._trilinear.default: trilinear, aten._cdist_forward.default: cdist,
    aten._pdist_forward.default: pdist, aten._cdist_backward.default: cdist_backward, aten._pdist_backward.default: pdist_backward,
}  # fmt: skip

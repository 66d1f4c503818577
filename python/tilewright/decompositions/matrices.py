"""Factorizations of small matrices as explicit steps. Larger matrices are factorized by LAPACK in eager. Results are column-major, like
those of LAPACK."""

from __future__ import annotations

import functools

import torch

aten = torch.ops.aten

LARGEST = 16  # maximum size of a matrix; for larger matrices LAPACK is faster, because each step here is a pass over memory
LARGEST_TRIANGLE = 128  # maximum size of a triangular matrix, which is solved in blocks of size LARGEST and with products of blocks


def of_small(function):
    """Restricts `function` to matrices (the first argument) of known sizes up to LARGEST."""

    @functools.wraps(function)
    def whole(a, *arguments, **keywords):
        sizes = a.shape[-2:]
        if a.dim() < 2 or a.dtype not in (torch.float32, torch.float64) or not all(isinstance(s, int) and s <= LARGEST for s in sizes):
            return NotImplemented
        return function(a, *arguments, **keywords)

    return whole


def by_columns(x):
    return x.mT.contiguous().mT


def _at(n):
    return torch.arange(n, dtype=torch.int64)


def _triangular(a, b, upper: bool, unit: bool):
    """Returns the solution x of a x = b. Each row of x is eliminated from the remaining equations when it is computed."""
    n = a.shape[-1]
    if n == 0:
        return b.new_empty([*torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]])
    found: list = [None] * n
    for i in reversed(range(n)) if upper else range(n):
        row = b[..., i : i + 1, :]
        found[i] = row if unit else row / a[..., i : i + 1, i : i + 1]
        b = b - a[..., :, i : i + 1] * found[i]
    return torch.cat(found, -2)


def _triangular_by_blocks(a, b, upper: bool, unit: bool):
    """Returns the solution for larger matrices. All diagonal blocks are inverted at once. Each block of rows of the solution is eliminated
    from the remaining equations by a matrix product."""
    if upper:
        return _triangular_by_blocks(a.flip(-1, -2), b.flip(-2), False, unit).flip(-2)
    n, size = a.shape[-1], LARGEST
    count = (n + size - 1) // size
    missing = count * size - n
    if missing:  # padding: rows of the identity
        identity = torch.diag_embed(torch.cat([a.new_zeros(n), a.new_ones(missing)]))
        a, b = aten.constant_pad_nd(a, [0, missing, 0, missing]) + identity, aten.constant_pad_nd(b, [0, 0, 0, missing])
    blocks = [slice(i * size, (i + 1) * size) for i in range(count)]
    diagonal = torch.stack([a[..., at, at] for at in blocks], -3)
    inverses = _triangular(diagonal, torch.eye(size, dtype=a.dtype).expand(diagonal.shape), False, unit)
    found = None
    for i, at in enumerate(blocks):
        rows = b[..., at, :] if found is None else b[..., at, :] - torch.matmul(a[..., at, : i * size], found)
        rows = torch.matmul(inverses[..., i, :, :], rows)
        found = rows if found is None else torch.cat([found, rows], -2)
    assert found is not None  # there is at least one block
    return found[..., :n, :]


def solve_triangular(a, b, *, upper, left=True, unitriangular=False):
    if not isinstance(a.shape[-1], int) or a.shape[-1] > LARGEST_TRIANGLE or a.dtype not in (torch.float32, torch.float64):
        return NotImplemented
    solve = _triangular if a.shape[-1] <= LARGEST else _triangular_by_blocks
    if left:
        return by_columns(solve(a, b, upper, unitriangular))
    return by_columns(solve(a.mT, b.mT, not upper, unitriangular).mT)


def triangular_solve(b, a, upper=True, transpose=False, unitriangular=False):
    x = solve_triangular(a.mT if transpose else a, b, upper=upper != transpose, unitriangular=unitriangular)
    if x is NotImplemented:
        return x
    return x, by_columns(a.expand([*x.shape[:-2], *a.shape[-2:]]))


def cholesky_solve(b, factor, upper=False):
    lower = factor.mT if upper else factor
    y = solve_triangular(lower, b, upper=False)
    return y if y is NotImplemented else by_columns(_triangular(lower.mT, y, True, False))


@of_small
def cholesky_inverse(factor, upper=False):
    return cholesky_solve(torch.eye(factor.shape[-1], dtype=factor.dtype).expand(factor.shape), factor, upper)


@of_small
def cholesky_ex(a, *, upper=False, check_errors=False):
    """Computes the Cholesky factor column by column. The result `info` is the order of the first leading minor that is not positive."""
    if check_errors:
        return NotImplemented
    n, at = a.shape[-1], _at(a.shape[-1])
    a = a.mT if upper else a
    info, factor = torch.zeros(a.shape[:-2], dtype=torch.int32), torch.zeros_like(a, memory_format=torch.contiguous_format)
    for k in range(n):
        pivot = a[..., k : k + 1, k : k + 1]
        info = torch.where((info == 0) & ~(pivot[..., 0, 0] > 0), k + 1, info)
        column = torch.where(at[:, None] >= k, a[..., :, k : k + 1], 0.0) / pivot.sqrt()
        factor = torch.where(at == k, column, factor)
        a = a - column * column.mT
    return by_columns(factor.mT if upper else factor), info.to(torch.int32)


def _factor(a, pivot: bool = True):
    """Returns L and U in one matrix, the pivot rows (counted from 1), and the number of the first pivot that is 0 (0: no such pivot)."""
    m, n = a.shape[-2:]
    rows, columns = _at(m), _at(n)
    pivots, info = [], torch.zeros(a.shape[:-2], dtype=torch.int64)
    for k in range(min(m, n)):
        best = torch.full(a.shape[:-2], k, dtype=torch.int64)
        if pivot:
            best = torch.where(rows >= k, a[..., :, k].abs(), -1.0).argmax(-1)
            order = torch.where(rows == k, best.unsqueeze(-1), torch.where(rows == best.unsqueeze(-1), k, rows))
            a = a.gather(-2, order.unsqueeze(-1).expand(a.shape))
        pivots.append(best + 1)
        top = a[..., k : k + 1, k : k + 1]
        zero = top == 0
        info = torch.where((info == 0) & zero[..., 0, 0], k + 1, info)
        factors = a[..., :, k : k + 1] / torch.where(zero, 1.0, top)
        below = (rows > k)[:, None]
        a = torch.where(below & (columns > k), a - factors * a[..., k : k + 1, :], torch.where(below & (columns == k), factors, a))
    if not pivots:
        return a.clone(), torch.empty([*a.shape[:-2], 0], dtype=torch.int32), info.to(torch.int32)
    return a, torch.stack(pivots, -1).to(torch.int32), info.to(torch.int32)


@of_small
def lu_factor_ex(a, *, pivot=True, check_errors=False):
    if check_errors:
        return NotImplemented
    factors, pivots, info = _factor(a, pivot)
    return by_columns(factors), pivots, info


def _order(pivots, m: int):
    """Returns the original index of each row of the factors."""
    rows = _at(m)
    order = rows.expand([*pivots.shape[:-1], m])
    for k in range(pivots.shape[-1]):
        best = pivots[..., k : k + 1].to(torch.int64) - 1
        other = order.gather(-1, best)
        here = order[..., k : k + 1]
        order = torch.where(rows == k, other, torch.where(rows == best, here, order))
    return order


def _unpacked(factors):
    m, n = factors.shape[-2:]
    k = min(m, n)
    lower = factors[..., :, :k].tril(-1) + torch.eye(m, k, dtype=factors.dtype)
    return lower, factors[..., :k, :].triu()


def _permutation(pivots, m: int, dtype):
    """Returns P with P L U = A."""
    return (_order(pivots, m).unsqueeze(-2) == _at(m)[:, None]).to(dtype)


@of_small
def lu_unpack(factors, pivots, unpack_data=True, unpack_pivots=True):
    lower, upper = _unpacked(factors) if unpack_data else (factors.new_empty(0), factors.new_empty(0))
    p = _permutation(pivots, factors.shape[-2], factors.dtype) if unpack_pivots else factors.new_empty(0)
    return p, lower, upper


@of_small
def linalg_lu(a, *, pivot=True):
    factors, pivots, _ = _factor(a, pivot)
    lower, upper = _unpacked(factors)
    return _permutation(pivots, a.shape[-2], a.dtype) if pivot else a.new_empty(0), lower, upper


def _solve(factors, pivots, b, transposed: bool):
    """Returns the solution x of P L U x = b, or of the transposed equation."""
    n = factors.shape[-1]
    order = _order(pivots, n)
    batch = torch.broadcast_shapes(b.shape[:-2], factors.shape[:-2])
    b = b.expand([*batch, *b.shape[-2:]])
    permutation = order.expand([*batch, n]).unsqueeze(-1).expand(b.shape)
    if not transposed:
        return _triangular(factors, _triangular(factors, b.gather(-2, permutation), False, True), True, False)
    y = _triangular(factors.mT, _triangular(factors.mT, b, False, False), True, True)
    return y.scatter(-2, permutation, y)


@of_small
def lu_solve(factors, pivots, b, *, left=True, adjoint=False):
    if left:
        return by_columns(_solve(factors, pivots, b, adjoint))
    return _solve(factors, pivots, b.mT, not adjoint).mT.contiguous()


def _is_row_major(a):
    """Returns whether `a` is row-major. Eager passes the transpose of a row-major matrix to LAPACK, and saves the factors of the transpose
    for the backward graph."""
    return a.is_contiguous()


@of_small
def det(a):
    factors, pivots, _ = _factor(a.mT if _is_row_major(a) else a)
    exchanged = (pivots != _at(a.shape[-1]) + 1).sum(-1) % 2
    return factors.diagonal(dim1=-2, dim2=-1).prod(-1) * (1 - 2 * exchanged), by_columns(factors), pivots


@of_small
def slogdet(a):
    factors, pivots, _ = _factor(a.mT if _is_row_major(a) else a)
    exchanged = (pivots != _at(a.shape[-1]) + 1).sum(-1) % 2
    diagonal = factors.diagonal(dim1=-2, dim2=-1)
    return diagonal.sign().prod(-1) * (1 - 2 * exchanged), diagonal.abs().log().sum(-1), by_columns(factors), pivots


@of_small
def inv_ex(a, *, check_errors=False):
    if check_errors:
        return NotImplemented
    factors, pivots, info = _factor(a)
    return by_columns(_solve(factors, pivots, torch.eye(a.shape[-1], dtype=a.dtype).expand(a.shape), False)), info


@of_small
def solve_ex(a, b, *, left=True, check_errors=False):
    if check_errors:
        return NotImplemented
    is_vector = b.dim() == 1 or (b.dim() == a.dim() - 1 and b.shape == a.shape[:-1])
    sides = b.unsqueeze(-1) if is_vector else b
    factors, pivots, info = _factor(a)
    x = lu_solve(factors, pivots, sides, left=left)
    if is_vector:
        x = x.squeeze(-1) if x.dim() == 2 else by_columns(x.squeeze(-1))
    return x, by_columns(factors), pivots, info


TABLE = {
    aten.linalg_solve_triangular.default: solve_triangular, aten.triangular_solve.default: triangular_solve,
    aten.cholesky_solve.default: cholesky_solve, aten.cholesky_inverse.default: cholesky_inverse, aten.linalg_cholesky_ex.default: cholesky_ex,
    aten.linalg_lu_factor_ex.default: lu_factor_ex, aten.lu_unpack.default: lu_unpack, aten.linalg_lu.default: linalg_lu,
    aten.linalg_lu_solve.default: lu_solve, aten._linalg_det.default: det, aten._linalg_slogdet.default: slogdet,
    aten.linalg_inv_ex.default: inv_ex, aten._linalg_solve_ex.default: solve_ex,
}  # fmt: skip

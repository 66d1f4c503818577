"""The importer of files of torch.export.save has a case for each overload; every row of IMPORTED covers the cases of one
overload or of a family. Results are compared with eager's by the numbers rule."""

import math

import pytest
import torch
from torch import nn
from torch.export import Dim

from test_plain_exports import check, pytestmark  # noqa: F401 -- the mark is this file's, too


class Call(nn.Module):
    """A function of one float tensor of shape [5, 7], and of a constant index tensor of shape [4, 7]."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.register_buffer("index", torch.tensor([[0, 2, 2, 1, 0, 4, 4]]).expand(4, 7).contiguous())

    def forward(self, x):
        return self.function(x, self.index)


def halves_of(x):
    """Returns an image whose first half contains an infinity and whose second half contains a NaN."""
    return torch.where(x == x.amax(), torch.inf, torch.where(x == x.amin(), torch.nan, x))[None]


s = torch.special
POLYNOMIALS = [getattr(s, f"{shifted}chebyshev_polynomial_{kind}") for shifted in ("", "shifted_") for kind in "tuvw"]
ORDERS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf"))


def gradients_of_nll(x, i, reduction):
    """Returns the gradients of nll_loss for rows, for one row and for an image. The class 2 is ignored in the rows."""
    back, backward_2d = torch.ops.aten.nll_loss_backward, torch.ops.aten.nll_loss2d_backward
    total, image = x.new_full((), 3.5), x[:4, None, :, None].expand(4, 3, 7, 2).transpose(1, 2)
    rows = x[:4, 0] if reduction == 0 else x[0, 0]
    planes = image[:, 0] if reduction == 0 else x[0, 0]
    return [back(rows, x[:4], i[:, 1], x[4].abs(), reduction, 2, total), back(x[0, 0], x[0], i[0, 1], None, reduction, -100, total),
            backward_2d(planes, image, i[:, :3, None].expand(4, 3, 2), None, reduction, -100, total)]  # fmt: skip


def volume_of(x):
    """Returns a volume [1, 4, 5, 7] of elements that differ."""
    return torch.stack([x, x * 2, -x, x + 1])[None]


def matrix_of(x, size=5):
    """Returns a matrix that is well-conditioned, because its diagonal elements are the largest."""
    return x.flatten()[:size, None] * x.flatten()[-size:] / 16 + 2 * torch.eye(size, dtype=x.dtype)


def gradient(x, *sizes):
    """Returns a tensor of these sizes that depends on x."""
    return torch.linspace(0.5, 1.5, math.prod(sizes), dtype=x.dtype).reshape(sizes) * x[0, 0]


def samples(x, count):
    """Returns random samples of fractional pooling with which the position of no window is near a rounding boundary."""
    return (torch.arange(1, count + 1, dtype=x.dtype) * 0.31).reshape(1, 1, count)


aten = torch.ops.aten
F = nn.functional
REDUCTIONS = ("none", "mean", "sum")
HOW = [(mode, padding, align) for mode in range(3) for padding in range(3) for align in (False, True)]  # modes of grid_sample


def grid_of(x, *sizes):
    """Returns positions inside and outside of an image. None is near a pixel, or near the middle between two pixels, of [5, 7] pixels."""
    return torch.linspace(-1.61, 1.77, math.prod(sizes), dtype=x.dtype).reshape(sizes)


def gradients_of_grid_sample(x):
    grad, grid = gradient(x, 1, 1, 3, 4), grid_of(x, 1, 3, 4, 2)
    return [found for how in HOW for found in aten.grid_sampler_2d_backward(grad, x[None, None], grid, *how, [True, True])]


def weights_of(x, *shapes):
    return [(gradient(x, *shape) * 7).sin() for shape in shapes]


def queries_of(x):
    return torch.stack([x[:, :6], x[:, 1:]])


def attended(x, *others, keys=lambda y: (y, y)):
    """Returns the results of attention with two heads. `others` are the arguments from the mask on."""
    y = queries_of(x)
    return aten._native_multi_head_attention(y, *keys(y), 6, 2, *weights_of(x, (18, 6), (18,), (6, 6), (6,)), *others)


def encoder_layer(x, gelu, norm_first, *mask):
    projections, rest = weights_of(x, (18, 6), (18,), (6, 6), (6,)), weights_of(x, (6,), (6,), (6,), (6,), (8, 6), (8,), (6, 8), (6,))
    return aten._transformer_encoder_layer_fwd(queries_of(x), 6, 2, *projections, gelu, norm_first, 1e-5, *rest, *mask)



def bag_starts():
    """Returns the offsets of 9 bags of 28 elements. The first and the last bag and some between are empty."""
    return torch.arange(9) // 2 * 7


def gradients_of_bags(x, i, mode, padding):
    """Returns the gradient, with respect to the table x, of a sum, a mean or a maximum over bags of the indices i."""
    starts, grad = bag_starts(), gradient(x, 9, 7)
    _, bags, lengths, rows = aten._embedding_bag(x, i, starts, False, mode, False, None, False, padding)
    return aten._embedding_bag_backward(grad, i, starts, bags, lengths, rows, 5, False, mode, False, None, padding)


def gradients_of_weighted_bags(x, i):
    """Returns the gradients of a weighted sum over bags with respect to the weights and to the table. The bags are arguments of the ops."""
    starts, grad, weights = bag_starts(), gradient(x, 9, 7), x[:4].flatten()
    _, bags, lengths, rows = aten._embedding_bag(x, i, starts, False, 0, False, weights, False, 2)  # with a padding index, it returns the bags
    return [aten._embedding_bag_per_sample_weights_backward(grad, x, i, starts, bags, 0, 2),
            aten._embedding_bag_dense_backward(grad, i, bags, lengths, rows, 5, False, 0, weights, 2)]  # fmt: skip


# These cases test imported operators that had a decomposition in Python. Plain .pt2 files do not use decompositions in Python.
IMPORTED = {
    "mean": lambda x, i: x.scatter_reduce(0, i, x[:4] * 2, "mean"),
    "mean without self": lambda x, i: x.scatter_reduce(0, i, x[:4] * 2, "mean", include_self=False),
    "largest without self": lambda x, i: x.scatter_reduce(0, i, x[:4] * 2, "amax", include_self=False),
    "product without self of integers": lambda x, i: (x * 3).to(torch.int64).scatter_reduce(0, i, i + 1, "prod", include_self=False).float(),
    "booleans": lambda x, i: (x > 0).scatter_reduce(0, i, x[:4] > 1, "sum").float(),
    "index_add of booleans": lambda x, i: (x > 1).index_add(0, i[0, :3], x[:3] > 0).float(),
    "index_copy of a scalar": lambda x, i: x.sum().index_copy(0, i[0, 0].reshape(1), x[0, 0]),
    "sum of booleans at indices": lambda x, i: (x > 1).index_put((i[0],), x[0] > 0, accumulate=True).float(),
    "gather at no indices": lambda x, i: torch.cat([x.gather(0, i[:0, :3]), x[:, :3]]),
    "maxima of lines and their indices": lambda x, i: nn.functional.max_pool1d(x, 3, 2, 1, return_indices=True),
    "scatter at an empty index of bytes": lambda x, i: [x.scatter(0, torch.empty(0, dtype=torch.uint8), x), x.scatter_reduce(
        0, torch.empty(0, dtype=torch.uint8), x, "mean", include_self=False)],
    "gather at an empty index of bytes": lambda x, i: torch.cat([x.gather(0, torch.empty(0, dtype=torch.uint8)), x[0]]),
    "linspace of integers": lambda x, i: x * torch.linspace(-3.7, 9.2, 7, dtype=torch.int64),
    "linspace between tensors": lambda x, i: x * torch.linspace(x.amin(), x.amax(), 7),
    "unequal windows": lambda x, i: nn.functional.adaptive_avg_pool2d(halves_of(x), (3, 4)),
    "unequal windows of a line": lambda x, i: nn.functional.adaptive_avg_pool1d(halves_of(x)[0], 5),
    "distances": lambda x, i: [torch.cdist(x, x[:3] * 1.5, p) for p in ORDERS] + [torch.ops.aten._cdist_forward(x, x[:0], 3.0, None)],
    "distances of pairs": lambda x, i: [nn.functional.pdist(x, p) for p in ORDERS] + [nn.functional.pdist(x[:1])],
    "distance": lambda x, i: [torch.dist(x, x[:1] * 2, p) for p in ORDERS] + [torch.dist(x[:1, :1], x[1, 1], 3)],
    "gradients of distances": lambda x, i: [
        torch.ops.aten._cdist_backward(x[:, :3].contiguous(), x, x[:3] * 1.5, p, torch.ops.aten._cdist_forward(x, x[:3] * 1.5, p, None)) for p in ORDERS],
    "gradients of distances of pairs": lambda x, i: [
        torch.ops.aten._pdist_backward(x.flatten()[:10], x, p, torch.ops.aten._pdist_forward(x, p)) for p in ORDERS if p >= 1],
    "gradients of nll_loss": lambda x, i: [g for reduction in range(3) for g in gradients_of_nll(x, i, reduction)],
    "gradients of soft_margin_loss": lambda x, i: [torch.ops.aten.soft_margin_loss_backward(x[:1], x * 9, x.sign(), reduction) for reduction in (0, 1, 2)],
    "gradients of weight_norm": lambda x, i: list(torch.ops.aten._weight_norm_interface_backward(x, x * 2, x[:, :1].contiguous(), x.norm(dim=1, keepdim=True), 0)),
    "logcumsumexp": lambda x, i: [x.logcumsumexp(0), (x * 50).logcumsumexp(-1), x[0, 0].logcumsumexp(0), torch.where(x > 1, x, -torch.inf).logcumsumexp(1)],
    "addbmm": lambda x, i: [torch.addbmm(x, x[:, :6].reshape(2, 5, 3), x[:, :6].reshape(2, 3, 5) @ x, beta=b, alpha=a) for a, b in ((1, 1), (0.5, 2), (3, 0))],
    "trilinear": lambda x, i: torch.ops.aten._trilinear(x, x[:4, None] * x[1], x * 2, [1, 3], [0], [1, 2], [2, 3]),
    "copies of views": lambda x, i: [x.narrow_copy(1, 2, 3), x.narrow_copy(0, -3, 2), torch.permute_copy(x, (1, 0)), *torch.unbind_copy(x, -1)],
    "channel_shuffle": lambda x, i: [torch.channel_shuffle(x[:4, :, None], 7), torch.ops.aten.native_channel_shuffle(x[None, :4, None], 2)],
    "diagonal_scatter": lambda x, i: [x.diagonal_scatter(x[0, :5], 2), x.diagonal_scatter(x[0, :3], -2), x[:, None].diagonal_scatter(x[:1, :4] * 3, 1, -1, 0)],
    "put": lambda x, i: [x.put(i[0, :2] - 3, x[:2, 5]), x.put(i[:2] * 7, x[:2], accumulate=True), x[0, 0].put(i[0, :1], x[1, :1])],
    "indices of a triangle": lambda x, i: [x[0, 0] + torch.tril_indices(4, 6, 1), x[0, 0] + torch.triu_indices(4, 6, -2), x[0, 0] + torch.tril_indices(3, 4, -5)],
    "zeros without memory": lambda x, i: torch.cat([x, torch.ops.aten._efficientzerotensor([5, 7], dtype=x.dtype)]),
    "zeros like features": lambda x, i: torch.ops.aten._new_zeros_with_same_feature_meta(x, x[:3], self_num_batch_dims=1) + x[0],
    "more windows than elements": lambda x, i: nn.functional.adaptive_avg_pool2d(x[None], (7, 9)),
    "modified Bessel functions": lambda x, i: [f(x * 6) for f in (s.i0, torch.i0, s.i0e, s.i1, s.i1e, s.modified_bessel_i0, s.modified_bessel_i1)],
    "modified Bessel functions of the second kind": lambda x, i: [f(x.abs() + 0.5) for f in (
        s.modified_bessel_k0, s.modified_bessel_k1, s.scaled_modified_bessel_k0, s.scaled_modified_bessel_k1)],
    "Bessel functions": lambda x, i: [f(x.abs() * 8 + 0.25) for f in (
        s.bessel_j0, s.bessel_j1, s.bessel_y0, s.bessel_y1, s.spherical_bessel_j0)],
    "error functions": lambda x, i: [s.erfcx(x), torch.erfinv(x.clamp(-0.9, 0.9)), s.erfinv(x / 4), s.ndtri(x.clamp(0.1, 0.9)), s.ndtr(x * 4),
                                     s.ndtr(i)],
    "gamma functions": lambda x, i: [torch.lgamma(x.abs() * 4), s.gammaln(x), torch.digamma(x.abs() + 0.25), s.psi(x.abs() + 0.25),
                                     s.digamma(i + 1), *[torch.polygamma(n, x.abs() + 0.5) for n in range(5)], s.polygamma(2, x.abs() + 0.5)],
    "special functions in place": lambda x, i: [(x / 4).erfinv_(), (x.abs() + 1).lgamma_(), (x.abs() + 1).digamma_(), (x.abs() + 1).polygamma_(1),
                                                (x * 2).i0_(), (x * 2).ldexp_(i[0]), (x * 2).round_(decimals=1)],
    "Chebyshev polynomials": lambda x, i: [f(x.clamp(-1.5, 1.5), n) for f in POLYNOMIALS for n in (0, 3, 6)],
    "Chebyshev polynomials of computed degrees": lambda x, i: [f(x.clamp(-1.5, 1.5), i[0]) for f in POLYNOMIALS],
    "rounding to decimals": lambda x, i: [torch.round(x, decimals=2), torch.round(x * 64, decimals=-1), torch.round(x, decimals=0),
                                          s.round(x, decimals=1)],
    "ldexp": lambda x, i: [torch.ldexp(x, i[0]), torch.ldexp(x, i[0] - 3), torch.ldexp(x, x), torch.ldexp(i, i),
                           torch.ldexp(x * 2.0**-100, i[0] + 150)],
    "angle": lambda x, i: [torch.angle(x), torch.angle(torch.where(x > 1, torch.nan, x)), torch.angle(-i)],
    "k-th values": lambda x, i: [*x.kthvalue(3, 0), *x.kthvalue(7, keepdim=True), *x[0, 0].kthvalue(1), torch.cat([x[:0].kthvalue(2, 1).values, x[0]])],
    "medians of rows": lambda x, i: [halves_of(x)[0].median(1).values, *x.median(0, True), i.median(1).values.float(), *x[0, 0].median(0)],
    "medians": lambda x, i: [x.median(), halves_of(x).median(), i.median().float(), x[0, 0].median()],
    "nanmedians of rows": lambda x, i: [halves_of(x)[0].nanmedian(1).values, *x.nanmedian(0, True), (x * torch.nan).nanmedian(1).values, *x[0, 0].nanmedian(0)],
    "nanmedians": lambda x, i: [x.nanmedian(), halves_of(x).nanmedian(), i.nanmedian().float(), (x * torch.nan).nanmedian()],
    "modes": lambda x, i: [*x.round().mode(0), *i.mode(1, True), *(x > 0).mode(), *x[0, 0].mode(), *x[:, :1].mode(1)],
    "searches": lambda x, i: [torch.searchsorted(x[0].sort()[0], halves_of(x)[0], right=right, out_int32=right) for right in (False, True)],
    "searches of rows": lambda x, i: [torch.searchsorted(x.sort(1)[0], x * 2, side="right"), torch.searchsorted(x, x + 0.5, sorter=x.argsort(1)),
                                      torch.searchsorted(x[0], x, sorter=x[0].argsort()), torch.searchsorted(x[:, :0], x)],
    "searches of numbers": lambda x, i: [torch.searchsorted(x[0].sort()[0], 0.25), torch.searchsorted(i[0].sort()[0], 1.5, right=True), torch.searchsorted(x[0].sort()[0], x[1, 1])],
    "buckets": lambda x, i: [torch.bucketize(x, x[0].sort()[0]), torch.bucketize(i, i[0].sort()[0], right=True, out_int32=True), torch.bucketize(x[0, 0], x[1].sort()[0])],
    "indices of nonzero elements": lambda x, i: [torch.nonzero_static(x > 0.5, size=40), torch.nonzero_static(x > 0, size=3, fill_value=7), torch.nonzero_static(x[None, 0], size=1),
                                                 torch.nonzero_static(x[:, :0], size=2), torch.cat([torch.nonzero_static(x, size=0), i[:, :2]])],
    "histograms": lambda x, i: [torch.histc(x, 9, -1.5, 2), torch.histc(halves_of(x), 4, min=-1, max=1), torch.histc(x[:0], 3, 0, 1)],
    "bags": lambda x, i: [nn.functional.embedding_bag(i.flatten(), x, bag_starts(), mode=mode, include_last_offset=last, padding_idx=padding)
                          for mode in ("sum", "mean", "max") for last in (False, True) for padding in (None, 2, -5)],
    "weighted bags": lambda x, i: [nn.functional.embedding_bag(i.flatten(), x, bag_starts(), mode="sum", per_sample_weights=x[:4].flatten(), padding_idx=padding)
                                   for padding in (None, 4)],
    "bags of int32 indices": lambda x, i: nn.functional.embedding_bag(i.int(), x, mode="mean"),
    "bags without elements": lambda x, i: [nn.functional.embedding_bag(i[0, :0], x, torch.zeros(3, dtype=torch.int64), mode=mode) for mode in ("sum", "mean", "max")],
    "gradients of bags": lambda x, i: [gradients_of_bags(x, i.flatten(), mode, padding) for mode in range(3) for padding in (-1, 2)],
    "gradients of weighted bags": lambda x, i: gradients_of_weighted_bags(x, i.flatten()),
    "reductions of segments": lambda x, i: [torch.segment_reduce(x[0, :6] * x[1, 2] if row else x[:, :6].t().contiguous(), kind, lengths=torch.arange(4), initial=initial)
                                            for kind in ("sum", "mean", "max", "min", "prod") for row in (False, True) for initial in (None, 0.5)],
    "reductions of segments of rows": lambda x, i: [torch.segment_reduce(x[:4, :6], kind, lengths=torch.arange(4).repeat(4, 1), axis=1) for kind in ("sum", "mean", "max")],
    "reductions of segments at offsets": lambda x, i: [torch.segment_reduce(x.t().contiguous(), kind, offsets=offsets) for kind in ("sum", "mean", "min")
                                                       for offsets in (torch.arange(4) * 2, torch.arange(2, 6) // 2 * 2)],
    "reductions of segments without elements": lambda x, i: torch.segment_reduce(x[:0], "sum", lengths=torch.zeros(2, dtype=torch.int64)),
    "adaptive_max_pool1d": lambda x, i: nn.functional.adaptive_max_pool1d(x, 4, True),
    "adaptive_max_pool2d": lambda x, i: [nn.functional.adaptive_max_pool2d(image, size, True) for image, size in ((halves_of(x), (3, 4)), (x[None], (7, 9)), (x[None, None], 1))],
    "adaptive_max_pool3d": lambda x, i: nn.functional.adaptive_max_pool3d(volume_of(x), (2, 3, 3), True),
    "fractional_max_pool2d": lambda x, i: [nn.functional.fractional_max_pool2d(x[None], kernel, (3, outs), return_indices=True, _random_samples=samples(x, 2)) for kernel, outs in ((2, 4), ((3, 4), 1))],
    "fractional_max_pool3d": lambda x, i: nn.functional.fractional_max_pool3d(volume_of(x), 2, (2, 3, 4), return_indices=True, _random_samples=samples(x, 3)),
    "gradient of max_pool2d": lambda x, i: aten.max_pool2d_with_indices_backward(
        gradient(x, 1, 3, 4), x[None], [3, 3], [2, 2], [1, 1], [1, 1], False, aten.max_pool2d_with_indices(x[None], [3, 3], [2, 2], [1, 1])[1]),
    "gradient of adaptive_max_pool2d": lambda x, i: aten.adaptive_max_pool2d_backward(gradient(x, 1, 3, 4), x[None], aten.adaptive_max_pool2d(x[None], [3, 4])[1]),
    "gradient of adaptive_max_pool3d": lambda x, i: aten.adaptive_max_pool3d_backward(
        gradient(x, 1, 2, 3, 4), volume_of(x), aten.adaptive_max_pool3d(volume_of(x), [2, 3, 4])[1]),
    "gradient of fractional_max_pool2d": lambda x, i: aten.fractional_max_pool2d_backward(
        gradient(x, 1, 3, 4), x[None], [2, 2], [3, 4], aten.fractional_max_pool2d(x[None], [2, 2], [3, 4], samples(x, 2))[1]),
    "gradient of fractional_max_pool3d": lambda x, i: aten.fractional_max_pool3d_backward(
        gradient(x, 1, 2, 3, 4), volume_of(x), [2, 2, 2], [2, 3, 4], aten.fractional_max_pool3d(volume_of(x), [2, 2, 2], [2, 3, 4], samples(x, 3))[1]),
    "gradient of avg_pool2d": lambda x, i: [aten.avg_pool2d_backward(gradient(x, 1, *outs), x[None], *pool) for outs, *pool in (
        ((3, 4), [3, 3], [2, 2], [1, 1], False, True, None), ((3, 4), [3, 3], [2, 2], [1, 1], False, False, None), ((2, 2), [2, 2], [3, 3], [0, 0], False, True, None),
        ((3, 4), [2, 2], [], [0, 0], True, True, None), ((2, 6), [3, 2], [2, 1], [0, 0], False, True, 5))],
    "gradient of avg_pool3d": lambda x, i: [aten.avg_pool3d_backward(gradient(x, 1, 3 if ceil else 2, 3, 4), volume_of(x), [3], [2], [1], ceil, False, None) for ceil in (False, True)],
    "gradient of adaptive_avg_pool2d": lambda x, i: [aten._adaptive_avg_pool2d_backward(gradient(x, 1, *outs), x[None]) for outs in ((3, 4), (7, 7), (1, 1))],
    "gradient of adaptive_avg_pool3d": lambda x, i: aten._adaptive_avg_pool3d_backward(gradient(x, 1, 2, 3, 4), volume_of(x)),
    "triangular systems": lambda x, i: [torch.linalg.solve_triangular(matrix_of(x), x, upper=u, unitriangular=not u) for u in (False, True)] + [
        torch.linalg.solve_triangular(matrix_of(x), x.t(), upper=True, left=False), *aten.triangular_solve(x, matrix_of(x), False, True)],
    "large triangular systems": lambda x, i: [torch.linalg.solve_triangular(matrix_of(x, n), x.flatten()[:n, None], upper=u) for n in (20, 32) for u in (False, True)],
    "a triangular system for several": lambda x, i: torch.linalg.solve_triangular(matrix_of(x), torch.stack([x, x * 2]), upper=False, unitriangular=True),
    "Cholesky factors": lambda x, i: [r for u in (False, True) for r in torch.linalg.cholesky_ex(matrix_of(x) @ matrix_of(x).t(), upper=u)],
    "systems of Cholesky factors": lambda x, i: [torch.cholesky_solve(x, matrix_of(x).tril()), torch.cholesky_inverse(matrix_of(x), True)],
    "LU factors": lambda x, i: [*torch.linalg.lu_factor_ex(matrix_of(x).flip(0)[:, :3]), *torch.linalg.lu_factor_ex(matrix_of(x).flip(0)[1:]), *torch.linalg.lu(matrix_of(x).flip(0)[1:])],
    "systems of LU factors": lambda x, i: [torch.linalg.lu_solve(*torch.linalg.lu_factor_ex(matrix_of(x).flip(0))[:2], x, adjoint=a) for a in (False, True)] + [
        *torch.lu_unpack(*torch.linalg.lu_factor_ex(matrix_of(x).flip(0))[:2]), torch.linalg.lu_solve(*torch.linalg.lu_factor_ex(matrix_of(x).flip(0))[:2], x.t(), left=False)],
    "inverses": lambda x, i: [*torch.linalg.inv_ex(matrix_of(x).flip(0))],
    "linear systems": lambda x, i: [r for b in (x, x[:, 0]) for r in aten._linalg_solve_ex(matrix_of(x).flip(0), b)] + [aten._linalg_solve_ex(matrix_of(x), x.t(), left=False)[0]],
    "determinants": lambda x, i: [r for a in (matrix_of(x).flip(0), matrix_of(x).t()) for r in (*aten._linalg_det(a), *aten._linalg_slogdet(a))],
    "gradient of repeated ends": lambda x, i: aten.replication_pad1d_backward(gradient(x, 5, 12), x, [3, 2]),
    "gradient of repeated edges": lambda x, i: [aten.replication_pad2d_backward(gradient(x, 1, h, w), x[None], pads) for h, w, pads in (
        (8, 10, [1, 2, 0, 3]), (3, 7, [-2, 2, 1, -3]), (6, 8, [-8, 9, 0, 1]), (5, 7, [0, 0, 0, 0]))] + [aten.replication_pad2d_backward(gradient(x, 1, 5, 4), x[None, :, :1], [1, 2, 0, 0])],
    "gradients of grid_sample": lambda x, i: gradients_of_grid_sample(x),
    "gradient of grid_sample's grid": lambda x, i: aten.grid_sampler_2d_backward(gradient(x, 1, 1, 3, 4), x[None, None], grid_of(x, 1, 3, 4, 2), 0, 0, False, [False, True])[1],
    "gradients of grid_sample of volumes": lambda x, i: [grad for how in HOW if how[0] < 2 for grad in aten.grid_sampler_3d_backward(
        gradient(x, 1, 1, 2, 3, 4), volume_of(x)[None], grid_of(x, 1, 2, 3, 4, 3), *how, [True, True])],
    "gradients of grid_sample of nothing": lambda x, i: [torch.cat([grad.flatten(), x[0]]) for n, c, out in ((0, 1, 3), (1, 0, 3), (1, 1, 0)) for grad in
        aten.grid_sampler_2d_backward(x.new_ones(n, c, out, 4), x.new_ones(n, c, 5, 7), x.new_ones(n, out, 4, 2), 0, 0, False, [True, True])],
    "multi-head attention": lambda x, i: [*attended(x), *attended(x, None, True, False), attended(x, None, False)[0]],
    "multi-head attention of other keys": lambda x, i: [*attended(x, keys=lambda y: (y.flip(1), y * 2)), attended(x, None, False, keys=lambda y: (y.flip(1), y * 2))[0]],
    "multi-head attention with ignored keys": lambda x, i: [*attended(x, x.new_ones(2, 5).triu(3).bool(), True, True, 1), attended(x, x.new_ones(5, 5).triu(1).bool(), False, True, 0)[0]],
    "encoder layers": lambda x, i: [encoder_layer(x, gelu, first) for gelu, first in ((True, False), (False, True))],
    "encoder layers with ignored keys": lambda x, i: [encoder_layer(x, True, True, x.new_ones(2, 5).triu(3).bool(), 1), encoder_layer(x, False, False, x.new_ones(5, 5).triu(1).bool(), 0)],
    "gradient of repeated faces": lambda x, i: aten.replication_pad3d_backward(gradient(x, 1, 7, 8, 10), volume_of(x), [1, 2, 0, 3, 2, 1]),
    "losses of elements": lambda x, i: [f(x, x.flip(0) * 2, reduction=r) for r in REDUCTIONS for f in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.soft_margin_loss)],
    "losses with thresholds": lambda x, i: [F.smooth_l1_loss(x, x[:1], beta=0.0), F.smooth_l1_loss(x, x * 2, beta=0.3), F.huber_loss(x, x * 2, delta=0.25), F.mse_loss(halves_of(x), halves_of(x) * 3)],
    "binary cross entropy": lambda x, i: [f(x.sigmoid(), (x.flip(1) > 0).to(x.dtype), w, reduction=r) for r in REDUCTIONS for w in (None, x[0].abs()) for f in (F.binary_cross_entropy,)],
    "binary cross entropy of ends": lambda x, i: F.binary_cross_entropy((x > 0).to(x.dtype), (x > 1).to(x.dtype)),
    "binary cross entropy of logits": lambda x, i: [F.binary_cross_entropy_with_logits(x * 9, (x.flip(1) > 0).to(x.dtype), w, None, None, r, p) for r in REDUCTIONS for w, p in ((None, None), (x[0].abs(), x[1].abs()))],
    "divergence": lambda x, i: [F.kl_div(x.log_softmax(1), t, reduction=r, log_target=log) for r in (*REDUCTIONS, "batchmean") for t, log in ((x.flip(0).softmax(1).round(decimals=1), False), (x.flip(0), True))],
    "Poisson loss": lambda x, i: [F.poisson_nll_loss(x.abs(), x.flip(0).abs() * 3, log, full, reduction=r) for r in REDUCTIONS for log in (True, False) for full in (True, False)],
    "losses of signs": lambda x, i: [f for r in REDUCTIONS for f in (F.hinge_embedding_loss(x, x.flip(0).sign(), 0.5, reduction=r), F.margin_ranking_loss(x, x.flip(0), x.flip(1).sign(), 0.25, reduction=r))],
    "losses of classes": lambda x, i: [f(x, i[0, :5], w, ignore_index=k, reduction=r) for f in (F.nll_loss, F.cross_entropy) for r in REDUCTIONS for w in (None, x[0].abs()) for k in (-100, 2)],
    "losses of classes of images": lambda x, i: [f(x[None, :, :, None], i[:1, :, None] % 5, x[:, 0].abs(), reduction=r) for f in (F.nll_loss, F.cross_entropy) for r in REDUCTIONS],
    "losses of one row of classes": lambda x, i: [F.cross_entropy(x[0], i[0, 0]), F.nll_loss(x[0], i[0, 0]), F.cross_entropy(x[0], x[1].softmax(0))],
    "smoothed losses of classes": lambda x, i: [F.cross_entropy(x, t, w, reduction=r, label_smoothing=0.2) for r in REDUCTIONS for w in (None, x[0].abs()) for t in (i[0, :5], x.flip(1).softmax(1))],
    "smoothed losses without a class": lambda x, i: [F.cross_entropy(x, i[0, :5], w, ignore_index=2, reduction=r, label_smoothing=0.2) for r in REDUCTIONS for w in (None, x[0].abs())],
    "bilinear": lambda x, i: [F.bilinear(x, x[:, :3] * 2, gradient(x, 4, 7, 3), b) for b in (None, x[0, :4])] + [F.bilinear(x[0], x[1, :3], gradient(x, 2, 7, 3))],
    "classes as rows": lambda x, i: [F.one_hot(i[0], 5), F.one_hot(i, 7).float()],
    "masked_scatter": lambda x, i: [x.masked_scatter(x > 0, x.flip(0) * 2), x.masked_scatter(x > 9, x[:0]), x.masked_scatter(x[:1] > 0, x.flatten()), torch.cat([x[:0].masked_scatter(x[:0] > 0, x[:0]), x])],
    "gradients of masked_scatter": lambda x, i: [aten.masked_scatter_backward(x, x > 0, sizes) for sizes in ([35], [5, 8])],
    "index_reduce": lambda x, i: [x.index_reduce(0, i[0, :3], x[:3] * 2, r, include_self=own) for r in ("prod", "mean", "amax", "amin") for own in (True, False)]
                                 + [x.index_reduce(1, i[0, :2], x[:, :2], "amax"), (x * 9).to(torch.int64).index_reduce(0, i[0, :3], i[:3] * 2, "mean").float()],
    "rows of bounded norm": lambda x, i: [aten.embedding_renorm(x, i[0, :3], 0.5, p) for p in (2.0, 1.0)],
    "max_unpool2d": lambda x, i: [F.max_unpool2d(*F.max_pool2d(image, 2, return_indices=True), 2, output_size=image.shape[-2:]) for image in (x[None], x[None, None])],
    "gradients of random slopes": lambda x, i: [aten.rrelu_with_noise_backward(x.flip(0), x, x.abs(), 0.1, 0.3, training, False) for training in (True, False)]
                                               + list(aten.rrelu_with_noise_functional(x, x.abs(), 0.1, 0.3, False)),
}  # fmt: skip


@pytest.mark.parametrize("name", IMPORTED)
def test_importer_covers_all_cases_of_an_operator(name, tmp_path):
    torch.manual_seed(0)
    check(Call(IMPORTED[name]), {"x": torch.randn(5, 7)}, tmp_path)


@pytest.mark.parametrize("function", [lambda x, i: gradients_of_grid_sample(x), lambda x, i: encoder_layer(x, True, False)],
                         ids=["gradients of grid_sample", "encoder layer"])  # fmt: skip
def test_gradients_of_grid_sample_and_encoder_layers_of_symbolic_sizes_match_eager(function, tmp_path):
    torch.manual_seed(0)
    check(Call(function), {"x": torch.randn(5, 7)}, tmp_path, ({0: Dim("rows", min=2, max=64)},))

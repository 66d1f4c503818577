"""Tables of test cases. A row maps the name of an op to a function of the size n, which returns (function, inputs...).

n is the size of the dimension that is vectorized, tiled or reduced. The addends of sums with few results are positive: if terms cancel,
only eager's order of additions satisfies an error bound on the result."""

import torch
import torch.nn.functional as F

aten = torch.ops.aten


def x(*shape):
    return torch.randn(shape)


def p(*shape):
    return torch.rand(shape) + 0.1


def below(limit, *shape):
    return torch.randint(0, limit, shape) if limit else torch.zeros(shape, dtype=torch.int64)


def samples(images, *numbers):
    """Returns the same random samples of fractional pooling for all channels."""
    return torch.tensor(numbers, dtype=images.dtype).expand(*images.shape[:2], len(numbers))


def dominant(*sizes):
    """Returns matrices that are well-conditioned, because their diagonals are the largest elements."""
    return torch.randn(sizes) / 8 + 2 * torch.eye(sizes[-1])


def places(n, count):
    """Returns `count` different indices below n."""
    return torch.randperm(n)[:count]


PRODUCTS = {
    "mm_m": lambda n: (torch.mm, p(n, 5), p(5, 9)), "mm_n": lambda n: (torch.mm, p(6, 5), p(5, n)), "mm_k": lambda n: (torch.mm, p(6, n), p(n, 9)),
    "mm_all": lambda n: (torch.mm, p(n, n), p(n, n)), "mm_transposed_output": lambda n: (lambda a, b: (a @ b).t(), p(n, 7), p(7, n)),
    "mm_i64": lambda n: (torch.mm, below(9, 3, n), below(9, n, 5)), "addmm": lambda n: (torch.addmm, p(n), p(7, n), p(n, n)),
    "addmm_column": lambda n: (torch.addmm, p(n, 1), p(n, 7), p(7, n)), "bmm": lambda n: (torch.bmm, p(3, n, 5), p(3, 5, n)),
    "bmm_batch": lambda n: (torch.bmm, p(n, 3, 5), p(n, 5, 4)), "bmm_k": lambda n: (torch.bmm, p(2, 3, n), p(2, n, 4)),
    "baddbmm": lambda n: (torch.baddbmm, p(2, 4, n), p(2, 4, n), p(2, n, n)), "mv": lambda n: (torch.mv, p(n, n), p(n)), "mv_k": lambda n: (torch.mv, p(5, n), p(n)),
    "addmv": lambda n: (torch.addmv, p(n), p(n, 5), p(5)), "dot": lambda n: (torch.dot, p(n), p(n)), "vdot": lambda n: (torch.vdot, p(n), p(n)),
    "outer": lambda n: (torch.outer, p(n), p(7)), "outer_columns": lambda n: (torch.outer, p(7), p(n)), "linear": lambda n: (F.linear, p(2, 3, n), p(n, n), p(n)),
    "linear_gelu": lambda n: (lambda a, w, b: F.gelu(F.linear(a, w, b)), p(5, 7), p(n, 7), p(n)), "matmul_broadcast": lambda n: (torch.matmul, p(2, 1, 3, n), p(3, n, 4)),
    "addbmm": lambda n: (torch.addbmm, p(4, n), p(3, 4, n), p(3, n, n)), "bilinear": lambda n: (F.bilinear, p(5, n), p(5, 7), p(3, n, 7)),
    "two_products": lambda n: (lambda a, b, c: torch.relu(a @ b) @ c, p(4, 6), p(6, n), p(n, 5)),
}  # fmt: skip

CONVOLUTIONS = {
    "conv1d": lambda n: (lambda v, w, b: F.conv1d(v, w, b, padding=1), p(2, 3, n), p(4, 3, 3), p(4)), "conv1d_in": lambda n: (F.conv1d, p(2, n, 9), p(4, n, 3)),
    "conv1d_out": lambda n: (F.conv1d, p(2, 3, 9), p(n, 3, 3)), "conv2d": lambda n: (lambda v, w: F.conv2d(v, w, padding=1), p(2, 3, 5, n), p(4, 3, 3, 3)),
    "conv2d_in": lambda n: (F.conv2d, p(1, n, 5, 5), p(4, n, 3, 3)), "conv2d_out": lambda n: (F.conv2d, p(1, 3, 5, 5), p(n, 3, 3, 3), p(n)),
    "conv2d_1x1": lambda n: (F.conv2d, p(2, n, 3, 3), p(n, n, 1, 1)), "conv2d_batch": lambda n: (F.conv2d, p(n, 3, 4, 4), p(4, 3, 3, 3)),
    "conv2d_stride": lambda n: (lambda v, w: F.conv2d(v, w, stride=2, padding=1), p(1, 3, 7, n), p(4, 3, 3, 3)),
    "conv2d_dilated": lambda n: (lambda v, w: F.conv2d(v, w, dilation=(1, 2), padding=2), p(1, 3, 5, n), p(4, 3, 3, 3)),
    "conv2d_groups": lambda n: (lambda v, w: F.conv2d(v, w, groups=2), p(1, 2 * n, 4, 5), p(2 * n, n, 3, 3)),
    "conv2d_depthwise": lambda n: (lambda v, w: F.conv2d(v, w, groups=v.shape[1], padding=1), p(1, n, 4, 5), p(n, 1, 3, 3)),
    "conv_transpose2d": lambda n: (lambda v, w: F.conv_transpose2d(v, w, stride=2, padding=1), p(1, 3, 4, n), p(3, 4, 3, 3)),
    "conv_transpose_out": lambda n: (F.conv_transpose2d, p(1, 3, 4, 5), p(3, n, 2, 2)),
    "conv3d": lambda n: (lambda v, w: F.conv3d(v, w, padding=1), p(1, 2, 3, 4, n), p(3, 2, 3, 3, 3)),
}  # fmt: skip

POOLS = {
    "max_pool1d": lambda n: (lambda v: F.max_pool1d(v, 3, 2, 1), x(2, 3, n)), "max_pool2d": lambda n: (lambda v: F.max_pool2d(v, 3, 2, 1), x(2, 3, 5, n)),
    "max_pool2d_channels": lambda n: (lambda v: F.max_pool2d(v, 2, return_indices=True), x(2, n, 5, 4)), "max_pool3d": lambda n: (lambda v: F.max_pool3d(v, 3, 2, 1), x(1, 2, 4, 5, n)),
    "max_pool2d_ceil": lambda n: (lambda v: F.max_pool2d(v, 3, 2, 1, ceil_mode=True), x(1, 2, 6, n)), "avg_pool1d": lambda n: (lambda v: F.avg_pool1d(v, 3, 2, 1), p(2, 3, n)),
    "avg_pool2d": lambda n: (lambda v: F.avg_pool2d(v, 3, 2, 1, count_include_pad=False), p(2, 3, 5, n)), "avg_pool2d_channels": lambda n: (lambda v: F.avg_pool2d(v, 2), p(2, n, 4, 5)),
    "avg_pool3d": lambda n: (lambda v: F.avg_pool3d(v, 3, 2, 1), p(1, 2, 4, 5, n)), "adaptive_1": lambda n: (lambda v: F.adaptive_avg_pool2d(v, 1), p(2, 3, 4, n)),
    "adaptive_channels": lambda n: (lambda v: F.adaptive_avg_pool2d(v, 2), p(2, n, 4, 6)), "adaptive_1d": lambda n: (lambda v: F.adaptive_avg_pool1d(v, 1), p(2, 3, n)),
    "adaptive_3d": lambda n: (lambda v: F.adaptive_avg_pool3d(v, 1), p(1, 2, 3, 4, n)),
    "adaptive_max2d": lambda n: (lambda v: F.adaptive_max_pool2d(v, (2, 3), True), x(2, 3, 5, n)), "adaptive_max2d_channels": lambda n: (lambda v: F.adaptive_max_pool2d(v, 3), x(2, n, 4, 5)),
    "adaptive_max3d": lambda n: (lambda v: F.adaptive_max_pool3d(v, (2, 3, 2), True), x(1, 2, 4, 5, n)),
    # The samples are such that no window's position is near a value at which rounding changes it.
    "fractional_max2d": lambda n: (lambda v: F.fractional_max_pool2d(v, 2, (3, 4), return_indices=True, _random_samples=samples(v, 0.37, 0.73)), x(2, 3, 6, n)),
    "fractional_max3d": lambda n: (lambda v: F.fractional_max_pool3d(v, 2, (2, 3, 4), return_indices=True, _random_samples=samples(v, 0.37, 0.73, 0.51)), x(1, 2, 4, 6, n)),
}  # fmt: skip

NORMS = {
    "layer_norm": lambda n: (lambda v, w, b: F.layer_norm(v, v.shape[-1:], w, b), x(5, n), x(n), x(n)), "layer_norm_rows": lambda n: (lambda v: F.layer_norm(v, (7,)), x(n, 7)),
    "rms_norm": lambda n: (lambda v, w: F.rms_norm(v, v.shape[-1:], w), x(5, n), x(n)), "group_norm": lambda n: (lambda v, w, b: F.group_norm(v, 2, w, b), x(2, 4, n), x(4), x(4)),
    "group_norm_channels": lambda n: (lambda v: F.group_norm(v, 2), x(2, 2 * n, 3)), "batch_norm": lambda n: (lambda v, m, s, w, b: F.batch_norm(v, m, s, w, b), x(3, n, 5), x(n), p(n), x(n), x(n)),
    "batch_norm_space": lambda n: (lambda v, w, b: F.batch_norm(v, None, None, w, b, training=True), x(3, 4, n), x(4), x(4)),
    "batch_norm_training": lambda n: (lambda v: F.batch_norm(v, None, None, training=True), x(3, n, 5)), "instance_norm": lambda n: (F.instance_norm, x(2, n, 5)),
}  # fmt: skip

INDEXING = {
    "embedding": lambda n: (F.embedding, below(9, 5), x(9, n)), "embedding_rows": lambda n: (F.embedding, below(9, n), x(9, 5)), "index_select": lambda n: (lambda v, a: v.index_select(1, a), x(3, 9), below(9, n)),
    "index_select_rows": lambda n: (lambda v, a: v.index_select(0, a), x(9, n), below(9, 4)), "gather": lambda n: (lambda v, a: v.gather(1, a), x(3, 9), below(9, 3, n)),
    "gather_rows": lambda n: (lambda v, a: v.gather(0, a), x(9, n), below(9, 4, n)), "index": lambda n: (lambda v, a: v[a], x(9, n), below(9, 4)), "index_two": lambda n: (lambda v, a, b: v[a, b], x(9, 8), below(9, n), below(8, n)),
    "index_apart": lambda n: (lambda v, a, b: v[a, :, b], x(5, n, 6), below(5, 3), below(6, 3)), "take": lambda n: (torch.take, x(4, 5), below(20, n)),
    "scatter": lambda n: (lambda v, a, s: v.scatter(0, a, s), x(n, 3), places(n, n)[:, None].expand(n, 3).clone(), x(n, 3)), "scatter_value": lambda n: (lambda v, a: v.scatter(1, a, 0.5), x(3, n), places(n, n // 2)[None].repeat(3, 1)),
    "scatter_add": lambda n: (lambda v, a, s: v.scatter_add(1, a, s), p(3, 9), below(9, 3, n), p(3, n)), "scatter_amax": lambda n: (lambda v, a, s: v.scatter_reduce(1, a, s, "amax"), x(3, 9), below(9, 3, n), x(3, n)),
    "scatter_sum": lambda n: (lambda v, a, s: v.scatter_reduce(1, a, s, "sum"), p(3, 9), below(9, 3, n), p(3, n)), "scatter_reduce": lambda n: (lambda v, a, s: aten.scatter.reduce(v, 1, a, s, reduce="add"), p(3, 9), below(9, 3, n), p(3, n)),
    "scatter_value_reduce": lambda n: (lambda v, a: aten.scatter.value_reduce(v, 1, a, 2.0, reduce="multiply"), p(3, n), places(n, n // 2)[None].repeat(3, 1)),
    "index_put": lambda n: (lambda v, a, s: v.index_put((a,), s), x(n, 3), places(n, n // 2), x(n // 2, 3)), "index_put_columns": lambda n: (lambda v, a, s: v.index_put((a,), s), x(7, n), places(7, 3), x(3, n)),
    "bags": lambda n: (lambda w, i, o: F.embedding_bag(i, w, o, mode="sum"), p(n + 1, 24), below(n + 1, n), torch.arange(0, n + 1, 16)),
    "bags_means": lambda n: (lambda w, i, o: F.embedding_bag(i, w, o, mode="mean"), p(50, n + 1), below(50, 99), torch.arange(0, 99, 7)),
    "bags_weights": lambda n: (lambda w, i, o, s: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s), p(n + 1, 64), below(n + 1, n), torch.arange(0, n + 1, 16), p(n)),
    "bags_maxima": lambda n: (lambda w, i, o: F.embedding_bag(i, w, o, mode="max", padding_idx=3), p(50, n + 1), below(50, 99), torch.arange(0, 99, 7)),
    "segment_reduce": lambda n: (lambda v, a: [torch.segment_reduce(v, kind, lengths=a) for kind in ("sum", "max", "prod")], p(n, 5), torch.tensor([n // 3, 0, n - n // 3])),
    "segment_reduce_rows": lambda n: (lambda v, a: torch.segment_reduce(v, "mean", lengths=a, axis=1), p(3, n + 2, 2), torch.tensor([[1, n, 1]] * 3)),
    "index_put_add": lambda n: (lambda v, a, s: v.index_put((a,), s, accumulate=True), p(9, 3), below(9, n), p(n, 3)), "index_add": lambda n: (lambda v, a, s: v.index_add(0, a, s, alpha=2), p(9, 3), below(9, n), p(n, 3)),
    "index_copy": lambda n: (lambda v, a, s: v.index_copy(1, a, s), x(3, n), places(n, n), x(3, n)), "unsafe_index": lambda n: (lambda v, a: aten._unsafe_index(v, [None, a]), x(3, 9), below(9, n)),
    "put": lambda n: (lambda v, a, s: aten.put.default(v, a, s), x(3, n), places(3 * n, n) - n, x(n)), "put_add": lambda n: (lambda v, a, s: aten.put.default(v, a, s, True), p(4, 3), below(12, n), p(n)),
    "unsafe_index_put": lambda n: (lambda v, a, s: aten._unsafe_index_put(v, [a], s, True), p(9, 3), below(9, n), p(n, 3)),
}  # fmt: skip


def attention(length, keys, width, heads=2, kept=2, **options):
    fn = lambda q, k, v, *mask: F.scaled_dot_product_attention(q, k, v, *mask, **options)  # noqa: E731
    return fn, x(1, heads, length, width), x(1, kept, keys, width), x(1, kept, keys, width)


ATTENTION = {
    "queries": lambda n: attention(n, 9, 8), "keys": lambda n: attention(5, n, 8), "width": lambda n: attention(5, 6, n), "causal": lambda n: attention(n, n, 8, is_causal=True),
    "mask": lambda n: (*attention(n, n, 8), x(n, n)), "bool_mask": lambda n: (*attention(5, n, 8), torch.arange(n)[None] <= torch.arange(5)[:, None]),
    "grouped": lambda n: attention(n, 7, 8, heads=4, enable_gqa=True),
}  # fmt: skip

MORE = {  # reductions, scans, sorts and views that ops/table.py does not have
    "sum_middle": lambda n: (lambda v: v.sum(1), p(3, n, 5)), "sum_two": lambda n: (lambda v: v.sum((0, 2)), p(3, n, 5)), "sum_ends": lambda n: (lambda v: v.sum((0, 2)), p(4, 5, n)), "prod": lambda n: (torch.prod, p(n) + 0.5),
    "all_dim": lambda n: (lambda v: (v > -1).all(-1), x(3, n)), "var_outer": lambda n: (lambda v: v.var((0, 2), correction=0), x(4, n, 5)), "softmax_middle": lambda n: (lambda v: v.softmax(1), x(3, n, 5)), "safe_softmax": lambda n: (lambda v: aten._safe_softmax(v, -1), x(3, n)),
    "argsort": lambda n: (lambda v: torch.argsort(v, dim=-1, stable=True), x(3, n)), "argsort_descending": lambda n: (lambda v: torch.argsort(v, dim=0, descending=True, stable=True), x(n, 3)), "topk_all": lambda n: (lambda v: v.topk(v.shape[-1])[0], x(3, n)),
    "cumsum_middle": lambda n: (lambda v: v.cumsum(1), p(3, n, 5)), "cumprod_first": lambda n: (lambda v: v.cumprod(0), p(n, 5) + 0.4), "prelu": lambda n: (F.prelu, x(2, n, 3), p(n)), "clamp": lambda n: (torch.clamp, x(3, n), x(n) - 1, x(n) + 1),
    "clamp_min": lambda n: (lambda v, a: torch.clamp(v, min=a), x(3, n), x(n)), "clamp_max": lambda n: (lambda v, a: torch.clamp(v, max=a), x(3, n), x(n)), "where": lambda n: (torch.where, x(3, n) > 0, x(n), x(3, 1)),
    "masked_fill": lambda n: (lambda v, m, a: v.masked_fill(m, a), x(3, n), x(n) > 0, x()), "shifts": lambda n: (lambda v: ((v << 3), (v >> 1), v.bitwise_not()), below(99, 3, n)), "pow_scalar": lambda n: (lambda v: torch.pow(2.5, v), x(3, n)),
    "remainder_scalar": lambda n: (lambda v: torch.remainder(7.5, v), p(3, n)), "isposinf": lambda n: (lambda v: (torch.isposinf(v / 0), torch.isneginf(v / 0)), x(3, n)), "sinc": lambda n: (torch.sinc, x(3, n)), "fill": lambda n: (lambda v, a: (aten.fill.Scalar(v, 2.0), aten.fill.Tensor(v, a)), x(3, n), x()),
    "floor_divide_scalar": lambda n: (lambda v: aten.floor_divide.Scalar(v, 0.7), x(3, n)), "eye": lambda n: (lambda v: (v + torch.eye(v.shape[0]), torch.eye(3, v.shape[0])), x(n, n)), "view_dtype": lambda n: (lambda v: v.view(torch.int64) + 1, below(9, 3, n)), "mT": lambda n: (lambda v: (v.mT + 1, v.T * 2), x(3, n)),
    "copy": lambda n: (lambda v, a: aten.copy.default(v, a), x(3, n), x(n)), "new_full": lambda n: (lambda v: v.new_full((2, v.shape[1]), 0.5), x(3, n)), "full_like": lambda n: (lambda v: torch.full_like(v, 3.0), x(3, n)), "zeros": lambda n: (lambda v: (aten.zero.default(v), v * 2), x(3, n)),
    "pad_columns": lambda n: (lambda v: F.pad(v, (2, 3), value=1.5), x(3, n)), "pad_negative": lambda n: (lambda v: F.pad(v, (-1, 2, 3, 0)), x(3, n + 2)), "cat_many": lambda n: (lambda v, a: torch.cat([v, a, v], 1), x(3, n), x(3, 5)), "cat_middle": lambda n: (lambda v, a: torch.cat([a, v], 1), x(2, n, 3), x(2, 4, 3)),
    "stack_last": lambda n: (lambda v, a: torch.stack([v, a], -1), x(3, n), x(3, n)), "roll_two": lambda n: (lambda v: v.roll((1, -2), (0, 1)), x(3, n)), "flip_two": lambda n: (lambda v: v.flip(0, 1), x(3, n)), "repeat_columns": lambda n: (lambda v: v.repeat(1, 3), x(2, n)), "slice_step": lambda n: (lambda v: v[:, ::3] * 2, x(3, n)),
    "kthvalue": lambda n: (lambda v: torch.kthvalue(v, v.shape[-1] // 2 + 1), x(3, n)), "kthvalue_first": lambda n: (lambda v: v.kthvalue(1, 0, True), x(n, 5)), "mode": lambda n: (lambda v: torch.mode(v.round())[0], x(3, n + 1)),
    "median": lambda n: (lambda v: (v.median(-1), v.nanmedian(-1), v.median(0, True)), x(3, n + 1)), "median_of_all": lambda n: (lambda v: (v.median(), v.nanmedian()), x(3, n + 1)), "histc": lambda n: (lambda v: torch.histc(v, 9, -1.5, 2), x(3, n)),
    "grid_sample": lambda n: (lambda v, g: F.grid_sample(v, g * 2 - 1, align_corners=False), x(2, 3, 5, n + 1), torch.rand(2, 4, n + 1, 2)),
    "grid_sample_nearest": lambda n: (lambda v, g: F.grid_sample(v, g * 2 - 1, "nearest", align_corners=True), x(2, n + 1, 5, 4), torch.rand(2, 4, 3, 2)),
    "grid_sample3d": lambda n: (lambda v, g: F.grid_sample(v, g * 2 - 1, padding_mode="border", align_corners=False), x(1, 2, 3, 4, n + 1), torch.rand(1, 2, 3, n + 1, 3)),
    "affine_grid": lambda n: (lambda v: F.affine_grid(v, (2, 3, 4, n + 1), align_corners=False), x(2, 2, 3)),
    "searchsorted": lambda n: (lambda v, a: (torch.searchsorted(v.sort(-1)[0], a), torch.searchsorted(v[0].sort()[0], 0.25)), x(3, n), x(3, 5)), "searchsorted_values": lambda n: (lambda v, a: torch.searchsorted(v.sort()[0], a, side="right"), x(9), x(3, n)),
    "bucketize": lambda n: (lambda v, a: torch.bucketize(a, v.sort()[0]), x(n), x(3, 5)), "nonzero_static": lambda n: (lambda v: torch.nonzero_static(v > 0, size=20), x(3, n)),
    "cummax": lambda n: (lambda v: v.cummax(-1), x(3, n)), "cummin_first": lambda n: (lambda v: v.cummin(0), x(n, 5)),
    "logcumsumexp": lambda n: (lambda v: v.logcumsumexp(-1), x(3, n)), "logcumsumexp_first": lambda n: (lambda v: v.logcumsumexp(0), x(n, 5)), "dist": lambda n: (lambda v, a: (torch.dist(v, a), torch.dist(v, a, 1.5)), x(3, n), x(3, n)),
    "cdist": lambda n: (lambda v, a: (torch.cdist(v, a), torch.cdist(v, a, 3.0), torch.cdist(v, a, float("inf"))), x(2, 5, n), x(2, 7, n)), "pdist": lambda n: (F.pdist, x(n, 4)), "pdist_columns": lambda n: (lambda v: F.pdist(v, 1.0), x(5, n)),
    "diagonal_scatter": lambda n: (lambda v, a: v.diagonal_scatter(a, -1), x(n + 1, n + 2), x(n)), "channel_shuffle": lambda n: (lambda v: torch.channel_shuffle(v, 2), x(2, 4, n)),
    "unfold": lambda n: (lambda v: (v * 2).unfold(1, 3, 2), x(3, n + 3)), "unfold_first": lambda n: (lambda v: (v * 2).unfold(0, 2, 1), x(n + 2, 5)),
    "as_strided": lambda n: (lambda v: (v * 2).as_strided((n, 2), (3, 1), 1), x(3, n + 1)), "as_strided_gathered": lambda n: (lambda v: (v * 2).as_strided((n, 2), (2, 3), 1), x(3, n + 1)),
    "as_strided_scatter": lambda n: (lambda v, a: torch.as_strided_scatter(v * 2, a, (n, 2), (3, 1), 1), x(3, n + 1), x(n, 2)),
    "slice_scatter": lambda n: (lambda v, a: v.slice_scatter(a, 1, 1, None, 2), x(3, n + 1), x(3, (n + 1) // 2)), "diagonal": lambda n: (lambda v: v.diagonal(1) * 2, x(n, n + 2)), "tril": lambda n: (lambda v: (v.tril(-1), v.triu(2)), x(n, n)), "select": lambda n: (lambda v: (v[1] * 2, v.select_scatter(v[0], 0, 2)), x(3, n)),
    "unbind": lambda n: (lambda v: [a + 1 for a in v.unbind(0)], x(3, n)), "glu": lambda n: (F.glu, x(3, 2 * n)), "transposed_output": lambda n: (lambda v: (v * 2).permute(2, 0, 1), x(3, 4, n)), "strided_output": lambda n: (lambda v: (v * 2)[:, ::2], x(3, n)),
}  # fmt: skip

SYSTEMS = {  # of small matrices; larger ones are factorized in eager. Flipped rows require exchanges of rows.
    "solve_triangular": lambda n: (lambda a, b: torch.linalg.solve_triangular(a, b, upper=False), dominant(2, n, n), x(2, n, 3)),
    "solve_triangular_columns": lambda n: (lambda a, b: (torch.linalg.solve_triangular(a, b, upper=True), *aten.triangular_solve.default(b, a, True, True)), dominant(2, 4, 4), x(2, 4, n)),
    "cholesky": lambda n: (lambda a: torch.linalg.cholesky_ex(a @ a.mT), dominant(n, 3, 3)),
    "cholesky_solve": lambda n: (lambda b, a: (torch.cholesky_solve(b, a), torch.cholesky_inverse(a, True)), x(2, 3, n), dominant(2, 3, 3).tril()),
    "lu": lambda n: (lambda a: (*torch.linalg.lu_factor_ex(a), *torch.linalg.lu(a)), dominant(n, 4, 4).flip(-2)[:, 1:]),
    "lu_solve": lambda n: (lambda f, p, b: (torch.linalg.lu_solve(f, p, b), *torch.lu_unpack(f, p)), *torch.linalg.lu_factor(dominant(2, 3, 3).flip(-2)), x(2, 3, n)),
    "solve": lambda n: (torch.linalg.solve_ex, dominant(2, 3, 3).flip(-2), x(2, 3, n)), "inverse": lambda n: (torch.linalg.inv_ex, dominant(n, 3, 3).flip(-2)),
    "determinants": lambda n: (lambda a: (torch.linalg.det(a), *torch.linalg.slogdet(a)), dominant(n, 3, 3).flip(-2)),
}  # fmt: skip


def of_x(fn):
    return lambda n: (fn, x(3, n))


def of_i(fn):
    return lambda n: (fn, below(64, 3, n))


OVERLOADS = {  # called by name, because torch's public functions call other overloads
    "bitwise_scalar": of_i(lambda v: (aten.bitwise_and.Scalar(v, 13), aten.bitwise_or.Scalar(v, 13), aten.bitwise_xor.Scalar(v, 13))),
    "and_or_xor_scalar": of_i(lambda v: (aten.__and__.Scalar(v, 13), aten.__or__.Scalar(v, 13), aten.__xor__.Scalar(v, 13))),
    "and_or_xor": lambda n: (lambda v, a: (aten.__and__.Tensor(v, a), aten.__or__.Tensor(v, a), aten.__xor__.Tensor(v, a)), below(64, 3, n), below(64, n)),
    "shift": lambda n: (lambda v, a: (aten.bitwise_left_shift.Tensor(v, a), aten.bitwise_right_shift.Tensor(v, a)), below(64, 3, n), below(9, n)),
    "shift_names": lambda n: (lambda v, a: (aten.__lshift__.Tensor(v, a), aten.__rshift__.Tensor(v, a)), below(64, 3, n), below(9, n)),
    "shift_scalar": of_i(lambda v: (aten.bitwise_left_shift.Tensor_Scalar(v, 3), aten.bitwise_right_shift.Tensor_Scalar(v, 2))),
    "clamp_max_number": of_x(lambda v: aten.clamp_max.default(v, 0.1)), "clamp_min_number": of_x(lambda v: aten.clamp_min.default(v, 0.1)),
    "clamp_max_tensor": lambda n: (aten.clamp_max.Tensor, x(3, n), x(n)), "clamp_min_tensor": lambda n: (aten.clamp_min.Tensor, x(3, n), x(n)),
    "compare_scalar": of_i(lambda v: (v == 7, v >= 7, v <= 7, v < 7, v != 7)), "fmod_scalar": of_x(lambda v: aten.fmod.Scalar(v, 0.75)), "remainder_scalar": of_x(lambda v: aten.remainder.Scalar(v, 0.75)),
    "copysign_scalar": of_x(lambda v: aten.copysign.Scalar(v, -1.0)), "div_scalar_mode": of_x(lambda v: aten.div.Scalar_mode(v, 0.75, rounding_mode="floor")), "sub_scalar": of_x(lambda v: aten.sub.Scalar(v, 2)),
    "lerp": lambda n: (lambda v, a, w: aten.lerp.Tensor(v, a, w), x(3, n), x(3, n), p(n)), "addcdiv": lambda n: (lambda v, a, b: aten.addcdiv.default(v, a, b, value=0.5), x(3, n), x(3, n), p(n)),
    "rsub": lambda n: (lambda v, a: aten.rsub.Tensor(v, a), x(3, n), x(n)), "square": of_x(aten.square.default), "isfinite": of_x(lambda v: aten.isfinite.default(v / 0)), "relu6": of_x(lambda v: aten.relu6.default(v * 5)),
    "round_decimals": of_x(lambda v: torch.round(v, decimals=2)),
    "positive": of_x(lambda v: (aten.positive.default(v), v + 1)), "any_all_dims": lambda n: (lambda v: (aten.any.dims(v > 1, [0, 2]), aten.all.dims(v > -1, [0, 2])), x(3, 4, n)), "softmax_int": of_x(lambda v: (aten.softmax.int(v, -1), aten.log_softmax.int(v, -1))),
    "var_dim": lambda n: (lambda v: (aten.var.dim(v, [1], False), aten.std.dim(v, [1], False), *aten.var_mean.dim(v, [1], False)), x(3, n)),
    "arange_start": of_x(lambda v: v + torch.arange(2, v.shape[-1] + 2, dtype=v.dtype)), "convert": of_x(lambda v: torch.ops.prims.convert_element_type(v, torch.int32)), "device_put": of_x(lambda v: torch.ops.prims.device_put(v, torch.device("cpu")) + 1),
    "prims_iota": of_x(lambda v: v + torch.ops.prims.iota(v.shape[-1], start=2, step=3, dtype=torch.int64, device="cpu", requires_grad=False)),
    "ones_like": of_x(lambda v: (torch.ones_like(v), v.new_ones(3, v.shape[-1]))), "squeeze": lambda n: (lambda v: (aten.squeeze.default(v) + 1, aten.squeeze.dims(v, [0, 2]) + 1), x(1, n, 1, 3)),
    "split_sizes": lambda n: (lambda v: [a + 1 for a in aten.split_with_sizes.default(v, [3, v.shape[1] - 3], 1)], x(3, n + 3)), "alias": of_x(lambda v: aten.alias.default(v) + 1), "empty": of_x(lambda v: (aten.empty_like.default(v).fill_(2.0), v.new_empty(3).zero_())),
    "rms_norm_fused": lambda n: (lambda v, w: aten._fused_rms_norm.default(v, [v.shape[-1]], w, 1e-5)[0], x(5, n), x(n)), "adaptive_3d_part": lambda n: (lambda v: F.adaptive_avg_pool3d(v, 2), p(1, 2, 4, 4, 2 * n)),
    "batch_norm_running": lambda n: (lambda v, m, s: (F.batch_norm(v, m.clone(), s.clone(), training=True)), x(4, n, 3), x(n), p(n)), "argsort_default": of_x(lambda v: aten.argsort.default(v, -1)), "outer_by_name": lambda n: (aten.outer.default, p(7), p(n)),
    "triangle_indices": of_x(lambda v: (torch.tril_indices(3, v.shape[1], 1), torch.triu_indices(v.shape[1], 4, dtype=torch.int32), v + 1)),
    "masked_scatter": lambda n: (lambda v, a: v.masked_scatter(v > 0, a), x(3, n), x(3, n)), "masked_scatter_back": of_x(lambda v: aten.masked_scatter_backward.default(v, v > 0, [3, v.shape[1]])),
    "index_reduce": lambda n: (lambda v, a, i: (v.index_reduce(0, i, a, "amax"), v.index_reduce(0, i, a, "mean")), x(5, n), x(7, n), below(5, 7)),
    "embedding_renorm": lambda n: (lambda v, i: aten.embedding_renorm.default(v, i, 0.5, 2.0), x(6, n), below(6, 4)),
    "max_unpool": lambda n: (lambda v: F.max_unpool2d(*F.max_pool2d(v, 2, return_indices=True), 2), x(2, n + 1, 4, 6)),
    "binary_cross_entropy": lambda n: (lambda v, a: F.binary_cross_entropy(v.sigmoid(), (a > 0).to(v.dtype)), x(3, n + 1), x(3, n + 1)),
    "rrelu_back": of_x(lambda v: aten.rrelu_with_noise_backward.default(v * 2, v, v.abs(), 0.1, 0.3, True, False)),
    "zeros_of_features": of_x(lambda v: aten._new_zeros_with_same_feature_meta.default(v, v * 2) + v),
    "contiguous": of_x(lambda v: aten.contiguous.default(v.t()) + 1), "where_scalars": of_x(lambda v: (aten.where.ScalarOther(v > 0, v, 0.5), aten.where.ScalarSelf(v > 0, 0.5, v), aten.where.Scalar(v > 0, 0.5, 1.5))),
}  # fmt: skip

GRADIENTS = {  # with respect to all floating-point inputs
    "softmax": lambda n: (lambda v: v.softmax(-1), x(3, n)), "softmax_first": lambda n: (lambda v: v.softmax(0), x(n, 5)), "log_softmax": lambda n: (lambda v: v.log_softmax(-1), x(3, n)),
    "layer_norm": NORMS["layer_norm"], "group_norm": NORMS["group_norm"], "batch_norm": lambda n: (lambda v, w, b: F.batch_norm(v, None, None, w, b, training=True), x(4, n, 3), p(n), x(n)),
    "rms_norm": NORMS["rms_norm"], "mm": PRODUCTS["mm_all"], "linear": PRODUCTS["linear"], "bmm": PRODUCTS["bmm"], "mv": PRODUCTS["mv"], "conv1d": CONVOLUTIONS["conv1d"], "conv2d": CONVOLUTIONS["conv2d"],
    "conv2d_out": CONVOLUTIONS["conv2d_out"], "conv2d_stride": CONVOLUTIONS["conv2d_stride"], "conv2d_depthwise": CONVOLUTIONS["conv2d_depthwise"], "conv_transpose2d": CONVOLUTIONS["conv_transpose2d"],
    "max_pool2d": POOLS["max_pool2d"], "max_pool3d": POOLS["max_pool3d"], "embedding": INDEXING["embedding"], "embedding_rows": INDEXING["embedding_rows"],
    "bags": lambda n: (lambda w, i, o: F.embedding_bag(i, w, o, mode="sum"), p(n + 1, 24), below(n + 1, n + 1), torch.arange(0, n + 1, 16)),
    "bags_means": INDEXING["bags_means"], "bags_maxima": INDEXING["bags_maxima"],
    "bags_weights": lambda n: (lambda w, i, o, s: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s), p(n + 1, 64), below(n + 1, n + 1), torch.arange(0, n + 1, 16), p(n + 1)),
    "gather": INDEXING["gather"], "index": INDEXING["index"], "index_put": INDEXING["index_put"], "attention_keys": ATTENTION["keys"], "attention_causal": ATTENTION["causal"],
    "slice": lambda n: (lambda v: v[:, 1::2] * 2, x(3, n)), "select": lambda n: (lambda v: v[1] * 2, x(3, n)), "cat": MORE["cat_many"], "sum": lambda n: (lambda v: v.sum(-1), x(3, n)),
    "cumsum": lambda n: (lambda v: v.cumsum(-1), x(3, n)), "var": lambda n: (lambda v: v.var(-1, correction=0), x(3, n)), "glu": MORE["glu"], "prelu": MORE["prelu"], "where": MORE["where"],
    "pad": MORE["pad_columns"], "amax": lambda n: (lambda v: v.amax(-1), x(3, n)),
    "cdist": lambda n: (lambda v, a: torch.cdist(v, a, 3.0), x(3, n), x(5, n)), "pdist": lambda n: (F.pdist, x(5, n)), "weight_norm": lambda n: (lambda v, g: torch._weight_norm(v, g, 0), x(4, n + 1), p(4, 1)),
    "nll_loss": lambda n: (F.nll_loss, x(n, 9), below(9, n)), "nll_loss_classes": lambda n: (F.nll_loss, x(5, n), below(n, 5)), "nll_loss_images": lambda n: (F.nll_loss, x(2, 9, n, 3), below(9, 2, n, 3)),
    "soft_margin_loss": lambda n: (lambda v: F.soft_margin_loss(v, torch.ones_like(v)), x(3, n)),
    "avg_pool2d": POOLS["avg_pool2d"], "avg_pool3d": POOLS["avg_pool3d"], "adaptive_max2d": POOLS["adaptive_max2d"], "adaptive_max3d": POOLS["adaptive_max3d"],
    "adaptive_avg2d": lambda n: (lambda v: F.adaptive_avg_pool2d(v, (2, 3)), x(2, 3, 5, n)), "adaptive_avg3d": lambda n: (lambda v: F.adaptive_avg_pool3d(v, (2, 3, 2)), x(1, 2, 4, 5, n)),
    "fractional_max2d": POOLS["fractional_max2d"], "fractional_max3d": POOLS["fractional_max3d"], "replicate1d": lambda n: (lambda v: F.pad(v, (3, 2), mode="replicate"), x(2, 3, n)),
    "replicate2d": lambda n: (lambda v: F.pad(v, (1, 2, 0, 3), mode="replicate"), x(2, 3, 5, n)), "replicate3d": lambda n: (lambda v: F.pad(v, (1, 2, 0, 3, 2, 1), mode="replicate"), x(1, 2, 3, 4, n)),
}  # fmt: skip

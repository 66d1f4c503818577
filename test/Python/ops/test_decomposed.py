"""Tests that ops which are expressed by simpler ops, in python/tilewright/decompositions or in the importer, are computed without
fallbacks and within the numbers rule."""

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import assert_numbers, check, check_gradient, compiled_strictly, with_threads

torch.manual_seed(0)
X, Y = torch.randn(5, 7), torch.randn(5, 7)
IMAGE, VOLUME = torch.randn(2, 3, 7, 5), torch.randn(2, 3, 5, 6, 7)
TIES = torch.tensor([[3.0, 1, 3, 1, 2], [float("nan"), 2, 2, 1, 0], [5, 5, 5, 5, 5]])
NUMBERS = torch.randint(-3, 4, (6, 9))
INDEX = torch.tensor([4, 0, 0, 2])
BAGGED, BAGS = torch.tensor([1, 0, 4, 4, 2, 2, 2, 0, 3, 1, 2, 2]), torch.tensor([0, 3, 3, 4, 10, 12])  # bags 1 and 5 are empty
MASK = torch.rand(5, 7) > 0.5
GRID, GRID_3D = torch.rand(2, 4, 6, 2) * 2.6 - 1.3, torch.rand(2, 3, 4, 5, 3) * 2.6 - 1.3
SORTED = torch.randn(9).sort().values
PLACES = torch.randint(0, 5, (4, 7))

CASES = {
    "adaptive_avg_pool1d": (lambda x: F.adaptive_avg_pool1d(x, 4), X), "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (3, 4)), IMAGE),
    "adaptive_avg_pool3d": (lambda x: F.adaptive_avg_pool3d(x, (3, 4, 2)), VOLUME), "adaptive_avg_pool2d even": (lambda x: F.adaptive_avg_pool2d(x, (7, 1)), IMAGE),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (3, 4), True), IMAGE), "adaptive_max_pool3d": (lambda x: F.adaptive_max_pool3d(x, (3, 4, 2), True), VOLUME),
    "avg_pool2d of int64 tensors": (lambda x: F.avg_pool2d(x, 3, 2, 1, True, False), torch.arange(2 * 35).reshape(1, 2, 7, 5)),
    "max_unpool2d": (lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), torch.randn(1, 2, 6, 6).to(memory_format=torch.channels_last)),
    "narrow_copy": (lambda x: torch.narrow_copy(x, 1, 2, 3), X), "permute_copy": (lambda x: torch.permute_copy(x, (1, 0)), X),
    "unbind_copy": (lambda x: torch.unbind_copy(x, 1), X), "as_strided_copy": (lambda x: torch.as_strided_copy(x, (3, 2), (2, 7), 1), X),
    "diagonal_scatter": (lambda x, y: torch.diagonal_scatter(x, y[0, :5], 1), X, Y), "put": (lambda x, y: torch.ops.aten.put(x, INDEX * 7, y[0, :4], True), X, Y),
    "tril_indices": (lambda x: torch.tril_indices(4, 6, 1) + x, NUMBERS[0, 0]), "triu_indices": (lambda x: torch.triu_indices(4, 6, -1) + x, NUMBERS[0, 0]),
    "unfold 0-d": (lambda x: x[0, 0].unfold(0, 1, 1), X), "unfold": (lambda x: x.unfold(1, 3, 2) * 2, X),
    "ndtr": (torch.special.ndtr, torch.linspace(-9, 9, 37)), "ndtr of one": (torch.special.ndtr, torch.tensor(-6.5)),
    "round to decimals": (lambda x: torch.round(x * 100, decimals=2), X), "round to tens": (lambda x: torch.round(x * 1000, decimals=-1), X),
    "linspace with dtype int64": (lambda x: torch.linspace(4.3, -3, 50, dtype=torch.int64) + x, NUMBERS[0, 0]), "linspace of one": (lambda x: torch.linspace(2, 5, 1) + x, X[0, 0]),
    "logspace of one": (lambda x: torch.logspace(0, 2, 1) + x, X[0, 0]), "ldexp": (lambda x, n: torch.ldexp(x, n), X, NUMBERS[:5, :7]),
    "angle": (torch.angle, torch.tensor([-2.0, -0.0, 0.0, 3.0, float("nan")])), "dist": (lambda x, y: torch.dist(x, y, 3), X, Y),
    "addbmm": (lambda x, b: torch.addbmm(x, b, b.transpose(1, 2), beta=2, alpha=0.5), torch.randn(3, 3), torch.randn(4, 3, 5)),
    "bilinear": (lambda x, y, w: F.bilinear(x, y, w), X, Y, torch.randn(4, 7, 7)), "cdist": (lambda x, y: torch.cdist(x, y), X, Y),
    "cdist by largest": (lambda x, y: torch.cdist(x, y, float("inf")), X, Y), "cdist of nothing": (lambda x, y: torch.cdist(x[:, :0], y[:, :0]), X, Y),
    "cdist of no rows": (lambda x, y: torch.cdist(x[:0], y, float("inf")), X, Y),
    "histc": (lambda x: torch.histc(x, 9, -1.5, 2), torch.cat([X.flatten(), torch.tensor([-1.5, 2.0, float("nan"), float("inf")])])),
    "pdist": (lambda x: F.pdist(x, 3), X), "scatter_reduce mean": (lambda x, y: x.scatter_reduce(0, PLACES, y, "mean"), X, Y),
    "scatter_reduce alone": (lambda x, y: [x.scatter_reduce(0, PLACES, y, r, include_self=False) for r in ("sum", "prod", "amax", "amin", "mean")], X, Y),
    "scatter_reduce of bools": (lambda x, y: [x.scatter_reduce(0, PLACES, y, r) for r in ("sum", "prod", "amax", "amin")], MASK, ~MASK),
    "scatter_reduce of int64 tensors": (lambda x, y: x.scatter_reduce(0, PLACES, y, "mean"), NUMBERS[:5, :7], NUMBERS[1:, 2:]),
    "index_reduce": (lambda x, y: [x.index_reduce(0, INDEX, y[:4], r, include_self=s) for r in ("prod", "mean", "amax", "amin") for s in (True, False)], X, Y),
    "index_add 0-d": (lambda x, y: x[0, 0].index_add(0, torch.tensor([0]), y[0, 0]), X, Y), "index_copy 0-d": (lambda x, y: x[0, 0].index_copy(0, torch.tensor([0]), y[0, 0]), X, Y),
    "index_add of bools": (lambda x, y: [x.index_add(1, INDEX, y[:, :4], alpha=a) for a in (True, False)], MASK, ~MASK),
    "gather of nothing": (lambda x: x.gather(0, torch.empty(0, 7, dtype=torch.int64)), X), "index_put of rows by a mask": (lambda x, y: x.index_put([MASK[:, 0]], y[0]), X, Y),
    "masked_scatter": (lambda x, y: x.masked_scatter(MASK, y), X, Y), "embedding of limited norm": (lambda w: F.embedding(INDEX, w.clone(), max_norm=1.0), X),
    "kthvalue": (lambda x: x.kthvalue(3, 0), X), "kthvalue kept": (lambda x: x.kthvalue(2, 1, True).values, NUMBERS), "median": (lambda x: x.median(1).values, TIES),
    "median of all": (lambda x: (x.median(), x.nanmedian()), TIES), "nanmedian": (lambda x: x.nanmedian(1).values, TIES), "median 0-d": (lambda x: x[0, 0].median(0), X),
    "mode": (lambda x: x.mode(1).values, TIES[::2]), "mode of int64 tensors": (lambda x: x.mode(0), NUMBERS), "cummax": (lambda x: x.cummax(1), TIES),
    "cummin": (lambda x: x.cummin(0), TIES), "cummax of int64 tensors": (lambda x: x.cummax(1), NUMBERS), "cummin of bools": (lambda x: x.cummin(1), MASK),
    "searchsorted": (lambda s, x: [torch.searchsorted(s, x, right=r, out_int32=r) for r in (False, True)], SORTED, torch.cat([X.flatten(), SORTED, TIES[1]])),
    "searchsorted of rows": (lambda s, x: torch.searchsorted(s, x), X.sort(-1).values, Y), "searchsorted of one": (lambda s: torch.searchsorted(s, 0.25), SORTED),
    "searchsorted by a sorter": (lambda x, y: torch.searchsorted(x, y, sorter=x.argsort(-1)), X, Y), "bucketize": (lambda x, s: torch.bucketize(x, s, right=True), X, SORTED),
    "isin": (lambda x, y: torch.isin(x, y), NUMBERS, torch.arange(-1, 30)), "grid_sample 2-d": (lambda x, g: F.grid_sample(x, g, align_corners=False), IMAGE, GRID),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_decomposed_op_matches_eager(name):
    check(*CASES[name])


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_grid_sample_of_volumes_matches_eager(mode, padding, align):
    check(lambda x, g: F.grid_sample(x, g, mode, padding, align), VOLUME, GRID_3D)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample_of_images_matches_eager(mode, padding, align):
    check(lambda x, g: F.grid_sample(x, g, mode, padding, align), IMAGE, GRID)


def test_grid_sample_of_large_bf16_image_has_bounded_error():
    """bf16 cannot represent the pixels' indices."""
    x, grid = torch.randn(1, 2, 130, 131).bfloat16(), torch.rand(1, 40, 50, 2).bfloat16() * 2 - 1
    ours = torch.compile(lambda x, g: F.grid_sample(x, g, align_corners=False), backend="tilewright", fullgraph=True)(x, grid)
    exact = F.grid_sample(x.double(), grid.double(), align_corners=False)
    assert (ours.double() - exact).abs().max() < 2**-6 * exact.abs().max()


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_grid_sample_zero_padding_ignores_nan_and_infinite_pixels(mode):
    image, grid = IMAGE.clone(), GRID.clone()
    image[:, :, 0, 0], image[:, :, 6, 2] = float("nan"), float("inf")
    grid[0, 1, 1] = 1e30
    run = lambda x, g: F.grid_sample(x, g, mode, "zeros", False)
    eager, ours = run(image, grid), torch.compile(run, backend="tilewright", fullgraph=True)(image, grid)
    torch.testing.assert_close(ours, eager, equal_nan=True)
    assert eager.isnan().any() and not eager.isnan().all()


def test_small_gradient_of_soft_margin_loss_matches_eager():
    """If the derivative is small, the cancellation in sigmoid(z) - 1 loses all digits."""
    target = torch.ones(9)
    check_gradient(lambda x: F.soft_margin_loss(x, target), torch.linspace(5, 30, 9))
    check_gradient(lambda x: F.soft_margin_loss(x, target[0]), torch.tensor(17.5))


def test_second_derivatives_match_eager():
    """For forward mode over reverse mode, torch makes zero tensors without memory."""
    weight = torch.randn(5, 4)

    def energy(v):
        return ((weight.to(v) @ v).tanh() ** 2).sum()

    for fn in (torch.func.hessian(energy), torch.func.jacfwd(torch.func.jacrev(energy)), lambda v: torch.func.jvp(torch.func.grad(energy), (v,), (v * 2,))[1]):
        check(fn, X[0, :4].contiguous())
        check_gradient(fn, X[0, :4].contiguous())
    check_gradient(torch.sgn, X)


def test_a_recurrence_of_parameters_compiles():
    """Each term reads the two previous ones. A search over all paths would take exponential time."""

    class Recurrence(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.start = torch.nn.Parameter(torch.rand(()))

        def forward(self, x):
            last, before = self.start, self.start * 0.5
            for _ in range(64):
                last, before = last * 0.5 + before * 0.25, last
            return x * last

    check(Recurrence(), X)


A = torch.randn(3, 6, 6) + 4 * torch.eye(6)
B = torch.randn(3, 6, 2)
LARGE, RIGHT = torch.randn(3, 40, 40) / 8 + 2 * torch.eye(40), torch.randn(3, 40, 5)
FACTORED = torch.linalg.lu_factor(A)
MATRICES = {
    "lu_factor_ex": (lambda a: torch.linalg.lu_factor_ex(a), torch.randn(2, 5, 7)), "lu": (lambda a: torch.linalg.lu(a), torch.randn(7, 5)),
    "lu_solve": (lambda f, p, b: [torch.linalg.lu_solve(f, p, b, adjoint=t) for t in (False, True)], *FACTORED, B),
    "lu_solve from the right": (lambda f, p, b: torch.linalg.lu_solve(f, p, b, left=False), *FACTORED, B.mT.contiguous()),
    "lu_unpack": (lambda f, p: torch.lu_unpack(f, p), *FACTORED), "det": (torch.linalg.det, A), "slogdet": (torch.linalg.slogdet, A),
    "det of a singular one": (torch.linalg.det, torch.ones(4, 4)), "det of nothing": (torch.linalg.det, torch.ones(2, 0, 0)),
    "factors of determinants": (lambda a: [*torch.ops.aten._linalg_det(a), *torch.ops.aten._linalg_slogdet(a.mT), *torch.ops.aten._linalg_det(a[:, 1:, 1:])], A.flip(-2)),
    "inv_ex": (lambda a: torch.linalg.inv_ex(a), A), "cholesky_ex": (lambda a: torch.linalg.cholesky_ex(a @ a.mT), A),
    "inv": (torch.linalg.inv, A), "cholesky": (lambda a: torch.linalg.cholesky(a @ a.mT), A), "lu_factor": (torch.linalg.lu_factor, A),
    "solve": (torch.linalg.solve, A, B), "solve with vectors": (torch.linalg.solve, A, B[..., 0]), "solve with a vector": (torch.linalg.solve, A[0], B[0, :, 0]),
    "solve for several": (torch.linalg.solve, A[0], B), "solve by several": (torch.linalg.solve, A, B[0]), "solve by columns": (lambda a, b: torch.linalg.solve(a.mT, b), A, B),
    "solve from the right": (lambda a, b: torch.linalg.solve(a, b, left=False), A, B.mT.contiguous()), "solve_ex": (lambda a, b: torch.linalg.solve_ex(a, b), A, B),
    "solve nothing": (torch.linalg.solve, torch.ones(2, 0, 0), torch.ones(2, 0, 3)), "matrix_power": (lambda a: torch.linalg.matrix_power(a, -3), A),
    "cholesky_ex upper": (lambda a: torch.linalg.cholesky_ex(a @ a.mT, upper=True), A), "cholesky_inverse": (torch.cholesky_inverse, A.tril()),
    "cholesky_solve": (lambda b, a: torch.cholesky_solve(b, a), B, A.tril()),
    "solve_triangular": (lambda a, b: [torch.linalg.solve_triangular(a, b, upper=u) for u in (False, True)], A, B),
    "solve_triangular from the right": (lambda a, b: torch.linalg.solve_triangular(a, b, upper=True, left=False, unitriangular=True), A / 9, B.mT),
    "solve_triangular by blocks": (lambda a, b: [torch.linalg.solve_triangular(a, b, upper=u) for u in (False, True)], LARGE, RIGHT),
    "solve_triangular by whole blocks": (lambda a, b: torch.linalg.solve_triangular(a, b, upper=False, unitriangular=True), LARGE[:, :32, :32], RIGHT[:, :32]),
    "solve_triangular by blocks from the right": (lambda a, b: torch.linalg.solve_triangular(a, b.mT, upper=True, left=False), LARGE, RIGHT),
}  # fmt: skip


@pytest.mark.parametrize("name", MATRICES)
def test_linalg_op_on_small_matrices_matches_eager(name):
    check(*MATRICES[name])


@pytest.mark.parametrize("fn", [torch.linalg.det, lambda a: torch.linalg.det(a.mT), lambda a: torch.linalg.slogdet(a)[1], lambda a: torch.linalg.inv_ex(a)[0], torch.linalg.inv,
                                lambda a: torch.linalg.solve(a, B.to(a)), lambda a: torch.linalg.solve(a, B.to(a)[..., 0]), lambda a: torch.linalg.solve(a, B.to(a).mT, left=False)])  # fmt: skip
def test_linalg_gradient_on_small_matrices_matches_eager(fn):
    check_gradient(fn, A)


POOLS = {
    "apart": lambda x: F.avg_pool2d(x, 2), "with gaps": lambda x: F.avg_pool2d(x, 2, 3), "overlapping": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "without padding": lambda x: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False), "beyond the edge": lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
    "other divisor": lambda x: F.avg_pool2d(x, (3, 2), (2, 1), (1, 0), divisor_override=5), "of a line": lambda x: F.avg_pool1d(x[0], 3, 2),
    "adaptive": lambda x: F.adaptive_avg_pool2d(x, (3, 4)), "adaptive even": lambda x: F.adaptive_avg_pool2d(x, (7, 1)),
    "channels last": lambda x: F.avg_pool2d(x.contiguous(memory_format=torch.channels_last), 3, 2, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", POOLS)
def test_avg_pool_gradient_matches_eager(name):
    check_gradient(POOLS[name], IMAGE)


GRADIENTS = {
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 3, 2, 1), VOLUME), "avg_pool3d at the edge": (lambda x: F.avg_pool3d(x, 3, 2, 1, True, False), VOLUME),
    "adaptive_avg_pool3d": (lambda x: F.adaptive_avg_pool3d(x, (3, 4, 2)), VOLUME), "adaptive_max_pool1d": (lambda x: F.adaptive_max_pool1d(x, 4), X),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (3, 4)), IMAGE), "adaptive_max_pool3d": (lambda x: F.adaptive_max_pool3d(x, (3, 4, 2)), VOLUME),
    "fractional_max_pool2d": (lambda x: F.fractional_max_pool2d(x, 3, (4, 3), _random_samples=torch.tensor([0.1, 0.8], dtype=x.dtype).expand(2, 3, 2)), IMAGE),
    "fractional_max_pool3d": (lambda x: F.fractional_max_pool3d(x, 2, (3, 2, 4), _random_samples=torch.tensor([0.1, 0.5, 0.9], dtype=x.dtype).expand(2, 3, 3)), torch.randn(2, 3, 7, 9, 8)),
    "fractional_max_pool3d of one": (lambda x: F.fractional_max_pool3d(x, 2, (3, 2, 4), _random_samples=torch.tensor([0.1, 0.5, 0.9], dtype=x.dtype).expand(3, 3, 3)), torch.randn(3, 7, 9, 8)),
    "replicate 1-d": (lambda x: F.pad(x[None], (3, 2), mode="replicate"), X), "replicate": (lambda x: F.pad(x, (1, 2, 0, 3), mode="replicate"), IMAGE),
    "replicate and crop": (lambda x: F.pad(x, (-2, 2, 4, -3), mode="replicate"), IMAGE), "replicate one": (lambda x: F.pad(x[..., :1], (2, 3, 1, 1), mode="replicate"), IMAGE),
    "replicate beyond": (lambda x: F.pad(x, (-6, 8, 0, 1), mode="replicate"), IMAGE), "replicate 3-d": (lambda x: F.pad(x, (1, 2, 0, 3, 2, 1), mode="replicate"), VOLUME),
    "rrelu": (lambda x: torch.rrelu(x, 0.1, 0.3), X), "conv_transpose of more than a stride": (lambda x, w: F.conv_transpose2d(x, w, padding=1, output_padding=(0, 1), dilation=2), IMAGE, torch.randn(3, 2, 3, 3)),
    "bags": (lambda w, s: F.embedding_bag(BAGGED, w, BAGS, mode="sum", per_sample_weights=s), X, torch.randn(12)), "bags' means": (lambda w: F.embedding_bag(BAGGED, w, BAGS), X),
    "bags' largest": (lambda w: F.embedding_bag(BAGGED, w, BAGS, mode="max", padding_idx=2), X),
    "bags with an end": (lambda w: F.embedding_bag(BAGGED, w, torch.cat([BAGS, torch.tensor([12])]), include_last_offset=True, padding_idx=0), X),
    "bags of rows": (lambda w: F.embedding_bag(BAGGED.reshape(3, 4), w, mode="sum"), X), "group_norm of nothing": (lambda x, w: F.group_norm(x[..., :0], 3, w), IMAGE, torch.randn(3)),
} | {f"cdist {p}": (lambda x, y, p=p: torch.cdist(x, y[:3] * 1.5, p), X, Y) for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf"))} | {
    f"pdist {p}": (lambda x, p=p: F.pdist(x, p), X) for p in (1.0, 2.0, 3.0, float("inf"))
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradient_of_decomposed_op_matches_eager(name):
    check_gradient(*GRADIENTS[name])


def test_distance_gradient_at_equal_points_is_eager_subgradient():
    x = torch.tensor([[0.0, 1.0], [0.0, 1.0], [2.0, 1.0]])
    for p in (0.5, 1.0, 2.0, 3.0, float("inf")):
        check_gradient(lambda x: torch.cdist(x, x.detach(), p), x)
        check_gradient(lambda x: F.pdist(x, p), x)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample_gradient_in_each_mode_matches_eager(mode, padding, align):
    check_gradient(lambda x, g: F.grid_sample(x, g, mode, padding, align), IMAGE, GRID)
    if mode != "bicubic":
        check_gradient(lambda x, g: F.grid_sample(x, g, mode, padding, align), VOLUME, GRID_3D)


def test_bilinear_of_int16_matches_eager():
    a, w = torch.arange(10, dtype=torch.int16).reshape(2, 5), torch.arange(75, dtype=torch.int16).reshape(3, 5, 5)
    check(lambda a, w: F.bilinear(a, a, w), a, w)


def test_masked_scatter_gradient_matches_eager():
    check_gradient(lambda x, y: x.masked_scatter(MASK, y), X, Y)
    check_gradient(lambda x, y: x.masked_scatter(MASK[:, :1], y), X, torch.randn(70))


class Experts(torch.nn.Module):
    """Multiplies rows in groups, as mixtures of experts do. The last rows belong to no group."""

    def __init__(self, groups, depth, width, transposed, dtype=torch.float32):
        super().__init__()
        self.transposed = transposed
        self.weight = torch.nn.Parameter(torch.randn((groups, width, depth) if transposed else (groups, depth, width), dtype=dtype))

    def forward(self, x, ends):
        return self.product(x, self.weight.transpose(1, 2) if self.transposed else self.weight, ends)


ENDS = {"some empty": (37, [0, 5, 5, 30, 37]), "fewer rows than groups": (3, [0, 1, 1, 2, 3]), "rows of none": (300, [100, 130, 130, 200, 297])}


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("name", ENDS)
def test_grouped_mm_and_gradient_match_eager(name, transposed):
    import transformers.integrations.moe  # noqa: F401

    count, ends = ENDS[name]
    model = Experts(5, 24, 40, transposed)
    model.product = torch.ops.transformers.grouped_mm_fallback
    x, ends = torch.randn(count, 24), torch.tensor(ends, dtype=torch.int32)
    with torch.no_grad():
        eager = [with_threads(n, lambda: [model(x, ends)]) for n in (1, 2)]
        exact = [model.product(x.double(), (model.weight.mT if transposed else model.weight).double(), ends)]
        assert_numbers([compiled_strictly(model)(x, ends)], eager, exact)
    check_gradient(lambda x, w: model.product(x, w.transpose(1, 2) if transposed else w, ends), x, model.weight.detach())


def test_bf16_grouped_mm_matches_eager():
    model = Experts(4, 32, 48, True, torch.bfloat16)
    model.product = lambda x, w, ends: torch._grouped_mm(x, w, offs=ends)
    x, ends = torch.randn(40, 32, dtype=torch.bfloat16), torch.tensor([10, 10, 25, 40], dtype=torch.int32)
    starts = [0, *ends.tolist()[:-1]]
    with torch.no_grad():
        eager = [with_threads(n, lambda: [model(x, ends)]) for n in (1, 2)]
        exact = torch.cat([x.double()[a:b] @ w.double().mT for a, b, w in zip(starts, ends.tolist(), model.weight)])
        assert_numbers([compiled_strictly(model)(x, ends)], eager, [exact])


def test_out_of_range_index_of_bmm_operand_raises_error():
    weight = torch.nn.Parameter(torch.randn(5, 24, 40))
    compiled = compiled_strictly(lambda x, i: torch.bmm(x, weight.index_select(0, i)))
    x = torch.randn(3, 16, 24)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x, torch.tensor([4, 0, 4])), torch.bmm(x, weight[[4, 0, 4]]))
        with pytest.raises(Exception, match="index 5 is out of range for a dimension of size 5"):
            compiled(x, torch.tensor([4, 5, 0]))


@pytest.mark.parametrize("dim", [0, 2])
def test_weight_norm_gradient_matches_eager(dim):
    g = torch.rand([s if d == dim else 1 for d, s in enumerate((4, 3, 5))]) + 0.5
    check_gradient(lambda v, g: torch._weight_norm(v, g, dim), torch.randn(4, 3, 5), g)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border"])
def test_bilinear_grid_sample_gradient_matches_eager(padding, align):
    check_gradient(lambda x, grid: F.grid_sample(x, grid, padding_mode=padding, align_corners=align), IMAGE, GRID)


@pytest.mark.parametrize("causal", [False, True])
def test_grouped_query_attention_gradient_matches_eager(causal):
    query, key, value = (torch.randn(2, heads, 21, 8) for heads in (4, 2, 2))
    check_gradient(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True), query, key, value)
    # As in models, the heads of a row are contiguous.
    rows = [t.transpose(1, 2).contiguous() for t in (query, key, value)]
    check_gradient(lambda q, k, v: F.scaled_dot_product_attention(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=causal, enable_gqa=True), *rows)  # fmt: skip


def test_logcumsumexp_of_one_element_does_not_alias_input():
    x = torch.randn(1)
    torch._dynamo.reset()
    assert compiled_strictly(lambda x: torch.logcumsumexp(x, -1))(x).data_ptr() != x.data_ptr()


def test_channel_shuffle_does_not_alias_input():
    x = torch.randn(1, 2, 3, 3)
    torch._dynamo.reset()
    shuffled = compiled_strictly(lambda x: torch.nn.functional.channel_shuffle(x, 2))(x)
    assert torch.equal(shuffled, x) and shuffled.data_ptr() != x.data_ptr()
    check(lambda x: torch.nn.functional.channel_shuffle(x, 3), torch.randn(2, 12, 5, 7))


def test_hardsigmoid_gradient_in_f64_matches_eager():
    check_gradient(F.hardsigmoid, torch.linspace(-4, 4, 1001, dtype=torch.float64))


CLASSES = torch.tensor([3, 0, -100, 6, 2])
WEIGHTS = torch.rand(7) + 0.5


@pytest.mark.parametrize("reduction", ("mean", "sum", "none"))
@pytest.mark.parametrize("weight_of", (None, WEIGHTS), ids=("", "weighted"))
def test_cross_entropy_and_nll_loss_gradients_match_eager(weight_of, reduction):
    """The gradient compares indices with the row's target instead of scattering into a zero tensor of the input's size."""
    weight = lambda x: None if weight_of is None else weight_of.to(x.dtype)  # noqa: E731
    check_gradient(lambda x: F.cross_entropy(x, CLASSES, weight(x), reduction=reduction), X)
    check_gradient(lambda x: F.cross_entropy(x, CLASSES.abs() % 7, weight(x), ignore_index=2, reduction=reduction, label_smoothing=0.1), X)
    check_gradient(lambda x: F.nll_loss(x, CLASSES[0], weight(x), reduction=reduction), X[0])
    image, targets = torch.randn(2, 7, 3, 4), torch.randint(0, 7, (2, 3, 4))
    check_gradient(lambda x: F.cross_entropy(x, targets, weight(x), reduction=reduction, ignore_index=1), image)


def test_cross_entropy_gradient_with_all_targets_ignored_matches_eager():
    check_gradient(lambda x: F.cross_entropy(x, torch.full([5], -100), reduction="sum"), X)


def test_infinite_nll_loss_gradient_is_zero_off_the_target():
    """Eager writes the target's element only: 0 times an infinite gradient must not be added to other elements."""
    x = torch.randn(3, 4, requires_grad=True)
    step = torch.compile(lambda x: F.nll_loss(x, torch.tensor([1, 2, 0]), reduction="none") * float("inf"), backend="tilewright")
    step(x).sum().backward()
    assert torch.equal(x.grad.isinf().sum(1), torch.ones(3, dtype=torch.int64)) and not x.grad.isnan().any()

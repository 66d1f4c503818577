"""Tests that unsigned values are compared as unsigned, and that booleans stay booleans: bitwise equal to eager."""

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check, compiled_strictly

torch.manual_seed(0)
BYTES = torch.randint(0, 256, (6, 40), dtype=torch.uint8)  # half of them have the sign bit set
OTHERS = torch.randint(0, 256, (6, 40), dtype=torch.uint8)
ROWS = torch.randint(0, 256, (6, 200), dtype=torch.uint8)
PLACES = torch.randint(0, 6, (6, 40))
MASK = torch.rand(5, 7) > 0.5

CASES = {
    "sort": (lambda x: torch.sort(x, dim=1, stable=True), BYTES),
    "argsort": (lambda x: torch.argsort(x, dim=1, descending=True, stable=True), BYTES),
    "topk": (lambda x: torch.topk(x, 5, 1).values, BYTES),
    "sort of rows": (lambda x: torch.sort(x, dim=1, stable=True), ROWS),
    "sort of rows, descending": (lambda x: torch.sort(x, dim=1, descending=True, stable=True), ROWS),
    "sort of columns": (lambda x: torch.sort(x, dim=0, descending=True, stable=True), ROWS.T),
    "sort of signed bytes": (lambda x: torch.sort(x, dim=1, stable=True), ROWS.view(torch.int8)),
    "sort of signed bytes, descending": (lambda x: torch.sort(x, dim=1, descending=True, stable=True), ROWS.view(torch.int8)),
    "sort of booleans": (lambda x: torch.sort(x, dim=1, stable=True), ROWS > 99),
    "topk of most": (lambda x: torch.topk(x, 70, 1).values, ROWS),
    "cummax": (lambda x: torch.cummax(x, 1), BYTES),
    "cummin": (lambda x: torch.cummin(x, 0), BYTES),
    "scatter amax": (lambda x, y: x.scatter_reduce(0, PLACES, y, "amax"), BYTES, OTHERS),
    "scatter amin": (lambda x, y: x.scatter_reduce(0, PLACES, y, "amin"), BYTES, OTHERS),
    "pad of booleans": (lambda x: F.pad(x, (1, 2), value=2.0), MASK),
}

# Wider unsigned dtypes that eager supports in part; half of the numbers have the highest bit set.
WIDE = [torch.uint16, torch.uint32, torch.uint64]
OF_WIDE = {
    "sum": lambda x: x.sum(), "sum of rows": lambda x: x.sum(1), "sum of columns": lambda x: x.sum(0), "prod": lambda x: x.prod(), "cumsum": lambda x: x.cumsum(1),
    "cumsum of columns": lambda x: x.cumsum(0), "cumprod": lambda x: x.cumprod(0), "to int64": lambda x: x.to(torch.int64), "to float": lambda x: x.float(),
    "to double": lambda x: x.double(), "to half": lambda x: x.half(), "to bfloat16": lambda x: x.bfloat16(), "to bool": lambda x: x.bool(),
    "int64 to it": lambda x: x.to(torch.int64).to(x.dtype), "int32 to it": lambda x: x.to(torch.int32).to(x.dtype), "float to it": lambda x: (x.float() * 0.25).to(x.dtype),
    "sort": lambda x: tuple(x.sort(dim=1, stable=True)), "sort, descending": lambda x: tuple(x.sort(dim=0, descending=True, stable=True)), "argsort": lambda x: x.argsort(dim=1, stable=True),
    "mul": lambda x: x * x, "mul by a number": lambda x: x * 3, "div": lambda x: x / 3, "eq": lambda x: x == x[0], "ne": lambda x: x != x[0],
    "and": lambda x: x & x[0], "or": lambda x: x | x[1], "xor": lambda x: x ^ x[2], "add a float": lambda x: x + 0.5, "exp": lambda x: (x.float() / 1e19).exp(),
    "any": lambda x: x.any(1), "all": lambda x: x.all(0), "cat": lambda x: torch.cat([x, x], 1), "pad": lambda x: F.pad(x, (1, 2)), "roll": lambda x: x.roll(1, 0),
    "expand": lambda x: x[:1].expand(6, 40) * x, "full": lambda x: torch.full((5,), 7, dtype=x.dtype), "zeros": lambda x: torch.zeros_like(x), "isnan": lambda x: x.isnan(),
    "floor": lambda x: x.floor(), "stack": lambda x: torch.stack([x, x]), "chunks": lambda x: x.chunk(3, 1), "transposed": lambda x: x.t().contiguous(),
    "index": lambda x: x[PLACES[0]], "embedding": lambda x: F.embedding((x.to(torch.int64) % 6), torch.eye(6)), "mean": lambda x: x.mean(dtype=torch.float32),
}  # fmt: skip


def wide(dtype):
    """Returns random numbers in the whole range of `dtype`, and its limits."""
    bits = dtype.itemsize * 8
    low = torch.randint(0, 2 ** min(bits, 62), (6, 40), generator=torch.Generator().manual_seed(1), dtype=torch.int64)
    high = torch.randint(0, 2, (6, 40), generator=torch.Generator().manual_seed(2), dtype=torch.int64)
    x = (low ^ (high * -(2 ** (bits - 1)))).view(torch.int64)
    x[0, :4] = torch.tensor([0, 1, -1, -(2 ** (bits - 1))])
    return x.to(dtype)


@pytest.mark.parametrize("dtype", WIDE, ids=str)
@pytest.mark.parametrize("name", OF_WIDE)
def test_wide_unsigned_op_matches_eager(name, dtype):
    x = wide(dtype)
    try:
        OF_WIDE[name](x)
    except (NotImplementedError, RuntimeError) as error:
        pytest.skip(f"eager does not support it: {error}")
    check(OF_WIDE[name], x)


@pytest.mark.parametrize("dtype", WIDE, ids=str)
def test_op_unsupported_by_eager_raises_or_equals_int64(dtype):
    """An op that eager does not support raises an error or returns the result of the same numbers in int64."""
    x = torch.tensor([5, 3, 9, 2, 7] * 5).to(dtype)
    for function in (lambda x: torch.arange(7, dtype=x.dtype).to(torch.int64), lambda x: x.cummax(0).values, lambda x: x.max(), lambda x: x + x, lambda x: x // 2, lambda x: x << 1,
                     lambda x: F.embedding(x, torch.eye(10)), lambda x: x.scatter(0, torch.tensor([0]), x[:1]), lambda x: x.gather(0, torch.tensor([0, 1])),
                     lambda x: torch.maximum(x, x), lambda x: -x, lambda x: x @ x, lambda x: x.amax(0), lambda x: x.topk(2).values, lambda x: x < 4, lambda x: x.clamp(1, 4)):  # fmt: skip
        torch._dynamo.reset()
        try:
            got = torch.compile(function, backend="tilewright")(x)
        except Exception:  # noqa: BLE001
            continue
        want = function(x.to(torch.int64))
        assert torch.equal(got.to(torch.float64), want.to(got.dtype).to(torch.float64))  # -x wraps


@pytest.mark.parametrize("name", CASES)
def test_uint8_and_bool_op_matches_eager(name):
    check(*CASES[name])


def test_convolution_with_symbolic_kernel_size_runs_in_eager():
    """The number of loops of such a convolution would be symbolic, so Tilewright rejects the convolution, and eager
    runs it."""

    def convolve(x, w):
        return F.conv2d(x, w) * 2

    torch._dynamo.reset()
    compiled = torch.compile(convolve, backend="tilewright", fullgraph=True)
    for size in (3, 5, 4):
        x, w = torch.randn(1, 2, 9, 9), torch.randn(3, 2, size, size)
        torch._dynamo.mark_dynamic(w, 2)
        torch._dynamo.mark_dynamic(w, 3)
        torch.testing.assert_close(compiled(x, w), convolve(x, w), rtol=1e-4, atol=1e-5)
    with pytest.raises(Exception, match="a kernel of symbolic size is not supported"):
        strict = compiled_strictly(convolve, dynamic=True)
        x, w = torch.randn(1, 2, 9, 9), torch.randn(3, 2, 3, 3)
        torch._dynamo.mark_dynamic(w, 2)
        strict(x, w)

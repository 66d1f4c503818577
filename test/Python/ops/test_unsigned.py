"""Unsigned values are ordered as unsigned ones, and booleans stay booleans: against eager, bit by bit."""

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


@pytest.mark.parametrize("name", CASES)
def test_unsigned(name):
    check(*CASES[name])


def test_a_convolution_whose_kernel_is_symbolic_is_no_crash():
    """Its loops would have to know how many there are: refused, and run by eager."""

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

"""Tests comparisons of computed bf16 and f16 values whose results have each dtype of torch: equal to eager."""

import operator

import pytest
import torch
from numbers_rule import compiled_strictly

from tilewright.dynamo import crashes

COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
RESULTS = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.uint16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("result", RESULTS)
def test_results_of_comparisons_are_equal_to_eager(dtype, result):
    """LLVM 22.1 cannot select instructions for such comparisons of bf16 vectors if a CPU has AVX512_BF16 and the result
    has 16 bits (lib/Runtime/Jit/BfloatComparisons.cpp)."""

    def compared(a, b):
        rounded = a + b  # is rounded to the dtype before it is compared
        return tuple(compare(rounded, b).to(result) for compare in COMPARISONS)

    for shape in [(16, 31), (3, 64), (5,)]:
        generator = torch.Generator().manual_seed(0)
        a, b = (torch.randint(-2, 3, shape, generator=generator).to(dtype) for _ in range(2))
        a.view(-1)[1] = float("nan")
        got = compiled_strictly(compared)(a, b)
        assert not crashes.has_crashed()
        for ours, expected in zip(got, compared(a, b), strict=True):
            assert torch.equal(ours, expected), (dtype, result, shape)

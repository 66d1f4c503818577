"""flex_attention: scores and masks that are functions of indices (python/tilewright/fx/flex.py)."""

import warnings

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import tilewright
from numbers_rule import assert_numbers, compiled_strictly, leaves, widen, with_threads

BIAS = torch.randn(4, 70, generator=torch.Generator().manual_seed(3))
DOCUMENTS = torch.arange(70) // 20


def blocks(mask, batch=None):
    return create_block_mask(mask, batch, None, 70, 70, device="cpu")


CAUSAL, ONE_DOCUMENT = blocks(lambda b, h, m, n: m >= n), blocks(lambda b, h, m, n: DOCUMENTS[m] == DOCUMENTS[n])
EACH = blocks(lambda b, h, m, n: m >= n + b, 2)
BEFORE = blocks(lambda b, h, m, n: m > n)  # the first row is masked completely

FORMS = {
    "slopes": lambda q, k, v: flex_attention(q, k, v, score_mod=lambda s, b, h, m, n: s + (n - m) * 2.0 ** -(h + 1.0)),
    "causal": lambda q, k, v: flex_attention(q, k, v, block_mask=CAUSAL), "documents": lambda q, k, v: flex_attention(q, k, v, block_mask=ONE_DOCUMENT),
    "empty rows": lambda q, k, v: flex_attention(q, k, v, block_mask=BEFORE),
    "a table": lambda q, k, v: flex_attention(q, k, v, score_mod=lambda s, b, h, m, n: s + BIAS[h, n].to(s.dtype), block_mask=CAUSAL),
    "a window": lambda q, k, v: flex_attention(q, k, v, score_mod=lambda s, b, h, m, n: torch.where((m - n).abs() < 8, s, -float("inf"))),
    "soft caps": lambda q, k, v: flex_attention(q, k, v, score_mod=lambda s, b, h, m, n: 20 * torch.tanh(s / 20), scale=0.5),
    "grouped queries": lambda q, k, v: flex_attention(q, k[:, :2], v[:, :2], block_mask=CAUSAL, enable_gqa=True),
    "keys of one batch": lambda q, k, v: flex_attention(q, k[:1], v[:1], block_mask=EACH), "longer keys": lambda q, k, v: flex_attention(q[:, :, :33], k, v),
    "sums of rows": lambda q, k, v: flex_attention(q, k, v, block_mask=BEFORE, return_lse=True),
}  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", FORMS)
def test_flex_attention_of_each_score_or_mask_function_matches_eager(name, dtype, dynamic):
    generator = torch.Generator().manual_seed(0)
    arguments = [torch.randn(2, 4, 70, 16, generator=generator).to(dtype) for _ in range(3)]
    torch._dynamo.reset()
    compiled = compiled_strictly(FORMS[name], dynamic=dynamic)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # eager's version recommends compiling it
        runs = [with_threads(count, FORMS[name], *arguments) for count in (1, 2)]
        exact = FORMS[name](*widen(arguments))
        got = compiled(*arguments)
    assert_numbers(leaves(got), [leaves(run) for run in runs], leaves(exact))
    assert [t.stride() for t in leaves(got)] == [t.stride() for t in leaves(runs[0])]


def test_score_function_that_sums_over_indices_runs_in_eager():
    """A sum over all indices differs from one over a single index."""

    def function(q, k, v):
        return flex_attention(q, k, v, score_mod=lambda s, b, h, m, n: s * BIAS.sum(1)[h])

    torch._dynamo.reset()
    tilewright.report(clear=True)
    arguments = [torch.randn(2, 4, 70, 16) for _ in range(3)]
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.testing.assert_close(torch.compile(function, backend="tilewright", fullgraph=True)(*arguments), function(*arguments))
    (report,) = tilewright.report()
    assert [r.target for r in report.refusals] == ["torch.ops.higher_order.flex_attention"]

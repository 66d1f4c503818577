"""Tests attention in f16, with few rows, and in f64, which is decomposed because the CPU's online softmax does not support it."""

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import assert_numbers, check, check_gradient, compiled_strictly


def qkv(dtype, key_heads=4):
    return [torch.randn(2, h, n, 8).to(dtype) for h, n in ((4, 17), (key_heads, 23), (key_heads, 23))]


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_masked_causal_and_grouped_attention_matches_eager(dtype):
    check(F.scaled_dot_product_attention, *qkv(dtype))
    check(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), *qkv(dtype))
    check(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), *qkv(dtype, key_heads=2))
    check(F.scaled_dot_product_attention, *qkv(dtype), torch.rand(17, 23) > 0.3)
    check(F.scaled_dot_product_attention, *qkv(dtype), torch.randn(2, 1, 17, 23).to(dtype))
    check(lambda q, k, v: F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 17, 32) * 2, *qkv(dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_attention_with_permuted_operands_and_symbolic_sizes_matches_eager(dtype):
    x = torch.randn(2, 17, 3, 4, 8).to(dtype)
    fn = lambda x: F.scaled_dot_product_attention(*[x[:, :, i].transpose(1, 2) for i in range(3)])  # noqa: E731
    check(fn, x)
    torch._dynamo.mark_dynamic(x, 0)
    torch._dynamo.mark_dynamic(x, 1)
    check(fn, x)


def test_attention_gradient_in_f64_matches_eager():
    check_gradient(F.scaled_dot_product_attention, *qkv(torch.float64))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_attention_with_row_tail_after_full_tiles_matches_eager(dtype):
    """Tests a tail after tiles of 32 rows: 28 rows are two tiles of 14. The tiles of both shapes together needed more than the available registers."""
    for rows in (45, 60, 62, 92):
        check(F.scaled_dot_product_attention, *[torch.randn(1, 2, rows, 64).to(dtype) for _ in range(3)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_attention_with_few_query_rows_matches_eager(dtype, rows):
    """If there are few rows, keys and values are read without a copy, in blocks of 512 keys."""
    for keys, size in ((1, 8), (17, 20), (512, 64), (513, 16), (1030, 33)):
        q, k, v = (torch.randn(2, h, n, size).to(dtype) for h, n in ((4, rows), (2, keys), (2, keys)))
        check(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), q, k, v)
        k, v = torch.randn(2, 4, keys, size).to(dtype), torch.randn(2, 4, keys, size + 3).to(dtype)
        check(F.scaled_dot_product_attention, q, k, v, torch.rand(2, 1, rows, keys) > 0.2)
        check(F.scaled_dot_product_attention, q, k, v, torch.randn(rows, keys).to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("tokens_first", [False, True])
def test_decoding_attention_with_split_keys_matches_eager(dtype, tokens_first):
    """With few heads and many keys, the keys are split into parts, whose results are weighted by their log-sum-exp."""
    for rows, keys in ((1, 2048), (3, 1536)):
        q, k, v = (torch.randn(1, h, n, 24).to(dtype) for h, n in ((2, rows), (1, keys), (1, keys)))
        if tokens_first:
            k, v = k.transpose(1, 2).contiguous(), v.transpose(1, 2).contiguous()

        def attend(q, k, v, mask=None):
            k, v = (x.transpose(1, 2) if tokens_first else x for x in (k, v))
            mask = mask.to(q.dtype) if mask is not None and mask.dtype != torch.bool else mask
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True).transpose(1, 2).flatten(2)

        check(attend, q, k, v)
        seen = torch.rand(rows, keys) > 0.2
        seen[:, : keys // 2] = False  # masks all keys of some parts
        check(lambda q, k, v: attend(q, k, v, seen), q, k, v)
        seen[0] = False  # masks all keys of a row
        check(lambda q, k, v: attend(q, k, v, seen), q, k, v)
        added = torch.randn(1, 2, 1, keys)
        added[..., 700:] = torch.finfo(dtype).min
        check(lambda q, k, v: attend(q, k, v, added), q, k, v)


def test_row_masked_with_lowest_finite_number_averages_values():
    """Libraries mask with the lowest finite number instead of -inf. If it masks a whole row, eager averages the values."""
    for rows in (1, 40):
        q, k, v = (torch.randn(1, 2, n, 16) for n in (rows, 50, 50))
        mask = torch.zeros(rows, 50)
        mask[0] = torch.finfo(torch.float32).min
        check(F.scaled_dot_product_attention, q, k, v, mask)
        mask[0, :] = -torch.inf  # masks the row completely
        check(F.scaled_dot_product_attention, q, k, v, mask)


def test_nan_and_infinite_scores_propagate_as_in_eager():
    """The row maximum ignores NaN, but the result of the row must be NaN."""
    q, k, v = (torch.randn(1, 1, n, 16) for n in (40, 50, 50))
    q[0, 0, 3, 2] = torch.nan
    q[0, 0, 5] = torch.inf
    q[0, 0, 7] = 1e30
    check(F.scaled_dot_product_attention, q, k, v)
    check(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), q, k, v)


@pytest.mark.parametrize("order", [(0, 1, 3, 2), (0, 3, 1, 2), (3, 2, 0, 1)])
def test_attention_result_permuted_by_its_consumer_matches_eager(order):
    """Found by fuzz (graph 200046): the consumer's permutation was applied to kernels that write the rows of a head before its columns."""
    x = [torch.randn(2, 3, n, 24) for n in (20, 23, 23)]
    weight = torch.randn((2, 3, 20, 24)[order[3]], 2)

    def permuted(q, k, v, weight):
        return F.scaled_dot_product_attention(q, k, v).permute(order) @ weight

    check(permuted, *x, weight)
    check_gradient(permuted, *x, weight)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_attention_with_symbolic_head_size_matches_eager(dtype, causal):
    """The scale is 1 / sqrt of a size that is known at the call."""
    torch._dynamo.reset()
    fn = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal)  # noqa: E731
    compiled = compiled_strictly(fn, dynamic=True)
    for sizes in ((2, 3, 9, 11), (1, 4, 20, 64)):
        inputs = [torch.randn(sizes, generator=torch.Generator().manual_seed(i)).to(dtype) for i in range(3)]
        for wanted in (False, True):
            def results(run, values, wanted=wanted):
                values = [v.detach().clone().requires_grad_(wanted) for v in values]
                out = run(*values)
                gradients = torch.autograd.grad(out, values, torch.ones_like(out)) if wanted else []
                return [out.detach(), *(g.contiguous() for g in gradients)]  # torch does not guarantee the strides of gradients

            assert_numbers(results(compiled, inputs), [results(fn, inputs)], results(fn, [x.double() for x in inputs]))

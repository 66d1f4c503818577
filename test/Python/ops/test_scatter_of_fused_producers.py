"""Tests scatters that compute their rows' producers in the same kernel: rows of tables, weighted, masked and cast rows."""

import pytest
import torch
import torch.nn.functional as F
from numbers_rule import check, check_gradient

BAG = torch.tensor([3, 0, 0, 5, 3, 3, 1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int32, torch.uint8])
@pytest.mark.parametrize("width", [2, 17, 64, 300])
def test_index_add_of_gathered_rows_matches_eager(dtype, width):
    table = (torch.randn(40, width) * 9).abs().to(dtype)
    index = torch.tensor([39, 0, 7, 7, 12, 3, 39])
    check(lambda t, i, b: t.new_zeros(6, width).index_add(0, b, t[i]), table, index, BAG)


@pytest.mark.parametrize("width", [2, 17, 27, 64, 300, 1100])
@pytest.mark.parametrize("order", ["runs", "turns", "one", "any"])
def test_scatter_of_rows_to_repeated_indices_matches_eager(width, order):
    """Indices repeat, alternate, are all equal, or recur later. A row held in registers is stored before it is read again."""
    to = {"runs": [0, 0, 0, 2, 2, 5, 5, 5, 5, 1], "turns": [3, 4] * 5, "one": [2] * 10, "any": [5, 0, 0, 5, 3, 3, 0, -1, 5, 5]}[order]
    to, rows, into = torch.tensor(to), torch.randn(10, width), torch.randn(6, width)
    check(lambda x, i, r: torch.index_put(x, (i,), r, accumulate=True), into, to, rows)
    to = to % 6
    check(lambda x, i, r: x.index_add(0, i, r), into, to, rows)
    check(lambda x, i, r: x.index_add(0, i, r), into.bfloat16(), to, rows.bfloat16())
    check(lambda x, i, r: x.index_reduce(0, i, r, "amax"), into, to, rows)
    check(lambda x, i, r: x.index_reduce(0, i, r, "prod"), into, to, rows)
    check(lambda x, i, r: x.index_reduce(1, i, r, "amin"), into.expand(3, 6, width), to, rows.expand(3, 10, width))
    check(lambda x, i, r: x.index_copy(0, i[:1], r[:1]), into, to, rows)


def test_scatter_of_weighted_masked_and_cast_rows_matches_eager():
    table, index, weight = torch.randn(40, 33), torch.randint(0, 40, (7,)), torch.randn(7)
    into = torch.randn(6, 33)
    check(lambda t, i, b, w, x: x.index_add(0, b, t[i] * w[:, None]), table, index, BAG, weight, into)
    check(lambda t, i, b, w, x: x.index_add(0, b, torch.where((w > 0)[:, None], t[i], 0.0)), table, index, BAG, weight, into)
    check(lambda t, i, b, w, x: x.index_add(0, b, t[i].float() + w), table.half(), index, BAG, torch.randn(33), into)
    check(lambda t, i, b, x: torch.index_put(x, (b,), t[i] - t[i + 1]), table, index.clamp(max=38), torch.tensor([3, 0, 1, 5, 2, 4, 3])[:6].repeat(2)[:7], into.repeat(2, 1))


def test_scatter_of_rows_in_several_dimensions_matches_eager():
    table, index = torch.randn(5, 40, 24), torch.randint(0, 40, (3, 7))
    check(lambda t, i, b: t.new_zeros(6, 24).index_put((b,), t[0][i], accumulate=True), table, index, torch.randint(0, 6, (3, 7)))
    check(lambda x, b: x.new_zeros(5, 6, 24).index_add(1, b, x.relu()), torch.randn(5, 7, 24), BAG)
    check(lambda x, b: x.new_zeros(5, 6, 24).index_add(1, b, x.transpose(0, 1) * 2), torch.randn(7, 5, 24), BAG)


def test_scatter_of_rows_with_another_consumer_matches_eager():
    table, index = torch.randn(40, 24), torch.randint(0, 40, (7,))

    def fn(t, i, b):
        rows = t[i] * 2
        return t.new_zeros(6, 24).index_add(0, b, rows), rows

    check(fn, table, index, BAG)


def test_scatter_with_symbolic_sizes_matches_eager():
    check(lambda t, i, b: t.new_zeros(6, 24).index_add(0, b, t[i]), torch.randn(40, 24), torch.randint(0, 40, (7,)), BAG, dynamic=True)


def test_out_of_range_index_of_fused_scatter_raises_index_error():
    compiled = torch.compile(lambda t, i, b: t.new_zeros(6, 24).index_add(0, b, t[i]), backend="tilewright", options={"strict": True})
    with pytest.raises(IndexError, match="index 40 is out of range for a dimension of size 40"):
        compiled(torch.randn(40, 24), torch.tensor([0, 1, 40, 3, 4, 5, 6]), BAG)
    with pytest.raises(IndexError, match="index 6 is out of range for a dimension of size 6"):
        compiled(torch.randn(40, 24), torch.tensor([0, 1, 2, 3, 4, 5, 6]), BAG + 1)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag_gradient_matches_eager(mode):
    table, index, offsets = torch.randn(50, 40), torch.randint(0, 50, (30,)), torch.tensor([0, 4, 4, 19, 30])
    check_gradient(lambda t: F.embedding_bag(index, t, offsets, mode=mode), table)
    check_gradient(lambda t: F.embedding_bag(index % 8, t, offsets, mode=mode, padding_idx=3), table)
    check_gradient(lambda t: F.embedding_bag(index, t, offsets, mode=mode, include_last_offset=True), table)
    check_gradient(lambda t: F.embedding_bag(index.view(5, 6), t, mode=mode), table)
    if mode == "sum":
        check_gradient(lambda t, w: F.embedding_bag(index, t, offsets, mode=mode, per_sample_weights=w), table, torch.randn(30))

"""If eager refuses a call because of its data, the compiled program refuses the call, too, instead of returning an
arbitrary value."""

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import compiled_strictly

NAN = float("nan")
COUNTS = torch.tensor([7, -8, 9])
IMAGE = torch.tensor([[[[5.0, 6.0], [7.0, 8.0]], [[1.0, 2.0], [3.0, 4.0]]]])
PLACES = torch.tensor([[[[0, 3], [9, 15]], [[1, 2], [8, 12]]]])


def with_place(place):
    """Returns PLACES with another index in the first channel."""
    places = PLACES.clone()
    places[0, 0, 1, 1] = place
    return places


# name: (function, valid arguments, arguments that cause an error, common part of the error messages of eager and Tilewright)
REFUSED = {
    "floor_divide": (lambda a, b: a // b, (COUNTS, torch.tensor([2, 3, -4])), (COUNTS, torch.tensor([2, 0, 1])), "ZeroDivisionError"),
    "div trunc": (lambda a, b: torch.div(a, b, rounding_mode="trunc"), (COUNTS, torch.tensor([2, 3, -4])), (COUNTS, torch.tensor([2, 0, 1])), "ZeroDivisionError"),
    "remainder": (lambda a, b: a % b, (COUNTS, torch.tensor([2, 3, -4])), (COUNTS, torch.tensor([2, 0, 1])), "ZeroDivisionError"),
    "fmod": (lambda a, b: torch.fmod(a, b), (COUNTS.to(torch.uint8), torch.tensor([2, 3, 4])), (COUNTS, torch.tensor([2, 0, 1])), "ZeroDivisionError"),
    "remainder of a number": (lambda b: 7 % b, (torch.tensor([2, 3]),), (torch.tensor([0, 3]),), "ZeroDivisionError"),
    "masked_scatter": (lambda x, m, s: x.masked_scatter(m, s), (torch.zeros(4), torch.tensor([True, False, True, False]), torch.ones(2)),
                       (torch.zeros(4), torch.tensor([True, False, True, True]), torch.ones(2)), "Number of elements of source < number of ones in mask"),
    "index_put": (lambda x, m, v: x.index_put((m,), v), (torch.zeros(4, 3), torch.tensor([True, False, True, False]), torch.ones(2, 3)),
                  (torch.zeros(4, 3), torch.tensor([True, False, True, True]), torch.ones(2, 3)), "shape mismatch: value tensor of shape [2, 3] cannot be broadcast to"),
    "binary_cross_entropy": (lambda x, y: F.binary_cross_entropy(x, y), (torch.tensor([0.0, 0.3, 1.0]), torch.ones(3)), (torch.tensor([0.0, 1.1, 1.0]), torch.ones(3)),
                             "all elements of input should be between 0 and 1"),
    "max_unpool2d": (lambda x, i: F.max_unpool2d(x, i, 2), (IMAGE, PLACES), (IMAGE, with_place(-1)), "Found an invalid max index"),
    "max_unpool2d beyond a channel": (lambda x, i: F.max_unpool2d(x, i, 2), (IMAGE, PLACES), (IMAGE, with_place(16)), "Found an invalid max index"),
    "embedding_bag": (lambda w, i, o: F.embedding_bag(i, w, o), (torch.eye(4), torch.tensor([0, 1, 3]), torch.tensor([0, 2])),
                      (torch.eye(4), torch.tensor([0, 1, 3]), torch.tensor([1, 2])), "offsets[0] has to be 0"),
    "segment_reduce": (lambda x, n: torch.segment_reduce(x, "sum", lengths=n), (torch.ones(4), torch.tensor([1, 3])), (torch.ones(4), torch.tensor([1, 2])),
                       "segment_reduce(): Expected all rows of lengths along axis to sum to data.size"),
}  # fmt: skip
BAD_DISTRIBUTIONS = {
    "multinomial": (lambda p: torch.multinomial(p, 2), [0.2, 0.8, 0.1], [0.2, -0.8, 0.1], "probability tensor contains either `inf`, `nan` or element < 0"),
    "multinomial of NaN": (lambda p: torch.multinomial(p, 2, True), [0.2, 0.8, 0.1], [0.2, NAN, 0.1], "probability"),
    "multinomial of nothing": (lambda p: torch.multinomial(p, 2, True), [0.2, 0.8, 0.1], [0.0, 0.0, 0.0], "invalid multinomial distribution (sum of probabilities <= 0)"),
    "bernoulli": (lambda p: torch.bernoulli(p), [0.0, 0.5, 1.0], [0.0, 0.5, 1.5], "Expected p_in >= 0 && p_in <= 1 to be true, but got false."),
    "bernoulli of NaN": (lambda p: torch.bernoulli(p), [0.0, 0.5, 1.0], [0.0, 0.5, NAN], "Expected p_in >= 0 && p_in <= 1 to be true, but got false."),
    "normal": (lambda s: torch.normal(s - 1, s), [0.0, 1.0, 2.0], [-1.0, 1.0, 2.0], "normal expects all elements of std >= 0.0"),
}  # fmt: skip


def refused_alike(compiled, function, bad, text):
    with pytest.raises(RuntimeError) as theirs:
        function(*bad)
    with pytest.raises(RuntimeError, match=r"test_data_dependent_errors.py:\d+|functional.py:\d+") as ours:
        compiled(*bad)
    assert text in str(theirs.value) and text in str(ours.value)


@pytest.mark.parametrize("name", REFUSED)
def test_data_that_eager_refuses_raises_its_error(name):
    function, good, bad, text = REFUSED[name]
    torch._dynamo.reset()
    compiled = compiled_strictly(function)
    for _ in range(2):
        torch.testing.assert_close(compiled(*good), function(*good), rtol=1e-6, atol=1e-6)
        refused_alike(compiled, function, bad, text)


def test_decreasing_embedding_bag_offsets_are_refused():
    """Eager refuses decreasing offsets or returns undefined values, depending on the mode and on its kernels for the CPU.
    The compiled program always refuses them."""
    weight, rows = torch.eye(4), torch.tensor([0, 1, 3])
    for mode in ("sum", "mean", "max"):
        torch._dynamo.reset()
        compiled = compiled_strictly(lambda offsets: F.embedding_bag(rows, weight, offsets, mode=mode))
        good = torch.tensor([0, 1, 1])
        torch.testing.assert_close(compiled(good), F.embedding_bag(rows, weight, good, mode=mode), rtol=1e-6, atol=1e-6)
        with pytest.raises(RuntimeError, match=r"offsets of embedding_bag must not fall: .*test_data_dependent_errors.py:\d+"):
            compiled(torch.tensor([0, 2, 1]))


@pytest.mark.parametrize("name", BAD_DISTRIBUTIONS)
def test_invalid_distribution_parameters_raise_the_error_of_eager(name):
    function, good, bad, text = BAD_DISTRIBUTIONS[name]
    torch._dynamo.reset()
    compiled = compiled_strictly(function)
    assert compiled(torch.tensor(good)).shape == function(torch.tensor(good)).shape
    refused_alike(compiled, function, (torch.tensor(bad),), text)


def test_integer_division_by_constant_zero_raises_error():
    torch._dynamo.reset()
    compiled = compiled_strictly(lambda x: x // 0 if x.dtype is torch.int64 else x / 0)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(COUNTS)
    assert torch.isinf(compiled(torch.tensor([1.0, -2.0]))).all()


MASK = torch.tensor([True, False, True, True, False, False])
CHOSEN = {
    "rows": lambda x, v: x.index_put((MASK,), v[:3]), "added": lambda x, v: x.index_put((MASK,), v[:3], accumulate=True),
    "one row": lambda x, v: x.index_put((MASK,), v[:1], accumulate=True), "a column": lambda x, v: x.index_put((MASK,), v[:3, :1]),
    "elements": lambda x, v: x.index_put((x > 100,), v.new_zeros(0)), "both dimensions": lambda x, v: x.index_put((MASK[:, None] & (torch.arange(5) < 2),), v.flatten()[:6]),
}  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CHOSEN)
def test_index_put_with_boolean_mask_equals_eager(name, dynamic):
    torch._dynamo.reset()
    x, v = torch.randn(6, 5, generator=torch.Generator().manual_seed(0)), torch.randn(6, 5, generator=torch.Generator().manual_seed(1))
    compiled = compiled_strictly(CHOSEN[name], dynamic=dynamic)
    assert torch.equal(compiled(x, v), CHOSEN[name](x, v))


def test_assignment_by_mask_of_second_dimension_equals_eager():
    def function(x, v):
        x = x.clone()
        x[:, MASK] = v
        return x

    torch._dynamo.reset()
    for v in (torch.randn(3, 3, 5), torch.randn(3, 5), torch.randn(3, 1, 1)):
        assert torch.equal(compiled_strictly(function)(torch.zeros(3, 6, 5), v), function(torch.zeros(3, 6, 5), v))

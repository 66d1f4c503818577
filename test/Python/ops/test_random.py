"""Tests random numbers over the whole range of their arguments: distributions, and independence of calls, threads and shapes."""

import math

import pytest
import torch

from tilewright.dynamo.backend import tilewright

COUNT = 200_000


def draw(function, calls=1):
    torch.manual_seed(0)
    compiled = torch.compile(function, backend=tilewright, options={"strict": True})
    results = [compiled() for _ in range(calls)]
    return results[0] if calls == 1 else results


def assert_uniform(numbers, bins=64):
    """Checks `numbers` in [0, 1): the chi-squared statistic of the histogram is within six standard deviations of its mean."""
    counts = torch.histc(numbers.double(), bins, 0, 1)
    expected = numbers.numel() / bins
    chi = float(((counts - expected) ** 2 / expected).sum())
    assert abs(chi - (bins - 1)) < 6 * math.sqrt(2 * (bins - 1)), counts


RANGES = [(0, 64), (-17, 47), (0, 3 << 29), (0, 2**31), (0, 3 << 30), (-(2**31), 2**31), (0, 2**32), (0, 3 << 31), (0, 2**45 + 12345), (0, 3 << 61),
          (-(3 << 61), 3 << 61), (-(2**63), 2**63 - 1)]  # fmt: skip


@pytest.mark.parametrize("low,high", RANGES)
def test_randint_is_uniform_in_its_range(low, high):
    numbers = draw(lambda: torch.randint(low, high, (COUNT,)))
    assert int(numbers.min()) >= low and int(numbers.max()) < high
    width = float(high - low)
    shifted = numbers.double() / width - low / width
    assert_uniform(shifted, 64)
    if width > 1e9:  # the low bits must be uniform, too
        assert_uniform((numbers & 1023).double() / 1024, 64)


def test_randint_of_small_range_is_uniform():
    counts = torch.bincount(draw(lambda: torch.randint(0, 7, (COUNT,))), minlength=7)
    assert ((counts - COUNT / 7).abs() < 6 * math.sqrt(COUNT / 7)).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_rand_is_uniform(dtype):
    numbers = draw(lambda: torch.rand(COUNT, dtype=dtype))
    assert numbers.dtype == dtype and numbers.min() >= 0 and numbers.max() < 1
    if dtype in (torch.float32, torch.float64):
        assert_uniform(numbers)
        digits = {torch.float32: 14, torch.float64: 40}[dtype]
        assert_uniform((numbers * 2**digits) % 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_randn_is_normal(dtype):
    numbers = draw(lambda: torch.randn(COUNT, dtype=dtype)).double()
    assert_uniform(0.5 * torch.erfc(-numbers / math.sqrt(2)))
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3)):
        spread = math.sqrt(math.prod(range(1, 4 * power, 2)) / COUNT)
        assert abs(float(numbers.pow(power).mean()) - moment) < 6 * spread


DISTRIBUTIONS = {
    "exponential": (lambda: torch.empty(COUNT).exponential_(2.5), lambda x: 1 - torch.exp(-2.5 * x)),
    "cauchy": (lambda: torch.empty(COUNT).cauchy_(1.0, 3.0), lambda x: 0.5 + torch.atan((x - 1) / 3) / math.pi),
    "log_normal": (lambda: torch.empty(COUNT).log_normal_(0.5, 0.7), lambda x: 0.5 * torch.erfc(-(x.log() - 0.5) / 0.7 / math.sqrt(2))),
    "uniform": (lambda: torch.empty(COUNT).uniform_(-3, 5), lambda x: (x + 3) / 8),
    "normal": (lambda: torch.empty(COUNT).normal_(-3, 5), lambda x: 0.5 * torch.erfc(-(x + 3) / 5 / math.sqrt(2))),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_continuous_distribution_has_expected_cdf(name):
    function, cumulative = DISTRIBUTIONS[name]
    assert_uniform(cumulative(draw(function).double()).clamp(0, 1 - 1e-12))


@pytest.mark.parametrize("p", [0.001, 0.1, 0.5, 0.93])
def test_bernoulli_geometric_and_dropout_have_expected_means(p):
    spread = 6 * math.sqrt(p * (1 - p) / COUNT)
    assert abs(float(draw(lambda: torch.bernoulli(torch.full((COUNT,), p))).mean()) - p) < spread
    assert abs(float((draw(lambda: torch.nn.functional.dropout(torch.ones(COUNT), p)) == 0).double().mean()) - p) < spread
    counts = draw(lambda: torch.empty(COUNT, dtype=torch.float64).geometric_(p))
    assert counts.min() >= 1 and abs(float(counts.mean()) - 1 / p) < 6 * math.sqrt((1 - p) / p**2 / COUNT)


def test_no_exponential_number_is_zero():
    """multinomial divides by exponential numbers."""
    assert draw(lambda: torch.empty(1 << 24).exponential_()).min() > 0


@pytest.mark.parametrize("replacement", [False, True])
def test_multinomial_follows_weights(replacement):
    weights = torch.tensor([0.0, 1.0, 2.0, 0.0, 5.0])
    rows = weights.expand(50_000, 5)
    drawn = draw(lambda: torch.multinomial(rows, 2, replacement=replacement))
    counts = torch.bincount(drawn[:, 0], minlength=5).double() / 50_000
    assert counts[0] == counts[3] == 0
    assert ((counts - weights / 8).abs() < 6 * torch.sqrt(weights / 8 / 50_000) + 1e-12).all()


def test_random_numbers_of_calls_and_ops_are_uncorrelated():
    def correlation(a, b):
        return abs(float(((a - a.mean()) * (b - b.mean())).mean() / (a.std() * b.std())))

    (a, b), (c, d) = draw(lambda: (torch.randn(COUNT), torch.randn(COUNT)), calls=2)
    rows = draw(lambda: torch.randn(2, COUNT))
    for x, y in ((a, b), (a, c), (b, d), (a, d), (rows[0], rows[1]), (a[1:], a[:-1])):
        assert correlation(x.double(), y.double()) < 6 / math.sqrt(COUNT)


def test_numbers_do_not_depend_on_threads():
    before = torch.get_num_threads()

    def function():
        return torch.randn(COUNT), torch.randint(0, 3 << 40, (COUNT,))

    try:
        results = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            torch._dynamo.reset()
            results.append(draw(function))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(x, y) for x, y in zip(*results))


class Drawing(torch.nn.Module):
    def forward(self, x):
        y = torch.nn.functional.dropout(x * 2, 0.3) + torch.rand_like(x) + torch.randn(x.shape)
        y = y + torch.empty_like(x).exponential_() + torch.randint(0, 9, x.shape) + torch.bernoulli(torch.full_like(x, 0.4))
        return y.exp().sum(-1)


@pytest.mark.parametrize("training", [False, True])
def test_random_eager_option_gives_numbers_of_eager(training):
    x = torch.randn(5, 7, requires_grad=training)
    torch.manual_seed(3)
    want = Drawing()(x)
    torch.manual_seed(3)
    got = torch.compile(Drawing(), backend=tilewright, options={"random": "eager", "strict": True})(x)
    torch.testing.assert_close(got, want)
    if training:
        torch.testing.assert_close(*(torch.autograd.grad(r.sum(), x)[0] for r in (got, want)))


def test_inductor_fallback_random_setting_gives_numbers_of_eager():
    with torch._inductor.config.patch(fallback_random=True):
        torch.manual_seed(3)
        got = torch.compile(lambda: torch.rand(9) * 2, backend=tilewright)()
    torch.manual_seed(3)
    assert torch.equal(got, torch.rand(9) * 2)

"""Arguments that a graph writes: the kernel that computes the new values writes in place if the old values are not
needed later."""

import copy
import warnings

import pytest
import torch

import tilewright
from numbers_rule import assert_numbers, compiled_strictly, with_threads

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1),
    "momentum": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
    "adam": lambda p: torch.optim.Adam(p, 1e-2),
    "adam-loop": lambda p: torch.optim.Adam(p, 1e-2, foreach=False, weight_decay=0.1),
    "adamw": lambda p: torch.optim.AdamW(p, 1e-2),
    "adamw-amsgrad": lambda p: torch.optim.AdamW(p, 1e-2, amsgrad=True, maximize=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, 1e-2, momentum=0.9, centered=True),
}
SIZES = [(96, 64), (96,), (7, 33), (1,), (3, 5, 3, 3)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_three_optimizer_steps_match_eager_at_unchanged_addresses(name, dtype):
    """Checks parameters and states by the numbers rule, and that their addresses do not change."""
    torch.manual_seed(3)
    start = [torch.randn(size).to(dtype) for size in SIZES] + [torch.zeros(50, dtype=dtype)]  # for zeros, only the update remains
    gradients = [[torch.randn(p.shape).to(dtype) for p in start] for _ in range(3)]

    def train(compile, cast=lambda x: x):
        parameters = [cast(p.clone()).requires_grad_() for p in start]
        optimizer = OPTIMIZERS[name](parameters)
        places = [p.data_ptr() for p in parameters]
        step = compile(optimizer.step)
        for each in gradients:
            for p, g in zip(parameters, each):
                p.grad = cast(g.clone())
            versions = [p._version for p in parameters]
            step()
            assert all(p._version > v for p, v in zip(parameters, versions))
        assert [p.data_ptr() for p in parameters] == places
        states = [value for s in optimizer.state.values() for value in s.values() if isinstance(value, torch.Tensor)]
        return [x.detach().clone() for x in (*parameters, *states)]

    torch._dynamo.reset()
    tilewright.report(clear=True)
    ours = train(lambda step: torch.compile(step, backend="tilewright", options={"strict": True}))
    eager = [with_threads(n, train, lambda step: step) for n in (1, 2)]
    assert_numbers(ours, eager, train(lambda step: step, torch.Tensor.double))
    for graph in tilewright.report():
        assert not graph.refusals


@pytest.mark.parametrize("name", ["adam", "adamw", "adamw-amsgrad"])
def test_adam_steps_from_zero_have_at_most_twice_the_error_of_eager(name):
    """1 - 0.999 ** step, which eager computes with Python's floats, must not lose digits: for zeros, only the update
    remains."""
    gradients = torch.randn(3, 500)

    def train(compile, dtype=torch.float32):
        p = torch.zeros(500, dtype=dtype, requires_grad=True)
        step = compile(OPTIMIZERS[name]([p]).step)
        for each in gradients:
            p.grad = each.to(dtype)
            step()
        return p.detach().double()

    exact = train(lambda step: step, torch.float64)
    error = lambda x: (x - exact).square().mean().sqrt() / exact.square().mean().sqrt()
    torch._dynamo.reset()
    ours = train(lambda step: torch.compile(step, backend="tilewright", options={"strict": True}))
    assert error(ours) <= 2 * max(error(train(lambda step: step)), torch.finfo(torch.float32).eps)


def launches(optimizer, size):
    """Returns the launches on more than one number in a step of one parameter."""
    p = torch.randn(size).requires_grad_()
    p.grad = torch.randn(size)
    made = optimizer([p])
    torch._dynamo.reset()
    step = torch.compile(made.step, backend="tilewright", options={"strict": True})
    for _ in range(2):
        step()
    tilewright.report(clear=True)
    torch._dynamo.reset()
    step()
    call = tilewright.report()[-1].calls[0]
    call.profile(True)
    step()
    return [t for t in call.times() if t["bytes"] > 1000]


@pytest.mark.parametrize("name, arrays", [("momentum", 3 + 2), ("adam", 4 + 3), ("adamw", 4 + 3)])
def test_optimizer_step_reads_and_writes_each_array_once(name, arrays):
    [kernel] = launches(OPTIMIZERS[name], (96, 64))
    assert 0 <= kernel["bytes"] - arrays * 96 * 64 * 4 < 100


def run(fn, *arguments, **options):
    torch._dynamo.reset()
    with torch.no_grad():
        return compiled_strictly(fn, **options)(*arguments)


def both(fn, *arguments):
    """Checks that results and arguments after the call equal eager's."""
    mine, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
    with torch.no_grad():
        expected = fn(*theirs)
    torch.testing.assert_close(run(fn, *mine), expected)
    torch.testing.assert_close(mine, theirs)


def test_old_values_are_read_before_they_are_overwritten():
    def swap(x, y):
        z = x.clone()
        x.copy_(y)
        y.copy_(z)

    def returns_old(x):
        old = x.clone()
        x.add_(1)
        return old

    def transposed(x):
        x.copy_(x.t() * 2)

    def moved(x):
        x[1:] = x[:-1] * 2

    def normed(x):
        x.div_(x.sum(-1, keepdim=True))

    def read_later(x, y):
        z = x @ y
        x.mul_(2)
        return z, x @ y, x.sum()

    def total(x):
        x.sub_(x.mean())

    def by_rows(x, y):
        x.add_(x[0].clone()).mul_(y)
        return x.cumsum(0)

    def twice(x, y):
        new = torch.relu(x) + y
        x.copy_(new)
        y.copy_(new)
        return new

    x, y = torch.randn(48, 48), torch.randn(48, 48)
    both(swap, x, y)
    both(returns_old, x)
    both(transposed, x)
    both(moved, x)
    both(normed, x)
    both(read_later, x, y)
    both(total, x)
    both(by_rows, x, y)
    both(twice, x, y)
    both(lambda x: x.t().add_(1), x)
    both(lambda x: x[3].zero_(), x)
    both(lambda x: x.view(-1)[5:9].fill_(7), x)
    both(lambda x, i: x.index_add_(0, i, x[i] * 2), x, torch.tensor([1, 1, 5]))


def test_in_place_write_to_strided_argument_equals_eager():
    """Arguments with permuted dimensions or with gaps are written in place, too."""
    base = torch.randn(6, 8, 10)
    for x in (base.permute(2, 0, 1), base[:, ::2], base[..., 0], base[1:, 2:].transpose(0, 1)):
        mine, theirs = base.clone(), base.clone()
        a, b = (torch.as_strided(m, x.shape, x.stride(), x.storage_offset()) for m in (mine, theirs))
        run(lambda v: v.mul_(3).add_(1), a)
        b.mul_(3).add_(1)
        torch.testing.assert_close(mine, theirs)


def test_in_place_write_to_another_layout_than_compiled_equals_eager():
    """If an argument has another layout, the call uses a dense copy, whose new values are copied back."""
    x = torch.randn(8, 8)
    torch._dynamo.reset()
    fn = compiled_strictly(lambda v: v.add_(1), dynamic=True)
    with torch.no_grad():
        for each in (x.clone(), x.t().clone().t(), torch.randn(8, 16)[:, ::2], torch.randn(5, 7)):
            expected = each + 1
            version = each._version
            fn(each)
            assert torch.equal(each, expected) and each._version > version


def test_model_uses_parameters_that_a_compiled_optimizer_wrote():
    """Parameters are packed again, because the step increments torch's version counters."""
    model, x = torch.nn.Linear(64, 48), torch.randn(32, 64)
    forward = torch.compile(model, backend="tilewright", options={"strict": True})
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    step = torch.compile(optimizer.step, backend="tilewright", options={"strict": True})
    for _ in range(3):
        with torch.no_grad():
            torch.testing.assert_close(forward(x), model(x))
        model.weight.grad, model.bias.grad = torch.randn(48, 64), torch.randn(48)
        step()


def test_batch_norm_writes_running_statistics_in_place():
    """Training a batch norm writes its buffers."""
    norm = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU())
    other = copy.deepcopy(norm)
    torch._dynamo.reset()
    compiled = compiled_strictly(norm)
    place = norm[1].running_mean.data_ptr()
    for _ in range(3):
        x = torch.randn(2, 3, 9, 9)
        compiled(x).sum().backward()
        other(x).sum().backward()
    assert norm[1].running_mean.data_ptr() == place
    torch.testing.assert_close(dict(norm.named_buffers()), dict(other.named_buffers()))
    torch.testing.assert_close([p.grad for p in norm.parameters()], [p.grad for p in other.parameters()], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("check", ["eager", "reference"])
def test_in_place_write_passes_both_checks(check):
    x = torch.randn(33, 17)
    expected = x * 2 + 1
    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(lambda v: v.mul_(2).add_(1), backend="tilewright", options={"check": check})(x)
    torch.testing.assert_close(x, expected)


def test_in_place_writes_between_eager_segments_equal_eager():
    """If compiled segments and eager ops alternate, arguments are written last."""

    def fn(x, y):
        z = torch.fft.fft(x * 2).real  # complex numbers are not compiled
        x.add_(1)
        y.copy_(z + x)
        return z

    x, y = torch.randn(16), torch.randn(16)
    mine, theirs = (x.clone(), y.clone()), (x.clone(), y.clone())
    torch._dynamo.reset()
    with torch.no_grad(), pytest.warns(UserWarning, match="run in eager"):
        result = torch.compile(fn, backend="tilewright")(*mine)
    torch.testing.assert_close(result, fn(*theirs))
    torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
def test_views_of_written_arguments_alias_as_in_eager(dynamic, eager):
    """Found by the fuzzer (graphs 407026, 414671, 416495): if sizes are symbols, AOTAutograd creates a result that is
    a view of an argument at the offset of the graph's result. This offset was 0, so that the result was another part of
    the argument."""

    def fn(x, y):
        first, second = torch.tensor_split(x, 2, -1)
        second.add_(2)
        z = torch.fft.fft(second).real if eager else second * 3
        y.mul_(2)
        return second, z, y[1:].t(), first, (y + 1)[1:], y

    for sizes in ((3, 4), (5, 6)):
        base = torch.randn(2, 7, *sizes)
        mine, theirs = base.clone(), base.clone()
        torch._dynamo.reset()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = torch.compile(fn, backend="tilewright", fullgraph=True, dynamic=dynamic)(mine[1], mine[0, 0])
            wanted = fn(theirs[1], theirs[0, 0])
        torch.testing.assert_close(mine, theirs)
        for ours, eagers in zip(got, wanted):
            torch.testing.assert_close(ours, eagers)
            inside = eagers.untyped_storage().data_ptr() == theirs.untyped_storage().data_ptr()
            assert (ours.untyped_storage().data_ptr() == mine.untyped_storage().data_ptr()) == inside
            assert not inside or (ours.stride(), ours.storage_offset()) == (eagers.stride(), eagers.storage_offset())

"""Arguments that a graph writes while views of them are passed between its compiled and eager segments, and between
graphs: results equal eager's."""

import pytest
import torch
from torch import nn
from torch._functorch import config as functorch_config

from tilewright.dynamo.backend import tilewright


@torch.library.custom_op("tilewright_written::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@double.register_fake
def _(x):
    return torch.empty_like(x)


@torch.compiler.disable
def breaks(tensor):
    return bool(tensor.sum() > -1e30)


def transposed(x):
    y = x.t()
    x.copy_(double(y) + y)
    return x


def fourier(x):
    y = x.t()
    x.copy_(torch.fft.fft(y).real + y)
    return x


def halves(x):
    a, b = x.chunk(2)
    z = double(a)
    a.add_(b.flip(0) + z)
    b.copy_(z * a)
    return x, a.t()


def written_by_an_eager_segment(x):
    y = x.t()
    z = double(x + 1)
    x.copy_(double(y))
    return x, z


def view_returned(x):
    t = x.t()
    z = double(x)
    x.add_(z)
    return t, z[0:1]


def result_of_eager_and_its_view(x):
    z = double(x)
    w = z[0:1]
    if breaks(w):
        z[0] = 5.0
    w.add_(1.0)
    return z, w


def views_of_one_result(x):
    v = x + 1
    a = v[0:2]
    q = double(a)
    b = v[1:3]
    if breaks(q):
        b.mul_(2)
    a.add_(3)
    return v, a, b, q


def view_of_an_argument(x):
    v = x.view(-1)
    if breaks(v):
        v[0] = 7.0
    x.mul_(2)
    v.add_(double(x).view(-1))
    return x, v


PROGRAMS = [transposed, fourier, halves, written_by_an_eager_segment, view_returned, result_of_eager_and_its_view, views_of_one_result,
            view_of_an_argument]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_values_aliases_and_written_arguments_equal_eager(function):
    mine, theirs = torch.arange(16.0).view(4, 4), torch.arange(16.0).view(4, 4)
    want = function(theirs)
    got = torch.compile(function, backend=tilewright)(mine)
    want, got = (r if isinstance(r, tuple) else (r,) for r in (want, got))
    torch.testing.assert_close(mine, theirs)
    for g, w in zip(got, want, strict=True):
        torch.testing.assert_close(g, w, check_stride=True)
    shared = [[a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() for a in r for b in r] for r in ((*got, mine), (*want, theirs))]
    assert shared[0] == shared[1]


def test_view_of_a_constant_across_a_graph_break_equals_eager():
    def function():
        a = torch.tensor([1])
        a = a[0:1]
        b = a.squeeze()
        a[0] = 0
        if a[0] < 1e5:
            pass
        a[0] = 2
        return b

    assert torch.equal(torch.compile(function, backend=tilewright)(), function())


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x):
        self.count.add_(1)
        return x + self.count


class EagerCounter(Counter):
    def forward(self, x):
        self.count.copy_(double(self.count + 1))
        return x + self.count


@pytest.mark.parametrize("make", [Counter, EagerCounter])
@pytest.mark.parametrize("training", [False, True])
def test_write_to_a_buffer_increments_its_version_once(make, training):
    model = make()
    compiled = torch.compile(model, backend=tilewright)
    for calls in (1, 2):
        compiled(torch.ones(3, requires_grad=training))
        assert model.count._version == calls


def test_write_to_a_strided_argument_increments_its_version_once():
    """The program writes a dense copy, which is copied back."""
    memory = torch.zeros(6)
    argument = memory[::2]
    torch.compile(lambda x: x.add_(1), backend=tilewright)(argument)
    assert memory.tolist() == [1, 0, 1, 0, 1, 0] and memory._version == 1


def test_operator_that_returns_its_argument_equals_eager():
    """The schema does not state that the result shares the argument's memory."""
    library = torch.library.Library("tilewright_written", "FRAGMENT")
    library.define("same(Tensor x) -> Tensor")
    library.impl("same", lambda x: x, "CPU")
    library.impl("same", torch.empty_like, "Meta")

    def function(x):
        y = torch.ops.tilewright_written.same(x)
        x.copy_(x.flip(0) + y.t())
        return x

    mine, theirs = torch.arange(16.0).view(4, 4), torch.arange(16.0).view(4, 4)
    want = theirs.flip(0) + theirs.t()
    # If the environment variable CI is set, torch by default refuses custom operators whose results alias their
    # arguments.
    with functorch_config.patch(error_on_custom_op_aliasing=False):
        torch.testing.assert_close(torch.compile(function, backend=tilewright)(mine), want)
    library._destroy()


@torch.library.custom_op("tilewright_written::fill", mutates_args=("x",))
def fill(x: torch.Tensor, value: float) -> None:
    x.fill_(value)


def filled_in_eager(x):
    v = x[1::3]
    v.add_(1)
    w = v.view(-1)
    fill(v, 1.0)
    v.copy_(w)
    return w, v


def read_by_as_strided(x):
    v = x.as_strided((2,), (2,), 2)
    v.add_(1)
    w = v * 2
    v.mul_(3)
    return w, v + 1


def written_by_as_strided(x):
    v = x[1:]
    v.add_(1)
    u = x.as_strided((2,), (2,), 2)
    u.mul_(2)
    return v.sum(), u + 1


def written_by_as_strided_after_eager(x):
    v = x[1:]
    v.add_(1)
    w = double(v)
    u = x.as_strided((2,), (2,), 2)
    u.mul_(2)
    return w, u + 1


def scattered_without_a_write(x):
    y = torch.slice_scatter(x, torch.ones(2), 0, 0, 2)
    return double(y).sum(), y.as_strided((2,), (2,), 2) + 1


def strided_view_of_a_strided_view(x):
    v = x.as_strided((3,), (1,), 2)
    v.add_(1)
    return v.as_strided((2,), (1,)) + 1, v + 1


def strided_view_of_a_part(x):
    v = x[1:5]
    v.add_(1)
    a, b = x.chunk(2)
    return torch.as_strided(b, (2,), (1,)) + 1, v + 1


def strided_view_before_eager(x):
    v = x[1:5]
    v.add_(1)
    a, b = x.chunk(2)
    return double(torch.as_strided(b, (2,), (1,), 4)), v + 1


def strided_view_of_a_result(x):
    y = torch.slice_scatter(x, torch.ones(2), 0, 0, 2)
    return y.as_strided((2,), (2,), 2), y


def strided_view_of_a_part_of_a_result(x):
    y = torch.slice_scatter(x, torch.ones(2), 0, 0, 2)
    return y[1:].as_strided((2,), (1,)), y


OFFSETS = [
    filled_in_eager, read_by_as_strided, written_by_as_strided, written_by_as_strided_after_eager, scattered_without_a_write,
    strided_view_of_a_strided_view, strided_view_of_a_part, strided_view_before_eager, strided_view_of_a_result, strided_view_of_a_part_of_a_result,
]  # fmt: skip


@pytest.mark.parametrize("first", [0, 1, 2])
@pytest.mark.parametrize("fn", OFFSETS)
def test_absolute_offsets_of_an_argument_that_begins_inside_its_storage(fn, first):
    """Offsets of as_strided, and of views that a custom op writes, are from the beginning of the storage. In eager, a
    tensor that replaces the argument after a write begins at the same offset as the argument."""
    mine, theirs = (torch.arange(1.0, 10.0)[first : first + 6] for _ in range(2))
    got, want = torch.compile(fn, backend="tilewright", fullgraph=True)(mine), fn(theirs)
    torch.testing.assert_close([*got, mine], [*want, theirs], rtol=0, atol=0)


def test_a_long_chain_of_writes_before_an_eager_operator_compiles():
    """The offset at which each of the 1,500 values of the argument begins is found without recursion."""

    def fn(x):
        for number in range(1500):
            x[number % 6 : number % 6 + 1].add_(1)
        fill(x[:1], 3.0)
        return x * 2

    mine, theirs = torch.zeros(6), torch.zeros(6)
    got, want = torch.compile(fn, backend="tilewright", fullgraph=True)(mine), fn(theirs)
    torch.testing.assert_close([got, mine], [want, theirs], rtol=0, atol=0)

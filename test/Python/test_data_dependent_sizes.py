"""Sizes that depend on data: every symbol has a value before it is read, and results equal eager's."""

import pytest
import torch

from tilewright.dynamo.backend import tilewright
from tilewright.fx.recording import RecordedGraph
from tilewright.fx.walker import Imported
from tilewright.runtime.compiled import build

X = torch.arange(1.0, 10.0)


def written(x, n):
    y = x.clone()
    y[: n.item()] += 1
    return y


def summed_between(x, n):
    k = n.item()
    return x[:k].sum() + x[k:].exp().sum()


def product_of_a_slice(x, n):
    return x[: n.item()].unsqueeze(1) @ x.unsqueeze(0)


def counted(x, n):
    k = n.item()
    torch._check(k >= 0)
    return torch.arange(k) * 2, torch.zeros(k + 1)


def chosen(x, n):
    return (x[x > n] * 2).cumsum(0)


FUNCTIONS = [lambda x, n: x[: n.item()].sum(), lambda x, n: x[n.item() :] * 2, written, summed_between, product_of_a_slice, counted, chosen]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dynamic", [None, True])
def test_data_dependent_sizes_match_eager(function, dynamic):
    with torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(function, backend=tilewright, fullgraph=True, dynamic=dynamic)
        for n in (4, 7, 9, 1):
            torch.testing.assert_close(compiled(X, torch.tensor(n)), function(X, torch.tensor(n)))


@pytest.mark.parametrize("n", [0, -2, 20])
def test_data_dependent_slice_end_outside_of_the_tensor_equals_eager(n):
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = torch.compile(lambda x, n: x[: n.item()].sum(), backend=tilewright, fullgraph=True)
        assert compiled(X, torch.tensor(n)) == X[:n].sum()


def test_a_symbol_without_a_value_is_an_error():
    graph = RecordedGraph()
    graph.symbol("u0", 0, 9)
    with pytest.raises(RuntimeError, match="u0"):
        build(Imported(graph), None)

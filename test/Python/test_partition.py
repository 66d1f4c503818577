"""The partition of graphs with ops that run in eager."""

import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

import tilewright
from tilewright.fx.partition import copy_where_no_view_is, sink_waits, split


def strictness(fn, *inputs):
    """Returns the graph report of `fn`, and checks that its results equal eager's."""
    tilewright.report(clear=True)
    with torch.no_grad():
        got = torch.compile(fn, backend="tilewright", fullgraph=True)(*inputs)
        torch.testing.assert_close(got, fn(*inputs))
    (graph,) = tilewright.report()
    return graph


def test_consumers_of_eager_results_are_compiled():
    """Only ops that cannot be imported run in eager. Ops that read the results of these ops are compiled."""

    def chain(x):
        q, r = torch.linalg.qr(x)  # eager
        values = torch.linalg.eigvalsh(r + r.t())  # eager; the operand is compiled
        return (q.relu() @ r).sum(0) * values

    graph = strictness(chain, torch.randn(8, 8))
    assert graph.segments == 2 and {r.target for r in graph.refusals} == {"aten.linalg_qr.default", "aten._linalg_eigh.default"}


def test_complex_ops_form_one_eager_segment():
    graph = strictness(lambda x: torch.fft.rfft(x.relu() * 2).abs().exp().sum(), torch.randn(4, 16) / 8)
    assert graph.segments == 2 and graph.eager_segments == 1


def test_consumers_of_data_dependent_sizes_are_compiled():
    """After nonzero, a size is an ordinary argument of the segment."""
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        graph = strictness(lambda x: (x.nonzero() * 3 + 1).sum(0), torch.tensor([0.0, 1, 2, 0, 3]))
    assert graph.segments >= 1 and {r.target for r in graph.refusals} >= {"aten.nonzero.default"}


def graph_of(*targets):
    """Returns the graph of a chain of calls. Each is (name, target, arguments by name)."""
    graph, nodes = fx.Graph(), {}
    nodes["x"] = graph.placeholder("x")
    for name, target, arguments in targets:
        nodes[name] = graph.call_function(target, tuple(nodes[a] for a in arguments), name=name)
        nodes[name].meta["val"] = torch.empty(4)
    graph.output(nodes[targets[-1][0]])
    return fx.GraphModule(torch.nn.Module(), graph)


def test_waits_sink_to_their_first_consumer():
    import torch.distributed._functional_collectives  # noqa: F401 -- defines the ops

    ops = torch.ops._c10d_functional
    relu, add = torch.ops.aten.relu.default, torch.ops.aten.add.Tensor
    gm = graph_of(("started", ops.wait_tensor.default, ["x"]), ("other", relu, ["x"]), ("waited", ops.wait_tensor.default, ["started"]),
                  ("more", relu, ["other"]), ("total", add, ["more", "waited"]))  # fmt: skip
    sink_waits(gm)
    names = [n.name for n in gm.graph.nodes if n.op == "call_function"]
    assert names == ["other", "more", "started", "waited", "total"]
    gm.graph.lint()
    parts, kinds = split(gm, {"started", "waited"})
    assert list(kinds.values()) == [True, False, True]


def test_eager_view_copies_if_the_strides_do_not_permit_a_view():
    # The result of another segment may have other strides than its fake tensor, with which torch traced the view.
    eager = make_fx(lambda x: torch.ops.aten.view.default(x, [12]))(torch.randn(3, 4))
    copy_where_no_view_is(eager)
    x = torch.randn(4, 3)
    assert torch.equal(eager(x.t()), x.t().reshape(12)) and eager(x.t().contiguous())._is_view()


def test_results_of_eager_segments_have_strides_of_fake_tensors():
    """Found by the fuzzer: the parts of a decomposed op in an eager segment returned a result with another order of
    dimensions than the op itself."""

    @torch.library.custom_op("tilewright_test::transposed", mutates_args=())
    def transposed(x: torch.Tensor) -> torch.Tensor:
        return x.transpose(0, 1).contiguous().transpose(0, 1) + 1

    transposed.register_fake(lambda x: torch.empty(x.shape))
    x = torch.randn(5, 7)
    results = torch.compile(lambda x: (torch.ops.tilewright_test.transposed(x), x.sin()), backend="tilewright", fullgraph=True)(x)
    assert results[0].stride() == (7, 1)
    torch.testing.assert_close(results, (x + 1, x.sin()))


def test_segments_receive_the_symbols_of_their_operands():
    """Found by opinfo: a convolution with a symbolic kernel has sizes with symbols that are not sizes of its result."""

    def f(x, w, b):
        y = torch.nn.functional.conv2d(x, w, padding=1).relu() + b
        return y.flatten(1).softmax(-1), y.shape[2] * 3

    tilewright.report(clear=True)
    compiled = torch.compile(f, backend="tilewright", dynamic=True, fullgraph=True)
    for shapes in (((2, 3, 20, 22), (4, 3, 3, 5)), ((3, 3, 24, 21), (4, 3, 5, 4))):
        arguments = [torch.randn(*shape) for shape in shapes] + [torch.randn(4, 1, 1)]
        torch.testing.assert_close(compiled(*arguments), f(*arguments))
    assert {r.target.split("(")[0] for g in tilewright.report() for r in g.refusals} == {"aten.convolution.default"}

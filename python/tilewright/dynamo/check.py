"""Option check="eager": compiles each node of a graph separately and compares its results with those of eager.

Eager computes all nodes of the graph, and its results are the arguments of both the compiled node and the next nodes.
Therefore an error is reported for the node that causes it. This check finds bugs of the importer and of lowerings,
whereas `check="reference"` finds bugs of a target.

The bound of the error is the numbers rule (docs/conformance.md). The reference is the node, executed in float64. The RMS
error may be at most twice the larger of eager's error and eps times the RMS of the reference. The factor is three for fewer
than 1000 elements. For float64, the bound is 1e-12 of the RMS. Integers and booleans must be equal to those of eager or of
the reference. Random numbers, uninitialized memory, and nodes that cannot be compiled separately are not compared.
`EagerCheck.unchecked` contains the reasons.
"""

from __future__ import annotations

import operator
import warnings

import torch
from torch import fx

from ..fx.outputs import VIEWS
from ..fx.walker import frames, walk

aten = torch.ops.aten

WITHOUT_CONTENTS = ("aten.empty", "aten.new_empty")
POSITIONS = {aten.sort.default: "sort", aten.sort.stable: "sort", aten.topk.default: "topk"}  # indices of equal elements may be in any order


class CheckError(RuntimeError):
    """Raised if the results of a node differ from those of eager by more than the bound."""


def rms(x: torch.Tensor) -> float:
    return x.square().mean().sqrt().item() if x.numel() else 0.0


def widened(value):
    """Converts an argument, which may be a tensor or a dtype, to float64 for the reference."""
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, torch.dtype):
        return torch.float64 if value.is_floating_point else value
    if isinstance(value, (list, tuple)):
        return type(value)(widened(v) for v in value)
    return value


def tensors_of(value) -> list:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def worst_element(got, want, error) -> str:
    where = int(error.argmax())
    position = [int(i) for i in torch.unravel_index(torch.tensor(where), got.shape)]
    return f"element {position}: tilewright returns {got.flatten()[where].item()}, torch {want.flatten()[where].item()}"


def difference(got: torch.Tensor, want: torch.Tensor, exact: torch.Tensor) -> str:
    """Returns a description of the error of `got`, or '' if it is within the bound. `want` is the result of eager, and `exact` is the
    reference in float64."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"its type is {got.dtype}{list(got.shape)}, that of torch's result {want.dtype}{list(want.shape)}"
    if not got.numel():
        return ""
    if not got.is_floating_point():
        wrong = (got != want) & (got != exact.to(want.dtype))
        return f"{int(wrong.sum())} of {got.numel()} elements differ; {worst_element(got, want, wrong.int())}" if wrong.any() else ""
    wide, wanted = got.double(), want.double()
    finite = wanted.isfinite() & exact.isfinite()
    odd = ~finite & ~((wide == wanted) | (wide.isnan() & wanted.isnan()) | (wide == exact) | (wide.isnan() & exact.isnan()))
    odd |= finite & ~wide.isfinite()
    if odd.any():
        return worst_element(got, want, odd.int())
    if not finite.any():
        return ""
    size = rms(exact[finite])
    error, own = rms((wide - exact)[finite]), rms((wanted - exact)[finite])
    tiny = torch.finfo(got.dtype).tiny
    if got.dtype == torch.float64:
        allowed = max(1e-12 * size, tiny)
    else:
        allowed = (3 if got.numel() < 1000 else 2) * max(own, torch.finfo(got.dtype).eps * size, tiny)
    if error <= allowed:
        return ""
    gap = torch.where(finite, (wide - exact).abs(), 0)
    return f"RMS error {error:.3g} against float64, allowed {allowed:.3g}; worst {worst_element(got, want, gap)}"


def compile_alone(node: fx.Node, root, options):
    """Compiles only `node`, with placeholders for its arguments. Returns (program, argument nodes, ""), or (None,
    argument nodes, reason)."""
    from ..runtime.compiled import build

    graph, inputs, copies = fx.Graph(), [], {}

    def placeholder(source: fx.Node) -> fx.Node:
        if source not in copies:
            made = copies[source] = graph.placeholder(source.name)
            made.meta["val"] = source.meta["val"] if "val" in source.meta else getattr(root, str(source.target))
            inputs.append(source)
        return copies[source]

    for source in node.all_input_nodes:
        placeholder(source)
    made = graph.node_copy(node, placeholder)
    value = node.meta["val"]
    if node.target in VIEWS:  # clone the view, because otherwise torch creates the view of the argument, and the program computes nothing
        view, made = made, graph.call_function(aten.clone.default, (made,))
        made.meta["val"], made.meta["stack_trace"] = value, view.meta.get("stack_trace")
    results = [made]
    if isinstance(value, (list, tuple)):
        results = []
        for i, each in enumerate(value):
            if isinstance(each, torch.Tensor):
                results.append(graph.call_function(operator.getitem, (made, i)))
                results[-1].meta["val"] = each
    graph.output(tuple(results))
    imported = walk(fx.GraphModule(root, graph), (), node.name)
    if imported.refusals:
        return None, inputs, "it cannot be compiled separately: " + "; ".join(r.reason for r in imported.refusals)
    return build(imported, options), inputs, ""


class EagerCheck:
    """A replacement for the program of the whole graph. A call first checks all nodes and then runs the program."""

    def __init__(self, gm: fx.GraphModule, call, options):
        self.gm, self.call = gm, call
        self.programs: dict[fx.Node, tuple] = {}
        self.unchecked: dict[str, str] = {}
        refused = []  # the entries of `unchecked` whose operator Tilewright compiles only within the graph
        for node in gm.graph.nodes:
            if node.op != "call_function" or node.target is operator.getitem:
                continue
            if reason := self.why_not(node):
                self.unchecked[node.name] = f"{node.target}: {reason}"
                continue
            program, inputs, reason = compile_alone(node, gm, options)
            if program is None:
                self.unchecked[node.name] = f"{node.target}: {reason}"
                refused.append(self.unchecked[node.name])
            else:
                self.programs[node] = (program, inputs)
        self.checked = len(self.programs)
        if refused:
            warnings.warn("tilewright: check='eager' cannot compare these nodes: " + "; ".join(refused), stacklevel=2)

    @staticmethod
    def why_not(node: fx.Node) -> str:
        value = node.meta.get("val")
        if not any(isinstance(v, torch.Tensor) for v in tensors_of(value)):
            return "its result is not a tensor"
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            return "its results are random numbers"
        if str(node.target).startswith(WITHOUT_CONTENTS):
            return "the contents of its result are undefined"
        return ""

    def compare(self, node: fx.Node, values: dict, want, args, kwargs):
        program, inputs = self.programs[node]
        got = program([values[n] for n in inputs])
        try:
            exact = tensors_of(node.target(*widened(args), **widened(kwargs)))
        except (RuntimeError, NotImplementedError):  # eager has no float64 version of the op
            exact = [widened(w) for w in tensors_of(want)]
        wanted = [(w, e) for w, e in zip(tensors_of(want), exact) if isinstance(w, torch.Tensor)]
        for number, (ours, (theirs, precise)) in enumerate(zip(got, wanted, strict=True)):
            if node.target in POSITIONS and number == 1:
                dim = args[2] if node.target is aten.topk.default and len(args) > 2 else kwargs.get("dim", -1)
                if node.target is aten.sort.default and len(args) > 1:
                    dim = args[1]
                ours, theirs = args[0].gather(dim, ours), wanted[0][0]
                precise = theirs if not theirs.is_floating_point() else theirs.double()
            if precise.shape != theirs.shape:
                precise = widened(theirs)
            wrong = difference(ours, theirs, precise)
            if wrong:
                where = frames(node, {})
                location = f", {where[-1][0]}:{where[-1][1]}" if where else ""
                raise CheckError(f"tilewright: check='eager': node {node.name} ({node.target}{location}), result {number}: {wrong}")

    def __call__(self, arguments) -> list:
        values: dict[fx.Node, object] = {}
        left = iter(list(arguments))
        with torch.no_grad():
            for node in self.gm.graph.nodes:
                if node.op == "placeholder":
                    values[node] = next(left)
                elif node.op == "get_attr":
                    values[node] = getattr(self.gm, str(node.target))
                elif node.op == "call_function":
                    args, kwargs = fx.map_arg((node.args, node.kwargs), lambda n: values[n])
                    values[node] = node.target(*args, **kwargs)
                    if node in self.programs:
                        self.compare(node, values, values[node], args, kwargs)
        return self.call(arguments)

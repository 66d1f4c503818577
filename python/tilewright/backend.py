"""torch.compile(model, backend="tilewright"): graphs from AOTAutograd, compiled or refused with reasons."""

from __future__ import annotations

import functools
import warnings

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext

from . import _tilewright
from .decompositions import decompositions
from .eager_strides import dense, differing, relaid, results_of
from .freeze import Freezer, check_kind
from .options import CompileOptions, read_options
from .outputs import laid_out
from .partition import split
from .report import GraphReport, add
from .saved_layouts import channels_last_saved, saved_strides
from .walker import MOST, Imported, walk


class UnsupportedError(RuntimeError):
    """Raised under options={"strict": True}: some ops would run in eager."""


def fresh_seed() -> int:
    """One number per call from torch's generator: torch.manual_seed reproduces it."""
    return int(torch.empty((), dtype=torch.int64).random_())


def make_dense(tensor: torch.Tensor, sizes: list[int], strides: list[int]) -> torch.Tensor:
    """A copy with these strides."""
    result = torch.empty_strided(sizes, strides, dtype=tensor.dtype)
    with torch.no_grad():
        result.copy_(tensor)
    return result


def written(arguments: list, copies: list) -> None:
    """After a call that has written into arguments: those of which it was given dense copies get theirs, and torch is
    told of all."""
    for argument, copy in zip(arguments, copies):
        if copy is not None:
            with torch.no_grad():
                argument.copy_(copy)
    torch.autograd.graph.increment_version([a for a in arguments if not a.is_inference()])


def resolving(call, negatives: list[int]):
    """`call` with arguments whose signs are pending (x.conj().imag) made plain first."""

    def run(arguments):
        for index in negatives:
            arguments[index] = arguments[index].resolve_neg()
        return call(arguments)

    return run


def build(imported: Imported, options: CompileOptions) -> _tilewright.GraphCall:
    """Compiles what was imported without refusals."""
    needs_seed = imported.graph.needs_seed()
    call = imported.graph.compile(options.native())
    inputs = imported.inputs + [-2] * needs_seed
    call.configure(imported.argument_count, inputs, imported.constants, imported.symbol_sources, imported.recipes,
                   fresh_seed, torch.get_num_threads, make_dense, written)  # fmt: skip
    return call


class Boxed:
    """A callable with AOTAutograd's boxed convention: it empties the list it is given."""

    def __init__(self, function):
        self.function = function
        self._boxed_call = True  # on the instance: AOTAutograd looks there

    def __call__(self, arguments):
        return self.function(arguments)


def compile_whole(gm, options, static, report, watch=None, **layouts) -> _tilewright.GraphCall | Imported:
    """The compiled graph, or what was refused. `layouts`: what walk() shall know of arguments and results."""
    imported = walk(gm, static, report.name, **layouts)
    if imported.refusals:
        return imported
    call = build(imported, options)
    call.name = f"tilewright: {report.name} ({report.kind})"
    if watch is not None:
        watch(call, imported)
    report.segments += 1
    report.copied_inputs += imported.copied_inputs
    report.calls.append(call)
    for text in call.report().get("warnings", []):
        warnings.warn("tilewright: " + text, stacklevel=2)
    if imported.negatives:
        call = resolving(call, imported.negatives)
    if options.check == "eager":
        from .check import EagerCheck

        return EagerCheck(gm, call, options)
    return call


def describe(refusals) -> str:
    lines = []
    for refusal in refusals:
        if refusal.follows:
            continue
        lines.append(f"  {refusal.reason}" if refusal.target in refusal.reason else f"  {refusal.target}: {refusal.reason}"
                     + (f" ({refusal.where})" if refusal.where else ""))  # fmt: skip
    return "\n".join(dict.fromkeys(lines))


def compile_parts(gm, options, static, refusals, report, freezer=None):
    """Compiled segments between eager ones."""
    from .partition import is_free

    refused = {r.node for r in refusals}  # what merely follows a refused node becomes an argument of a segment
    parts, kinds = split(gm, refused)
    placeholders = [n for n in parts.graph.nodes if n.op == "placeholder"]
    names = {n.name for i, n in enumerate(placeholders) if i in static}
    for node in parts.graph.nodes:
        if node.op != "call_module":
            continue
        name = str(node.target)
        part = getattr(parts, name)
        if not kinds[name] or all(is_free(n) for n in part.graph.nodes if n.op == "call_function"):
            report.eager_segments += 1
            continue
        local_static = {i for i, a in enumerate(node.args) if isinstance(a, fx.Node) and a.name in names}
        output = next(n for n in part.graph.nodes if n.op == "output")
        single = not isinstance(output.args[0], (list, tuple))
        if single:
            output.args = ((output.args[0],),)
        watch = None
        if freezer is not None:
            watch = freezer.of_segment([placeholders.index(a) if a in placeholders else -1 for a in node.args],
                                       {i for i, n in enumerate(placeholders) if len(n.users) > 1})  # fmt: skip
        result = compile_whole(part, options, local_static, report, watch)
        if isinstance(result, Imported):
            if single:
                output.args = (output.args[0][0],)
            refusals += [r for r in result.refusals if r.node not in refused]
            report.eager_segments += 1
            continue
        inputs = [n.meta.get("val") for n in part.graph.nodes if n.op == "placeholder"]
        setattr(parts, name, Segment(result, single, [getattr(v, "dtype", None) for v in inputs]))
    parts.recompile()

    def run(arguments):
        held = list(arguments)
        arguments.clear()
        return parts(*held)

    return run


class Segment(torch.nn.Module):
    """A compiled segment called like the submodule it replaces."""

    def __init__(self, call, single: bool, dtypes: list):
        super().__init__()
        self.call, self.single, self.dtypes = call, single, dtypes

    def forward(self, *arguments):
        # An eager op may give another dtype than torch's meta function says (batch norm's statistics in bf16).
        results = self.call([a.to(d) if isinstance(a, torch.Tensor) and a.dtype != d else a
                             for a, d in zip(arguments, self.dtypes, strict=True)])  # fmt: skip
        return results[0] if self.single else tuple(results)


_warned: set = set()


def compile_graph(gm: fx.GraphModule, example_inputs, *, kind: str, options: CompileOptions, freezer=None, traced=()):
    """AOTAutograd's compiler for one graph. `traced`: Dynamo's results of it."""
    if freezer is not None:
        check_kind(kind)
    context = TracingContext.try_get()
    static = set()
    if context is not None and context.fw_metadata is not None and kind != "backward":
        static = set(context.fw_metadata.static_input_indices or ())
    report = GraphReport(getattr(gm, "_get_name", lambda: "graph")(), kind, len(gm.graph.nodes))
    watch = None
    if freezer is not None:
        freezer.begin(gm, context.fw_metadata if context is not None else None)
        watch = freezer.of_segment(range(len(example_inputs)), set())
        report.frozen = freezer.report
    strides, first_saved, tokens, for_user = {}, MOST, 0, {}
    if kind == "backward":
        strides = saved_strides(gm, example_inputs)
    elif kind == "forward" and context is not None and context.output_strides is not None and context.fw_metadata is not None:
        tokens = len(context.fw_metadata.tokens)  # of effects: they come first, and AOTAutograd does not count them
        first_saved = context.fw_metadata.num_forward + tokens
        strides = channels_last_saved(gm, first_saved)
    if kind != "backward" and context is not None and (metadata := context.fw_metadata) is not None:
        for_user = differing(gm, traced, len(metadata.tokens) + metadata.num_mutated_inp_runtime_indices)
        strides = for_user | strides
    result = compile_whole(gm, options, static, report, watch, strides=strides, first_saved=first_saved)
    if isinstance(result, Imported):
        strides, first_saved = dense(for_user), MOST
        text = describe(result.refusals)
        if options.strict:
            raise UnsupportedError("tilewright: strict mode, and these ops cannot be compiled:\n" + text)
        if text not in _warned:
            _warned.add(text)
            warnings.warn("tilewright: these ops run in eager between compiled segments:\n" + text, stacklevel=2)
        report.refusals = [r for r in result.refusals if not r.follows]
        result = relaid(compile_parts(gm, options, static, report.refusals, report, freezer), gm, strides)
    add(report)
    output = next(n for n in reversed(gm.graph.nodes) if n.op == "output")
    if context is not None and context.output_strides is not None and kind != "backward":
        layouts = [layout for _, layout in laid_out(output.args[0], strides, first_saved)]
        context.output_strides.extend(layouts[tokens:])
    return Boxed(result)


def tilewright(gm: fx.GraphModule, example_inputs, *, options: dict | None = None, mode: str | None = None):
    """The backend that torch.compile calls."""
    chosen = read_options(options, mode)
    freezer = Freezer(gm, example_inputs) if chosen.freeze else None
    compiler = functools.partial(compile_graph, options=chosen, freezer=freezer, traced=results_of(gm))
    compiled = aot_autograd(
        fw_compiler=functools.partial(compiler, kind="forward"),
        bw_compiler=functools.partial(compiler, kind="backward"),
        inference_compiler=functools.partial(compiler, kind="inference"),
        decompositions=decompositions(),
        # The checks compare what a program makes of its arguments with what others make of them.
        keep_inference_input_mutations=not chosen.check and freezer is None,
    )(gm, example_inputs)
    if freezer is not None:
        freezer.done()
    return compiled

"""The backend of torch.compile(model, backend="tilewright"). It compiles graphs from AOTAutograd. Ops that are not supported run in eager,
and the report states the reasons."""

from __future__ import annotations

import functools

from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._guards import TracingContext

from .. import _tilewright
from ..fx import flex, pairs, written_arguments
from ..fx.devices import devices_of, gather, is_transfer, make_transfers
from ..fx.eager_strides import changed, dense, eager_strides, orders_of, results_of
from ..fx.fresh_results import fresh_results, separate
from ..fx.origin import Origin, entered, origin_of
from ..fx.outputs import laid_out
from ..fx.partition import split
from ..fx.saved_layouts import channels_last_saved, saved_strides
from ..fx.walker import MOST, Imported, walk, writes_argument
from ..fx.written_views import view_what_is_written
from ..options import CompileOptions, read_options
from ..reports import reproducer
from ..reports.report import GraphReport, add, describe
from ..runtime import prefault, shared_arguments
from ..runtime.compiled import CompiledGraph, Parts, Program, Segment, warn_of
from . import crashes, prewarm
from .after_reset import leftovers
from .aotautograd_cache import aotautograd_cache, keeps
from .aotautograd_decompositions import WhenTraced
from .freeze import Freezer, check_kind


class UnsupportedError(RuntimeError):
    """Raised under options={"strict": True} if some ops would run in eager."""


class CompileError(RuntimeError):
    """Raised if a graph was imported but could not be compiled: a bug of Tilewright."""


def compile_whole(gm, options, static, report, keep, watch=None, **layouts) -> Program | Imported:
    """Compiles the whole graph. Returns the program, or, if some ops are not supported, an Imported with its refusals.

    `layouts` contains the keyword arguments of walk() that specify the layouts of arguments and results.
    """
    if crashes.has_crashed():
        if options.strict:
            raise CompileError(crashes.what_crashed())
        return crashes.left_to_eager(gm, crashes.what_crashed())
    layouts["eager_random"] = options.random == "eager"
    imported = walk(gm, static, report.name, asserts=True, **layouts)
    if imported.refusals:
        return imported
    imported.lets_go = report.kind == "backward"  # a backward graph frees saved activations after reading them
    try:
        program = Program(imported, options, f"tilewright: {report.name} ({report.kind})", keep)
    except RuntimeError as error:
        again = walk(gm, static, report.name, asserts=True, **layouts)  # the failed compile consumed the first import
        assert again.graph is not None  # walk() creates one
        folder = reproducer.write(gm, again.graph.text(), options, error)
        said = f"{error}\ntilewright: the IR, and a script that reproduces this error, are in {folder}"
        if isinstance(error, _tilewright.Crashed) and not options.strict:
            return crashes.left_to_eager(gm, said)
        raise CompileError(said) from error
    if watch is not None:
        watch(program.call, imported)
    report.segments += 1
    report.copied_inputs += imported.copied_inputs
    report.watch(program.call)
    if options.check == "eager":
        from .check import EagerCheck

        program.run = EagerCheck(gm, program.run, options)
    return program


def compile_parts(gm, options, static, refusals, report, keep, orders, freezer=None) -> Parts:
    """Compiles the graph in segments, with eager segments between them."""
    from ..fx.partition import copy_where_no_view_is, is_free, make_offsets_relative

    refused = {r.node for r in refusals}
    parts, kinds = split(gm, refused)
    placeholders = [n for n in parts.graph.nodes if n.op == "placeholder"]
    names = {n.name for i, n in enumerate(placeholders) if i in static}
    for node in parts.graph.nodes:
        if node.op != "call_module":
            continue
        name = str(node.target)
        part = getattr(parts, name)
        if not kinds[name] or all(is_free(n) for n in part.graph.nodes if n.op == "call_function"):
            report.eager_segments += not all(is_transfer(n) for n in part.graph.nodes if n.op == "call_function")
            continue
        local_static = {i for i, a in enumerate(node.args) if isinstance(a, fx.Node) and a.name in names}
        output = part.graph.output_node()
        single = not isinstance(output.args[0], (list, tuple))
        if single:
            output.args = ((output.args[0],),)
        watch = None
        if freezer is not None:
            watch = freezer.of_segment([placeholders.index(a) if a in placeholders else -1 for a in node.args],
                                       {i for i, n in enumerate(placeholders) if len(n.users) > 1})  # fmt: skip
        result = compile_whole(part, options, local_static, report, keep, watch)
        if isinstance(result, Imported):
            if single:
                output.args = (output.args[0][0],)
            refusals += [r for r in result.refusals if r.node not in refused]
            report.eager_segments += 1
            continue
        inputs = [n.meta.get("val") for n in part.graph.nodes if n.op == "placeholder"]
        written = sorted({i for i, n in enumerate(part.graph.find_nodes(op="placeholder")) if any(writes_argument(u) for u in n.users)})
        setattr(parts, name, Segment(result, single, [getattr(v, "dtype", None) for v in inputs], written))
    for part in parts.children():
        if isinstance(part, fx.GraphModule):  # this segment runs in eager
            copy_where_no_view_is(part)
            make_offsets_relative(part)
            written_arguments.write_unseen(part)
    parts.recompile()
    return Parts(parts, orders)


def compile_graph(gm: fx.GraphModule, example_inputs, *, kind: str, options: CompileOptions, keep: bool, origin: Origin,
                  freezer=None, traced=(), fresh=frozenset()):  # fmt: skip
    """Compiles one graph for AOTAutograd.

    `traced` contains the fake results of Dynamo's graph, and `fresh` the indices of results that do not alias an argument.
    """
    if freezer is not None:
        check_kind(kind)
    context = TracingContext.try_get()
    metadata = context.fw_metadata if context is not None else None
    of_forward = metadata if kind != "backward" else None  # AOTAutograd's metadata of this graph's arguments and results
    static = set(of_forward.static_input_indices or ()) if of_forward is not None else set()
    flex.expand(gm)
    pairs.lower(gm)
    report = GraphReport(origin.name or "graph", kind, len(gm.graph.nodes), origin=origin)
    if several := len(devices_of(gm)) > 1:
        report.transfers = make_transfers(gm)
        gather(gm)
    watch = None
    if freezer is not None:
        freezer.begin(gm, metadata)
        watch = freezer.of_segment(range(len(example_inputs)), set())
        report.frozen = freezer.report
    strides, first_saved, tokens, for_user = {}, MOST, 0, {}
    if kind == "backward":
        strides = saved_strides(gm, example_inputs)
    elif kind == "forward" and of_forward is not None and context is not None and context.output_strides is not None:
        tokens = len(of_forward.tokens)  # tokens of effects are first, and num_forward does not include them
        first_saved = of_forward.num_forward + tokens
        strides = channels_last_saved(gm, first_saved)
    if of_forward is not None:
        first = len(of_forward.tokens) + of_forward.num_mutated_inp_runtime_indices
        separate(gm, of_forward, first, fresh)
        view_what_is_written(gm, of_forward, first)
        for_user = eager_strides(gm, traced, first, first_saved)
        strides = changed(for_user) | strides
    result: Program | Parts | Imported
    if several:
        result = walk(gm, static, report.name, anywhere=True, eager_random=options.random == "eager")
    else:
        result = compile_whole(gm, options, static, report, keep, watch, strides=strides, first_saved=first_saved)
    if isinstance(result, Imported):
        # The results of eager's kernels may have other strides than the graph of decomposed ops states. Therefore each call checks all
        # results whose strides in eager are dense.
        strides, first_saved = dense(for_user), MOST
        moved = {n.name for n in gm.graph.nodes if is_transfer(n)}
        unreported = [r for r in result.refusals if r.node not in moved and not r.chosen]
        if options.strict and any(not r.follows for r in unreported):
            raise UnsupportedError("tilewright: strict mode allows no op in eager, but these ops cannot be compiled:\n" + describe(unreported))
        warn_of(unreported)
        refusals = result.refusals
        result = compile_parts(gm, options, static, refusals, report, keep, orders_of(gm, strides), freezer)
        report.refusals = [r for r in refusals if not r.follows and r.node not in moved]
    add(report)
    output = gm.graph.output_node()
    if context is not None and context.output_strides is not None and kind != "backward":
        layouts = [layout for _, layout in laid_out(output.args[0], strides, first_saved)]
        context.output_strides.extend(layouts[tokens:])
    handed = len(of_forward.tokens) if of_forward is not None else 0
    compiled = CompiledGraph(report, result, tokens=handed, argument_count=len(gm.graph.find_nodes(op="placeholder")))
    compiled.pack_ahead()
    return compiled


def tilewright(gm: fx.GraphModule, example_inputs, *, options: dict | None = None, mode: str | None = None):
    """The backend that torch.compile calls."""
    chosen = read_options(options, mode)
    prewarm.watch(tilewright)
    leftovers.watch(TracingContext.try_get())
    prefault.bring(prefault.operands(gm, example_inputs), chosen)
    freezer = Freezer(gm, example_inputs) if chosen.freeze else None
    origin, traced = origin_of(gm, example_inputs), results_of(gm)
    compiler = functools.partial(compile_graph, options=chosen, keep=keeps(chosen), origin=origin, freezer=freezer,
                                 traced=traced, fresh=fresh_results(gm, traced))  # fmt: skip
    check = shared_arguments.alias_check(gm, example_inputs)
    with aotautograd_cache(chosen, str(check.expected or "")) as caching, entered(origin, list(example_inputs)):
        compiled = aot_autograd(
            fw_compiler=caching(functools.partial(compiler, kind="forward")),
            bw_compiler=caching(functools.partial(compiler, kind="backward")),
            inference_compiler=caching(functools.partial(compiler, kind="inference")),
            decompositions=WhenTraced(chosen.random == "eager"),
            partition_fn=min_cut_rematerialization_partition,
            # The option `check` executes each graph twice with the same arguments, so the graph must not write into them.
            keep_inference_input_mutations=not chosen.check and freezer is None,
        )(gm, example_inputs)
    if freezer is not None:
        freezer.done()
    return check.around(compiled, gm, chosen.strict)


setattr(tilewright, "reset", leftovers.drop)  # torch._dynamo.reset() calls this attribute
prewarm.watch(tilewright)

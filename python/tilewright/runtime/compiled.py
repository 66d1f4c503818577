"""The callable that the backend returns for a graph. torch's AOTAutogradCache, aot_compile and save_cache_artifacts
can store it.

The stored form is the imported graph, not machine code. The process that loads the graph compiles it again. On the
machine on which the graph was first compiled, the object cache provides the code in milliseconds. On any other machine,
the graph is compiled for that machine.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import fx
from torch._functorch import config as functorch_config
from torch._functorch._aot_autograd.autograd_cache import BypassAOTAutogradCache
from torch._inductor.output_code import OutputCode
from torch.utils._python_dispatch import _disable_current_modes

from .. import _tilewright
from ..fx.asserts import asserting
from ..fx.eager_strides import in_order
from ..fx.origin import arguments, current, has_moved, moved_frames, moving
from ..fx.pairs import shown_as_pairs
from ..fx.walker import Imported
from ..fx.written_arguments import unwritten_of
from ..options import CompileOptions
from ..reports.report import GraphReport, add, describe
from . import nvtx
from .idle_memory import give_back_at_steps
from .tuning import tune


def fresh_seed() -> int:
    """Draws one number per call from torch's generator, so that torch.manual_seed makes the random numbers of the call
    reproducible."""
    return int(torch.empty((), dtype=torch.int64).random_())


def make_dense(tensor: torch.Tensor, sizes: list[int], strides: list[int]) -> torch.Tensor:
    """Returns a copy with these strides."""
    result = torch.empty_strided(sizes, strides, dtype=tensor.dtype, device=tensor.device)
    with torch.no_grad():
        result.copy_(tensor)
    return result


def on_device(device: torch.device):
    """Returns a function that allocates results and scratch memory of calls on a GPU, from torch's allocator."""

    def make(dtype: str, sizes: list[int], strides: list[int]) -> torch.Tensor:
        return torch.empty_strided(sizes, strides, dtype=getattr(torch, dtype), device=device)

    return make


def written(arguments: list, copies: list) -> None:
    """For arguments that a call has written, but that were replaced by dense copies: copies the contents of these
    copies back into the arguments.

    AOTAutograd counts the new version of each argument that its graph writes, once, as eager does.
    """
    for argument, copy in zip(arguments, copies):
        if copy is not None:
            with torch.no_grad(), torch.autograd._unsafe_preserve_version_counter(argument):
                argument.copy_(copy)


def changing(call, indices: list[int], change):
    """Wraps `call` so that the arguments at `indices` are replaced by the result of `change`."""

    def run(arguments):
        for index in indices:
            arguments[index] = change(arguments[index])
        return call(arguments)

    return run


def giving_tokens(call, tokens: int, count: int):
    """Wraps `call`, which takes `count` arguments. The first `tokens` of them order effects.

    torch passes these tokens to a graph that it has compiled, but not to a graph from its cache. If they are missing, the wrapper passes None for
    each token, and removes the tokens from the results. """

    def run(arguments):
        if len(arguments) == count:
            return call(arguments)
        arguments[:0] = [None] * tokens
        return call(arguments)[tokens:]

    return run


def build(imported: Imported, options: CompileOptions) -> _tilewright.GraphCall:
    """Compiles a graph that was imported without refusals."""
    assert imported.graph is not None and imported.device is not None
    if unbound := imported.graph.symbols[len(imported.symbol_sources) :]:
        raise RuntimeError(f"tilewright: the graph reads the symbols {', '.join(unbound)}, but no argument determines their values; "
                           "this is a bug of Tilewright")  # fmt: skip
    options = options.on(imported.device)
    needs_seed = imported.graph.needs_seed()
    if options.tune in ("quick", "full"):
        tune(imported.graph, options, imported.hints)
    call = imported.graph.compile(options.native())
    inputs = imported.inputs + [-2] * needs_seed
    call.configure(imported.argument_count, inputs, imported.constants, imported.symbol_sources, imported.recipes,
                   fresh_seed, torch.get_num_threads, make_dense, written)  # fmt: skip
    if imported.device.type == "cuda":
        call.on_device(imported.device.index or 0, on_device(imported.device))
    if imported.lets_go:
        call.let_go(sorted(imported.returned))
    return call


class Program:
    """A graph or segment that is compiled as a whole."""

    def __init__(self, imported: Imported, options: CompileOptions, title: str, keep: bool):
        """Compiles `imported`. `keep` is true if the program may be pickled later. `title` is the name of its calls in
        profiles."""
        assert imported.graph is not None and imported.device is not None
        self.options, self.title = options, title
        with _disable_current_modes():  # pickling copies constants from a GPU to the host: AOTAutograd's fake tensors have no data
            self.kept = pickle.dumps(imported) if keep else None
        native = options.on(imported.device).native()
        record = imported.graph.explain(native, title) if options.record else ""
        self.call = build(imported, options)
        self.call.record = record
        own = options.on(imported.device)
        if options.record and own.target == "cuda" and own.own("device") != "emulated":
            self.call.profile(True)  # for report(): every call waits for the GPU
        self.call.name = title
        if options.nvtx:
            self.call.mark_ranges(nvtx.library())
        self.run: Callable = self.call
        if imported.negatives:
            self.run = changing(self.run, imported.negatives, torch.Tensor.resolve_neg)
        if imported.viewed:
            self.run = changing(self.run, imported.viewed, shown_as_pairs)
        if imported.asserted:
            self.run = asserting(self.run, imported.asserted)
        for text in self.call.report().get("warnings", []):
            warnings.warn("tilewright: " + text, stacklevel=2)

    @staticmethod
    def restored(kept: bytes, options: CompileOptions, title: str) -> Program:
        imported = pickle.loads(kept)
        if has_moved():
            kept = pickle.dumps(imported)  # pickle it before the compilation consumes it
        program = Program(imported, options, title, keep=False)
        program.kept = kept
        return program

    def __reduce__(self):
        if self.kept is None:
            raise BypassAOTAutogradCache(f"{self.title} was compiled without keeping its imported graph, so it cannot be pickled")
        return Program.restored, (self.kept, self.options, self.title)

    def programs(self) -> list[Program]:
        return [self]


class Segment(torch.nn.Module):
    """A compiled segment that is called like the submodule it replaces."""

    def __init__(self, program: Program, single: bool, dtypes: list, written: list[int]):
        """`written` contains the indices of the arguments that the segment writes."""
        super().__init__()
        self.program, self.single, self.dtypes, self.written = program, single, dtypes, written

    def forward(self, *arguments):
        if self.written:
            arguments = unwritten_of(self.written, arguments)
        # An op that eager executes may return another dtype than torch's meta function states, such as batch norm's statistics in bf16.
        results = self.program.run([a.to(d) if isinstance(a, torch.Tensor) and a.dtype != d else a
                                    for a, d in zip(arguments, self.dtypes, strict=True)])  # fmt: skip
        return results[0] if self.single else tuple(results)


class Parts:
    """A split graph: compiled segments with eager segments between them."""

    def __init__(self, module: fx.GraphModule, orders: dict[int, tuple[int, ...]]):
        """`orders` contains the required order of dimensions in memory of each result that the segments may return in
        another order."""
        self.module, self.orders = module, orders

    def run(self, arguments: list):
        held = list(arguments)
        arguments.clear()
        results = self.module(*held)
        if any(isinstance(r, torch.Tensor) and r.is_complex() for r in results):
            # A complex result is a view of a real tensor that contains pairs. Without detach(), AOTAutograd would treat the real tensor as
            # the base of the result.
            results = [r.detach() if isinstance(r, torch.Tensor) and r.is_complex() else r for r in results]
        if self.orders:
            results = list(results)
            for number, order in self.orders.items():
                results[number] = in_order(results[number], order)
        return results

    def programs(self) -> list[Program]:
        return [part.program for part in self.module.children() if isinstance(part, Segment)]


_warned: set = set()


def warn_of(refusals: list) -> None:
    """Warns about the ops that run in eager. Each warning is issued once per process."""
    text = describe(refusals)
    if text and text not in _warned:
        _warned.add(text)
        warnings.warn("tilewright: these ops run in eager between compiled segments:\n" + text, stacklevel=2)


@dataclass
class CompiledGraph(OutputCode):
    """A compiled graph with AOTAutograd's boxed calling convention: a call clears the list of its arguments."""

    report: GraphReport
    body: Program | Parts | None
    tokens: int = 0  # number of leading arguments and results that order effects
    argument_count: int = 0
    payload: bytes = field(default=b"", repr=False)

    def __post_init__(self):
        self._boxed_call = True  # on the instance, where AOTAutograd reads it
        self.begin()

    def __call__(self, inputs):
        return self.run(inputs)

    def begin(self) -> None:
        """Initializes the call after the body was compiled or loaded."""
        assert self.body is not None
        self.run: Any = self.body.run
        if self.report.kind == "backward":
            give_back_at_steps()

    def pack_ahead(self) -> None:
        """Packs parameters while torch creates guards. The parameters of the first call are known at that time."""
        ahead_of_time = functorch_config.force_autograd_cache  # no call follows in this case
        if isinstance(self.body, Program) and self.report.kind != "backward" and not ahead_of_time:
            self.body.call.pack_ahead(list(arguments()))

    # -- methods that torch's AOTAutograd cache calls ------------------------

    def prepare_for_serialization(self) -> None:
        """Pickles the body. torch calls this method on a shallow copy of the graph in use."""
        try:
            self.payload = pickle.dumps(self.body)
        except BypassAOTAutogradCache:
            raise
        except Exception as error:  # an eager segment may contain any object
            raise BypassAOTAutogradCache(f"tilewright: {self.report.name} ({self.report.kind}) cannot be pickled for the cache: {error}") from error
        self.body = self.run = None

    def post_compile(self, example_inputs, constants, graph_kwargs) -> None:
        """Restores the body after this graph was loaded."""
        frames = moved_frames(self.report.origin, current())
        with moving(frames):
            self.body, self.payload = pickle.loads(self.payload), b""
        self.report.restored, self.report.origin = True, current()
        locations = {f"{old[0]}:{old[1]}": f"{new[0]}:{new[1]}" for old, new in frames.items()}
        self.report.refusals = [replace(r, where=locations.get(r.where, r.where)) for r in self.report.refusals]
        self.begin()
        if self.tokens:
            self.run = giving_tokens(self.run, self.tokens, self.argument_count)
        for program in self.body.programs():
            self.report.watch(program.call)
        self.pack_ahead()
        warn_of(self.report.refusals)
        add(self.report)

    def set_triton_bundle(self, triton_bundle) -> None:
        """Does nothing: there are no Triton kernels."""

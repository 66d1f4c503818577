"""Runs one graph in eager with one thread and with two, in float64, and compiled, and compares the results."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import torch
from noise import RUNS, Noisy
from numbers_rule import rms, with_threads
from program import Program
from torch._subclasses import FakeTensorMode
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from verdict import Outcome, Wrong, check_metadata, check_numbers, plain, short

import tilewright
from tilewright.dynamo import crashes
from tilewright.dynamo.backend import tilewright as backend
from tilewright.fx.eager_strides import results_of
from tilewright.fx.fresh_results import fresh_results


DRAWS = 12
FAR = 100  # times the allowed error; an error that large is not random


@dataclass
class Run:
    """The results of a call, the gradients, the inputs afterwards, and which memory each result shares."""

    tensors: list
    aliases: list
    gradients: int

    def names(self) -> list[str]:
        count = len(self.aliases)
        return [f"result {i}" for i in range(count)] + [f"gradient {i}" for i in range(self.gradients)] + \
            [f"input {i} afterwards" for i in range(len(self.tensors) - count - self.gradients)]  # fmt: skip


def storage(tensor: torch.Tensor):
    return tensor.untyped_storage()._cdata if tensor.numel() else None


def weights_of(tensor: torch.Tensor, draw: int = 0) -> torch.Tensor:
    """Returns the weights of a result's elements in the sum whose gradient is compared. The weights of draw 0 are equally
    spaced, so that eager's sum of them may have no error at all; other draws have random weights."""
    if draw:
        weights = torch.rand(tensor.numel(), generator=torch.Generator().manual_seed(draw), dtype=torch.float64) + 0.5
    else:
        weights = torch.linspace(0.5, 1.5, tensor.numel(), dtype=torch.float64)
    return weights.reshape(tensor.shape).to(tensor.dtype)


def call(program: Program, how=None, wide: bool = False, noisy: int | None = None, fake: FakeTensorMode | None = None,
         dense: bool = False) -> Run:  # fmt: skip
    """Calls a program. `how`: a function that returns a callable for a module. `dense`: use inputs without gaps and
    overlapping elements."""
    tensors = program.tensors(wide, fake)
    if dense:
        tensors = {n: t.detach().clone(memory_format=torch.contiguous_format).requires_grad_(t.requires_grad) for n, t in tensors.items()}
    module = program.module(tensors, wide)
    parameters = dict(module.named_parameters())
    tensors |= {name: parameters.get(name, tensor) for name, tensor in tensors.items()}
    arguments = [tensors[i.name] for i in program.inputs if not i.parameter]
    if wide:
        torch.set_default_dtype(torch.float64)  # the dtype that integers become
    try:
        with torch.set_grad_enabled(program.mode == "gradient"):
            if noisy is not None:
                results = Noisy(program, noisy)(tensors)
            else:
                results = list((how(module) if how else module)(*arguments))
            inputs = list(tensors.values())
            known = [storage(v) for v in inputs]
            aliases = []
            for tensor in results:
                held = storage(tensor)
                aliases.append(known.index(held) if held is not None and held in known else -1)
                known.append(held)
            gradients = derivatives(program, results, inputs) if program.mode == "gradient" else []
    finally:
        torch.set_default_dtype(torch.float32)
    return Run([v.detach() for v in results + gradients + inputs], aliases, len(gradients))


def derivatives(program: Program, results: list, inputs: list) -> list:
    """Returns the gradients of a weighted sum of the results with respect to all inputs."""
    asked = [v for v in inputs if v.requires_grad and v.is_leaf]
    differentiable = [v for v in results if v.requires_grad and v.is_floating_point()]
    if not asked or not differentiable:
        return []
    found = torch.autograd.grad(differentiable, asked, [weights_of(v, program.draw) for v in differentiable], allow_unused=True)
    return [v for v in found if v is not None]


class Compiled:
    """A program compiled by a backend. The same code is called for other sizes if sizes are symbols.

    Each program is separate code, so that Dynamo need not be reset between programs; a reset takes as long as a
    graph.
    """

    def __init__(self, program: Program, using):
        self.program, self.module, self.first = program, None, None
        self.using = torch._dynamo.lookup_backend(using) if isinstance(using, str) else using
        self.fakes: list = []  # Dynamo's fake results, which the backend sees
        self.fresh: set[int] = set()  # indices of results that do not share memory with an argument

    def backend(self, gm, inputs):
        self.fakes = results_of(gm)
        self.fresh = fresh_results(gm, self.fakes)
        return self.using(gm, inputs)

    def run(self, program: Program) -> Run:
        return with_threads(self.program.threads, lambda: call(program, self.compiled))

    def compiled(self, module):
        if self.module is None:
            self.first = module
            self.module = torch.compile(module, backend=self.backend, fullgraph=True, dynamic=self.program.mode == "dynamic")
        for name, parameter in list(module.named_parameters()):
            setattr(self.first, name, parameter)  # the parameters of this draw
        return self.module


def hints(sizes) -> list[int]:
    return [s.node.hint if isinstance(s, torch.SymInt) else s for s in sizes]


def has_fake_layout(program: Program, index: int, ours: torch.Tensor, fakes: list) -> bool:
    """Returns whether tensor `index` of a run has the layout of torch's fake tensors, from which a compiler takes the
    layout of results.

    The layouts of fake tensors differ from those of eager's kernels in some cases (log_sigmoid of a transposed
    tensor, pixel_unshuffle of an empty tensor). The layouts of Dynamo's fake tensors differ from those of other fake
    tensors in some cases (lerp of an expanded tensor).
    """
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        known = [call(program, fake=mode).tensors[index], fakes[index] if index < len(fakes) else None]
        return any(fake is not None and hints(fake.shape) == list(ours.shape)
                   and all(a == b for a, b, n in zip(ours.stride(), hints(fake.stride()), ours.shape) if n > 1) for fake in known)  # fmt: skip


def rule_for_graphs(program: Program, got: Run, runs: list[Run], exact: Run, compiled: Compiled) -> set[str]:
    """Compares all tensors. Returns how they were judged. Raises Wrong if one is wrong."""
    want = runs[0]
    if len(got.aliases) != len(want.aliases) or got.gradients != want.gradients:
        raise Wrong("structure", f"{len(got.aliases)} results and {got.gradients} gradients, eager returns {len(want.aliases)} and {want.gradients}")
    names = want.names()
    words = set()
    for index, (what, ours, theirs) in enumerate(zip(names, got.tensors, want.tensors)):
        try:
            check_metadata(ours, theirs, f"{what}: {theirs.dtype}{list(theirs.shape)}")
        except Wrong as wrong:
            if wrong.kind == "strides" and what.startswith("gradient"):
                continue  # strides of gradients are not specified: aot_eager's differ, too, if a tangent has other strides than eager's
            if wrong.kind == "offset" and moved_together(got, want, index):
                continue
            if wrong.kind not in ("strides", "shape") or not has_fake_layout(program, index, ours, compiled.fakes):
                raise
            words.add("fake-layout")
    # Dynamo may treat a result as new although eager's kernel returns its argument (dropout with probability 0).
    made = [i for i, (ours, theirs) in enumerate(zip(got.aliases, want.aliases)) if ours < 0 <= theirs < len(program.inputs) and i in compiled.fresh]
    words |= {"fake-layout"} if made else set()
    if [-1 if i in made else alias for i, alias in enumerate(want.aliases)] != got.aliases:
        raise Wrong("aliasing", f"results share memory with {got.aliases} (inputs first, -1: separate memory), eager's results with {want.aliases}")
    precise = [t.double() if t.is_floating_point() else t for t in exact.tensors]
    results = len(want.aliases) + want.gradients
    largest = max((rms(torch.nan_to_num(t, 0, 0, 0)) for t in precise[:results] if t.is_floating_point()), default=0.0)
    noisy: list[Run] = []
    for index, what in enumerate(names):
        if got.tensors[index].shape != want.tensors[index].shape:
            continue
        ours = plain(got.tensors[index])
        what = f"{what}: {ours.dtype}{list(ours.shape)}"
        own = [plain(run.tensors[index]) for run in runs]
        if ours.is_floating_point():  # if eager itself differs from float64 (gelu of infinity is NaN), both are accepted
            own_error = kinds(own[0]) != kinds(precise[index])
            ours = torch.where(own_error & (kinds(ours) == kinds(precise[index])), own[0], ours)
        try:
            check_numbers(ours, own, precise[index], largest, what)
        except Wrong as wrong:
            if wrong.kind != "numbers":
                raise
            noisy = noisy or [call(program, wide=True, noisy=seed) for seed in range(RUNS)]
            check_with_noise(ours, own, [run.tensors[index] for run in noisy], precise[index], what, wrong)
            words.add("noise")
    return words


def moved_together(got: Run, want: Run, index: int) -> bool:
    """Returns whether the results that share memory with tensor `index` have a separate storage of exactly their extent, in which their distances are
    the same as in eager's storage."""
    held = storage(got.tensors[index])
    pairs = [(a, b) for a, b in zip(got.tensors, want.tensors) if storage(a) == held]
    ends = [a.storage_offset() + 1 + sum((n - 1) * s for n, s in zip(a.shape, a.stride())) for a, _ in pairs]
    sizes = {a.element_size() for a, _ in pairs}
    moves = {b.storage_offset() - a.storage_offset() for a, b in pairs}
    exact = len(sizes) == 1 and got.tensors[index].untyped_storage().nbytes() == max(ends) * next(iter(sizes))
    return exact and len(moves) == 1 and min(a.storage_offset() for a, _ in pairs) == 0


def kinds(tensor: torch.Tensor) -> torch.Tensor:
    """Classifies each element: a number, NaN or one of the infinities."""
    return tensor.isnan() * 4 + tensor.isposinf() * 2 + tensor.isneginf() * 1


def check_with_noise(ours, own, noisy, exact, what: str, wrong: Wrong) -> None:
    """Applies the rule again, with the larger one of eager's error and of the error that noise causes."""
    finite = ours.isfinite() & exact.isfinite()
    error = rms((ours.double() - exact)[finite])
    allowed = max(rms((run.double() - exact)[finite & run.isfinite()]) for run in own + noisy)
    if not error <= factor_of(ours) * allowed:
        far = error > FAR * allowed
        raise Wrong("numbers, far" if far else "numbers", f"{wrong}; with noise RMS error {error:.3g} is {error / max(allowed, 1e-300):.1f} times the allowed {allowed:.3g}")


def factor_of(tensor) -> int:
    return 3 if tensor.numel() < 1000 else 2


def holds_over_draws(program: Program, compiled: Compiled) -> bool:
    """Returns whether the rule holds for the results of several draws of the inputs together. For few numbers,
    eager's error may be small by chance."""
    pooled: dict[int, list] = {}
    for draw in range(1, 1 + DRAWS):
        other = Program.from_json(program.to_json())
        other.draw = draw
        runs, exact = references(other)
        got = compiled.run(other)
        for index, ours in enumerate(got.tensors):
            if not ours.is_floating_point() or not ours.numel():
                continue
            wide = exact.tensors[index].double()
            finite = ours.isfinite() & wide.isfinite()
            squares = [((run.tensors[index].double() - wide)[finite] ** 2).mean() for run in (got, *runs)]
            pooled.setdefault(index, []).append([*squares, (wide[finite] ** 2).mean()])
    for index, found in pooled.items():
        mine, one, two, size = torch.tensor(found).nan_to_num(0).mean(0).sqrt().tolist()
        kind = got.tensors[index]
        eps = 1e-12 if kind.dtype == torch.float64 else torch.finfo(kind.dtype).eps
        if mine > factor_of(kind) * max(one, two, eps * size):
            return False
    return True


def judged(program: Program, compiled: Compiled, runs: list[Run], exact: Run) -> set[str]:
    """Applies rule_for_graphs. Small violations are judged over several draws. If numbers are still wrong, they are compared with eager's results for
    dense inputs."""
    got = compiled.run(program)
    try:
        return rule_for_graphs(program, got, runs, exact, compiled)
    except Wrong as wrong:
        if wrong.kind == "numbers" and holds_over_draws(program, compiled):
            return {"draws"}
        other = of_dense_inputs(program, runs, exact) if wrong.kind in ("numbers", "numbers, far", "NaN") else None
        if other is None:
            raise
        try:  # if eager's result depends on the strides (a gradient of batch_norm), either result is accepted
            return rule_for_graphs(program, got, *other, compiled) | {"dense"}
        except Wrong:
            raise wrong from None


def resized(program: Program) -> Program | None:
    """Returns the same graph for arguments of other sizes: equal sizes stay equal, and sizes of parameters do not
    change."""
    fixed = {n for i in program.inputs if i.parameter for n in i.shape} | {0, 1}
    known = sorted({n for i in program.inputs for n in i.shape} - fixed)
    if not known:
        return None
    larger = lambda n: n + 2 + 3 * known.index(n) if n in known else n  # noqa: E731 -- valid indices stay valid
    other = Program.from_json(program.to_json())
    for i in other.inputs:
        if i.numbers.startswith("order"):
            _, dim, count = i.numbers.split(":")
            i.numbers = f"order:{dim}:{larger(int(count))}"
        if not i.parameter:
            order = sorted(range(len(i.shape)), key=lambda d: (i.strides[d], -d))
            i.shape = [larger(n) for n in i.shape]
            step = 1
            for d in order:
                if i.strides[d]:
                    i.strides[d], step = step, step * max(i.shape[d], 1)
    return other


class ExactTrigamma(TorchDispatchMode):
    """polygamma(1, x) of positive numbers by Hurwitz' zeta function, which torch uses for the other orders. torch's
    kernel for order 1 has a relative error of 5e-10 in float64 (against mpmath)."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.polygamma.default and args[0] == 1 and bool((args[1] > 0).all()):
            return torch.special.zeta(2.0, args[1])
        return func(*args, **(kwargs or {}))


def truth(program: Program, dense: bool = False) -> Run:
    """Runs the program in float64. Attention is computed by its products and its softmax, because eager's kernel
    returns 0 if there are few scores and all of them are NaN."""
    with sdpa_kernel(SDPBackend.MATH), ExactTrigamma():
        return call(program, wide=True, dense=dense)


def references(program: Program, dense: bool = False) -> tuple[list[Run], Run]:
    return [with_threads(n, lambda: call(program, dense=dense)) for n in (1, 2)], truth(program, dense)


def of_dense_inputs(program: Program, runs: list[Run], exact: Run) -> tuple[list[Run], Run] | None:
    """Returns references() for the same numbers in dense inputs, with results in the layouts of those of `runs` and
    `exact`. Returns None if the inputs are already dense."""
    if all(t.is_contiguous() for t in program.tensors().values()):
        return None

    def laid_out(run: Run, like: Run) -> Run:
        tensors = [other if any(s == 0 and n > 1 for s, n in zip(other.stride(), other.shape)) or tensor.shape != other.shape
                   else torch.empty_strided(other.shape, other.stride(), dtype=other.dtype).copy_(tensor)
                   for tensor, other in zip(run.tensors, like.tensors)]  # fmt: skip
        return Run(tensors, like.aliases, like.gradients)

    found, true = references(program, dense=True)
    return [laid_out(run, like) for run, like in zip(found, runs)], laid_out(true, exact)


def examine(program: Program, using) -> str:
    """Compiles and runs the graph, and compares the results. Returns '' or how the graph was judged. Raises Wrong if a
    result is wrong."""
    runs, exact = references(program)
    compiled = Compiled(program, using)
    words = judged(program, compiled, runs, exact)
    other = resized(program) if program.mode == "dynamic" else None
    if other is not None:
        try:
            runs, exact = references(other)
        except (RuntimeError, IndexError, ValueError):
            return " ".join(sorted(words))
        words.add("resized")
        try:
            words |= judged(other, compiled, runs, exact)
        except Exception as error:
            if isinstance(error, Wrong):
                raise Wrong(error.kind, f"with other sizes: {error}") from error
            raise
    return " ".join(sorted(words))


def judge_file(program: Program, through: str, eager_ran=lambda: None) -> Outcome:
    """Judges the graph through a file (entries.py): native, refused or wrong; "torch" if torch writes no file, or a
    wrong one."""
    from entries import FromFile, NotExported, Refused, as_inference, exporter_differs, writes_an_input

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = as_inference(program)
        try:
            runs, exact = references(program)
        except Exception as error:
            return Outcome("eager", short(str(error)), f"{type(error).__name__}: {error}")
        if writes_an_input(program):
            return Outcome("refused", "writes an input")
        eager_ran()
        compiled = FromFile(program, through)
        try:
            return Outcome("native", " ".join(sorted(judged(program, compiled, runs, exact))))
        except Refused as error:
            return Outcome("refused", short(str(error)), str(error))
        except NotExported as error:
            return Outcome("torch", short(str(error)), str(error))
        except Exception as error:
            if through == "onnx" and isinstance(error, Wrong) and exporter_differs(compiled, error, lambda: judged(program, compiled, runs, exact)):
                return Outcome("torch", error.kind, str(error))
            wrong = isinstance(error, Wrong)
            return Outcome("wrong" if wrong else "error", error.kind if wrong else f"{type(error).__name__}: {short(str(error))}", str(error))


def judge(program: Program, using=None, eager_ran=lambda: None) -> Outcome:
    """Judges a graph: native or fallback if it is right. `reason` states how it was judged. `eager_ran` is called
    after eager has finished."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            references(program)
        except Exception as error:
            return Outcome("eager", short(str(error)), f"{type(error).__name__}: {error}")
        eager_ran()
        tilewright.report(clear=True)
        try:
            words = examine(program, using or backend)
        except Exception as error:
            wrong = isinstance(error, Wrong)
            cause = getattr(error, "inner_exception", error)
            kind = error.kind if wrong else f"{type(cause).__name__}: {short(str(cause))}"
            detail = str(error) if wrong else f"{type(cause).__name__}: {cause}"
            if torch_fails_alike(program, error):
                return Outcome("torch", kind, detail)
            return Outcome("wrong" if wrong else "error", kind, detail)
        if crashes.has_crashed():  # eager ran this graph, and will run all later graphs of this process
            return Outcome("crash", short(crashes.what_crashed()), crashes.what_crashed())
        ops = sorted({r.target for graph in tilewright.report(clear=True) for r in graph.refusals if not r.follows})
        return Outcome("fallback" if ops else "native", words, "", ops)


def torch_fails_alike(program: Program, error: Exception) -> bool:
    """Returns whether torch.compile with a backend that calls eager's kernels fails in the same manner.

    If a fake tensor is contiguous but eager's result is not (copysign), contiguous() becomes a view. Depending on
    the backend, this shows as wrong strides, wrong aliasing or an error.
    """
    layout = ("strides", "aliasing")
    try:
        examine(program, "aot_eager")
    except Wrong as wrong:
        return isinstance(error, Wrong) and (error.kind == wrong.kind or (error.kind in layout and wrong.kind in layout))
    except Exception:
        return not isinstance(error, Wrong) or error.kind in layout
    return False

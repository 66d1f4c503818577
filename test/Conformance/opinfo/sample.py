"""Runs one sample: eager with one thread and with two, float64, and the compiled function, and compares them."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass

import torch
from cases import CONTENTS_UNDEFINED, DTYPES, Case
from numbers_rule import rms, with_threads
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map
from verdict import Outcome, Wrong, check_distribution, check_metadata, check_numbers, plain, same_numbers, short

import tilewright
from tilewright.backend import tilewright as backend

WIDE = {torch.float32: torch.float64, torch.bfloat16: torch.float64, torch.float16: torch.float64, torch.complex64: torch.complex128,
        torch.complex32: torch.complex128}  # fmt: skip


@dataclass
class Run:
    """What a call gave: all tensors, other values, and which results lie in the memory of which inputs or results."""

    tensors: list
    others: list
    structure: object
    aliases: list
    gradients: int = 0


def fresh(value, wide: bool = False):
    """A copy with the same strides and shared memory; of leaves that ask for gradients where the originals do."""
    memo: dict = {}
    copies: dict = {}

    def one(v):
        if isinstance(v, torch.Tensor):
            if id(v) not in copies:
                made = copy.deepcopy(v.detach(), memo)
                made = made.to(WIDE[v.dtype]) if wide and v.dtype in WIDE else made
                copies[id(v)] = made.requires_grad_() if v.requires_grad else made
            return copies[id(v)]
        if wide and isinstance(v, torch.dtype):
            return WIDE.get(v, v)
        return v

    return tree_map(one, value)


def storage(tensor: torch.Tensor):
    return tensor.untyped_storage()._cdata if tensor.layout == torch.strided and tensor.numel() else None


def call(function, info, sample, gradient: bool, wide: bool = False, seed: int = 0) -> Run:
    arguments = fresh((sample.input, *sample.args), wide)
    keywords = fresh(sample.kwargs, wide)
    inputs = [v for v in tree_leaves((arguments, keywords)) if isinstance(v, torch.Tensor)]
    torch.manual_seed(seed)
    result = function(*arguments, **keywords)
    leaves, structure = tree_flatten(result)
    tensors = [v for v in leaves if isinstance(v, torch.Tensor)]
    known = [storage(v) for v in inputs]
    aliases = []
    for tensor in tensors:
        held = storage(tensor)
        aliases.append(known.index(held) if held is not None and held in known else -1)
        known.append(held)
    gradients = derivatives(info, sample, result, inputs) if gradient else []
    results = tensors + gradients + inputs  # inputs, for they may have been written
    return Run([v.detach() for v in results], [v for v in leaves if not isinstance(v, torch.Tensor)], structure, aliases, len(gradients))


def derivatives(info, sample, result, inputs) -> list:
    """The gradients by all inputs of the sum of the results weighted by fixed numbers."""
    asked = [v for v in inputs if v.requires_grad]
    if sample.output_process_fn_grad is not None:
        result = sample.output_process_fn_grad(result)
    differentiable = [v for v in tree_leaves(result) if isinstance(v, torch.Tensor) and v.requires_grad]
    if not asked or not differentiable:
        return []
    weights = []
    for out in differentiable:
        real = torch.linspace(0.5, 1.5, out.numel(), dtype=torch.float64).reshape(out.shape)
        weights.append(torch.complex(real, 0.5 * real).to(out.dtype) if out.is_complex() else real.to(out.dtype))
    found = torch.autograd.grad(differentiable, asked, weights, allow_unused=True)
    return [v for v in found if v is not None]


def is_random(info, sample, run: Run, gradient: bool) -> bool:
    """Whether other seeds give other numbers in eager."""
    for seed in (1, 2):
        other = call(info.op, info, sample, gradient, seed=seed)
        if any(not same_numbers(a, b) for a, b in zip(run.tensors, other.tensors)):
            return True
    return False


def check_places(info, sample, got: Run, want: Run, index: int) -> bool:
    """Whether result `index`, places of elements, differs from eager's only among elements of equal value."""
    if index != 1 or len(want.tensors) < 2 or not isinstance(sample.input, torch.Tensor):
        return False
    ours, theirs, x = got.tensors[1], want.tensors[1], sample.input.detach()
    if ours.dtype != torch.int64 or not x.dim() or got.tensors[0].shape != ours.shape:
        return False
    dim = sample.kwargs.get("dim", next((a for a in reversed(sample.args) if isinstance(a, int) and not isinstance(a, bool)), -1))
    try:
        wide = ours if ours.dim() == x.dim() else ours.unsqueeze(dim)
        return same_numbers(x.gather(dim, wide).reshape(ours.shape), want.tensors[0])
    except (RuntimeError, IndexError):
        return False


def compare(info, case: Case, sample, got: Run, runs: list[Run], exact: Run | None, random: bool) -> None:
    want = runs[0]
    if got.structure != want.structure:
        raise Wrong("structure", f"results {got.structure}, eager gives {want.structure}")
    if got.others != want.others and not random:
        raise Wrong("values", f"values {got.others}, eager gives {want.others}")
    if got.aliases != want.aliases:
        raise Wrong("aliasing", f"results lie in the memory of {got.aliases} (inputs first, -1: their own), eager's in that of {want.aliases}")
    if len(got.tensors) != len(want.tensors):
        raise Wrong("gradients", f"{got.gradients} gradients, eager gives {want.gradients}")
    count = len(want.aliases)
    names = [f"result {i}" for i in range(count)] + [f"gradient {i}" for i in range(want.gradients)]
    names += [f"input {i} afterwards" for i in range(len(want.tensors) - len(names))]
    if exact is None or len(exact.tensors) != len(want.tensors) or any(a.shape != b.shape for a, b in zip(exact.tensors, want.tensors)):
        exact = want
    precise = [plain(t) for t in exact.tensors]
    precise = [t.double() if t.is_floating_point() else t for t in precise]
    results = count + want.gradients
    largest = max((rms(torch.nan_to_num(t, 0, 0, 0)) for t in precise[:results] if t.is_floating_point()), default=0.0)
    for index, (ours, theirs) in enumerate(zip(got.tensors, want.tensors)):
        what = f"{names[index]}: {theirs.dtype}{list(theirs.shape)}"
        check_metadata(ours, theirs, what)
        if case.entry in CONTENTS_UNDEFINED and index < count:
            continue
        if random:
            check_distribution(ours, theirs, what)
            continue
        try:
            check_numbers(plain(ours), [plain(r.tensors[index]) for r in runs], precise[index], largest, what)
        except Wrong as wrong:
            if wrong.kind != "integers" or not check_places(info, sample, got, want, index):
                raise


def fallback_ops(reports) -> list[str]:
    ops = set()
    for graph in reports:
        for refusal in (r for r in graph.refusals if not r.follows):
            ops.add("complex" if "complex" in refusal.reason else refusal.target if "." in refusal.target.split()[0] else short(refusal.reason))
        if graph.eager_segments and not graph.refusals:
            ops.add("segment")
    return sorted(ops)


def compiled_run(info, case: Case, sample, using) -> Run:
    torch._dynamo.reset()

    op = info.op

    def entry(*arguments, **keywords):
        return op(*arguments, **keywords)

    function = torch.compile(entry, backend=using, fullgraph=True, dynamic=case.mode == "dynamic")
    return call(function, info, sample, case.mode == "gradient")


def judge(info, case: Case, sample) -> Outcome:
    """Runs and compares one sample."""
    gradient = case.mode == "gradient"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            runs = [with_threads(n, lambda: call(info.op, info, sample, gradient)) for n in (1, 2)]
        except Exception as error:
            return Outcome("eager", short(str(error)), f"{type(error).__name__}: {error}")
        try:
            exact = call(info.op, info, sample, gradient, wide=DTYPES[case.dtype] in WIDE)
        except Exception:
            exact = None  # there is no such kernel in float64
        random = is_random(info, sample, runs[0], gradient)
        tilewright.report(clear=True)
        try:
            got = compiled_run(info, case, sample, backend)
            compare(info, case, sample, got, runs, exact, random)
        except Exception as error:
            wrong = isinstance(error, Wrong)
            cause = getattr(error, "inner_exception", error)
            kind = error.kind if wrong else f"{type(cause).__name__}: {short(str(cause))}"
            detail = str(error) if wrong else f"{type(cause).__name__}: {cause}"
            if torch_fails_alike(info, case, sample, runs, exact, random, wrong):
                return Outcome("torch", kind, detail)
            return Outcome("wrong" if wrong else "error", kind, detail, fallback_ops(tilewright.report(clear=True)))
        ops = fallback_ops(tilewright.report(clear=True))
        return Outcome("fallback" if ops else "native", "", "", ops)


def torch_fails_alike(info, case, sample, runs, exact, random, wrong: bool) -> bool:
    """Whether torch.compile with a backend that calls eager's kernels fails, too: in the same manner."""
    try:
        compare(info, case, sample, compiled_run(info, case, sample, "aot_eager"), runs, exact, random)
    except Wrong:
        return wrong
    except Exception:
        return not wrong
    return False

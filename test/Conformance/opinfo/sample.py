"""Runs one sample in eager with one thread and with two, in float64, and compiled, and compares the results."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass

import torch
from cases import CONTENTS_UNDEFINED, DTYPES, Case
from fallbacks import fallback_ops
from numbers_rule import rms, with_threads
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map
from verdict import Outcome, Wrong, check_distribution, check_metadata, check_numbers, plain, same_numbers, short

import tilewright
from tilewright.dynamo.backend import tilewright as backend

WIDE = {torch.float32: torch.float64, torch.bfloat16: torch.float64, torch.float16: torch.float64, torch.complex64: torch.complex128,
        torch.complex32: torch.complex128}  # fmt: skip


FEW, DRAWS = 100, 12  # results of at most FEW elements are judged over DRAWS draws


@dataclass
class Run:
    """The results of a call: all tensors, other values, and which results share memory with which inputs or results."""

    tensors: list
    others: list
    structure: object
    aliases: list
    gradients: int = 0


def fresh(value, wide: bool = False):
    """Returns a copy with the same strides and shared memory. Copies of tensors that require gradients are leaves
    that require gradients."""
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
    results = tensors + gradients + inputs  # inputs, because the call may have written them
    return Run([v.detach() for v in results], [v for v in leaves if not isinstance(v, torch.Tensor)], structure, aliases, len(gradients))


def derivatives(info, sample, result, inputs) -> list:
    """Returns the gradients of the sum of the results, weighted by fixed numbers, with respect to all inputs."""
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


SEEDS = 8  # of eager's runs of ops that draw random numbers; few windows at random positions are often equal


def random_draws(info, sample, run: Run, gradient: bool) -> list[Run]:
    """Returns eager's runs with other seeds if their numbers differ, else an empty list."""
    others = [call(info.op, info, sample, gradient, seed=1)]
    drawn = torch.get_rng_state()
    torch.manual_seed(1)
    if torch.equal(drawn, torch.get_rng_state()):
        return []
    others += [call(info.op, info, sample, gradient, seed=seed) for seed in range(2, 1 + SEEDS)]
    same = all(same_numbers(a, b) for other in others for a, b in zip(run.tensors, other.tensors))
    return [] if same else [run, *others]


def check_places(info, sample, got: Run, want: Run, index: int) -> bool:
    """Returns whether result `index`, indices of elements, differs from eager's only among elements of equal value."""
    if info.name == "argsort" and index == 0 and isinstance(sample.input, torch.Tensor) and sample.input.dim():
        ours, theirs, x = got.tensors[0], want.tensors[0], sample.input.detach()
        dim = sample.kwargs.get("dim", next((a for a in sample.args if not isinstance(a, bool)), -1))
        each_once = torch.equal(ours.sort(dim).values, theirs.sort(dim).values)
        return not sample.kwargs.get("stable", False) and each_once and same_numbers(x.gather(dim, ours), x.gather(dim, theirs))
    if index != 1 or len(want.tensors) < 2 or not isinstance(sample.input, torch.Tensor):
        return False
    ours, theirs, x = got.tensors[1], want.tensors[1], sample.input.detach()
    if ours.dtype != torch.int64 or not x.dim() or got.tensors[0].shape != ours.shape:
        return False
    rest = sample.args[1:] if info.name in ("topk", "kthvalue") else sample.args  # k comes first
    dim = sample.kwargs.get("dim", next((a for a in rest if isinstance(a, int) and not isinstance(a, bool)), -1))
    try:
        wide = ours if ours.dim() == x.dim() else ours.unsqueeze(dim)
        return same_numbers(x.gather(dim, wide).reshape(ours.shape), want.tensors[0])
    except (RuntimeError, IndexError):
        return False


def compare(info, case: Case, sample, got: Run, runs: list[Run], exact: Run | None, draws: list[Run]) -> None:
    want = runs[0]
    if got.structure != want.structure:
        raise Wrong("structure", f"results {got.structure}, eager returns {want.structure}")
    if got.others != want.others and not draws:
        raise Wrong("values", f"values {got.others}, eager returns {want.others}")
    if got.aliases != want.aliases:
        raise Wrong("aliasing", f"results share memory with {got.aliases} (inputs first, -1: separate memory), eager's results with {want.aliases}")
    if len(got.tensors) != len(want.tensors):
        raise Wrong("gradients", f"{got.gradients} gradients, eager returns {want.gradients}")
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
        if draws:
            check_distribution(ours, [d.tensors[index] for d in draws], what)
            continue
        try:
            check_numbers(plain(ours), [plain(r.tensors[index]) for r in runs], precise[index], largest, what)
        except Wrong as wrong:
            if wrong.kind != "integers" or not check_places(info, sample, got, want, index):
                raise


def compiled_run(info, case: Case, sample, using) -> Run:
    torch._dynamo.reset()

    op = info.op

    def entry(*arguments, **keywords):
        return op(*arguments, **keywords)

    function = torch.compile(entry, backend=using, fullgraph=True, dynamic=case.mode == "dynamic")
    return call(function, info, sample, case.mode == "gradient")


def measured(info, case: Case, sample) -> tuple[list[Run], Run | None]:
    """Returns eager's runs with one thread and with two, and the run in float64, or None if there is no such kernel."""
    gradient = case.mode == "gradient"
    runs = [with_threads(n, lambda: call(info.op, info, sample, gradient)) for n in (1, 2)]
    torch.set_default_dtype(torch.float64)  # the dtype that integers become
    try:
        return runs, call(info.op, info, sample, gradient, wide=DTYPES[case.dtype] in WIDE)
    except Exception:
        return runs, None
    finally:
        torch.set_default_dtype(torch.float32)


def holds_over_draws(info, case: Case, again) -> bool:
    """Returns whether the numbers rule holds for results of few elements if their numbers are drawn again,
    `again(seed)`. eager's error of one number may be 0 by chance, but not that of many."""
    pooled: list[list] = []
    for seed in range(1, 1 + DRAWS):
        sample = again(seed)
        runs, exact = measured(info, case, sample)
        got = compiled_run(info, case, sample, backend)
        every = [got, *runs, exact]
        if exact is None or len({tuple(t.shape for t in run.tensors) for run in every}) > 1:
            return False
        pooled.append([[plain(t).flatten() for t in run.tensors] for run in every])
    for index in range(len(pooled[0][0])):
        got, one, two, exact = (torch.cat([draw[which][index] for draw in pooled]) for which in range(4))
        if got.is_floating_point():
            check_numbers(got, [one, two], exact.double(), 0.0, f"result {index} of {DRAWS} draws")
    return True


def judge(info, case: Case, sample, again=None) -> Outcome:
    """Runs and compares one sample. `again(seed)` is the sample with other numbers."""
    gradient = case.mode == "gradient"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            runs, exact = measured(info, case, sample)
        except Exception as error:
            return Outcome("eager", short(str(error)), f"{type(error).__name__}: {error}")
        draws = random_draws(info, sample, runs[0], gradient)
        tilewright.report(clear=True)
        try:
            got = compiled_run(info, case, sample, backend)
            try:
                compare(info, case, sample, got, runs, exact, draws)
            except Wrong as wrong:
                few = max((t.numel() for t in got.tensors), default=0) <= FEW
                if wrong.kind != "numbers" or again is None or not few or not holds_over_draws(info, case, again):
                    raise
        except Exception as error:
            wrong = isinstance(error, Wrong)
            cause = getattr(error, "inner_exception", error)
            kind = error.kind if wrong else f"{type(cause).__name__}: {short(str(cause))}"
            detail = str(error) if wrong else f"{type(cause).__name__}: {cause}"
            if torch_fails_alike(info, case, sample, runs, exact, draws, wrong):
                return Outcome("torch", kind, detail)
            return Outcome("wrong" if wrong else "error", kind, detail, fallback_ops(tilewright.report(clear=True)))
        ops = fallback_ops(tilewright.report(clear=True))
        return Outcome("fallback" if ops else "native", "", "", ops)


def torch_fails_alike(info, case, sample, runs, exact, draws, wrong: bool) -> bool:
    """Returns whether torch.compile with a backend that calls eager's kernels fails in the same manner."""
    try:
        compare(info, case, sample, compiled_run(info, case, sample, "aot_eager"), runs, exact, draws)
    except Wrong:
        return wrong
    except Exception:
        return not wrong
    return False

"""Runs one case with two draws of its arguments: in eager with one and with two threads, in float64, and compiled. Compares
the results."""

from __future__ import annotations

import copy
import random
import time
import warnings
from dataclasses import dataclass, field
from typing import Protocol

import numpy
import torch
from exact import in_float64, widen, widened_copy
from fallbacks import fallback_ops
from exported import judge_exported, tensors_in, without_caches
from modes import Case
from numbers_rule import rms, with_threads
from results import named_tensors
from torch._dynamo.utils import counters
from torch.utils._pytree import tree_map
from verdict import Outcome, Wrong, check_distribution, check_metadata, check_numbers, same_numbers, short

import tilewright
from tilewright.dynamo.backend import tilewright as backend

DRAWS = 12  # a result that violates the numbers rule is judged again over this many draws together
MOST_EXCLUDED = 4  # number of those draws that may be excluded because their results are ill-conditioned
ROUNDINGS = 24  # number of random perturbations in jumps()
NEW_TOKENS = 6
CACHES = ("dynamic", "static")  # the samples of the mode `generate`

Results = dict[str, torch.Tensor]


class Architecture(Protocol):
    """A small model that a harness declares."""

    name: str

    def build(self) -> torch.nn.Module: ...

    def draw(self, model: torch.nn.Module, mode: str, seed: int) -> dict:
        """Returns the arguments of one call in a mode. Another seed draws other numbers."""


def seed_all(seed: int) -> None:
    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)


@dataclass
class Trial:
    """A model in a mode. `sample` is an index into CACHES if the mode is `generate`."""

    architecture: Architecture
    mode: str
    sample: int = 0
    model: torch.nn.Module = None
    wide: torch.nn.Module = None  # the model in float64
    start: dict = field(default_factory=dict)

    def __post_init__(self):
        self.model = self.architecture.build().train(self.mode == "training")
        if self.mode == "exported":
            without_caches(self.model)
        self.wide = widened_copy(self.model)
        self.start = {name: b.clone() for name, b in self.model.named_buffers()}

    def arguments(self, seed: int) -> dict:
        return self.architecture.draw(self.model, self.mode, seed)

    def call(self, model, forward, arguments: dict, seed: int = 0) -> Results:
        """Resets the buffers to their initial values, calls the model once, and returns the results."""
        with torch.no_grad():
            for name, buffer in model.named_buffers():
                if name in self.start:
                    buffer.copy_(self.start[name])
        seed_all(seed)
        arguments = copy.deepcopy(arguments)
        if self.mode == "exported":
            arguments = tensors_in(arguments)
        if self.mode == "training":
            return self.step(model, forward, arguments)
        with torch.no_grad():
            if self.mode == "generate":
                return self.generate(model, forward, arguments)
            return named_tensors(forward(**arguments))

    def step(self, model, forward, arguments: dict) -> Results:
        """Returns the results, the loss, the gradients and the buffers afterwards. A missing gradient counts as 0:
        torch.compile may return either if a result does not contribute to the loss."""
        model.zero_grad(set_to_none=True)
        out = forward(**arguments)
        results = named_tensors(out, "results")
        loss = getattr(out, "loss", None)
        if loss is None:
            loss = weighted_sum(out)
        loss.backward()
        results["loss"] = loss.detach()
        parameters = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        results |= {f"gradient {name}": torch.zeros_like(p) if p.grad is None else p.grad.clone() for name, p in parameters}
        return results | {f"buffer {name}": b.detach().clone() for name, b in model.named_buffers()}

    def generate(self, model, forward, arguments: dict) -> Results:
        from transformers import GenerationConfig

        config = GenerationConfig(max_new_tokens=NEW_TOKENS, min_new_tokens=NEW_TOKENS, do_sample=False, pad_token_id=0,
            bos_token_id=1,
                                  decoder_start_token_id=1, return_dict_in_generate=True, output_logits=True,
                                      disable_compile=True,
                                  cache_implementation=CACHES[self.sample] if self.sample else None)  # fmt: skip
        own = model.forward
        model.forward = forward
        try:
            return named_tensors(model.generate(**arguments, generation_config=config))
        finally:
            if "forward" in vars(model):
                del model.forward
            assert model.forward == own

    def eager(self, arguments: dict, seed: int = 0) -> Results:
        return self.call(self.model, self.model.forward, arguments, seed)

    def exact(self, arguments: dict) -> Results | None:
        """Returns the results in float64, or None if eager does not support it."""
        try:
            with in_float64():
                return self.call(self.wide, self.wide.forward, widen(arguments))
        except Exception:
            return None

    def compiled(self, using):
        torch._dynamo.reset()
        counters.clear()
        # generate() calls the model, so its forward is compiled; otherwise the model is compiled and called directly,
        # as users do
        return torch.compile(self.model.forward if self.mode == "generate" else self.model, backend=using)


def weighted_sum(value) -> torch.Tensor:
    """Returns a loss of all differentiable results, weighted by fixed numbers."""
    total = 0
    for out in differentiable(value):
        weights = torch.linspace(0.5, 1.5, out.numel(), dtype=torch.float64).reshape(out.shape).to(out.dtype)
        total = total + (out * weights).mean()
    return total


def differentiable(value) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value] if value.requires_grad and value.is_floating_point() else []
    parts = value.values() if hasattr(value, "values") else value if isinstance(value, (list, tuple)) else []
    return [out for v in parts for out in differentiable(v)]


def same_names(got: Results, want: Results) -> None:
    if list(got) != list(want):
        odd = sorted(set(got) ^ set(want))
        raise Wrong("structure", f"results {odd[:4] or list(got)[:4]} are not in both runs, or are in another order")


def largest_of(exact: Results) -> float:
    sizes = [rms(torch.nan_to_num(t.double(), 0, 0, 0)) for t in exact.values() if t.is_floating_point()]
    return max(sizes, default=0.0)


def compare(got: Results, runs: list[Results], exact: Results | None, draws: list[Results]) -> list[str]:
    """Raises Wrong if a result is wrong. Returns the names of results that violate the numbers rule."""
    want = runs[0]
    same_names(got, want)
    if exact is None or {n: t.shape for n, t in exact.items()} != {n: t.shape for n, t in want.items()}:
        exact = want
    largest, missed = largest_of(exact), []
    for name, ours in got.items():
        what = f"{name}: {want[name].dtype}{list(want[name].shape)}"
        check_metadata(ours, want[name], what)
        if draws:
            check_distribution(ours, [d[name] for d in draws], what)
            continue
        precise = exact[name].double() if exact[name].is_floating_point() else exact[name]
        try:
            check_numbers(ours, [r[name] for r in runs], precise, largest, what)
        except Wrong as wrong:
            if wrong.kind != "numbers":
                raise
            missed.append(name)
    return missed


def random_draws(trial: Trial, arguments: dict, run: Results) -> list[Results]:
    """Returns eager's runs with other seeds if their numbers differ, else an empty list."""
    others = [with_threads(1, trial.eager, arguments, seed) for seed in (1, 2, 3)]  # `run` was also computed with one thread
    same = all(list(o) == list(run) and all(same_numbers(o[n], run[n]) for n in run) for o in others)
    return [] if same else [run, *others]


def check_draws(trial: Trial, forward, names: list[str]) -> None:
    """Applies the numbers rule to results over several draws of the arguments, with their errors pooled.

    In one draw, all errors of a network may be caused by those of a few early numbers, and eager's may be small by
    chance. All results of each draw are compared, too. Errors other than those of numbers (shape, NaN...) are
    raised at once, and a further result that violates the numbers rule is added to `names`. While the rule fails, the
    draw with the largest error is excluded, provided that jumps() returns True for it. In networks with many ReLUs or
    pools, several draws have such results. At most MOST_EXCLUDED draws are excluded.
    """
    pooled = []
    for seed in range(1, 1 + DRAWS):
        arguments = trial.arguments(seed)
        exact = trial.exact(arguments)
        runs = [with_threads(n, trial.eager, arguments) for n in (1, 2)]
        got = trial.call(trial.model, forward, arguments)
        names += [name for name in compare(got, runs, exact, []) if name not in names]
        pooled.append((got, *runs, exact or runs[0]))
    largest = max(largest_of(draw[3]) for draw in pooled)

    def hold(name: str, draws: list) -> None:
        got, one, two, exact = (torch.cat([draw[i][name].flatten() for draw in draws]) for i in range(4))
        check_numbers(got, [one, two], exact.double(), largest, f"{name} of {len(draws)} draws")

    for name in names:
        errors = [rms(draw[0][name].double() - draw[3][name].double()) for draw in pooled]
        kept = list(range(DRAWS))
        while True:
            try:
                hold(name, [pooled[i] for i in kept])
                break
            except Wrong as wrong:
                worst = max(kept, key=errors.__getitem__)
                if wrong.kind != "numbers" or len(kept) == DRAWS - MOST_EXCLUDED or not jumps(trial, trial.arguments(1 + worst), name, errors[worst]):
                    raise
                kept.remove(worst)


def jumps(trial: Trial, arguments: dict, name: str, error: float) -> bool:
    """Returns whether a result also changes by about `error` in float64 if parameters and arguments change by a few
    units in the last place of f32.

    Such a result depends on which of two almost equal elements is the largest (a pool's gradient), and the result for
    either element is accepted.
    """
    exact = trial.exact(arguments)
    if exact is None:
        return False
    generator = torch.Generator().manual_seed(0)

    def rounded(value):
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        return value.double() * (1 + 2**-21 * (2 * torch.rand(value.shape, dtype=torch.float64, generator=generator) - 1))

    kept = {parameter: parameter.detach().clone() for parameter in trial.wide.parameters()}
    try:
        for _ in range(ROUNDINGS):
            with torch.no_grad():
                for parameter, value in kept.items():
                    parameter.copy_(rounded(value))
            moved = trial.exact(tree_map(rounded, arguments))
            if moved is not None and rms(moved[name].double() - exact[name].double()) > error / 2:
                return True
        return False
    finally:
        with torch.no_grad():
            for parameter, value in kept.items():
                parameter.copy_(value)


def facts(seconds: float) -> dict:
    reports = tilewright.report()
    breaks = {reason.strip().splitlines()[0][:120]: count for reason, count in counters["graph_break"].items()}
    return {"graphs": counters["stats"].get("unique_graphs", 0), "breaks": breaks, "seconds": round(seconds, 1),
            "why": sorted({f"{r.target}: {r.reason}" for g in reports for r in g.refusals if not r.follows})[:12]}  # fmt: skip


def compare_all(trial: Trial, forward, every: list) -> tuple[float, int]:
    """Compares the compiled model's results for all arguments in `every`. Returns the seconds of the first call and
    the number of results that were judged over several draws."""
    missed, seconds = [], None
    for arguments, runs, exact, draws in every:
        before = time.monotonic()
        got = trial.call(trial.model, forward, arguments)
        seconds = seconds if seconds is not None else time.monotonic() - before
        missed += [name for name in compare(got, runs, exact, draws) if name not in missed]
    if missed:
        check_draws(trial, forward, missed)
    return seconds, len(missed)


def run_compiled(trial: Trial, using, every: list) -> tuple[float, int]:
    return compare_all(trial, trial.compiled(using), every)


def judge(case: Case, architecture: Architecture, sample: int = 0) -> Outcome:
    """Runs and compares one sample of a case."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            trial = Trial(architecture, case.mode, sample)
            every = []
            for seed in (0, DRAWS + 1):
                arguments = trial.arguments(seed)
                runs = [with_threads(n, trial.eager, arguments) for n in (1, 2)]
                every.append((arguments, runs, trial.exact(arguments), random_draws(trial, arguments, runs[0])))
        except Exception as error:
            return Outcome("eager", short(f"{type(error).__name__}: {error}"), f"{type(error).__name__}: {error}")
        if case.mode == "exported":
            return judge_exported(trial, every, lambda forward: compare_all(trial, forward, every))
        random_ones = any(draws for *_, draws in every)
        tilewright.report(clear=True)
        before = time.monotonic()
        try:
            seconds, redrawn = run_compiled(trial, backend, every)
        except Exception as error:
            wrong = isinstance(error, Wrong)
            cause = getattr(error, "inner_exception", None) or error
            kind = error.kind if wrong else f"{type(cause).__name__}: {short(str(cause))}"
            detail = str(error) if wrong else f"{type(cause).__name__}: {cause}"
            found = facts(time.monotonic() - before)
            ops = fallback_ops(tilewright.report(clear=True))
            if torch_fails_alike(trial, every, wrong):
                return Outcome("torch", kind, detail, ops, found)
            return Outcome("wrong" if wrong else "error", kind, detail, ops, found)
        found = facts(seconds) | {"random": random_ones, "redrawn": redrawn}
        ops = fallback_ops(tilewright.report(clear=True))
        if not found["graphs"]:
            return Outcome("error", "nothing was compiled", "torch.compile gave Tilewright no graph", [], found)
        return Outcome("fallback" if ops else "native", "", "", ops, found)


def torch_fails_alike(trial: Trial, every: list, wrong: bool) -> bool:
    """Returns whether torch.compile with a backend that calls eager's kernels fails in the same manner."""
    try:
        run_compiled(trial, "aot_eager", every)
    except Wrong:
        return wrong
    except Exception:
        return not wrong
    return False

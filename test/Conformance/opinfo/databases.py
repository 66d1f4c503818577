"""Compiles torch's test databases other than op_db with Tilewright: modules, optimizers, higher-order operators, autograd functions,
custom operators.

    python test/Conformance/opinfo/databases.py [--only REGEX | --share] [--from modules,optimizers,operators] [--verbose]

Each case is run in eager with one and with two threads, in float64, and compiled. The numbers rule decides
(docs/conformance.md). Prints one line per case that fails although aot_eager passes, and a last line with the counts;
with --verbose, a line for each case.
"""

from __future__ import annotations

import argparse
import collections
import copy
import functools
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent / "harness"), str(here.parent.parent / "Python")]
import built  # noqa: E402, F401

os.environ.setdefault("TILEWRIGHT_CACHE", "0")

import cases  # noqa: E402
import torch  # noqa: E402
from numbers_rule import assert_numbers, assert_over_draws, leaves, widen, with_threads  # noqa: E402
from sample import judge  # noqa: E402
from shares import share  # noqa: E402
from verdict import FAILING, Outcome, short  # noqa: E402

import tilewright  # noqa: E402

# A function `run(wrap, wide, seed)` that runs a program with state. It calls the function that `wrap` returns, in
# float64 if `wide`, with random numbers generated from `seed`.
Run = Callable[[Callable, bool, int], list]
PARTS = 12  # the share contains about one in PARTS entries
FEW, DRAWS = 8, 16  # results of at most FEW elements are judged over DRAWS draws, because eager's error of one sum may be 0 by chance


def outcome_of(run: Run, options: dict | None = None) -> Outcome:
    """Compiles a run with these options and compares its results with eager's."""
    plain = lambda function: function  # noqa: E731

    def compiled(backend, seed=0, **options):
        torch._dynamo.reset()
        return run(lambda function: torch.compile(function, backend=backend, **options), False, seed)

    def holds_over_draws() -> bool:
        drawn = [(compiled("tilewright", seed, options=options), run(plain, False, seed), run(plain, True, seed)) for seed in range(DRAWS)]
        if any(tensor.numel() > FEW for tensor in drawn[0][0]):
            return False
        try:
            assert_over_draws(drawn)
        except AssertionError:
            return False
        return True

    try:
        eager = [with_threads(threads, run, plain, False, 0) for threads in (1, 2)]
        exact = run(plain, True, 0)
    except Exception as error:
        return Outcome("eager", short(str(error)), f"{type(error).__name__}: {error}")
    try:
        assert_numbers(compiled("tilewright", options=options), eager, exact)
    except Exception as error:
        wrong = isinstance(error, AssertionError)
        if wrong and "RMS error" in str(error) and holds_over_draws():
            return Outcome("native")
        try:
            assert_numbers(compiled("aot_eager"), eager, exact)
        except Exception as theirs:
            if isinstance(theirs, AssertionError) == wrong:
                return Outcome("torch", short(str(error)), str(error))
        return Outcome("wrong" if wrong else "error", short(str(error)), f"{type(error).__name__}: {error}")
    return Outcome("native")


def module_inputs(info, training: bool, seed: int) -> list:
    torch.manual_seed(seed)
    return list(info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=training, training=training))


def of_modules(only: re.Pattern, limit: int) -> Iterator[tuple[str, Outcome]]:
    """Yields the cases of module_db in float32, in evaluation and in training, with the gradients of parameters and
    arguments in training."""
    from torch.testing._internal.common_modules import module_db

    for info in module_db:
        for training in (False, True):
            name = f"{info.name} {'training' if training else 'evaluation'}"
            if not only.search(name) or torch.float32 not in info.dtypes:
                continue
            try:
                inputs = module_inputs(info, training, 0)
            except Exception as error:
                yield name, Outcome("eager", short(str(error)), str(error))
                continue
            for number in cases.chosen(len(inputs), limit, name):
                if inputs[number].forward_input is not None:
                    run = functools.partial(module_run, info, number, training)
                    yield f"{name} {number}", outcome_of(run, {"random": "eager"})


def module_run(info, number: int, training: bool, wrap, wide: bool, seed: int) -> list:
    made = module_inputs(info, training, seed)[number]
    torch.manual_seed(seed)
    module = info.module_cls(*made.constructor_input.args, **made.constructor_input.kwargs).train(training)
    module = module.double() if wide else module.float()
    arguments, keywords = copy.deepcopy(made.forward_input.args), copy.deepcopy(made.forward_input.kwargs)
    if wide:
        arguments, keywords = torch.utils._pytree.tree_map(lambda v: widen(v).requires_grad_(v.requires_grad) if isinstance(v, torch.Tensor) else v,
                                                           (arguments, keywords))  # fmt: skip
    torch.manual_seed(seed)
    results = [r for r in leaves(wrap(module)(*arguments, **keywords)) if isinstance(r, torch.Tensor)]
    if training:
        sources = [t for t in (*module.parameters(), *torch.utils._pytree.tree_leaves((arguments, keywords))) if isinstance(t, torch.Tensor) and t.requires_grad]
        target = [r.sum() for r in results if r.requires_grad]
        if target and sources:
            results += [g for g in torch.autograd.grad(sum(target), sources, allow_unused=True) if g is not None]
        results += list(module.buffers())
    return [r.detach() for r in results]


def of_optimizers(only: re.Pattern, _: int) -> Iterator[tuple[str, Outcome]]:
    """Yields the cases of optim_db: five compiled steps on a small model, with each set of options."""
    from torch.testing._internal.common_optimizers import optim_db

    for info in optim_db:
        for number, made in enumerate(info.optim_inputs_func(device="cpu")):
            name = f"{info.name} {number} {made.desc}"
            if only.search(name) and not info.only_supports_sparse_grads:
                # Muon rounds to bf16 also in the float64 run, so the compiled run rounds as eager does.
                yield name, outcome_of(functools.partial(optimizer_run, info, made), {"rounding": "eager"})


def optimizer_run(info, made, wrap, wide: bool, seed: int) -> list:
    torch.manual_seed(seed)
    model = torch.nn.Linear(6, 5, bias=info.name != "Muon")
    data = torch.randn(7, 6), torch.randn(7, 5)
    if wide:
        model, data = model.double(), tuple(t.double() for t in data)
    options = {key: value for key, value in (made.kwargs or {}).items() if key not in ("foreach", "fused")}
    optimizer = info.optim_cls(model.parameters(), **options)

    def closure():
        optimizer.zero_grad()
        loss = (model(data[0]) - data[1]).square().mean()
        loss.backward()
        return loss

    step = wrap(lambda: optimizer.step(closure if info.step_requires_closure else None))
    for _ in range(5):
        closure()
        step()
    return [p.detach() for p in model.parameters()]


def of_operators(only: re.Pattern, _: int) -> Iterator[tuple[str, Outcome]]:
    """Yields the cases of hop_db, autograd_function_db and custom_op_db, forward and gradients in float32."""
    from torch.testing._internal import autograd_function_db, custom_op_db, hop_db

    cases.entries()
    for info in (*hop_db.hop_db, *autograd_function_db.autograd_function_db, *custom_op_db.custom_op_db):
        for mode in ("forward", "gradient"):
            case = cases.Case(info.name + (f"/{info.variant_test_name}" if info.variant_test_name else ""), "f32", mode)
            if not only.search(str(case)) or not cases.has(info, "f32", mode):
                continue
            try:
                samples = cases.samples(info, case)
            except Exception as error:
                yield str(case), Outcome("eager", short(str(error)), str(error))
                continue
            for number, sample in enumerate(samples):
                torch._dynamo.reset()
                yield f"{case} {number}", judge(info, case, sample)


def names() -> list[str]:
    """Returns the names of all entries."""
    from torch.testing._internal import autograd_function_db, common_modules, common_optimizers, custom_op_db, hop_db

    databases = (common_modules.module_db, common_optimizers.optim_db, hop_db.hop_db, autograd_function_db.autograd_function_db, custom_op_db.custom_op_db)
    return list(dict.fromkeys(info.name for database in databases for info in database))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="run only cases in whose name this regular expression is found")
    parser.add_argument("--from", dest="sources", default="modules,optimizers,operators")
    parser.add_argument("--share", action="store_true", help="run about one in twelve entries, with at most 12 inputs of each module")
    parser.add_argument("--limit", type=int, default=0, help="run at most this many inputs of each module; 0: all (a loss has hundreds)")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    limit = 12 if arguments.share else arguments.limit
    counts = collections.Counter()
    sources = {"modules": of_modules, "optimizers": of_optimizers, "operators": of_operators}
    only = re.compile(f"^({'|'.join(map(re.escape, share(names(), PARTS)))})[ /]" if arguments.share else arguments.only)
    for name, outcome in (found for of in arguments.sources.split(",") for found in sources[of](only, limit)):
        counts[outcome.state] += 1
        if arguments.verbose or outcome.state in FAILING:
            print(f"{name}: {outcome.state} {outcome.detail}"[:400].replace("\n", " "), flush=True)
        tilewright.report(clear=True)
    print(", ".join(f"{count} {state}" for state, count in counts.most_common()))
    return 1 if any(counts[state] for state in FAILING) else 0


if __name__ == "__main__":
    sys.exit(main())

"""Checks results by the numbers rule (docs/conformance.md): their error relative to float64 is at most twice (with fewer than 1000 elements:
three times) the allowed error, which is eager's error, but at least the eps of the dtype times the size of the results."""

from __future__ import annotations

import functools
import os

import torch
from torch.utils._python_dispatch import TorchDispatchMode


def leaves(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in leaves(v)]
    return []


def widen(value):
    if isinstance(value, torch.Tensor):
        return value.detach().to(torch.float64) if value.is_floating_point() else value.detach().clone()
    if isinstance(value, (list, tuple)):
        return type(value)(widen(v) for v in value)
    return value


def rms(x):
    return x.double().square().mean().sqrt().item() if x.numel() else 0.0


def with_threads(count, fn, *args):
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        return fn(*args)
    finally:
        torch.set_num_threads(before)


def rounded_to_tf32(x):
    """Returns a tensor of f32 with the nearest numbers that have 10 bits of mantissa, as f32."""
    nearest = ((x.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32).reshape(x.shape)
    return torch.where(x.isfinite(), nearest, x)


class Tf32Convolutions(TorchDispatchMode):
    """Rounds operands of f32 convolutions to tf32, as eager does on an NVIDIA GPU by default."""

    OPERANDS = {"aten::convolution": 2, "aten::_convolution": 2, "aten::convolution_backward": 3}  # the first arguments

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        count = self.OPERANDS.get(func._schema.name, 0)
        args = [rounded_to_tf32(x) if i < count and x.dtype == torch.float32 else x for i, x in enumerate(args)]
        return func(*args, **(kwargs or {}))


def eager_runs(run):
    """Returns the results of `run()`, which computes in eager, with one and two threads. For the target cuda, on which convolutions
    may use tf32, also returns the results with such convolutions."""
    runs = [with_threads(count, run) for count in (1, 2)]
    if os.environ.get("TILEWRIGHT_TARGET") == "cuda" and torch.backends.cudnn.conv.fp32_precision == "tf32":
        with Tf32Convolutions():
            runs.append(run())
    return runs


def assert_numbers(results, eager, reference, names=(), eps=0.0, selected=None):
    """Checks results by the numbers rule.

    `eager`: one list of results per eager run. `reference`: the results of the float64 run. `names`: names of the
    first results. `eps`: the eps of the dtype to which an option rounds operands, if it is larger than that of the results.
    `selected`: returns the elements that a tensor of indices selects. Eager orders equal elements arbitrarily, so indices
    that differ from eager's must select equal elements. If `selected` is None, integers must equal eager's.
    """
    assert len(results) == len(eager[0]), f"{len(results)} results, but eager returns {len(eager[0])}"
    largest = max((rms(torch.nan_to_num(r, 0, 0, 0)) for r in reference if r.is_floating_point()), default=0.0)
    for index, (got, want, exact) in enumerate(zip(results, eager[0], reference)):
        what = f"{names[index] if index < len(names) else f'result {index}'}: {got.dtype}{list(got.shape)}"
        assert got.dtype == want.dtype, f"{what}: eager returns {want.dtype}"
        assert got.shape == want.shape, f"{what}: eager returns {list(want.shape)}"
        if got.numel():
            meaningful = [d for d in range(got.dim()) if got.shape[d] > 1]
            strides = [(got.stride(d), want.stride(d)) for d in meaningful]
            assert all(a == b for a, b in strides), f"{what}: strides {got.stride()}, eager returns {want.stride()}"
        if not got.is_floating_point():
            same = torch.equal(got, want) or (selected is not None and torch.equal(selected(got), selected(want)))
            assert same, f"{what}: {(got != want).sum()} of {got.numel()} differ from eager"
            continue
        assert torch.equal(got.isnan(), want.isnan()), f"{what}: NaN at other indices than in eager"
        assert torch.equal(got.isinf(), want.isinf()), f"{what}: infinities at other indices than in eager"
        finite = want.isfinite() & exact.isfinite()
        error = rms((got.double() - exact)[finite])
        if got.dtype == torch.float64:
            assert error <= 1e-12 * max(rms(exact[finite]), largest, 1e-300), f"{what}: RMS error {error:.3g}"
            continue
        eager_error = max(rms((run[index].double() - exact)[finite]) for run in eager)
        unit = max(eps, torch.finfo(got.dtype).eps)
        allowed = max(eager_error, unit * rms(exact[finite]), unit * largest)
        factor = 3 if got.numel() < 1000 else 2
        assert error <= factor * allowed, f"{what}: RMS error {error:.3g}, {error / max(allowed, 1e-300):.1f} times the allowed {allowed:.3g}"


def compiled_strictly(fn, **arguments):
    """Compiles `fn` as a whole, or raises an error."""
    from tilewright.dynamo.backend import tilewright

    return torch.compile(fn, backend=tilewright, options={"strict": True}, fullgraph=True, **arguments)


def check(fn, *inputs, selected=None, dynamic=None, eps=0.0):
    """Compiles `fn` with the option `strict` and checks its results by the numbers rule.

    Inputs may have any dtype and strides. `selected`: returns the elements of the first input that a tensor of indices selects
    (assert_numbers()).
    """
    from tilewright.dynamo.backend import tilewright

    torch._dynamo.reset()
    with torch.no_grad():
        eager = eager_runs(lambda: leaves(fn(*inputs)))
        reference = leaves(fn(*[widen(x) for x in inputs]))
        compiled = torch.compile(fn, backend=tilewright, options={"strict": True}, fullgraph=True, dynamic=dynamic)
        elements = selected and functools.partial(selected, inputs[0])
        assert_numbers(leaves(compiled(*inputs)), eager, reference, eps=eps, selected=elements)


FEW, DRAWS = 100, 12  # results of at most FEW elements that violate the rule are judged again over DRAWS draws


def assert_over_draws(runs):
    """Applies assert_numbers() to the results of several draws together. `runs`: for each draw, the results of
    Tilewright, eager and float64."""
    ours, eager, exact = ([torch.cat([t.flatten() for t in results]) for results in zip(*which)] for which in zip(*runs))
    assert_numbers(ours, [eager], exact)


def check_drawn(fn, draw, **arguments):
    """Applies check() to `draw()`. Results of few elements that violate the rule are judged again over several draws
    together, because eager's error of one number may be 0 by chance (docs/conformance.md)."""
    try:
        check(fn, draw(), **arguments)
    except AssertionError as error:
        if "RMS error" not in str(error):
            raise
        compiled = compiled_strictly(fn)
        with torch.no_grad():
            runs = [(leaves(compiled(x)), leaves(fn(x)), leaves(fn(widen(x)))) for x in (draw() for _ in range(DRAWS))]
        if any(result.numel() > FEW for result in runs[0][0]):
            raise
        assert_over_draws(runs)


def check_gradient(fn, *inputs):
    """Checks the gradients of the sum of fn's results, weighted by fixed numbers, with respect to all floating-point inputs."""
    from tilewright.dynamo.backend import tilewright

    torch._dynamo.reset()

    def gradients(function, values):
        values = [v.detach().clone().requires_grad_() if isinstance(v, torch.Tensor) and v.is_floating_point() else v for v in values]
        total = 0
        for out in leaves(function(*values)):
            if out.is_floating_point() and out.requires_grad:
                weight = torch.linspace(0.5, 1.5, out.numel(), dtype=torch.float64).reshape(out.shape).to(out.dtype)
                total = total + (out * weight).sum()
        total.backward()
        return [v.grad for v in values if isinstance(v, torch.Tensor) and v.requires_grad and v.grad is not None]

    eager = eager_runs(lambda: gradients(fn, inputs))
    reference = gradients(fn, [widen(x) for x in inputs])
    compiled = torch.compile(fn, backend=tilewright, options={"strict": True}, fullgraph=True)
    assert_numbers(gradients(compiled, inputs), eager, reference)

"""Compiled functions that contain a whole training step, with `.backward()` inside, by the numbers rule."""

import copy
import os
import pathlib
import re
import subprocess
import sys
from unittest import mock

import pytest
import torch
from torch import nn

from numbers_rule import assert_numbers, widen
from tilewright.dynamo.backend import tilewright

WIDTH = 24
HERE = os.path.dirname(__file__)


def net():
    return nn.Sequential(nn.Linear(WIDTH, 40), nn.LayerNorm(40), nn.GELU(), nn.Linear(40, 5))


def compare(make_step, sizes=(9, 9), compiled=True, **options):
    """Performs steps with a compiled function, in eager and in float64, and compares losses and parameters."""
    torch.manual_seed(0)
    model = net()
    data = [(torch.randn(n, WIDTH), torch.randint(0, 5, (n,))) for n in sizes]

    def run(module, batches, wrap):
        step = wrap(make_step(module))
        losses = [step(x, y).detach().clone() for x, y in batches]
        return [*losses, *(p.detach() for p in module.parameters())]

    exact, eager = copy.deepcopy(model).double(), copy.deepcopy(model)
    got = run(model, data, lambda step: torch.compile(step, backend=tilewright, **options))
    want = run(eager, data, lambda step: step)
    truth = run(exact, [widen(pair) for pair in data], lambda step: step)
    assert_numbers(got, [want], truth)


def test_step_that_calls_backward_matches_eager():
    def make(model):
        def step(x, y):
            model.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.1 * p.grad
            return loss

        return step

    compare(make, (9, 9, 9))


@pytest.mark.parametrize("make_optimizer", [lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), lambda p: torch.optim.AdamW(p, 1e-2, eps=1e-4)])
def test_step_with_an_optimizer_matches_eager(make_optimizer):
    def make(model):
        optimizer = make_optimizer(model.parameters())

        def step(x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return step

    compare(make, (9, 9, 9))


def test_step_that_calls_autograd_grad_matches_eager():
    def make(model):
        parameters = list(model.parameters())

        def step(x, y):
            loss = nn.functional.cross_entropy(model(x), y)
            gradients = torch.autograd.grad(loss, parameters)
            with torch.no_grad():
                for p, g in zip(parameters, gradients):
                    p -= 0.1 * g
            return loss

        return step

    compare(make)


def test_module_whose_forward_calls_backward_matches_eager():
    class Stepping(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, x, y):
            self.model.zero_grad()
            loss = nn.functional.cross_entropy(self.model(x), y)
            loss.backward()
            with torch.no_grad():
                for p in self.model.parameters():
                    p -= 0.1 * p.grad
            return loss

    compare(Stepping)


def test_step_with_dynamic_sizes_matches_eager():
    def make(model):
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        def step(x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return step

    compare(make, (9, 5, 12), dynamic=True)


def test_step_under_autocast_matches_eager():
    torch.manual_seed(0)
    model = net()
    x, y = torch.randn(9, WIDTH), torch.randint(0, 5, (9,))

    def gradients(module, wrap, exact=False):
        def step(x, y):
            with torch.autocast("cpu", torch.bfloat16, enabled=not exact):
                loss = nn.functional.cross_entropy(module(x), y)
            loss.backward()
            return loss

        loss = wrap(step)(*(widen((x, y)) if exact else (x, y)))
        return [loss.detach(), *(p.grad for p in module.parameters())]

    got = gradients(copy.deepcopy(model), lambda step: torch.compile(step, backend=tilewright))
    want = gradients(copy.deepcopy(model), lambda step: step)
    truth = gradients(copy.deepcopy(model).double(), lambda step: step, exact=True)
    # Under autocast, eager computes the products in bf16, and the gradients in f32 have errors of that size. Cast them to bf16, so that
    # assert_numbers() uses the machine epsilon of bf16 instead of that of f32.
    assert_numbers([t.bfloat16() for t in got], [[t.bfloat16() for t in want]], truth)


def test_step_with_compiled_autograd_matches_eager():
    def make(model):
        def step(x, y):
            model.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.1 * p.grad
            return loss

        return step

    with torch._dynamo.config.patch(compiled_autograd=True):
        compare(make)


def test_double_backward_raises_the_error_of_aot_eager():
    """torch.compile differentiates a graph once: the error is raised immediately."""

    def outcome(backend):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(WIDTH, 8), nn.Tanh(), nn.Linear(8, 1))

        def step(x):
            (gradient,) = torch.autograd.grad(model(x).pow(2).sum(), x, create_graph=True)
            loss = gradient.pow(2).sum()
            loss.backward()
            return loss

        try:
            return float(torch.compile(step, backend=backend)(torch.ones(5, WIDTH, requires_grad=True)).detach())
        except RuntimeError as error:
            return str(error)

    assert outcome(tilewright) == outcome("aot_eager")


PROGRAM = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(16, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
def step(x):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss
compiled = torch.compile(step, backend="tilewright")
x = torch.randn(4, 16)
print(*(float(compiled(x)) for _ in range(3)))
"""


def test_step_restored_in_a_second_process_gives_equal_losses(tmp_path):
    """The second process restores graphs from torch's cache."""
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "torch"), "TILEWRIGHT_CACHE_DIR": str(tmp_path / "ours")}
    run = [subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, timeout=300) for _ in range(2)]
    assert all(r.returncode == 0 for r in run), run[0].stderr + run[1].stderr
    assert run[0].stdout == run[1].stdout and len(run[0].stdout.split()) == 3


class Overriding(nn.Module):
    """Overrides parameters(), whose frame Dynamo would trace while torch holds the lock of its callbacks."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 3))

    def parameters(self):
        return [self.weight]


class BuiltBehindABreak(nn.Module):
    def __init__(self):
        torch._dynamo.graph_break()
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 3))


def test_unusual_modules_do_not_disturb_the_prewarm():
    overriding = Overriding()
    compiled = torch.compile(lambda m, x: (x @ m.weight).sum(), backend=tilewright)
    compiled(overriding, torch.ones(2, 3)).backward()
    assert torch.equal(overriding.weight.grad, torch.full((3, 3), 2.0))
    made = torch.compile(lambda: BuiltBehindABreak().weight * 2, backend=tilewright)()
    assert torch.equal(made.detach(), torch.full((3, 3), 2.0))


def test_frames_of_the_package_are_not_traced():
    """Inside the user's function, a backward graph is compiled and caches are written, while Dynamo inspects each
    frame."""
    traced = []
    convert = torch._dynamo.convert_frame.ConvertFrameAssert.__call__

    def record(self, frame, *arguments, **keywords):
        traced.append(frame.f_code.co_filename)
        return convert(self, frame, *arguments, **keywords)

    torch._dynamo.reset()
    model = net()

    def step(x):
        loss = model(x).square().sum()
        loss.backward()
        return loss

    with mock.patch.object(torch._dynamo.convert_frame.ConvertFrameAssert, "__call__", record):
        torch.compile(step, backend=tilewright)(torch.randn(9, WIDTH))
    package = os.path.realpath(os.path.dirname(sys.modules["tilewright"].__file__))
    assert __file__ in traced
    assert not [file for file in traced if os.path.realpath(file).startswith(package + os.sep)]


def test_a_package_on_the_path_registers_the_backend(tmp_path):
    """The package is on sys.path but is not installed, so it has no metadata."""
    import tilewright

    os.symlink(os.path.dirname(tilewright.__file__), tmp_path / "tilewright")
    program = f"""
import importlib.metadata, sys
sys.path.insert(0, {str(tmp_path)!r})
found = importlib.metadata.entry_points
importlib.metadata.entry_points = lambda **k: importlib.metadata.EntryPoints(p for p in found(**k) if p.name != "tilewright") if k else found()
import tilewright, torch
print(torch.compile(lambda x: x + 1, backend="tilewright")(torch.ones(2)).tolist())
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert run.stdout.strip() == "[2.0, 2.0]", run.stderr


def test_program_of_the_training_how_to_reduces_the_loss():
    """Runs the program of docs/how-to/train.md."""
    page = (pathlib.Path(__file__).parents[2] / "docs" / "how-to" / "train.md").read_text()
    names = {"__name__": "train"}
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], names)  # noqa: S102
    assert names["losses"][-1] < 0.7 * names["losses"][0]

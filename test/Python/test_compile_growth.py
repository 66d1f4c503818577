"""The size of a compilation depends only on the model: not on the number of steps of a recurrence whose kernels are
equal, nor on the length of a window.

The tests count kernels and operations and do not measure times, so that they give the same result on every
machine.
"""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

import tilewright

ROOT = Path(__file__).resolve().parents[2]
DRIVER = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build")) / "bin" / "tilewright"


def stage(model, name):
    return subprocess.run([DRIVER, "compile", model, f"--emit={name}"], check=True, capture_output=True, text=True, timeout=300).stdout


def kernels(text):
    return len(re.findall(r"func\.func private @\w+", text))


class Recurrence(torch.nn.Module):
    """An LSTM layer, unrolled, whose steps read rows of one product and whose results are stacked."""

    def __init__(self):
        super().__init__()
        self.inputs, self.state = torch.nn.Linear(24, 64), torch.nn.Linear(16, 64)

    def forward(self, x):
        gates, h, c, results = self.inputs(x), x.new_zeros(1, 16), x.new_zeros(1, 16), []
        for t in range(x.shape[0]):
            i, f, g, o = (gates[t] + self.state(h)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            results.append(h)
        return torch.stack(results)


def exported(folder, model, *inputs):
    tilewright.export(model.eval(), inputs, folder / "model.pt2")
    return folder / "model.pt2"


def test_number_of_kernels_does_not_grow_with_recurrence_steps(tmp_path):
    torch.manual_seed(0)
    model, counts = Recurrence(), []
    for steps in (16, 64):
        file = exported(tmp_path, model, torch.randn(steps, 1, 24))
        counts.append((kernels(stage(file, "structured")), kernels(stage(file, "vector"))))
    assert counts[0] == counts[1] and counts[0][0] <= 12, counts


def test_long_recurrence_matches_float64(tmp_path):
    torch.manual_seed(0)
    model, x = Recurrence(), torch.randn(150, 1, 24)
    file = exported(tmp_path, model, x)
    with torch.no_grad():
        np.save(tmp_path / "y.npy", model.double()(x.double()).float().numpy())
    np.save(tmp_path / "x.npy", x.numpy())
    said = subprocess.run([DRIVER, "run", file, "--input", f"x={tmp_path / 'x.npy'}", "--expect", f"0={tmp_path / 'y.npy'}"],
                          capture_output=True, text=True, timeout=300)  # fmt: skip
    assert said.returncode == 0 and "expected: 0 has a relative RMS error of" in said.stdout, said.stdout + said.stderr


class Concatenation(torch.nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.parts = parts

    def forward(self, x):
        return torch.cat([x[i : i + 1 + i % 2] * 2 for i in range(self.parts)])


def test_kernels_of_a_long_concatenation_have_few_arguments(tmp_path):
    """Some passes take time in proportion to the square of the number of a kernel's arguments."""
    text = stage(exported(tmp_path, Concatenation(700), torch.randn(702, 4)), "vector")
    arguments = [line.count("%arg") for line in text.splitlines() if "func.func private @" in line]
    assert max(arguments) <= 200, max(arguments)


@pytest.mark.parametrize("parts", [128, 129, 700])
def test_a_long_concatenation_matches_eager(parts):
    model, x = Concatenation(parts), torch.randn(parts + 2, 4)
    compiled = torch.compile(model, backend="tilewright", fullgraph=True, dynamic=False)
    torch.testing.assert_close(compiled(x), model(x), rtol=0, atol=0)


class Scan(torch.nn.Module):
    """A decaying state whose values at all steps are stacked along `dim`. The concatenation is split into parallel
    tasks."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x, decay):
        state, results = x.new_zeros(x.shape[0], x.shape[2]), []
        for t in range(x.shape[1]):
            state = state * decay[:, t] + x[:, t]
            results.append(state.tanh() * (t + 1))
        return torch.stack(results, self.dim)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_stacked_results_of_a_scan_match_float64(dim):
    """One-shot bufferization took two minutes to compare 256 insertions of one kernel with each other."""
    torch.manual_seed(0)
    model, x, decay = Scan(dim), torch.randn(2, 256, 2048), torch.rand(2, 256, 2048)
    ours = torch.compile(model, backend="tilewright", options={"strict": True})(x, decay)
    torch.testing.assert_close(ours.double(), model.double()(x.double(), decay.double()), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("padding", [False, True])
def test_code_size_does_not_grow_with_window_length(tmp_path, padding):
    lengths = []
    for taps in (512, 4096):
        model = torch.nn.Conv1d(32, 32, taps, groups=32, padding=taps // 2 if padding else 0)
        lengths.append(len(stage(exported(tmp_path, model, torch.randn(1, 32, 6000)), "target").splitlines()))
    assert lengths[1] <= lengths[0] * 1.1, lengths


@pytest.mark.parametrize("taps, padding, stride, dilation, channels, groups", [
    (33, 16, 1, 1, 32, 32), (64, 32, 1, 1, 32, 32), (129, 200, 1, 1, 10, 5), (40, 0, 3, 2, 32, 8), (37, 18, 2, 1, 8, 4), (512, 256, 1, 1, 4, 4),
])  # fmt: skip
def test_conv1d_with_long_window_and_gradient_match_float64(taps, padding, stride, dilation, channels, groups):
    torch.manual_seed(0)
    model = torch.nn.Conv1d(channels, channels, taps, padding=padding, stride=stride, dilation=dilation, groups=groups)
    x = torch.randn(2, channels, 333, requires_grad=True)
    compiled = torch.compile(model, backend="tilewright", options={"strict": True})
    ours = compiled(x)
    ours.square().sum().backward()
    exact = torch.nn.Conv1d(channels, channels, taps, padding=padding, stride=stride, dilation=dilation, groups=groups).double()
    exact.load_state_dict(model.state_dict())
    z = x.detach().double().requires_grad_()
    theirs = exact(z)
    theirs.square().sum().backward()
    for mine, right in ((ours, theirs), (model.weight.grad, exact.weight.grad), (x.grad, z.grad)):
        error = (mine.double() - right).square().mean().sqrt() / right.square().mean().sqrt()
        assert error < 2e-6, error

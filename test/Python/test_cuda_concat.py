"""Tests of concatenations on the emulated device: elements of a thread that are in one part, in several parts, and
concatenations that are computed in the kernel that reads them."""

import re

import pytest
import torch

from numbers_rule import check


@pytest.fixture(autouse=True)
def calls(monkeypatch, tmp_path):
    """Returns a function that returns the names of the kernels that the last compiled graph calls."""
    for name, value in (("TARGET", "cuda"), ("DEVICE", "emulated"), ("ARCH", "sm_90a"), ("DUMP", str(tmp_path / "dump"))):
        monkeypatch.setenv(f"TILEWRIGHT_{name}", value)

    def names():
        text = max((tmp_path / "dump").rglob("*-tiled.mlir"), key=lambda file: file.stat().st_mtime_ns).read_text()
        return re.findall(r" call @(\w+)\(", text.split("func.func private")[0])

    return names


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat([-x[..., half:], x[..., :half]], -1)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("heads,size", [(4, 64), (1, 128), (3, 40)])
def test_rotary_embedding(heads, size, dtype, calls):
    x, cos, sin = torch.randn(2, 9, heads, size).to(dtype), torch.randn(9, size).to(dtype), torch.randn(9, size).to(dtype)

    def rotary(x, cos, sin):
        x = x.transpose(1, 2)
        return x * cos + rotate_half(x) * sin

    check(rotary, x, cos, sin)
    assert (len(calls()) == 1) == (size // 2 % 8 == 0), calls()


def test_rotary_embedding_of_an_operand_that_a_kernel_computes_is_not_in_place(calls):
    """Threads read elements that other threads compute, so the result may not overwrite the operand."""
    x, cos, sin = torch.randn(64, 64), torch.randn(64, 64), torch.randn(64, 64)

    def step(x, cos, sin):
        y = (x @ sin).contiguous()
        return y * cos + rotate_half(y) * sin

    check(step, x, cos, sin)


def test_argument_that_a_rotation_overwrites():
    from tilewright.dynamo.backend import tilewright

    x, cos, sin = torch.randn(64, 64), torch.randn(64, 64), torch.randn(64, 64)

    def step(x, cos, sin):
        x.copy_(x * cos + rotate_half(x) * sin)

    ours, eager = x.clone(), x.clone()
    torch.compile(step, backend=tilewright, options={"strict": True})(ours, cos, sin)
    step(eager, cos, sin)
    torch.testing.assert_close(ours, eager)


@pytest.mark.parametrize("parts", [(16, 48, 32), (1, 2, 3), (8, 8), (7, 9), (24, 0, 8), (4, 12, 16), (40,) * 9])
@pytest.mark.parametrize("dim", [0, 1])
def test_parts_of_all_sizes(parts, dim):
    shapes = [(n, 24) if dim == 0 else (24, n) for n in parts]
    for dtype in (torch.bfloat16, torch.float32, torch.int8):
        inputs = [(torch.randn(shape) * 20).to(dtype) for shape in shapes]
        check(lambda *parts: torch.cat(parts, dim), *inputs)
        check(lambda *parts: torch.cat(parts, dim) * 2 + 1, *inputs)


def test_parts_that_a_kernel_computes():
    x, y = torch.randn(24, 32), torch.randn(24, 64)
    check(lambda x, y: (torch.cat([x + 1, y[:, ::2], x.exp()], 1) * 2, x), x, y)
    check(lambda x, y: torch.cat([torch.cat([x, -x], 1), y], 1).relu(), x, y)
    check(lambda x, y: torch.stack([x, -x], -1).flatten(-2) * y, x, y)  # interleaved
    check(lambda x, y: torch.cat([x, -x], 1).t() * torch.cat([x, x], 1).t(), x, y)


def test_concatenation_that_a_row_kernel_reads():
    x, y = torch.randn(24, 32), torch.randn(24, 64)
    check(lambda x, y: torch.cat([x, -y], 1).softmax(-1), x, y)
    check(lambda x, y: torch.cat([x, -y], 1) @ torch.cat([y, x], 1).t(), x, y)


def test_long_chain_after_a_concatenation_compiles_in_linear_time():
    """Each value of the chain is read twice, so there are 2^30 paths from the result to the concatenation."""
    x, c = torch.randn(24, 16) * 0.1, torch.randn(24, 32) * 0.1

    def chain(x, c):
        y = torch.cat([-x, x * 2], 1)
        for _ in range(30):
            y = (y * c + 0.5) * 0.3 + y * 0.5
        return y

    check(chain, x, c)


def test_concatenation_of_parameters_is_computed_once(tmp_path):
    """A kernel that also reads an input is executed in every call."""
    from tilewright.dynamo.backend import tilewright

    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.p, self.q = (torch.nn.Parameter(torch.randn(64, 64)) for _ in range(2))

        def forward(self, x):
            return x * torch.cat([self.p * 2 + self.q, self.q], 1)

    model, x = Scaled(), torch.randn(64, 128)
    with torch.no_grad():
        compiled = torch.compile(model, backend=tilewright, options={"strict": True})
        for _ in range(2):
            torch.testing.assert_close(compiled(x), model(x))
            model.p.mul_(2)
    text = max((tmp_path / "dump").rglob("*-tiled.mlir"), key=lambda file: file.stat().st_mtime_ns).read_text()
    assert re.search(r"call @insert_slice\w*\(.*tw.once", text), text


def test_layers_share_the_kernel_of_a_rotation(calls):
    x, cos, sin, w = torch.randn(24, 64), torch.randn(24, 64), torch.randn(24, 64), torch.randn(64, 64) / 8

    def layers(x, cos, sin, w):
        for _ in range(3):
            x = (x * cos + rotate_half(x) * sin) @ w
        return x

    check(layers, x, cos, sin, w)
    assert not any("insert_slice" in name for name in calls()) and len({name for name in calls() if "mul_add" in name}) == 1, calls()

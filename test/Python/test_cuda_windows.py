"""Tests of grouped convolutions, pools and their gradients on the target cuda: kernels run on the emulated device without an
error, their results satisfy the numbers rule against float64, and their schedules process vectors."""

import re
import subprocess

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check, check_gradient
from test_cuda import PROGRAM, find_ptxas

BF16, F16, F32 = torch.bfloat16, torch.float16, torch.float32


@pytest.fixture(autouse=True)
def emulated(monkeypatch, tmp_path):
    for name, value in (("TARGET", "cuda"), ("DEVICE", "emulated"), ("ARCH", "sm_90a"), ("DUMP", str(tmp_path / "dump"))):
        monkeypatch.setenv(f"TILEWRIGHT_{name}", value)


def image(*shape, dtype=F32):
    return torch.randn(shape).to(dtype).contiguous(memory_format=torch.channels_last)


def compiled_kernels(tmp_path):
    """Returns the schedule of each kernel, and asserts that ptxas spills no registers of any kernel."""
    found = {}
    for number, tiled in enumerate(sorted((tmp_path / "dump").rglob("*-tiled.mlir"))):
        kernels = dict(re.findall(r"func.func (?:private )?@(\w+)\(.*?tw.schedule = #tw_gpu.schedule<(.*?)>[,}]", tiled.read_text()))
        found |= {f"{number}-{name}": schedule for name, schedule in kernels.items()}
        if ptxas := find_ptxas():
            ptx = tmp_path / "kernels.ptx"
            subprocess.run([PROGRAM, "compile", tiled, "--start-at=tiled", "--target=cuda", "--arch=sm_90a", "--emit=ptx", "-o", ptx], check=True, timeout=60)
            done = subprocess.run([ptxas, "-arch=sm_90a", "-v", ptx, "-o", tmp_path / "kernels.cubin"], capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr
            assert not re.search(r"[1-9]\d* bytes spill", done.stderr), done.stderr
    return found


def windows_of(tmp_path):
    return [schedule for schedule in compiled_kernels(tmp_path).values() if "kind = windows" in schedule]


DEPTHWISE = [
    # shape, window, how, dtype
    ((2, 40, 9, 11), (3, 3), dict(padding=1), BF16),
    ((2, 40, 9, 11), (3, 3), dict(padding=1, stride=2), F16),
    ((1, 24, 13, 9), (7, 7), dict(padding=3), BF16),
    ((1, 12, 13, 9), (5, 5), dict(padding=2, dilation=2), F32),
    ((1, 7, 8, 6), (3, 3), dict(padding=1), F32),
    ((1, 16, 5, 6), (1, 3), dict(padding=(0, 1)), BF16),
    ((1, 8, 4, 40), (1, 31), dict(padding=(0, 15)), F32),
    ((1, 8, 10, 10), (3, 3), dict(stride=3), BF16),
    ((3, 16, 7, 7), (3, 3), dict(padding=1), torch.float64),
]


@pytest.mark.parametrize("shape, window, how, dtype", DEPTHWISE)
def test_depthwise_convolution_in_registers_matches_eager(shape, window, how, dtype, tmp_path):
    channels = shape[1]
    w, b, r = torch.randn(channels, 1, *window).to(dtype), torch.randn(channels).to(dtype), None
    x = image(*shape, dtype=dtype)
    check(lambda x, w, b: F.relu(F.conv2d(x, w, b, groups=channels, **how)), x, w, b)
    (schedule,) = windows_of(tmp_path)
    wanted = 8 if channels % 8 == 0 and dtype in (BF16, F16) else 4 if channels % 4 == 0 and dtype is F32 else 1
    assert f"vector = {wanted}" in schedule or dtype is torch.float64


def test_depthwise_convolution_of_images_in_channels_first_layout_matches_eager(tmp_path):
    check(lambda x, w: F.conv2d(x, w, padding=1, groups=24), torch.randn(2, 24, 9, 10), torch.randn(24, 1, 3, 3))
    assert windows_of(tmp_path)


def test_depthwise_convolution_with_residual_and_two_results_matches_eager(tmp_path):
    x, w, r = image(2, 16, 9, 9, dtype=BF16), torch.randn(16, 1, 3, 3).to(BF16), image(2, 16, 9, 9, dtype=BF16)

    def both(x, w, r):
        y = F.conv2d(x, w, padding=1, groups=16)
        return F.relu(y + r), y * 2

    check(both, x, w, r)
    assert windows_of(tmp_path)


def test_depthwise_convolution_with_symbolic_sizes_matches_eager(tmp_path):
    convolution = torch.nn.Conv2d(16, 16, 3, padding=1, groups=16)
    for height, width in ((9, 11), (12, 7)):
        x = image(2, 16, height, width)
        torch._dynamo.mark_dynamic(x, (2, 3))
        with torch.no_grad():
            compiled = torch.compile(convolution, backend="tilewright", options={"strict": True})(x)
        torch.testing.assert_close(compiled, convolution(x))
    (schedule,) = windows_of(tmp_path)  # one graph for both sizes


@pytest.mark.parametrize("channels, filters, groups", [(16, 32, 4), (32, 32, 2), (12, 24, 3), (6, 12, 6), (6, 18, 6), (10, 5, 5), (40, 40, 1)])
@pytest.mark.parametrize("dtype", [F32, BF16])
def test_grouped_convolution_in_registers_matches_eager(channels, filters, groups, dtype, tmp_path):
    x, w = image(2, channels, 7, 9, dtype=dtype), torch.randn(filters, channels // groups, 3, 3).to(dtype)
    check(lambda x, w: F.conv2d(x, w, padding=1, stride=2, groups=groups), x, w)
    assert bool(windows_of(tmp_path)) == (groups > 1)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("dtype", [F32, BF16])
def test_gradients_of_depthwise_convolutions_match_eager(stride, dtype, tmp_path):
    x, w = image(2, 16, 9, 10, dtype=dtype), torch.randn(16, 1, 3, 3).to(dtype)
    check_gradient(lambda x, w: F.conv2d(x, w, stride=stride, padding=1, groups=16), x, w)
    assert len(windows_of(tmp_path)) > 1  # the convolution, and the gradient of the input
    vector = 8 if dtype is BF16 else 4
    weights = [schedule for name, schedule in compiled_kernels(tmp_path).items() if re.fullmatch(r"\d+-convolution_weight_grad_\d+", name)]
    assert f"kind = elements, threads = 64, vector = {vector}" in weights[0], weights


@pytest.mark.parametrize("channels, window, how", [(3, 7, dict(stride=2, padding=3)), (3, 3, dict(padding=1)), (1, 5, dict(stride=2)), (4, 3, dict(dilation=(2, 1))), (6, 3, dict(dilation=2))])
@pytest.mark.parametrize("dtype", [F32, BF16])
def test_gradient_of_the_weight_for_images_of_few_channels_matches_eager(channels, window, how, dtype):
    """A line of a window consists of contiguous elements of the image. In a patch, the line is extended to a multiple of 8 elements."""
    x, w = image(3, channels, 15, 14, dtype=dtype), torch.randn(16, channels, window, window).to(dtype)
    check_gradient(lambda x, w: F.conv2d(x, w, **how), x, w)


@pytest.mark.parametrize("pads", [(1, 1, 1, 1), (0, 1, 0, 1), (2, 0, 1, 3)])
@pytest.mark.parametrize("groups", [1, 16])
def test_zeros_before_a_convolution_are_padding_of_the_convolution(pads, groups, tmp_path):
    x, w = image(2, 16, 9, 10, dtype=BF16), torch.randn(16, 16 // groups, 3, 3).to(BF16)
    check(lambda x, w: F.conv2d(F.pad(x, pads), w, stride=2, groups=groups), x, w)
    kernels = [name for name in compiled_kernels(tmp_path) if "pad" in name]
    assert not kernels, kernels


@pytest.mark.parametrize("value, groups", [(1.0, 16), (float("-inf"), 16), (1.0, 1)])
def test_other_padding_before_a_convolution_is_not_padding_of_the_convolution(value, groups):
    x, w = image(1, 16, 5, 6), torch.randn(16, 16 // groups, 3, 3)
    check(lambda x, w: F.conv2d(F.pad(x, (1, 1, 1, 1), value=value), w, padding=1, groups=groups), x, w)
    check(lambda x, w: F.conv2d(F.pad(x, (-1, 1, 0, 1)), w, padding=1, groups=groups), x, w)


POOLS = [
    # shape, kernel, stride, padding, dilation, ceil mode
    ((2, 16, 9, 11), 3, 2, 1, 1, False),
    ((2, 16, 9, 11), 3, 2, 1, 1, True),
    ((1, 6, 8, 8), 2, 2, 0, 1, False),
    ((1, 5, 9, 7), (3, 2), (1, 2), (1, 0), 1, False),
    ((1, 8, 12, 11), 3, 2, 1, 2, False),
    ((1, 8, 12, 11), 2, 3, 1, 1, False),
]


@pytest.mark.parametrize("shape, kernel, stride, padding, dilation, ceil_mode", POOLS)
@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_gradient_of_max_pool_reads_the_windows_of_each_element(shape, kernel, stride, padding, dilation, ceil_mode, dtype, layout, tmp_path):
    x = torch.randint(-9, 9, shape).to(dtype).contiguous(memory_format=layout)  # with equal elements
    check_gradient(lambda x: F.max_pool2d(x, kernel, stride, padding, dilation, ceil_mode), x)
    assert "tw_tile.scatter" not in "".join(file.read_text() for file in (tmp_path / "dump").rglob("*-tiled.mlir"))


@pytest.mark.parametrize("shape, kernel, stride, padding, dilation, ceil_mode", POOLS)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_pools_read_their_input_without_a_padded_copy(shape, kernel, stride, padding, dilation, ceil_mode, layout, tmp_path):
    x = torch.randn(shape).to(BF16).contiguous(memory_format=layout)
    check(lambda x: F.max_pool2d(x, kernel, stride, padding, dilation, ceil_mode), x)
    check(lambda x: F.max_pool2d(x, kernel, stride, padding, dilation, ceil_mode, return_indices=True), x)
    if dilation == 1:
        check(lambda x: F.avg_pool2d(x, kernel, stride, padding, ceil_mode), x)
    kernels = compiled_kernels(tmp_path)
    assert kernels and not any(re.fullmatch(r"\d+-pad_\d+", name) for name in kernels), kernels


def test_gradient_of_max_pool_with_nan_and_infinities_matches_eager():
    x = torch.randn(1, 4, 7, 7)
    x[0, 1, 2:4, 3], x[0, 2] = float("nan"), float("-inf")
    check_gradient(lambda x: F.max_pool2d(x, 3, 2, 1), x)


def test_gradient_of_max_pool_in_three_dimensions_matches_eager():
    check_gradient(lambda x: F.max_pool3d(x, 3, 2, 1), torch.randn(1, 3, 5, 6, 7))


def test_gradient_of_max_pool_with_symbolic_sizes_matches_eager():
    compiled = torch.compile(lambda x: F.max_pool2d(x, 3, 2, 1), backend="tilewright", dynamic=True)
    x = image(2, 8, 9, 11).requires_grad_()
    y = x.detach().clone().requires_grad_()
    compiled(x).sum().backward()
    F.max_pool2d(y, 3, 2, 1).sum().backward()
    torch.testing.assert_close(x.grad, y.grad)

"""Tests of convolutions for sm_90a on the emulated device, whose windows TMA loads by tensor maps with the mode im2col. ptx-check
reports no error, and results satisfy the numbers rule."""

import json
import re

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check, check_gradient
from test_cuda_wgmma import check_by_wgmma, dumped, hopper, kinds, run_dynamic  # noqa: F401 (hopper is a fixture)


def operands(images, channels, filters, image, window, dtype=torch.bfloat16, layout=torch.channels_last):
    x = torch.randn(images, channels, *image).to(dtype).to(memory_format=layout)
    w = torch.randn(filters, channels, *window) / (channels * window[0] * window[1]) ** 0.5
    return x, w.to(dtype).to(memory_format=layout), torch.randn(filters).to(dtype)


def check_convolution(tmp_path, tensors, **how):
    """Checks that a convolution with an epilogue uses wgmma, and that no kernel writes a padded image."""
    check_by_wgmma(tmp_path, lambda x, w, b: F.relu(F.conv2d(x, w, b, **how)), *tensors)
    assert not re.search(r"func private @(convolution|pad)_\d+\(", dumped(tmp_path, "tiled")), kinds(tmp_path)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format])
def test_convolution_of_3x3_windows_uses_wgmma(dtype, layout, tmp_path):
    check_convolution(tmp_path, operands(2, 64, 72, (13, 11), (3, 3), dtype, layout), padding=1)
    check_convolution(tmp_path, operands(3, 128, 64, (14, 14), (3, 3), dtype, layout), padding=1, stride=2)


@pytest.mark.parametrize("window, how", [
    ((1, 1), {"stride": 2}), ((1, 1), {"stride": (1, 3), "padding": (0, 1)}), ((2, 2), {"stride": 2}), ((4, 4), {"stride": 4}),
    ((3, 1), {"padding": (1, 0)}), ((1, 3), {"stride": (2, 1), "padding": (0, 1)}), ((5, 4), {"padding": (3, 1), "stride": (1, 2)}),
    ((3, 3), {"dilation": 2, "padding": 2}), ((3, 2), {"dilation": (3, 4), "stride": (2, 3), "padding": (4, 0)}),
    ((7, 7), {"padding": 3, "stride": 8}), ((2, 3), {"padding": 5}), ((9, 11), {})])  # fmt: skip
def test_windows_strides_padding_and_dilation(window, how, tmp_path):
    check_convolution(tmp_path, operands(2, 40, 64, (10, 13), window), **how)


@pytest.mark.parametrize("channels", [24, 32, 56, 64, 72, 136])
def test_channels_are_padded_to_lines(channels, tmp_path):
    """The channels of a tap are divided into lines of 64 channels. The last line is padded with zeros."""
    check_convolution(tmp_path, operands(1, channels, 24, (7, 6), (3, 3)), padding=1)


@pytest.mark.parametrize("channels, image, window", [
    (3, (32, 48), (16, 16)), (96, (10, 12), (2, 2)), (40, (9, 12), (2, 2)), (40, (8, 13), (2, 2)), (8, (8, 12), (1, 4)), (16, (28, 28), (14, 14)),
    (24, (27, 9), (9, 3))])  # fmt: skip
@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format])
def test_patches_that_do_not_overlap(channels, image, window, layout, tmp_path):
    """The pixels of a line of a patch are contiguous, and are treated as channels. If windows do not cover the image, each pixel of a window is a tap."""
    check_convolution(tmp_path, operands(3, channels, 64, image, window, layout=layout), stride=window)


@pytest.mark.parametrize("channels", [3, 16])
def test_few_channels_use_mma(channels, tmp_path):
    check(lambda x, w, b: F.conv2d(x, w, b, padding=1), *operands(2, channels, 64, (8, 9), (3, 3)))
    assert "wgmma" not in kinds(tmp_path) and "mma" in kinds(tmp_path)


@pytest.mark.parametrize("filters", [7, 70, 129])
def test_weights_with_any_number_of_filters_are_transposed(filters, tmp_path):
    """In the weight, rows of filters do not begin at multiples of 16 bytes, but rows of channels do."""
    x, w, b = operands(2, 64, filters, (8, 9), (3, 3))
    check_convolution(tmp_path, (x, w, b), padding=1)
    assert re.search(r"call @convolution\w*_filters\(", dumped(tmp_path, "tiled"))
    check_by_wgmma(tmp_path, lambda x, w, b: F.conv2d(x, w, b, stride=2), x, w, b)


def test_convolutions_of_tf32_use_wgmma(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_TF32", "1")
    # In the last two cases, the elements of a line of a window are contiguous.
    for window, how in [((3, 3), {"padding": 1}), ((1, 1), {}), ((2, 3), {"stride": 2, "dilation": 2}), ((3, 2), {"padding": (2, 0), "stride": (1, 2)}),
                        ((3, 4), {"stride": (3, 4)})]:  # fmt: skip
        x, w, b = operands(2, 36, 30, (9, 8), window, torch.float32)
        check(lambda x, w, b: F.relu(F.conv2d(x, w, b, **how)), x, w, b, eps=2**-10)
        assert kinds(tmp_path)[-2] == "wgmma" and "mma" not in kinds(tmp_path)


def test_tiles_span_images_and_end_past_the_last_one(tmp_path):
    for images, image in [(1, (5, 5)), (7, (5, 5)), (5, (3, 17)), (2, (20, 20))]:
        check_convolution(tmp_path, operands(images, 64, 64, image, (3, 3)), padding=1)


@pytest.mark.parametrize("knobs", [
    {"consumer_rows": 128, "consumers": 2, "n": 64, "stages": 2}, {"consumer_rows": 64, "consumers": 2, "n": 192, "stages": 3},
    {"consumer_rows": 64, "consumers": 1, "n": 128, "stages": 3, "tiles_per_block": 3}, {"consumer_rows": 64, "n": 128, "stages": 4, "cluster": 2},
    {"tile_rows_per_band": 8}])  # fmt: skip
def test_schedules_of_convolutions(knobs, tmp_path, monkeypatch):
    file = tmp_path / "schedules.json"
    file.write_text(json.dumps({"*convolution*": knobs}))
    x, w, b = operands(3, 72, 200, (13, 11), (3, 3))
    monkeypatch.setenv("TILEWRIGHT_SCHEDULE_FILE", str(file))
    check_by_wgmma(tmp_path, lambda x, w, b: F.silu(F.conv2d(x, w, b)), x, w, b)
    # There is one image, and the last tile of a cluster begins after the end of this image.
    x, w, b = operands(1, 64, 128, (13, 11), (3, 3))
    check_by_wgmma(tmp_path, lambda x, w, b: F.silu(F.conv2d(x, w, b, padding=1)), x, w, b)


def test_padded_image_that_two_convolutions_read(tmp_path):
    x, w, b = operands(2, 64, 64, (9, 8), (3, 3))
    check_by_wgmma(tmp_path, lambda x, w, v: F.conv2d(F.pad(x, (1, 1, 1, 1)), w) + F.conv2d(F.pad(x, (1, 1, 1, 1)), v), x, w, w.flip(0))
    assert "elements" not in [kind for kind, name in re.findall(r"@(pad_\d+)\(.*kind = (\w+)", dumped(tmp_path, "tiled"))]
    check_by_wgmma(tmp_path, lambda x, w, b: F.conv2d(F.pad(x, (2, 0, 0, 3)), w, b), x, w, b)
    # If an image is padded with another value than zero, the padded image is stored.
    check_by_wgmma(tmp_path, lambda x, w, b: F.conv2d(F.pad(x, (1, 1, 1, 1), value=2.0), w, b), x, w, b)


def test_residual_and_norm_after_a_convolution(tmp_path):
    x, w, b = operands(2, 64, 64, (9, 8), (3, 3))
    check_by_wgmma(tmp_path, lambda x, w, b: F.relu(F.conv2d(x, w, b, padding=1) + x), x, w, b)
    g = torch.randn(64).bfloat16()
    check_by_wgmma(tmp_path, lambda x, w, g: F.layer_norm(F.conv2d(x, w, stride=2).permute(0, 2, 3, 1), (64,), g), x, w, g)


def test_gradients_of_convolutions_use_wgmma(tmp_path):
    for window, how in [((3, 3), {"padding": 1}), ((3, 3), {"padding": 1, "stride": 2}), ((4, 4), {"stride": 4}), ((1, 1), {"stride": 2})]:
        x, w, _ = operands(2, 64, 72, (8, 12), window)
        check_gradient(lambda x, w: F.conv2d(x, w, **how), x, w)
        assert "wgmma" in kinds(tmp_path) and "mma" not in kinds(tmp_path)


def test_symbolic_number_of_images(tmp_path):
    _, w, b = operands(1, 64, 72, (6, 7), (3, 3))
    images = [operands(count, 64, 72, (6, 7), (3, 3))[0] for count in (2, 5, 3)]
    run_dynamic(lambda x, w, b: F.relu(F.conv2d(x, w, b)), [((x, w, b), [x]) for x in images])
    assert kinds(tmp_path)[-1] == "wgmma"


def test_sum_over_channels_is_split(tmp_path):
    """The blocks of a cluster compute parts of the sum. The parts of a very long sum are a batch of convolutions with fewer channels."""
    for sizes, kernel in [((1, 1024, 64, (4, 4), (3, 3)), r"_padded\(.*kind = wgmma.*split_k = \d"), ((2, 512, 64, (5, 6), (3, 3)), r"_padded\(.*kind = wgmma.*split_k = \d"),
                          ((1, 4096, 64, (4, 4), (3, 3)), r"_parts_padded\(.*kind = wgmma")]:  # fmt: skip
        check_by_wgmma(tmp_path, lambda x, w, b: F.relu(F.conv2d(x, w, b, padding=1)), *operands(*sizes))
        assert re.search(r"@convolution\w*" + kernel, dumped(tmp_path, "tiled"))


@pytest.mark.parametrize("sizes, how", [
    ((2, 64, 72, (8, 7), (3, 3)), {"padding": 1}), ((3, 128, 24, (9, 12), (3, 2)), {"padding": (1, 0), "stride": 2}),
    ((2, 192, 40, (7, 8), (2, 3)), {"dilation": (2, 1), "padding": (0, 2)}), ((1, 64, 24, (9, 9), (1, 1)), {"stride": 2}),
    ((2, 64, 24, (32, 33), (1, 2)), {})])  # fmt: skip
def test_gradient_of_the_weight_reads_patches_by_tensor_maps(sizes, how, tmp_path):
    """No kernel stores patches. In the last case, the sum is divided into parts."""
    x, w, _ = operands(*sizes)
    check_gradient(lambda x, w: F.conv2d(x, w, **how), x, w)
    text = dumped(tmp_path, "tiled")
    assert re.search(r"@convolution_weight_grad\w*_padded\(%arg0: tensor<(\d+x){4}bf16>.*kind = wgmma", text)
    assert not re.search(r"@convolution_weight_grad\w*\(.*-> tensor<(\d+x){6}bf16>", text)


@pytest.mark.parametrize("knobs", [{"n": 64, "stages": 3, "cluster": 1, "tiles_per_block": 2}, {"consumer_rows": 128, "n": 128, "stages": 2, "cluster": 2}])
def test_schedules_of_the_gradient_of_the_weight(knobs, tmp_path, monkeypatch):
    """The last tile of rows is partial: there are 4 taps of 64 channels."""
    file = tmp_path / "schedules.json"
    file.write_text(json.dumps({"*weight_grad": knobs}))
    monkeypatch.setenv("TILEWRIGHT_SCHEDULE_FILE", str(file))
    x, w, _ = operands(2, 64, 136, (7, 8), (2, 3))
    check_gradient(lambda x, w: F.conv2d(x, w, padding=1), x, w)
    assert re.search(r"weight_grad\w*_padded\(.*block = \[\d+, %d, 64\]" % knobs["n"], dumped(tmp_path, "tiled"))


def test_patches_of_channels_that_are_not_whole_lines_are_stored(tmp_path):
    x, w, _ = operands(2, 72, 24, (6, 7), (3, 3))
    check_gradient(lambda x, w: F.conv2d(x, w, padding=1), x, w)
    assert not re.search(r"@convolution_weight_grad\w*_padded\(", dumped(tmp_path, "tiled"))

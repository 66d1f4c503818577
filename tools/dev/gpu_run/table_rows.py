"""The kernels whose schedule tables are recorded, and the time of eager for each."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from .timing import Device, medians

BF16 = torch.bfloat16
# A bf16 product is (rows, columns, terms). The products are those of facts/h200, and of layers of BERT, ViT and Llama-3 8B.
PRODUCTS = ((1, 4096, 4096), (16, 4096, 4096), (64, 6144, 4096), (256, 1024, 1024), (512, 4096, 4096), (512, 28672, 4096),
            (2048, 4096, 14336), (4096, 4096, 4096), (8192, 8192, 8192), (4096, 768, 768), (4096, 3072, 768), (4096, 768, 3072),
            (6304, 768, 768), (6304, 3072, 768), (6304, 768, 3072), (128, 768, 768), (128, 3072, 768), (2048, 6144, 4096),
            (4096, 50257, 768))  # fmt: skip
FP8 = ((8192, 8192, 4096), (2048, 4096, 4096))
# A convolution of 32 images is (input channels, output channels, window size, stride, height and width of the image).
CONVOLUTIONS = ((64, 64, 3, 1, 56), (128, 128, 3, 1, 28), (256, 256, 3, 1, 14), (64, 256, 1, 1, 56))


@dataclass
class TableRow:
    kernel: str  # name of the product in h200-products.jsonl; empty for other kinds of kernels
    module: torch.nn.Module
    make: Callable[[str], tuple]  # returns the inputs on a device
    flops: int
    bytes: int


class Call(torch.nn.Module):
    def __init__(self, function: Callable):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def gelu(x, w, bias):
    return F.gelu(F.linear(x, w, bias))


def scaled(x, w, of_x, of_w):
    return torch._scaled_mm(x, w.t(), scale_a=of_x, scale_b=of_w, out_dtype=BF16)


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def normed(x, weight, bias):
    return F.layer_norm(x, (x.shape[-1],), weight, bias)


def depthwise(x, w):
    return F.conv2d(x, w, padding=3, groups=x.shape[1])


def random(device: str, *sizes: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.randn(*sizes, device=device).to(dtype)


def product(kind: str, function: Callable, sizes: tuple, make: Callable, operand_bytes: int = 2) -> TableRow:
    m, n, k = sizes
    return TableRow(f"{kind}-{m}x{n}x{k}", Call(function), make, 2 * m * n * k, operand_bytes * (m * k + n * k) + 2 * m * n)


def convolution(channels: int, results: int, window: int, stride: int, side: int, batch: int) -> TableRow:
    def forward(x, w):
        return F.conv2d(x, w, stride=stride, padding=window // 2)

    def make(device):
        last = torch.channels_last
        return (random(device, batch, channels, side, side).to(memory_format=last), random(device, results, channels, window, window).to(memory_format=last))

    after = (side + stride - 1) // stride
    flops = 2 * batch * after * after * results * channels * window * window
    return TableRow("", Call(forward), make, flops, 2 * (batch * (side * side * channels + after * after * results) + results * channels * window * window))


def rows(dry: bool) -> dict[str, TableRow]:
    small = lambda sizes: tuple(max(16, size // 64) for size in sizes) if dry else sizes  # noqa: E731
    found: dict[str, TableRow] = {}
    for sizes in PRODUCTS:
        m, n, k = small(sizes)
        row = product("bf16", F.linear, (m, n, k), lambda d, m=m, n=n, k=k: (random(d, m, k), random(d, n, k)))
        found[row.kernel] = row
    m, n, k = small((4096, 3072, 768))
    row = product("bf16gelu", gelu, (m, n, k), lambda d, m=m, n=n, k=k: (random(d, m, k), random(d, n, k), random(d, n)))
    found[row.kernel] = row
    e4m3 = torch.float8_e4m3fn
    for sizes in FP8:
        m, n, k = small(sizes)
        row = product("fp8", scaled, (m, n, k),
                      lambda d, m=m, n=n, k=k: (random(d, m, k, dtype=e4m3), random(d, n, k, dtype=e4m3), torch.ones((), device=d), torch.ones((), device=d)), 1)  # fmt: skip
        found[row.kernel] = row
    batch = 1 if dry else 32
    for channels, results, window, stride, side in CONVOLUTIONS:
        side = min(side, 14) if dry else side
        found[f"convolution {channels} to {results}, {window}x{window}, {side}x{side}"] = convolution(channels, results, window, stride, side, batch)
    for length in (4096,):
        length = 64 if dry else length
        make = lambda d, n=length: tuple(random(d, 1, 16, n, 128) for _ in range(3))  # noqa: E731
        found[f"attention 16 x {length} x 128"] = TableRow("", Call(attention), make, 4 * 16 * length * length * 128, 2 * 4 * 16 * length * 128)
    return found | other_rows(dry)


def other_rows(dry: bool) -> dict[str, TableRow]:
    """Returns rows of bf16 kernels that are not products. The time of such a kernel is at least that of a copy of its bytes."""
    n, columns, images, side = (64, 96, 1, 14) if dry else (8192, 3072, 32, 56)
    last = torch.channels_last
    return {
        f"softmax {n} x {columns}": TableRow("", Call(lambda x: torch.softmax(x, -1)), lambda d: (random(d, n, columns),), 0, 4 * n * columns),
        f"layer norm {n} x {columns}": TableRow("", Call(normed), lambda d: (random(d, n, columns), random(d, columns), random(d, columns)), 0, 4 * n * columns),
        f"gelu {n} x {columns}": TableRow("", Call(F.gelu), lambda d: (random(d, n, columns),), 0, 4 * n * columns),
        f"transpose {n} x {columns}": TableRow("", Call(lambda x: x.t().contiguous()), lambda d: (random(d, n, columns),), 0, 4 * n * columns),
        f"sum of columns {n} x {columns}": TableRow("", Call(lambda x: x.float().sum(0)), lambda d: (random(d, n, columns),), 0, 2 * n * columns),
        f"depthwise 7x7, {side}x{side}": TableRow("", Call(depthwise), lambda d: (random(d, images, 96, side, side).to(memory_format=last), random(d, 96, 1, 7, 7)),
                                                  2 * 49 * images * side * side * 96, 4 * images * side * side * 96),
    }  # fmt: skip


class PeerSuite:
    """Exports each row as a model for `tilewright tune`, and measures eager."""

    def __init__(self, dry: bool, folder: str = "."):
        self.device, self.known, self.folder = Device(dry), rows(dry), pathlib.Path(folder)

    def measure(self, key: str, engines: list[str], say: Callable[[str], None]) -> dict:
        row = self.known[key]
        with torch.no_grad():
            say("export")
            inputs = row.make(self.device.name)
            exported = torch.export.export(row.module, tuple(x.cpu() for x in inputs))
            path = self.folder / (file_name(key) + ".pt2")
            torch.export.save(exported, path)
            say("eager")
            call = lambda: row.module(*inputs)  # noqa: E731
            for _ in range(3):
                call()
            times = medians(self.device.race({"eager": call}, 2.0, flush=True))
        return {"model": str(path), "peer_ms": times["eager"]}

    def clean(self) -> None:
        if not self.device.dry:
            torch.cuda.empty_cache()


def file_name(key: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in key)

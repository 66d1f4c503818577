"""Records the tables on which test/Tuner/replay.test runs the tuner: every schedule of some kernels, measured on this machine.

    PYTHONPATH=build/python .venv/bin/python test/Tuner/record.py test/Tuner/Inputs/tables [name...]

No other program may run at the same time. The script takes about a minute per kernel.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F

import tilewright


class Module(torch.nn.Module):
    def __init__(self, function, parameters=()):
        super().__init__()
        self.function = function
        self.weights = torch.nn.ParameterList(parameters)

    def forward(self, *inputs):
        return self.function(*inputs, *self.weights)


def product(m, n, k, dtype):
    def build():
        return Module(F.linear, [torch.randn(n, k, dtype=dtype), torch.randn(n, dtype=dtype)]), (torch.randn(m, k, dtype=dtype),)

    return build


def plain(function, *sizes):
    return lambda: (Module(function), tuple(torch.randn(size) for size in sizes))


SHAPES = [(128, 768, 768), (512, 768, 768), (256, 1024, 1024), (128, 3072, 768), (128, 768, 3072), (64, 2048, 512), (32, 4096, 1024),
          (64, 1000, 512), (512, 3072, 768), (16, 3072, 768)]  # fmt: skip
KERNELS = {
    **{f"f32-{m}x{n}x{k}": product(m, n, k, torch.float32) for m, n, k in SHAPES},
    **{f"bf16-{m}x{n}x{k}": product(m, n, k, torch.bfloat16) for m, n, k in SHAPES},
    "attention": plain(F.scaled_dot_product_attention, *[(1, 12, 512, 64)] * 3),
    "convolution": lambda: (Module(lambda x, w: F.conv2d(x, w, padding=1), [torch.randn(256, 64, 3, 3)]),
                            (torch.randn(1, 64, 28, 28).to(memory_format=torch.channels_last),)),  # fmt: skip
    "convolution-strided": lambda: (Module(lambda x, w: F.conv2d(x, w, stride=2, padding=1), [torch.randn(256, 128, 3, 3)]),
                                    (torch.randn(1, 128, 56, 56).to(memory_format=torch.channels_last),)),  # fmt: skip
    "convolution-1x1": lambda: (Module(F.conv2d, [torch.randn(256, 512, 1, 1)]),
                                (torch.randn(1, 512, 28, 28).to(memory_format=torch.channels_last),)),  # fmt: skip
    "layer-norm": plain(lambda x: F.layer_norm(x, x.shape[-1:]), (1024, 768)),
    "softmax": plain(lambda x: x.softmax(-1), (2048, 512)),
    "gelu": plain(lambda x: F.gelu(x) * x, (1024, 3072)),
}


def main(folder, *names):
    program = pathlib.Path(tilewright.__file__).parents[2] / "bin" / "tilewright"
    with tempfile.TemporaryDirectory() as work:
        for name in names or KERNELS:
            torch.manual_seed(0)
            model, inputs = KERNELS[name]()
            path = f"{work}/{name}.pt2"
            tilewright.export(model.eval(), inputs, path)
            start = time.time()
            subprocess.run([program, "tune", path, f"--record-tables={folder}", "--most=1200"], check=True)
            print(f"{name}: {time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

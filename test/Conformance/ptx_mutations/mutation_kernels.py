"""Creates the kernels that are mutated. Most are compiled from torch functions; those in WRITTEN are written by hand. For
each kernel, one launch, its buffers and its expected result are stored.

make_kernel() runs a function on the emulated device with TILEWRIGHT_SAVE_LAUNCHES set, and stores the launch that
writes the function's result. It also stores the data for the numbers rule: the result in float64 and the allowed error.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build"))
CHECKER = BUILD / "bin" / "ptx-check"
WRITTEN = {"wgmma": "gemm-wgmma", "wgmma-cluster": "gemm-wgmma-cluster"}  # written by hand: test/Tools/Inputs/ptx


@dataclass
class Kernel:
    make: object  # () -> (function, inputs)
    schedule: dict = field(default_factory=dict)
    rows: bool = False  # the number of rows is a symbol
    arch: str = "sm_80"


def kernels() -> dict[str, Kernel]:
    import torch
    import torch.nn.functional as F

    bf16, f16 = torch.bfloat16, torch.float16

    def matrix(*sizes, dtype=bf16):
        return torch.randn(*sizes).to(dtype)

    def matmul(a, b):
        return a @ b

    warps = {"warp_m": 32, "warp_n": 32, "warps_m": 2, "warps_n": 2, "k": 32, "stages": 3}
    groups = {"consumer_rows": 64, "consumers": 2, "n": 64, "stages": 3}
    attend = F.scaled_dot_product_attention
    causal = lambda q, k, v: attend(q, k, v, is_causal=True)  # noqa: E731
    grouped = lambda q, k, v: attend(q, k, v, enable_gqa=True)  # noqa: E731
    # Most scores are negative. If padding after the last key were treated as a key of zeros, its score would be 0, and it would get a
    # larger weight than most keys.
    heads = lambda *shapes: tuple((torch.randn(*s) + shift).to(bf16) for s, shift in zip(shapes, (0.5, -0.5, 0)))  # noqa: E731
    gelu = lambda a, b, c: F.gelu(a @ b + c)  # noqa: E731
    residual = lambda a, b, c, d: F.relu(a @ b + c) + d  # noqa: E731
    return {
        "product": Kernel(lambda: (matmul, (matrix(128, 160), matrix(160, 128))), warps),
        "product-gelu": Kernel(lambda: (gelu, (matrix(100, 416), matrix(416, 130), matrix(130)))),
        "product-residual": Kernel(lambda: (residual, (matrix(72, 136), matrix(96, 136).t(), matrix(96), matrix(72, 96))), warps),
        "product-transposed": Kernel(lambda: (matmul, (matrix(160, 70, dtype=f16).t(), matrix(160, 72, dtype=f16))), {**warps, "stages": 4}),
        "product-batched": Kernel(lambda: (torch.matmul, (matrix(3, 40, 80), matrix(3, 80, 56))), {**warps, "k": 16}),
        "product-symbolic": Kernel(lambda: (matmul, (matrix(70, 128), matrix(128, 72))), warps, rows=True),
        "product-i8": Kernel(lambda: (matmul, tuple((torch.randn(*s) * 40).to(torch.int8) for s in ((129, 272), (272, 72)))), {**warps, "k": 64}),
        "product-f32": Kernel(lambda: (gelu, (torch.randn(65, 70), torch.randn(70, 66), torch.randn(66)))),
        "convolution": Kernel(lambda: (lambda x, w, b: F.relu(F.conv2d(x, w, b, padding=1)), (
            matrix(2, 32, 9, 11).to(memory_format=torch.channels_last), matrix(24, 32, 3, 3).to(memory_format=torch.channels_last), matrix(24)))),
        "convolution-f32": Kernel(lambda: (lambda x, w: F.conv2d(x, w, stride=2), (torch.randn(1, 5, 12, 13), torch.randn(9, 5, 3, 3)))),
        # Products that warp groups compute (wgmma) have more steps along k than slots in the ring buffer, so that each
        # slot is filled again.
        "groups": Kernel(lambda: (matmul, (matrix(136, 448), matrix(448, 128))), {**groups, "stages": 2}, arch="sm_90a"),
        "groups-gelu": Kernel(lambda: (gelu, (matrix(100, 1024, dtype=f16), matrix(1024, 136, dtype=f16), matrix(136, dtype=f16))), arch="sm_90a"),
        "groups-residual": Kernel(lambda: (residual, (matrix(72, 456), matrix(96, 456).t(), matrix(96), matrix(72, 96))), {**groups, "consumers": 1}, arch="sm_90a"),
        "groups-transposed": Kernel(lambda: (matmul, (matrix(1032, 136).t(), matrix(1032, 72))), arch="sm_90a"),
        "groups-batched": Kernel(lambda: (torch.matmul, (matrix(3, 40, 400), matrix(3, 400, 56))), {**groups, "consumers": 1, "stages": 2}, arch="sm_90a"),
        "attention-causal": Kernel(lambda: (causal, heads((1, 2, 150, 64), (1, 2, 150, 64), (1, 2, 150, 64)))),
        "attention-masked": Kernel(lambda: (attend, (*heads((1, 2, 70, 64), (1, 2, 130, 64), (1, 2, 130, 64)), torch.rand(70, 130) > 0.3))),
        "attention-grouped": Kernel(lambda: (grouped, heads((1, 4, 70, 128), (1, 2, 100, 128), (1, 2, 100, 128)))),
        "attention-decode": Kernel(lambda: (grouped, heads((2, 8, 1, 64), (2, 2, 200, 64), (2, 2, 200, 64)))),
        "softmax": Kernel(lambda: (lambda x: torch.softmax(x, -1), (matrix(7, 512),))),
        "softmax-long": Kernel(lambda: (lambda x: torch.softmax(x, -1), (torch.randn(3, 4099),))),
        "softmax-transposed": Kernel(lambda: (lambda x: torch.softmax(x, 0), (torch.randn(70, 40),))),
        "layer-norm": Kernel(lambda: (lambda x, w, b: F.layer_norm(x, [1030], w, b), (torch.randn(5, 1030), torch.randn(1030), torch.randn(1030)))),
        "rms-norm": Kernel(lambda: (lambda x, w: F.rms_norm(x, [4096], w, 1e-5), (matrix(3, 4096), matrix(4096)))),
        "sums": Kernel(lambda: (lambda x: x.sum((0, 2)), (torch.randn(24, 17, 133),))),
        "outer-means": Kernel(lambda: (lambda x: x.mean((0, 1)), (torch.randn(40, 44, 24),))),
        "argmax": Kernel(lambda: (lambda x: torch.argmax(x, 1), (torch.randn(33, 1067),))),
        "elementwise": Kernel(lambda: (lambda x, y: F.silu(x) * y + 1, (torch.randn(37, 50), torch.randn(50)))),
        "gather": Kernel(lambda: (lambda x, i: F.pad(x[i], (1, 2)).t(), (torch.randn(6, 33), torch.tensor([3, 0, 5, -1])))),
        "cumsum": Kernel(lambda: (lambda x: torch.cumsum(x, 1), (torch.randn(5, 33),))),
    }  # fmt: skip


def environment(name: str, folder: Path) -> dict:
    return {"TILEWRIGHT_TARGET": "cuda", "TILEWRIGHT_DEVICE": "emulated", "TILEWRIGHT_CACHE": "0",
            "TILEWRIGHT_SAVE_LAUNCHES": str(folder / name / "launches")}  # fmt: skip


def make_kernel(name: str, kernel: Kernel, folder: Path) -> None:
    """Fills folder/name: kernels.ptx, launch.json, buffers, exact.npy, expected.json."""
    import torch

    sys.path.insert(0, str(ROOT / "test" / "Python"))
    from numbers_rule import assert_numbers, leaves, rms, widen, with_threads

    from tilewright.dynamo.backend import tilewright

    os.environ.update(environment(name, folder))
    here = folder / name
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir(parents=True)
    torch.manual_seed(7)
    torch._dynamo.reset()
    function, inputs = kernel.make()
    options = {"strict": True, "arch": kernel.arch}
    if kernel.schedule:
        (here / "schedule.json").write_text(json.dumps({"*": kernel.schedule}))
        options["schedule_file"] = str(here / "schedule.json")
    with torch.no_grad():
        eager = [with_threads(n, lambda: leaves(function(*inputs))) for n in (1, 2)]
        exact = leaves(function(*[widen(x) for x in inputs]))
        if kernel.rows:
            torch._dynamo.mark_dynamic(inputs[0], 0)
        got = leaves(torch.compile(function, backend=tilewright, options=options, fullgraph=True)(*inputs))
    assert_numbers(got, eager, exact)
    (result,) = got
    dtype = result.dtype
    data = result.contiguous() if result.is_contiguous() else result.as_strided((result.numel(),), (1,))
    expected = data.view(torch.uint8).numpy().tobytes()
    flat = (exact[0].contiguous() if result.is_contiguous() else torch.empty_like(result, dtype=exact[0].dtype).copy_(exact[0]).as_strided(
        (result.numel(),), (1,)))  # fmt: skip
    np.save(here / "exact.npy", flat.reshape(-1).numpy())
    allowed = 0.0
    if dtype.is_floating_point:
        errors = [rms(run[0].double() - exact[0]) for run in eager]
        allowed = max(*errors, torch.finfo(dtype).eps * rms(exact[0])) * (3 if result.numel() < 1000 else 2)
    for launch in sorted((here / "launches").iterdir(), reverse=True):
        run = subprocess.run([CHECKER, launch / "kernels.ptx", "--args", launch / "launch.json"], capture_output=True, text=True, timeout=120)
        assert run.returncode == 0, run.stdout + run.stderr
        for after in launch.glob("*.after.npy"):
            if np.load(after).tobytes()[: len(expected)] == expected and np.load(launch / after.name.replace(".after", "")).tobytes() != np.load(after).tobytes():
                for file in launch.iterdir():
                    shutil.copy(file, here)
                break
        else:
            continue
        break
    else:
        raise AssertionError(f"no saved launch of {name} writes the expected result")
    finish(here, after.name.removesuffix(".after.npy"), str(dtype).removeprefix("torch."), allowed, run.stdout)


def finish(here: Path, buffer: str, dtype: str, allowed: float, report: str) -> None:
    instructions = int(report.rsplit(" findings, ", 1)[1].split()[0])
    (here / "expected.json").write_text(json.dumps({"buffer": buffer, "dtype": dtype, "allowed": allowed, "instructions": instructions}))


def make_written(name: str, folder: Path) -> None:
    """Fills the folder of a hand-written kernel that uses TMA, mbarriers and wgmma. K is chosen so that each of the three stages
    of its ring buffer is filled at least twice."""
    here = folder / name
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir(parents=True)
    source = ROOT / "test" / "Tools" / "Inputs" / "ptx"
    shutil.copy(source / f"{WRITTEN[name]}.ptx", here / "kernels.ptx")
    launch = json.loads((source / f"{WRITTEN[name]}.json").read_text())
    k = 512
    rng = np.random.default_rng(3)
    factors = []
    for buffer, rows, argument in (("A", 128, 0), ("B", 256, 1)):
        bits = (rng.standard_normal((rows, k)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        np.save(here / f"{buffer}.npy", bits)
        factors.append((bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64))
        launch["buffers"][buffer] = {"file": f"{buffer}.npy"}
        launch["arguments"][argument]["tensor_map"].update(dims=[k, rows], strides=[2 * k])
    launch["arguments"][4] = {"u32": k // 64}
    launch["buffers"]["C"]["out"] = "C.after.npy"
    (here / "launch.json").write_text(json.dumps(launch))
    exact = factors[0] @ factors[1].T
    np.save(here / "exact.npy", exact.reshape(-1))
    run = subprocess.run([CHECKER, here / "kernels.ptx", "--args", here / "launch.json"], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    # Products of bf16 are exact; their sums are rounded once in each of k / 16 steps.
    allowed = 2 * float(np.finfo(np.float32).eps) * float(np.sqrt(np.square(exact).mean()))
    finish(here, "C", "float32", allowed, run.stdout)


def make_all(names: list[str], folder: Path) -> None:
    every = kernels() if set(names) - set(WRITTEN) else {}
    for name in names:
        if not (folder / name / "expected.json").exists():
            make_written(name, folder) if name in WRITTEN else make_kernel(name, every[name], folder)


def all_names() -> list[str]:
    return [*kernels(), *WRITTEN]

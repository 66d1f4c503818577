"""Every kind of schedule of the target cuda has a search space, and every schedule of a space computes correct results. Schedules
are drawn at random from the spaces of models with each kind of kernel, and run on the emulated device. ptx-check reports no error,
and results satisfy the numbers rule."""

import functools
import json
import os
import re
import subprocess

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check, check_gradient
from test_cuda import PROGRAM
from test_cuda_kernel_table import arch  # noqa: F401 (a fixture)


def attend(q, k, v, causal=False):
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)


def heads(heads, rows, size):
    return torch.randn(1, heads, rows, size).bfloat16()


# Name: (the model, its inputs, schedule kinds). At least one kernel of the model has a schedule of one of these kinds.
MODELS = {
    "elements": (lambda x, y: (F.relu(x) + y, x.t().contiguous(), x.amax(0)), lambda: (torch.randn(72, 96), torch.randn(96)), {"elements", "rows"}),
    "scatter": (lambda x, i: torch.zeros(40, 64, dtype=x.dtype).index_add(0, i, x), lambda: (torch.randn(33, 64), torch.randint(0, 40, (33,))), {"scatter"}),
    "rows": (lambda x: torch.softmax(F.layer_norm(x, [x.shape[1]]), 1), lambda: torch.randn(11, 700).bfloat16(), {"rows"}),
    "long rows": (lambda x: torch.softmax(x, 1), lambda: torch.randn(2, 9000), {"rows"}),
    "rows across lanes": (lambda x: x.sum(0), lambda: torch.randn(300, 33), {"rows"}),
    "fma": (lambda a, b, i: (a @ b, a.double() @ b.double(), i @ i), lambda: (torch.randn(70, 48), torch.randn(48, 72), torch.randint(-9, 9, (40, 40))), {"fma"}),
    "windows": (lambda x, w: F.relu(F.conv2d(x, w, padding=1, groups=16)), lambda: (torch.randn(2, 16, 9, 11).bfloat16(), torch.randn(16, 1, 3, 3).bfloat16()), {"windows"}),
    "large windows": (lambda x, w: F.conv2d(x, w, padding=2, groups=4), lambda: (torch.randn(2, 16, 9, 11), torch.randn(16, 4, 5, 5)), {"windows"}),
    "attention": (functools.partial(attend, causal=True), lambda: [heads(2, 150, 64) for _ in range(3)], {"attention"}),
    "attention with large heads": (attend, lambda: [heads(1, 70, 208) for _ in range(3)], {"attention"}),
    "attention of one query row": (attend, lambda: [heads(2, 1, 64), *(heads(2, 150, 64) for _ in range(2))], {"attention"}),
    "gradient of attention": (attend, lambda: [heads(1, 70, 64) for _ in range(3)], {"attention"}),
    "products": (lambda a, b: F.gelu(a @ b), lambda: (torch.randn(130, 72).bfloat16(), torch.randn(72, 136).bfloat16()), {"mma", "wgmma"}),
}  # fmt: skip


def kinds_of(folder):
    """Returns the schedule kinds of the kernels of the last compilation, including those of the backward graph."""
    return {kind for tiled in folder.rglob("*-tiled.mlir") for kind in re.findall(r"tw_gpu.schedule<kind = (\w+)", tiled.read_text())}


def drawn_schedules(imported, arch, seed, count):  # noqa: F811
    """Returns the texts of `count` schedule files. File number k has a random schedule for each kernel with at least k schedules."""
    done = subprocess.run([PROGRAM, "tune", f"--draw={count}", f"--seed={seed}", "--target=cuda", f"--arch={arch}", imported], check=True, capture_output=True, text=True, timeout=120)
    drawn = [{} for _ in range(count)]
    for line in done.stdout.splitlines():
        ((kernel, knobs),) = json.loads(line).items()
        next(file for file in drawn if kernel not in file)[kernel] = knobs
    assert drawn[0], "no kernel has a space"
    return [json.dumps(file) for file in drawn if file]


@pytest.mark.parametrize("name", MODELS)
def test_random_schedules_of_the_space_match_eager(name, arch, tmp_path, monkeypatch):  # noqa: F811
    fn, make, kinds = MODELS[name]
    compare = check_gradient if name.startswith("gradient") else check
    inputs = make()
    inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    compare(fn, *inputs)
    found = kinds_of(tmp_path / "dump")
    assert found & kinds, found
    graphs = sorted((tmp_path / "dump").rglob("*-imported.mlir"))
    count = 20 if os.environ.get("TILEWRIGHT_TEST_FULL") else 3
    drawn = [drawn_schedules(graph, arch, seed, count) for seed, graph in enumerate(graphs)]
    file = tmp_path / "schedules.json"
    monkeypatch.setenv("TILEWRIGHT_SCHEDULE_FILE", str(file))
    for number in range(max(map(len, drawn))):
        # A pattern that matches no kernel is not an error, so one schedule file is used for the forward and for the backward graph.
        together = {f"{kernel}*" if len(graphs) > 1 else kernel: knobs for texts in drawn if number < len(texts) for kernel, knobs in json.loads(texts[number]).items()}
        file.write_text(json.dumps(together))
        compare(fn, *inputs)

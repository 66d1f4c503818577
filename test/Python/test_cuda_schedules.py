"""No kernel of the target cuda makes one thread compute a long sum while most of the GPU is idle.

The layers of the list are compiled for the H200 of the fake driver, which does not execute the kernels, with sizes of real
models. The IR of the tiled stage shows, for each reduction of a kernel with one thread per element, the number of terms
of a sum and the number of threads."""

import math
import os
import pathlib
import re
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F

PROGRAM = pathlib.Path(__file__)
# If a kernel has fewer than ENOUGH_THREADS threads (256 for each multiprocessor of an H200), a thread may add at most MOST_TERMS terms.
MOST_TERMS, ENOUGH_THREADS = 256, 132 * 256


def channels_last(x):
    return x.contiguous(memory_format=torch.channels_last)


def image(*shape):
    return torch.randn(shape).requires_grad_()


def batch_norm(x, autocast):
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        w = torch.ones(x.shape[1], requires_grad=True)
        return F.relu(F.batch_norm(F.conv2d(x, torch.ones(x.shape[1], x.shape[1], 1, 1)), None, None, w, w, training=True))


LAYERS = {
    "batch norm": (lambda x: batch_norm(x, False), lambda: image(16, 64, 28, 28)),
    "batch norm in channels-last": (lambda x: batch_norm(x, True), lambda: channels_last(image(16, 64, 28, 28))),
    "batch norm of odd sizes": (lambda x: batch_norm(x, True), lambda: channels_last(image(7, 60, 29, 31))),
    "group norm": (lambda x: F.group_norm(x, 8, torch.ones(64), torch.ones(64)), lambda: image(8, 64, 28, 28)),
    "layer norm": (lambda x: F.layer_norm(x, [768], torch.ones(768), torch.ones(768)), lambda: image(8192, 768)),
    "linear": (lambda x, w, b: F.gelu(F.linear(x, w, b)), lambda: (image(4096, 256), image(512, 256), image(512))),
    "sums": (lambda x: [x.sum(d) for d in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))], lambda: torch.randn(64, 1000, 33)),
    "sums of bf16": (lambda x: [x.sum(d) for d in ((0,), (1,), (2,), (0, 1), (0, 2))], lambda: torch.randn(512, 129, 64).bfloat16()),
    "sums of integers": (lambda x: [x.sum(d) for d in (0, 1)], lambda: torch.randint(0, 9, (3000, 40))),
    "maxima": (lambda x: [x.amax(d) for d in ((0,), (0, 2, 3), (1,), (2, 3))], lambda: torch.randn(32, 48, 24, 24)),
    "softmax of columns": (lambda x: torch.softmax(x, 0), lambda: image(2000, 96)),
    "pools": (lambda x: (F.max_pool2d(x, 3, 2, 1), F.adaptive_avg_pool2d(x, 1)), lambda: channels_last(image(8, 64, 56, 56))),
    "depthwise": (lambda x, w: F.conv2d(x, w, padding=1, groups=96), lambda: (channels_last(image(8, 96, 28, 28)), image(96, 1, 3, 3))),
    "broadcast": (lambda x, y: x * y + y, lambda: (image(8, 512, 128), image(128))),
    "cross entropy": (lambda x, y: F.cross_entropy(x, y), lambda: (image(2048, 1000), torch.randint(0, 1000, (2048,)))),
}  # fmt: skip


def compile_layers(folder):
    """Compiles each layer and its gradient; runs in a process with the fake driver. The IR is written to the folder."""
    for name, (fn, make) in LAYERS.items():
        inputs = make()
        inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        options = {"target": "cuda", "device": "cuda:0", "strict": True, "dump": os.path.join(folder, name.replace(" ", "-"))}
        results = torch.compile(fn, backend="tilewright", options=options)(*inputs)
        results = results if isinstance(results, (tuple, list)) else (results,)
        if any(r.requires_grad for r in results):
            sum(r.float().sum() for r in results).backward()


def sums(tiled):
    """Returns (kernel, terms, threads) for the reductions of kernels with one thread per element."""
    maps = dict(re.findall(r"^(#map\d*) = affine_map<(.*)>$", tiled, re.M))
    found = []
    for name, body in re.findall(r"^  func\.func private @(\w+)(\(.*?\n  \})", tiled, re.M | re.S):
        schedule = re.search(r"kind = elements, .*?vector = (\d+)", body)
        if not schedule:
            continue
        assert "tw_tile.scatter" not in body, f"{name} searches all indices of a scatter for each element"
        for op in re.findall(r"linalg\.generic .*", body):
            kinds = re.search(r"iterator_types = \[(.*?)\]", op)[1].replace('"', "").split(", ")
            if "reduction" not in kinds:
                continue
            types = [type for part in re.findall(r" (?:ins|outs)\((.*?)\)", op) for type in re.findall(r"tensor<(.*?)>", part)]
            sizes = {}
            for map, type in zip(re.search(r"indexing_maps = \[(.*?)\]", op)[1].split(", "), types):
                dims, results = (part.strip("() ").split(", ") for part in maps[map].split("->"))
                for result, size in zip(results, type.split("x")):
                    if result in dims:
                        sizes[dims.index(result)] = int(size)
            terms, results = (math.prod(sizes[i] for i, k in enumerate(kinds) if k == kind) for kind in ("reduction", "parallel"))
            found.append((name, terms, results // int(schedule[1])))
    return found


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    import tilewright

    library = pathlib.Path(tilewright.__file__).parents[2] / "lib" / "libtilewright_fake_cuda.so"
    if not library.exists():
        pytest.skip("the fake driver is not built")
    folder = tmp_path_factory.mktemp("dump")
    environment = {"TILEWRIGHT_LIBCUDA": str(library), "TILEWRIGHT_PTXAS": "off", "TILEWRIGHT_FAKE_CUDA": f"capability=9.0,execute=0,times={folder / 'times'}",
                   "PYTHONPATH": os.pathsep.join([str(PROGRAM.parent), *sys.path])}  # fmt: skip
    done = subprocess.run([sys.executable, PROGRAM, folder], env=os.environ | environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", LAYERS)
def test_no_thread_computes_a_long_sum_while_the_gpu_is_idle(name, compiled):
    graphs = list((compiled / name.replace(" ", "-")).rglob("*-tiled.mlir"))
    assert graphs
    for tiled in graphs:
        long = [(kernel, terms, threads) for kernel, terms, threads in sums(tiled.read_text()) if terms > MOST_TERMS and threads < ENOUGH_THREADS]
        assert not long, long


def test_long_sums_of_few_threads_are_found():
    """This test checks the check: it finds a kernel in which each thread adds 4096 terms."""
    tiled = """#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
  func.func private @sum_0(%arg0: tensor<4096x40xf32>, %arg1: tensor<40xf32>) attributes {tw.schedule = #tw_gpu.schedule<kind = elements, threads = 256, vector = 4>} {
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "parallel"]} ins(%arg0 : tensor<4096x40xf32>) outs(%0 : tensor<40xf32>) {
  }
"""
    assert sums(tiled) == [("sum_0", 4096, 10)]


if __name__ == "__main__":
    compile_layers(sys.argv[1])

"""The basic models, exported with symbolic sizes and compiled as libraries that a C program calls, compared with
torch.compile.

By default, only small models are tested. With TILEWRIGHT_TEST_FULL=1, the models are also tested in their full size.
"""

import copy
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.utils._pytree import tree_leaves

import tilewright
from models import MODELS as TRANSFORMERS
from numbers_rule import assert_numbers, compiled_strictly, widen, with_threads

BUILD = pathlib.Path(tilewright.__file__).parents[2]
PROGRAM = BUILD / "bin" / "tilewright"
CALLER = pathlib.Path(__file__).parent / "Inputs" / "call_model.c"
DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64]
THREADS = 2
SAME_GRAPH = {"mlp", "resnet50"}

pytestmark = [pytest.mark.skipif(not PROGRAM.exists(), reason="tilewright was not imported from a build tree"),
              pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler (cc) on this machine")]  # fmt: skip
full = pytest.mark.skipif(not os.environ.get("TILEWRIGHT_TEST_FULL"), reason="whole models take minutes: tools/test.sh --full")


def mlp():
    return nn.Sequential(nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 96)), (torch.randn(5, 96),)


SMALL = {**TRANSFORMERS, "mlp": mlp}


def whole(name):
    from tilewright.bench import workloads

    model = getattr(workloads, name)()
    return model.model, tuple(model.inputs.values())


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def resized(x, sizes):
    shape = [*sizes, *x.shape[len(sizes) :]]
    return torch.randn(shape).to(x.dtype) if x.is_floating_point() else torch.randint(0, 128, shape)


def symbolic(x, most):
    """Returns the dynamic dimensions of an input: batch and sequence of tokens, batch of anything else."""
    return {dim: Dim(name, min=2, max=most[dim]) for dim, name in enumerate(["batch", "length"][: len(most)])}


def compile_and_call(folder, model, example, most, inputs):
    """Returns the results for each input, computed by one instance of the library in a C program."""
    tilewright.export(model, (example,), folder / "model.pt2", dynamic_shapes=(symbolic(example, most),))
    run(PROGRAM, "compile", folder / "model.pt2", "-o", folder / "model.so", "--weights=external", f"--threads={THREADS}")
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{folder}", CALLER, folder / "model.so", f"-Wl,-rpath,{folder}", "-o", folder / "caller")
    calls = []
    for number, x in enumerate(inputs):
        (folder / str(number)).mkdir()
        x.view(torch.uint8).numpy().tofile(folder / str(number) / "input0")
        calls += [folder / str(number), ",".join(map(str, x.shape))]
    lines = [[int(word) for word in line.split()] for line in run(folder / "caller", THREADS, folder / "model.weights", *calls).splitlines()]
    assert lines and len(lines) % len(inputs) == 0
    outputs = len(lines) // len(inputs)
    results = []
    for place, (dtype, *sizes) in enumerate(lines):
        number, output = divmod(place, outputs)
        data = np.fromfile(folder / str(number) / f"output{output}", np.uint8)
        results.append(torch.from_numpy(data).view(DTYPES[dtype]).reshape(sizes))
    return [results[i : i + outputs] for i in range(0, len(results), outputs)]


def jit(model, example, most, inputs):
    """Returns the results of torch.compile with the same sizes marked dynamic, and the same threads."""
    example = example.clone()
    for dim, largest in enumerate(most):
        torch._dynamo.mark_dynamic(example, dim, min=2, max=largest)
    fn = compiled_strictly(model)
    tilewright.report(clear=True)
    with torch.no_grad(), tilewright.any_batch():
        fn(example)
        results = [tensors_of(fn(x)) for x in inputs]
    assert len(tilewright.report()) == 1
    return results


def tensors_of(value):
    return [leaf.contiguous() for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def check(tmp_path, model, example, most, sizes, same_graph):
    """Checks the C program's results by the numbers rule, against eager and against torch.compile.

    The results are bitwise equal to those of torch.compile if torch traces the same operations (when it exports, it does not
    decompose attention with boolean masks).
    """
    model = model.eval()
    inputs = [resized(example, size) for size in sizes]
    ours = compile_and_call(tmp_path, model, example, most, inputs)
    compiled = with_threads(THREADS, jit, model, example, most, inputs)
    wide = copy.deepcopy(model).double()
    for size, x, made, wanted in zip(sizes, inputs, ours, compiled, strict=True):
        with torch.no_grad():
            eager = [with_threads(n, lambda: tensors_of(model(x))) for n in (1, 2)]
            exact = tensors_of(wide(widen(x)))
        assert_numbers(made, eager, exact)
        assert_numbers(made, [wanted], exact)
        for number, (a, b) in enumerate(zip(made, wanted, strict=True)):
            assert not same_graph or torch.equal(a, b), f"result {number} at {size}: {(a != b).sum()} of {a.numel()} differ"


@pytest.mark.parametrize("name", SMALL)
def test_library_of_small_model_matches_eager_and_torch_compile(name, tmp_path):
    model, (example,) = SMALL[name]()
    tokens = not example.is_floating_point()
    check(tmp_path, model, example, (256, 64) if tokens else (256,), [(2, 17), (5, 64)] if tokens else [(2,), (5,)], name in SAME_GRAPH)


@full
@pytest.mark.parametrize("name", ["bert", "gpt2", "resnet50", "vit", "llama", "mlp"])
def test_library_of_full_model_matches_eager_and_torch_compile(name, tmp_path):
    model, (example,) = whole(name)
    tokens = not example.is_floating_point()
    example = resized(example.contiguous(), (2, 17) if tokens else (2,))
    check(tmp_path, model, example, (256, 256) if tokens else (256,), [(2, 128), (3, 37)] if tokens else [(2,), (4,)], name in SAME_GRAPH)
    assert (tmp_path / "model.so").stat().st_size < 2e6  # the weights are in a separate file

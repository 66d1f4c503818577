"""tilewright.load: a library of `tilewright compile` as a function in Python."""

import os
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
import tilewright
import torch

ROOT = Path(__file__).resolve().parents[2]
DRIVER = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build")) / "bin" / "tilewright"

COUNTER = """
func.func @main(%x: tensor<3xf32> {tw.name = "x"}, %sum: tensor<3xf32> {tw.name = "sum"})
    -> (tensor<3xf32> {tw.name = "twice"}, tensor<3xf32> {tw.into = 1}) {
  %new = tw.add %sum, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %twice = tw.add %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %twice, %new : tensor<3xf32>, tensor<3xf32>
}
"""


def compiled(folder: Path, *arguments) -> Path:
    done = subprocess.run([DRIVER, "compile", *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder / arguments[arguments.index("-o") + 1]


@pytest.fixture(scope="module")
def classify(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classify")
    shutil.copy(ROOT / "docs/examples/ahead-of-time/classify.mlir", folder)
    return compiled(folder, "classify.mlir", "-o", "classify.so")


def test_library_has_the_results_of_tilewright_run(classify, tmp_path):
    x = torch.randn(5, 2)
    np.save(tmp_path / "x.npy", x.numpy())
    subprocess.run([DRIVER, "run", classify, "--input", f"x={tmp_path / 'x.npy'}", "--output", tmp_path / "out"], check=True, capture_output=True)
    result = tilewright.load(classify)(x)
    assert result.dtype == torch.float32
    np.testing.assert_array_equal(result.numpy(), np.load(next((tmp_path / "out").iterdir())))


def test_inputs_by_name_strided_tensors_and_dlpack_arrays_give_the_same_result(classify):
    library = tilewright.load(os.fspath(classify), threads=1)
    x = torch.randn(4, 2)
    expected = library(x)
    frozen = x.numpy().copy()
    frozen.setflags(write=False)
    for same in (x.t().contiguous().t(), x.numpy(), np.asfortranarray(x.numpy()), frozen, x.clone().requires_grad_()):
        assert torch.equal(library(same), expected)
    assert torch.equal(library(x=x), expected) and not library(x.requires_grad_()).requires_grad


def test_library_describes_its_inputs_and_results(classify):
    library = tilewright.load(classify)
    assert library.model == "classify" and library.inputs == (("x", torch.float32, ("points", "2"), False),)
    assert repr(library) == "<library classify(x: float32[points, 2]) -> (probabilities: float32[points, 3])>"


@pytest.mark.parametrize("arguments, named, error, said", [
    ((), {}, TypeError, r"classify takes x: float32\[points, 2\]; x is not given"),
    ((torch.ones(1, 2), torch.ones(1, 2)), {}, TypeError, "2 inputs were given"),
    ((torch.ones(1, 2),), {"x": torch.ones(1, 2)}, TypeError, "'x' was given twice"),
    ((), {"y": torch.ones(1, 2)}, TypeError, "it has no input 'y'"),
    ((torch.ones(1, 2, dtype=torch.float64),), {}, TypeError, r"is torch.float64; convert it with .to\(torch.float32\)"),
    (([[1.0, 2.0]],), {}, TypeError, "is a list; pass a tensor, or an array with DLPack"),
    ((torch.ones(2),), {}, ValueError, r"has the sizes \[2\]"),
    ((torch.ones(3, 5),), {}, ValueError, r"x \(input 0\).*|.*x.*"),
    ((torch.ones(1, 2, device="meta"),), {}, ValueError, "is on meta"),
])  # fmt: skip
def test_inputs_that_do_not_fit_are_refused(classify, arguments, named, error, said):
    with pytest.raises(error, match=said):
        tilewright.load(classify)(*arguments, **named)


def test_state_is_written_into_the_caller_s_tensor(tmp_path):
    (tmp_path / "counter.mlir").write_text(COUNTER)
    library = tilewright.load(compiled(tmp_path, "counter.mlir", "-o", "counter.so"))
    assert [info.written for info in library.inputs] == [False, True]
    x, total = torch.tensor([1.0, 2.0, 3.0]), torch.zeros(3)
    for _ in range(3):
        assert torch.equal(library(x, total), 2 * x)
    assert torch.equal(total, 3 * x)
    with pytest.raises(ValueError, match="sum: float32.3. of counter is written by the call, and is not contiguous"):
        library(x, torch.zeros(6)[::2])


def test_calls_from_several_threads_have_their_own_results(classify):
    library = tilewright.load(classify)
    inputs = [torch.randn(n + 1, 2) for n in range(8)]
    expected = [library(x) for x in inputs]
    wrong = []

    def call(number):
        for _ in range(50):
            if not torch.equal(library(inputs[number]), expected[number]):
                wrong.append(number)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_files_that_are_no_library_are_refused(classify, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no library 'nothing.so'"):
        tilewright.load("nothing.so")
    (tmp_path / "text.so").write_text("text")
    with pytest.raises(RuntimeError, match="is not a library of tilewright compile"):
        tilewright.load(tmp_path / "text.so")
    for file in classify.parent.iterdir():
        shutil.copy(file, tmp_path)
    with open(tmp_path / "classify.so", "r+b") as file:
        file.truncate(1000)
    with pytest.raises(RuntimeError, match="is not the file that the manifest of the model 'classify' was written with"):
        tilewright.load(tmp_path / "classify.so")


def test_library_with_a_file_of_weights_is_loaded(tmp_path):
    shutil.copy(ROOT / "docs/examples/ahead-of-time/classify.mlir", tmp_path)
    for folder in ("inside", "outside"):
        (tmp_path / folder).mkdir()
    inside = compiled(tmp_path, "classify.mlir", "-o", "inside/classify.so")
    outside = compiled(tmp_path, "classify.mlir", "-o", "outside/classify.so", "--weights=external")
    x = torch.randn(3, 2)
    assert torch.equal(tilewright.load(inside)(x), tilewright.load(outside)(x))

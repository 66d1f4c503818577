"""A model is compiled to the same kernels through torch.compile, a .pt2 file and an ONNX file.

An operator has one decomposition, in C++, so the entry point does not decide which kernels are formed.
"""

import pathlib
import re
import subprocess

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import tilewright

pytest.importorskip("onnxscript")
COMMAND = pathlib.Path(__file__).parents[2] / "build" / "bin" / "tilewright"


class Feed(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.norm = nn.Linear(64, 256), nn.Linear(256, 64), nn.LayerNorm(64)

    def forward(self, x):
        return self.norm(x + self.second(F.relu(self.first(x))))


class Score(nn.Module):
    """The second layer is a matrix-vector product."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 128), nn.Linear(128, 1)

    def forward(self, x):
        return torch.sigmoid(self.second(torch.tanh(self.first(x))))


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, stride=2), nn.Linear(16, 10)

    def forward(self, x):
        return self.last(F.relu(self.second(F.relu(self.first(x)))).mean((2, 3)))


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.last = nn.Embedding(100, 64), nn.Linear(64, 100)

    def forward(self, words):
        return torch.softmax(self.last(self.table(words)), -1)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(64, 128, bias=False), nn.Linear(64, 128, bias=False), nn.Linear(128, 64, bias=False)

    def forward(self, x):
        return x + self.down(torch.sigmoid(self.gate(x)) * self.up(x))


MODELS = {
    Feed: lambda: torch.randn(32, 64), Score: lambda: torch.randn(32, 64), Images: lambda: torch.randn(2, 3, 16, 16),
    Words: lambda: torch.randint(0, 100, (4, 8)), Gated: lambda: torch.randn(32, 64),
}  # fmt: skip


def kernels_in(text: str) -> list[str]:
    """Returns the ops of each kernel that @main calls, in order, in IR of the structured stage."""
    return re.findall(r'call @\S+\(.*?\) \{tw\.ops = "([^"]*)"', text)


def kernels_of_file(path) -> list[str]:
    done = subprocess.run([COMMAND, "compile", path, "--emit=structured"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return kernels_in(done.stdout)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
@pytest.mark.filterwarnings("ignore")
def test_kernels_are_equal_through_torch_compile_pt2_and_onnx(model, tmp_path):
    x, model = MODELS[model](), model().eval()
    with torch.no_grad():
        torch.compile(model, backend="tilewright", options={"dump": str(tmp_path / "dump")})(x)
    (structured,) = (tmp_path / "dump").rglob("*-structured.mlir")
    compiled = kernels_in(structured.read_text())
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "m.pt2")
    torch.onnx.export(model, (x,), tmp_path / "m.onnx", dynamo=True, external_data=False, verbose=False)
    assert compiled and kernels_of_file(tmp_path / "m.pt2") == compiled
    assert kernels_of_file(tmp_path / "m.onnx") == compiled


def test_matrix_vector_product_of_a_file_is_a_row_sum_on_the_cpu(tmp_path):
    x = torch.randn(32, 64)
    torch.export.save(torch.export.export(Score().eval(), (x,)), tmp_path / "m.pt2")
    assert not any("matmul" in ops for ops in kernels_of_file(tmp_path / "m.pt2")[1:])
    library = tmp_path / "m.so"
    subprocess.run([COMMAND, "compile", tmp_path / "m.pt2", "-o", library], check=True)
    model = torch.export.load(tmp_path / "m.pt2").module()
    torch.testing.assert_close(tilewright.load(str(library))(x), model(x), rtol=1e-5, atol=1e-5)

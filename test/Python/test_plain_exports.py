"""Files of torch.export.save without decompositions, read by the program: against eager by the numbers rule."""

import copy

import pytest
import torch
from torch import nn
from torch.export import Dim

from models import MODELS
from numbers_rule import assert_numbers, widen, with_threads
from test_exported import call, command, pytestmark, tensors_of  # noqa: F401: the mark is this file's, too


def check(model, inputs, path, dynamic_shapes=None):
    """Saves `model` as it is, and compares what the program makes of it with eager."""
    model = model.eval()
    with torch.no_grad():
        program = torch.export.export(model, tuple(inputs.values()), dynamic_shapes=dynamic_shapes)
    torch.export.save(program, path / "model.pt2")
    results = list(call(path / "model.pt2", inputs, path).values())
    wide = copy.deepcopy(model).double()
    with torch.no_grad():
        eager = [with_threads(n, lambda: tensors_of(model(*inputs.values()))) for n in (1, 2)]
        reference = tensors_of(wide(*[widen(x) for x in inputs.values()]))
    order = {tuple(tensor.shape): number for number, tensor in enumerate(reference)}
    assert len(order) == len(reference) == len(results)
    assert_numbers(sorted(results, key=lambda result: order[tuple(result.shape)]), eager, reference)
    return {str(node.target) for node in program.graph.nodes if node.op == "call_function"}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_models(name, tmp_path):
    model, (x,) = MODELS[name]()
    tokens = not x.is_floating_point()
    sizes = {0: Dim("batch", min=2, max=64)} | ({1: Dim("length", min=2, max=64)} if tokens else {})
    check(model, {"input_ids" if tokens else "pixel_values": x}, tmp_path, (sizes,))


class Vision(nn.Module):
    """What torchvision's networks have: blocks that write in place, and layers of all kinds."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding="same", bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.body = nn.Sequential(nn.Conv2d(8, 8, (3, 1), padding="valid", dilation=2), nn.GroupNorm(2, 8), nn.Hardswish(inplace=True))
        self.up = nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1)
        self.line = nn.Conv1d(4, 4, 3, padding=1)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.5), nn.Linear(4, 5))

    def forward(self, x):
        y = self.stem(x)
        z = self.body(nn.functional.pad(y, (0, 0, 2, 2)))
        z += y
        z = self.up(z)
        line = self.line(z.mean(2))
        z.mul_(2).clamp_(-1, 1)
        return self.head(z + line.unsqueeze(2)), line.matmul(z[:, 0].transpose(1, 2)), torch.diff(line, prepend=line[:, :, :1]).type_as(line)


def test_vision(tmp_path):
    model = Vision()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.uniform_(-1, 1)
            module.running_var.uniform_(0.5, 2)
    seen = check(model, {"x": torch.randn(2, 3, 16, 20)}, tmp_path, ({0: Dim("batch", max=16)},))
    wanted = ["conv2d.padding", "conv1d.default", "conv_transpose2d.input", "batch_norm.default", "group_norm.default", "max_pool2d.default",
              "adaptive_avg_pool2d.default", "dropout.default", "pad.default", "matmul.default", "diff.default", "relu_.default", "add_.Tensor",
              "mul_.Tensor", "clamp_.default"]  # fmt: skip
    assert {f"aten.{op}" for op in wanted} <= seen, seen


@pytest.mark.parametrize("a, b", [((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 1, 3, 4), (4, 5)), ((2, 1, 3, 4), (6, 4, 5)), ((4,), (2, 4, 5)), ((2, 3, 4), (4,))])
def test_products(a, b, tmp_path):
    class Product(nn.Module):
        def forward(self, x, y):
            return torch.matmul(x, y)

    assert "aten.matmul.default" in check(Product(), {"x": torch.randn(a), "y": torch.randn(b)}, tmp_path)


class WrittenView(nn.Module):
    def forward(self, x):
        y = x * 2
        rows = y.view(-1)
        y.add_(1)
        return rows


class WrittenPart(nn.Module):
    def forward(self, x):
        y = x * 2
        y[0].mul_(3)
        return y


class WrittenInput(nn.Module):
    def forward(self, x):
        return x.relu_()


@pytest.mark.parametrize("model, reason", [
    (WrittenView(), "aten.add_.Tensor"), (WrittenPart(), "it writes in place what other tensors may be views of"),
    (WrittenInput(), "and a compiled model keeps no state between calls"), (nn.BatchNorm1d(3), "call model.eval() before it is exported"),
    (nn.Conv1d(2, 3, 4, padding="same"), "padding 'same' of an even window"),
])  # fmt: skip
def test_what_is_refused(model, reason, tmp_path):
    x = torch.randn(1, 2, 9) if isinstance(model, nn.Conv1d) else torch.randn(2, 3)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "m.pt2")
    done = command("run", tmp_path / "m.pt2")
    assert done.returncode == 1 and reason in done.stderr, done.stderr

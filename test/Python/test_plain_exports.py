"""The program reads files of torch.export.save without decompositions. Results are compared with eager's by the numbers
rule."""

import copy
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.export import Dim

from models import MODELS
from numbers_rule import assert_numbers, widen, with_threads
from test_exported import BUILD, call, command, pytestmark, tensors_of  # noqa: F401 -- the mark is this file's, too


def check(model, inputs, path, dynamic_shapes=None):
    """Saves `model` without decompositions, and compares the program's results with eager's."""
    model = model.eval()
    with torch.no_grad():
        program = torch.export.export(model, tuple(inputs.values()), dynamic_shapes=dynamic_shapes)
    torch.export.save(program, path / "model.pt2")
    results = call(path / "model.pt2", inputs, path)
    if all(name.replace(".", "").isdigit() for name in results):  # "1.0": the first element of the second result
        results = {name: results[name] for name in sorted(results, key=lambda name: [int(part) for part in name.split(".")])}
    wide = copy.deepcopy(model).double()
    with torch.no_grad():
        eager = [with_threads(n, lambda: tensors_of(model(*inputs.values()))) for n in (1, 2)]
        reference = tensors_of(wide(*[widen(x) for x in inputs.values()]))
    assert_numbers(list(results.values()), eager, reference)
    return {str(node.target) for node in program.graph.nodes if node.op == "call_function"}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_export_of_each_model_matches_eager(name, tmp_path):
    model, (x,) = MODELS[name]()
    tokens = not x.is_floating_point()
    sizes = {0: Dim("batch", min=2, max=64)} | ({1: Dim("length", min=2, max=64)} if tokens else {})
    check(model, {"input_ids" if tokens else "pixel_values": x}, tmp_path, (sizes,))


class Vision(nn.Module):
    """The elements of torchvision's networks: blocks that write in place, and layers of several kinds."""

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


def test_export_of_vision_layers_with_in_place_ops_matches_eager(tmp_path):
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
def test_matmul_of_each_rank_matches_eager(a, b, tmp_path):
    class Product(nn.Module):
        def forward(self, x, y):
            return torch.matmul(x, y)

    assert "aten.matmul.default" in check(Product(), {"x": torch.randn(a), "y": torch.randn(b)}, tmp_path)


class Calls(nn.Module):
    """Applies each of `functions` to the input. Modules among them belong to the model."""

    def __init__(self, *functions):
        super().__init__()
        self.functions = functions
        self.parts = nn.ModuleList([one for one in functions if isinstance(one, nn.Module)])

    def forward(self, x):
        return [one(x) for one in self.functions]


class WeightNormed(nn.Module):
    def __init__(self):
        super().__init__()
        self.v, self.g = nn.Parameter(torch.randn(4, 6, 3)), nn.Parameter(torch.rand(4, 1, 1))

    def forward(self, x):
        return nn.functional.conv1d(x, torch._weight_norm(self.v, self.g, 0))


@pytest.mark.parametrize("make, batch", [
    (lambda: Calls(nn.LSTM(6, 5, 2, bidirectional=True, batch_first=True), nn.GRU(6, 5), nn.RNN(6, 5, nonlinearity="relu", bias=False),
                   lambda x: x[:, 0].mul(2)), (3, 4, 6)),
    (lambda: Calls(nn.LSTMCell(6, 5), nn.GRUCell(6, 5), nn.RNNCell(6, 5)), (3, 6)),
    (lambda: Calls(nn.InstanceNorm1d(6, affine=True), nn.LocalResponseNorm(2), WeightNormed(),
                   lambda x: torch.linalg.vector_norm(x, 3, dim=1), lambda x: x.norm(p=1, dim=-1, keepdim=True),
                   lambda x: torch.linalg.norm(x, float("inf"), dim=2), lambda x: torch.linalg.vector_norm(x, 0, dim=(0, 2)),
                   lambda x: nn.functional.cosine_similarity(x, x + 1)), (2, 6, 8)),
    (lambda: Calls(nn.PReLU(6), nn.SELU(), nn.LogSigmoid(), nn.Hardshrink(), nn.Softshrink(), nn.RReLU(), lambda x: torch.isclose(x, x.abs()),
                   lambda x: nn.functional.one_hot((x > 0).long(), 3), lambda x: list(torch.aminmax(x, dim=1)), lambda x: x.clip(-1, 1).multiply(2)), (2, 6, 8)),
], ids=["sequences", "cells", "norms", "activations"])  # fmt: skip
def test_recurrent_norm_and_activation_layers_match_eager(make, batch, tmp_path):
    check(make(), {"x": torch.randn(batch)}, tmp_path)


@pytest.mark.parametrize("mode, sizes, dynamic", [
    ("nearest", [dict(scale_factor=2), dict(size=(11, 5)), dict(scale_factor=(0.6, 1.7))], False),
    ("nearest-exact", [dict(scale_factor=1.5), dict(size=(5, 20))], False),
    ("bilinear", [dict(scale_factor=2.5), dict(size=(11, 5), align_corners=True), dict(size=(3, 1), align_corners=True)], False),
    ("bicubic", [dict(scale_factor=2), dict(size=(5, 7), align_corners=True)], False),
    ("bilinear", [dict(scale_factor=2)], True), ("nearest", [dict(size=(10, 20))], True),
])  # fmt: skip
def test_upsampled_images_match_eager(mode, sizes, dynamic, tmp_path):
    model = Calls(*[nn.Upsample(mode=mode, **size) for size in sizes])
    shapes = ({2: Dim("height", min=2, max=32), 3: Dim("width", min=2, max=32)},) if dynamic else None
    check(model, {"x": torch.randn(2, 3, 8, 9)}, tmp_path, shapes)


def test_upsampled_and_pooled_lines_and_volumes_match_eager(tmp_path):
    x = torch.randn(3, 4, 7)
    check(Calls(nn.Upsample(scale_factor=1.7, mode="linear"), nn.Upsample(size=5), nn.MaxPool1d(3, 2, 1), nn.AdaptiveAvgPool1d(5),
                lambda x: nn.functional.adaptive_avg_pool2d(x, (3, 5)),
                lambda x: nn.functional.interpolate(x[None, None], scale_factor=2, mode="trilinear"),
                lambda x: nn.functional.interpolate(x[None, None], size=(2, 5, 9))), {"x": x}, tmp_path)  # fmt: skip


def test_padding_folding_and_rearranging_ops_match_eager(tmp_path):
    def grid(x):
        first, second = torch.meshgrid(x[0, 0, 0], x[0, 0, :, 0], indexing="xy")
        return first + second

    check(Calls(nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.ChannelShuffle(2), nn.Unfold((3, 2), padding=1, dilation=2, stride=2), grid,
                lambda x: nn.functional.fold(x.reshape(2, 16, 6), (4, 6), 2, stride=2),
                lambda x: nn.functional.fold(x.reshape(2, 16, 6), (3, 4), 2), lambda x: nn.functional.fold(x[0].reshape(12, 8), (5, 6), (3, 2), 1, (0, 1), 2),
                nn.ReflectionPad2d((1, 2, 3, 0)), nn.ReplicationPad2d((1, 2, 3, 0)), nn.CircularPad2d((1, 2, 0, 3)),
                lambda x: x.movedim(1, -1).contiguous(), lambda x: x.movedim((0, 1), (2, 0)) * 2, lambda x: x.tile(2, 1), lambda x: x.narrow(2, 1, -2 + 4) + 1,
                lambda x: x.repeat_interleave(3, 1), lambda x: x[0, 0].repeat_interleave(2), lambda x: torch.hstack([x, x]), lambda x: torch.vstack([x[0, 0], x[0, 1]]),
                lambda x: x[:1].broadcast_to(2, 4, 4, 6) * 2, lambda x: torch.concat([x, x], 1), lambda x: x.swapaxes(1, 2).true_divide(3)),
          {"x": torch.randn(2, 4, 4, 6)}, tmp_path)  # fmt: skip


class Sampled(nn.Module):
    """An image sampled at the positions of a grid, inside and outside, in each mode."""

    def __init__(self, modes):
        super().__init__()
        self.modes = modes

    def forward(self, x, grid):
        return [nn.functional.grid_sample(x, grid, mode, padding, align) for mode in self.modes
                for padding in ("zeros", "border", "reflection") for align in (False, True)]  # fmt: skip


def test_grid_sample_of_images_matches_eager(tmp_path):
    sizes = {0: Dim("batch", max=16)}
    check(Sampled(("bilinear", "nearest", "bicubic")), {"x": torch.randn(2, 3, 7, 5), "grid": torch.rand(2, 4, 6, 2) * 4 - 2}, tmp_path, (sizes, sizes))


def test_grid_sample_of_volumes_matches_eager(tmp_path):
    check(Sampled(("bilinear", "nearest")), {"x": torch.randn(1, 2, 3, 4, 5), "grid": torch.rand(1, 2, 3, 4, 3) * 4 - 2}, tmp_path)


def test_affine_grid_matches_eager(tmp_path):
    check(Calls(*[lambda x, size=size, align=align: nn.functional.affine_grid(x[:, : len(size) - 2, : len(size) - 1], size, align)
                  for size in ((2, 3, 4, 5), (2, 1, 1, 3), (2, 3, 3, 4, 5)) for align in (False, True)]), {"x": torch.randn(2, 3, 4)}, tmp_path)  # fmt: skip


@pytest.mark.parametrize("equation, shapes", [
    ("bchw,dc->bdhw", [(2, 4, 3, 5), (6, 4)]), ("...ij,...kj->...ik", [(2, 3, 4, 5), (2, 3, 6, 5)]), ("ii->i", [(4, 4)]),
    ("ij,jk", [(3, 4), (4, 5)]), ("i,j,k->kij", [(3,), (4,), (5,)]), ("bij,bjk->b", [(2, 3, 4), (2, 4, 3)]),
])  # fmt: skip
def test_einsum_matches_eager(equation, shapes, tmp_path):
    class Product(nn.Module):
        def forward(self, **operands):
            return torch.einsum(equation, *operands.values())

    inputs = {f"x{i}": torch.randn(shape) for i, shape in enumerate(shapes)}
    program = torch.export.export(Product(), (), inputs)
    torch.export.save(program, tmp_path / "model.pt2")
    (result,) = call(tmp_path / "model.pt2", inputs, tmp_path).values()
    eager = [with_threads(n, lambda: Product()(**inputs).contiguous()) for n in (1, 2)]
    assert_numbers([result], [[one] for one in eager], [Product()(**{name: widen(x) for name, x in inputs.items()})])


def test_tables_of_expert_groups_match_eager(tmp_path):
    """Some groups of rows are empty, and some rows are after the last group."""

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = nn.Parameter(torch.randn(5, 8, 6))

        def forward(self, x, ends):
            starts = torch.cat([ends.new_zeros(1), ends[:-1]])
            counts = torch.histc(ends.float(), bins=4, min=0, max=40)
            rows = torch.arange(x.shape[0])[:, None]
            inside = ((rows >= starts) & (rows < ends)).to(x.dtype)
            return torch.einsum("re,eio,ri->ro", inside, self.weights, x), counts, torch.where(inside.sum(1) > 0, 1, 0)

    check(Experts(), {"x": torch.randn(40, 8), "ends": torch.tensor([0, 17, 17, 30, 36])}, tmp_path)


class Written(nn.Module):
    """Writes in place, into parts and views of parts; other views are read afterwards."""

    def forward(self, x):
        y = x * 2
        rows, first, transposed = y.view(-1), y[0], y.t()
        y.add_(1)
        first.mul_(3)
        first[1:3].copy_(x[0, :2])
        transposed[4].fill_(7)
        a, b = y.chunk(2, dim=1)
        b.sub_(a)
        a[:, ::2] = 0.5
        y[1, 1] += 5
        z = x.new_zeros(3, 4)
        for part, value in zip(z.unbind(0), (1.0, 2.0, 3.0)):
            part.fill_(value)
        z.transpose(0, 1).narrow(0, 1, 2).permute(1, 0)[1:].neg_()
        kept = z.clone()
        z.zero_()
        mask = x.new_full((5, 5), 4.0).triu_(1)
        mask.detach_()
        w = x.reshape(2, 3, 2).transpose(0, 1)
        flat = w.reshape(-1) if not w.is_contiguous() else w.view(-1)
        flat.mul_(2)
        nn.functional.dropout(y, 0.5, False).masked_fill_(y > 6, 6)
        y.unsqueeze(0).squeeze(0).clamp_(max=5.5)
        y.index_put_((torch.tensor([0]), torch.tensor([2])), x[1, 1])
        return rows * 1, first + 0, transposed.contiguous(), a - b, kept, z, mask, flat, w * 1, y


def test_in_place_writes_into_views_match_eager(tmp_path):
    seen = check(Written(), {"x": torch.randn(2, 6)}, tmp_path)
    assert {"aten.add_.Tensor", "aten.copy_.default", "aten.fill_.Scalar", "aten.sub_.Tensor", "aten.detach_.default", "aten.index_put_.default"} <= seen, seen


class Ordered(nn.Module):
    """Searches and order statistics in rows of a symbolic size, whose maximum is known."""

    def forward(self, x):
        found = torch.searchsorted(x.sort(-1)[0], x * 2), torch.bucketize(x, x[0].sort()[0], right=True), torch.nonzero_static(x > 0, size=4)
        return *found, *x.kthvalue(2), *x.median(1), x.nanmedian(), x.round().mode(1).values


def test_searches_and_order_statistics_of_symbolic_sizes_match_eager(tmp_path):
    check(Ordered(), {"x": torch.randn(3, 9)}, tmp_path, ({1: Dim("length", min=2, max=64)},))


class WithoutGradients(nn.Module):
    """Parts under no_grad, one of them nested, one that writes a value from outside. Rotary embeddings have this
    form."""

    def forward(self, x):
        y = x * 2
        with torch.no_grad():
            z = y.sin()
            with torch.enable_grad():
                w = z + x.cos()
            first, second = z.chunk(2, dim=1)
            y.add_(1)
        with torch.no_grad():
            s = x.exp().sum(0)
        return y + w, first * second, s


@pytest.mark.parametrize("dynamic", [False, True])
def test_regions_without_gradients_match_eager(dynamic, tmp_path):
    model, x = WithoutGradients(), torch.randn(3, 6)
    program = torch.export.export(model, (x,), dynamic_shapes=({0: Dim("rows", min=2, max=64)},) if dynamic else None)
    assert "wrap_with_set_grad_enabled" in str(program.graph)
    torch.export.save(program, tmp_path / "model.pt2")
    results = call(tmp_path / "model.pt2", {"x": x}, tmp_path)
    eager = [with_threads(n, lambda: tensors_of(model(x))) for n in (1, 2)]
    assert_numbers([results[str(i)] for i in range(3)], eager, tensors_of(model(x.double())))


class Aliases(nn.Module):
    """Aliases of one tensor, by ops that do not copy real tensors."""

    def forward(self, x):
        y = x * 2
        names = [torch.positive(y), y.conj(), y.resolve_conj(), y.contiguous(), y.to(torch.float64).to(x.dtype), y.clone(), y.type_as(x)]
        y.add_(1)
        names[0].mul_(2)
        names[3][0] = 5
        return [name * 1 for name in names]


def test_in_place_writes_to_aliases_match_eager(tmp_path):
    check(Aliases(), {"x": torch.randn(2, 6)}, tmp_path)


class Cache(nn.Module):
    """A cache that is a copy of an argument and is written at an index. Its batch is symbolic."""

    def forward(self, x, cache):
        cache = cache.clone()
        cache[:, 2:4] = x
        cache[:, 0].add_(x[:, 1])
        return cache.sum(1), cache


def test_in_place_writes_with_symbolic_sizes_match_eager(tmp_path):
    sizes = {0: Dim("batch", max=16)}
    check(Cache(), {"x": torch.randn(3, 2, 4), "cache": torch.randn(3, 6, 4)}, tmp_path, (sizes, sizes))


def layers():
    return Calls(nn.LSTM(6, 5, 2, bidirectional=True, batch_first=True), nn.GRU(6, 5), nn.InstanceNorm1d(4, affine=True), nn.PReLU(4),
                 nn.SELU(), lambda x: nn.functional.one_hot((x > 0).long(), 3), lambda x: nn.functional.cosine_similarity(x, x + 1),
                 lambda x: torch.linalg.vector_norm(x, 3, dim=1))  # fmt: skip


def images():
    return Calls(nn.Upsample(scale_factor=2.5, mode="bilinear"), nn.Upsample(size=(5, 7), mode="bicubic", align_corners=True),
                 nn.Upsample(scale_factor=2), nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.Unfold(2), nn.ReflectionPad2d((1, 2, 3, 0)),
                 lambda x: x.movedim((0, 1), (2, 0)) * 2, lambda x: x.tile(2, 1), lambda x: x.repeat_interleave(3, 1),
                 lambda x: torch.einsum("bchw,bchw->bc", x, x), lambda x: nn.functional.fold(x.reshape(2, 16, 6), (4, 6), 2, stride=2),
                 lambda x: nn.functional.adaptive_avg_pool2d(x, (3, 5)), lambda x: torch.hstack([x, x]))  # fmt: skip


@pytest.mark.parametrize("make, shape", [(layers, (3, 4, 6)), (images, (2, 4, 4, 6)), (Written, (2, 6)), (WithoutGradients, (3, 6))])
def test_damaged_graphs_are_imported_or_refused(make, shape, tmp_path):
    """Sizes, arguments and ops are changed at random: the result is a module or a reason, never a crash."""
    torch.export.save(torch.export.export(make().eval(), (torch.randn(shape),)), tmp_path / "model.pt2")
    words = [Path(__file__).parent / "damaged_models_program.py", tmp_path / "model.pt2", tmp_path / "damaged.pt2", "300"]
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
    done = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, timeout=200, env=environment)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"
    imported, refused = map(int, re.findall(r"\d+", done.stdout))
    assert imported > 10 and refused > 150


class WrittenInput(nn.Module):
    def forward(self, x):
        return x.relu_()


class WrittenWeight(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        self.seen[1:].add_(1)
        return x + self.seen


class WrittenDiagonal(nn.Module):
    def forward(self, x):
        y = x * 2
        y.diagonal().zero_()
        return y


class Reshaped(nn.Module):
    def forward(self, x):
        y = x * 2
        y.t_()
        return y


@pytest.mark.parametrize("model, reason", [
    (WrittenInput(), "and a compiled model keeps no state between calls"), (WrittenWeight(), "and a compiled model keeps no state between calls"),
    (WrittenDiagonal(), "it writes in place a view made by aten.diagonal.default"), (Reshaped(), "it changes the shape or the dtype of a tensor in place"),
    (nn.BatchNorm1d(3), "call model.eval() before it is exported"), (nn.Conv1d(2, 3, 4, padding="same"), "padding 'same' of an even window"),
    (nn.InstanceNorm1d(3, track_running_stats=True), "call model.eval() before it is exported"),
])  # fmt: skip
def test_unsupported_model_is_refused_with_a_reason(model, reason, tmp_path):
    x = torch.randn(1, 2, 9) if isinstance(model, nn.Conv1d) else torch.randn(2, 3, 4) if isinstance(model, nn.InstanceNorm1d) else torch.randn(2, 3)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "m.pt2")
    done = command("run", tmp_path / "m.pt2")
    assert done.returncode == 1 and reason in done.stderr, done.stderr

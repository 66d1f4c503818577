"""Files of torch.export.save and libraries check data like eager: probabilities, classes, offsets and lengths."""

import numpy as np
import pytest
import torch
from torch import nn

from test_exported import call, command
from test_plain_exports import check, pytestmark  # noqa: F401 -- the mark is this file's, too

F = nn.functional


class Only(nn.Module):
    """Calls a function on the argument."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


# name: (function of x, message of the error for x with an element that is 2)
CHECKED = {
    "binary_cross_entropy": (lambda x: F.binary_cross_entropy(x, x), "all elements of input should be between 0 and 1"),
    "bernoulli": (lambda x: torch.bernoulli(x), "Expected p_in >= 0 && p_in <= 1 to be true, but got false."),
    "one_hot": (lambda x: F.one_hot(x.to(torch.int64), 2), "Class values must be smaller than num_classes."),
    "masked_scatter": (lambda x: x.masked_scatter(x > 1, x[:0]), "Number of elements of source < number of ones in mask"),
    "max_unpool2d": (lambda x: F.max_unpool2d(x[None, :1, :1], x[None, :1, 1:2].to(torch.int64), 1), "Found an invalid max index"),
    "multinomial": (lambda x: torch.multinomial(1 - x, 1), "probability tensor contains either `inf`, `nan` or element < 0"),
    "normal": (lambda x: torch.normal(0.0, 1 - x), "normal expects all elements of std >= 0.0"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHECKED)
def test_plain_file_and_library_check_data_like_eager(name, tmp_path):
    function, message = CHECKED[name]
    good, bad = torch.full((3, 5), 0.5), torch.full((3, 5), 0.5)
    if name == "max_unpool2d":
        good.zero_(), bad.zero_()
    bad[0, 1] = 2
    with torch.no_grad():
        torch.export.save(torch.export.export(Only(function), (good,)), tmp_path / "model.pt2")
    assert command("compile", tmp_path / "model.pt2", "-o", tmp_path / "model.so").returncode == 0
    with pytest.raises(RuntimeError):
        function(bad)
    for path in ("model.pt2", "model.so"):
        for tensor, fails in ((good, False), (bad, True)):
            np.save(tmp_path / "x.npy", tensor.numpy())
            done = command("run", tmp_path / path, "--input", f"x={tmp_path}/x.npy")
            assert (done.returncode != 0) == fails, done.stderr
            assert (message in done.stderr) == fails


class Bagged(nn.Module):
    def forward(self, x, offsets):
        return nn.functional.embedding_bag(torch.arange(4), x, offsets, mode="sum")


class Segmented(nn.Module):
    def forward(self, x, lengths):
        return torch.segment_reduce(x, "sum", lengths=lengths)


@pytest.mark.parametrize("model, argument, good, bad, message", [
    (Bagged(), "offsets", [0, 1, 4], [1, 1, 4], r"offsets\[0\] has to be 0"), (Bagged(), "offsets", [0, 1, 4], [0, 2, 1], "offsets of embedding_bag must not fall"),
    (Segmented(), "lengths", [3, 0, 1], [3, 0, 2], r"Expected all rows of lengths along axis to sum to data\.size"),
    (Segmented(), "lengths", [3, 0, 1], [3, -1, 2], r"Expected all rows of lengths along axis to sum to data\.size"),
])  # fmt: skip
def test_invalid_bags_and_segments_are_errors(model, argument, good, bad, message, tmp_path):
    x = torch.randn(4, 3)
    check(model, {"x": x, argument: torch.tensor(good)}, tmp_path)
    with pytest.raises(AssertionError, match=message):
        call(tmp_path / "model.pt2", {"x": x, argument: torch.tensor(bad)}, tmp_path)


class Scattered(nn.Module):
    def forward(self, x, source):
        return x.masked_scatter(x > 0, source) * 2


def test_masked_scatter_source_with_too_few_elements_is_an_error(tmp_path):
    x, source = torch.tensor([1.0, -1.0, 2.0, -3.0]), torch.tensor([5.0, 6.0])
    check(Scattered(), {"x": x, "source": source}, tmp_path)
    with pytest.raises(AssertionError, match="Number of elements of source < number of ones in mask, in .*test_plain_data_checks.py:"):
        call(tmp_path / "model.pt2", {"x": x.abs(), "source": source}, tmp_path)

"""Writes the .pt2 files of this folder: `python - < write_models.py` in this folder, with torch 2.13 and tilewright (from standard
input, so that the files contain no path of the machine).

perceptron.pt2 has special cases for the importer: a parameter that is a transposed view, a buffer, a symbolic batch size, sizes that
depend on the batch size, and several results with names."""

import torch

import tilewright


class Perceptron(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(-1, 1, 32).view(4, 8).t())
        self.bias = torch.nn.Parameter(torch.linspace(0, 1, 8))
        self.register_buffer("scale", torch.arange(1.0, 9.0))

    def forward(self, x):
        y = torch.relu(torch.nn.functional.linear(x, self.weight, self.bias)) * self.scale
        return {"halves": y.view(x.shape[0] * 2, 4), "both": torch.cat([y, y], 1)[:, :3]}


batch = torch.export.Dim("batch", min=1, max=512)
tilewright.export(Perceptron(), (torch.ones(3, 4),), "perceptron.pt2", dynamic_shapes={"x": {0: batch}})

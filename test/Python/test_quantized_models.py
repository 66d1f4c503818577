"""A BERT and a ResNet whose linear layers and convolutions are quantized manually in the form of PT2E's convert: uint8
activations per tensor, int8 weights per channel. They are compared by the numbers rule with the same graph in
float64."""

import copy

import pytest
import torch
from torch import nn

from models import MODELS, first_tensor
from numbers_rule import assert_numbers, compiled_strictly, with_threads
from quantized_layers import Quantized, quantize


def quantized(name):
    """Returns the model with Quantized layers, and its input."""
    torch.manual_seed(0)
    model, (x,) = MODELS[name]()
    return quantize(model.eval(), x), x


@pytest.mark.parametrize("name", ["bert", "resnet50"])
def test_products_of_quantized_model_are_computed_in_int8(name, tmp_path):
    model, x = quantized(name)
    layers = sum(isinstance(m, Quantized) for m in model.modules())
    torch._dynamo.reset()
    with torch.no_grad():
        eager = [[with_threads(n, lambda: first_tensor(model(x)))] for n in (1, 2)]
        exact = first_tensor(copy.deepcopy(model).double()(x.double() if x.is_floating_point() else x))
        compiled = torch.compile(model, backend="tilewright", fullgraph=True, options={"strict": True, "dump": str(tmp_path)})
        assert_numbers([first_tensor(compiled(x))], eager, [exact])
    graph = next(tmp_path.rglob("1-graph.mlir")).read_text().splitlines()
    products = [line for line in graph if ("tw.matmul" in line or "tw.convolution" in line) and "xi8>" in line]
    assert len(products) >= layers > 10 and all(line.endswith("xi32>") for line in products)


def test_report_says_why_a_layer_is_computed_in_floats():
    """A grouped convolution is computed in floats, and the report states the reason."""
    import tilewright

    layer = Quantized(nn.Conv2d(8, 8, 3, padding=1), -1.0, 1.0)
    layer.weight, layer.convolution = layer.weight[:, :4].contiguous(), dict(padding=1, groups=2)
    torch._dynamo.reset()
    with torch.no_grad():
        compiled_strictly(layer)(torch.randn(1, 8, 9, 9))
    assert "2 groups" in str(tilewright.report())

"""torch models that become designs: exported with seeded weights, in f32 or with layers quantized to int8."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

tests = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(tests.parent / "build" / "python"), str(tests / "Python")]

# Models that the target hls compiles to fixed point, and flags with their formats. Two of the formats specify a rounding
# mode, AP_RND_CONV or AP_TRN. The others have the default rounding mode.
FIXED = {
    "fixed_mlp": ["--fixed", "16,6"],
    "fixed_lenet": ["--fixed", "12,5,AP_RND_CONV", "--fixed", "7=16,8"],
    "fixed_residual_block": ["--fixed", "14,4,AP_TRN"],
    "fixed_pooled": ["--fixed", "10,4", "--fixed", "input=8,1", "--fixed", "4=12,4"],
}
# These flags of a model follow the command's flags, and override them. ResNet-18 fits into the default part only with
# some budgets, because more multipliers need more banks. It needs a larger part if the inputs of its quantized layers
# are results.
FLAGS = {
    "resnet18_int8": ["--budget", "dsp=1300"],
    "resnet18_int8_inner": ["--budget", "dsp=1300", "--part=xcu250"],
    "resnet_small_int8_ports": ["--weights=external"],
} | FIXED
# If a name ends with _inner, the inputs of each quantized layer are results, too. If it ends with _ports, every weight is
# a port.
NAMES = ["attention_block", "encoder", "encoder_int8", "lenet", "lenet_int8", "mlp", "mlp_int8", "residual_block", "residual_block_int8"]
NAMES += ["resnet18_int8", "resnet18_int8_inner", "resnet_small_int8", "resnet_small_int8_inner", "resnet_small_int8_ports", *FIXED]


def make(name: str):
    """Returns the model in eval mode, not quantized, and its input."""
    import torch
    from torch import nn

    class Block(nn.Module):
        """Two convolutions and a shortcut. If sizes change, the shortcut has a convolution, too."""

        def __init__(self, channels: int, to: int, stride: int = 1):
            super().__init__()
            self.first = nn.Conv2d(channels, to, 3, stride, 1)
            self.second = nn.Conv2d(to, to, 3, 1, 1)
            self.around = nn.Conv2d(channels, to, 1, stride) if stride != 1 or channels != to else nn.Identity()

        def forward(self, x):
            return torch.relu(self.second(torch.relu(self.first(x))) + self.around(x))

    def resnet(stem: int, stages: list[int], blocks: int):
        """Returns a ResNet for images of 32x32: no pooling at the start, stages of blocks that halve the image from
        the second on."""
        layers, channels = [nn.Conv2d(3, stem, 3, padding=1), nn.ReLU()], stem
        for number, to in enumerate(stages):
            for block in range(blocks):
                layers.append(Block(channels, to, 2 if number > 0 and block == 0 else 1))
                channels = to
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))

    class Attending(nn.Module):
        """Self-attention with projections, a residual connection and a norm."""

        def __init__(self, width: int, heads: int):
            super().__init__()
            self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
            self.norm = nn.LayerNorm(width)

        def forward(self, x):
            return self.norm(x + self.attention(x, x, x, need_weights=False)[0])

    torch.manual_seed(0)
    match name:
        case "attention_block":
            return Attending(128, 4), torch.randn(1, 64, 128)
        case "resnet18":
            return resnet(64, [64, 128, 256, 512], 2), torch.randn(1, 3, 32, 32)
        case "resnet_small":
            return resnet(8, [8, 16], 1), torch.randn(1, 3, 8, 8)
        case "mlp":
            return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)), torch.randn(4, 64)
        case "lenet":
            layers = [nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
            layers += [nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)]
            return nn.Sequential(*layers), torch.randn(1, 1, 28, 28)
        case "residual_block":
            return Block(8, 16, 2), torch.randn(1, 8, 12, 12)
        case "pooled":
            layers = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU6(), nn.AvgPool2d(2), nn.Conv2d(8, 8, 3, groups=8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
            return nn.Sequential(*layers, nn.Linear(8, 4)), torch.randn(1, 3, 8, 8)
        case "encoder":
            layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
            return layer, torch.randn(1, 16, 32)
    raise ValueError(f"no model is called '{name}'")


def with_inner_results(model):
    """Returns the model with the inputs of each quantized layer, in uint8, as additional results."""
    import torch
    from quantized_layers import Quantized, q
    from torch import nn

    class WithInner(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x):
            inner = []
            for layer in layers:
                layer.given = inner
            return self.model(x), *inner

    class Giving(nn.Module):
        """A quantized layer that records its operand."""

        def __init__(self, layer):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            self.given.append(q.quantize_per_tensor(x, self.layer.scale, self.layer.zero, 0, 255, torch.uint8))
            return self.layer(x)

    layers = []
    for path, layer in list(model.named_modules()):
        if isinstance(layer, Quantized):
            parent, _, attribute = path.rpartition(".")
            layers.append(Giving(layer))
            setattr(model.get_submodule(parent), attribute, layers[-1])
    return WithInner()


def export(name: str, path: Path) -> None:
    """Writes the .pt2 file of a name in NAMES."""
    warnings.simplefilter("ignore")
    import torch
    from quantized_layers import quantize

    import tilewright

    inner = name.endswith("_inner")
    name = name.removesuffix("_inner").removesuffix("_ports")
    model, x = make(name.removesuffix("_int8").removeprefix("fixed_"))
    model = model.eval()
    if name.endswith("_int8"):
        model = quantize(model, x)
    if inner:
        model = with_inner_results(model)
    with torch.no_grad():
        tilewright.export(model, (x,), path)


if __name__ == "__main__":
    export(sys.argv[1], Path(sys.argv[2]))

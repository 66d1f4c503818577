"""The measured workloads. The weights and inputs of a workload are generated from a seed, so that they are equal in the processes of all
peers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
import torch.nn.functional as F

from . import arguments

DTYPES = {name: getattr(torch, of_torch) for name, of_torch in arguments.DTYPES.items()}


@dataclass
class Workload:
    """A model and its arguments, or a function of tensors."""

    model: Any  # an nn.Module, or a function
    inputs: dict[str, torch.Tensor]
    training: bool = False  # True: the workload is a forward and a backward pass, with gradients of all parameters
    optimizer: Callable | None = None  # creates an optimizer of the model's parameters, whose step is the workload
    native: bool = False  # True: the functions that the backends return are measured, without Dynamo's guards
    flops: int = 0  # floating-point operations of one call, for matrix products
    dynamic: dict[str, int] = field(default_factory=dict)  # input -> dimension that varies
    name: str = ""  # its key in WORKLOADS

    def to(self, device: str) -> Workload:
        """Moves the model and its arguments to a device."""
        if isinstance(self.model, torch.nn.Module):
            self.model = self.model.to(device)
        self.inputs = {name: value.to(device) for name, value in self.inputs.items()}
        return self

    def cast(self, dtype: torch.dtype) -> Workload:
        if isinstance(self.model, torch.nn.Module):
            self.model = self.model.to(dtype)
        self.inputs = {name: value.to(dtype) if value.is_floating_point() else value for name, value in self.inputs.items()}
        return self


def first_tensor(result) -> torch.Tensor:
    """Returns the first tensor of a result, for which errors are measured."""
    while not isinstance(result, torch.Tensor):
        result = result[0]
    return result


# -- models with random weights: those of the transformers library, and a 3-D ResNet


def _layers(name: str, layers: int) -> dict:
    return {name: layers} if layers else {}


def bert(batch: int = 1, tokens: int = 128, layers: int = 0, training: bool = False) -> Workload:
    from transformers import BertConfig, BertModel

    config = BertConfig(**_layers("num_hidden_layers", layers))
    if training:  # each peer draws different random numbers for dropout
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    return Workload(BertModel(config), {"input_ids": torch.randint(0, config.vocab_size, (batch, tokens))}, training)


def gpt2(layers: int = 0) -> Workload:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(use_cache=False, **_layers("n_layer", layers))
    return Workload(GPT2LMHeadModel(config), {"input_ids": torch.randint(0, config.vocab_size, (1, 128))})


def vit(layers: int = 0) -> Workload:
    from transformers import ViTConfig, ViTModel

    return Workload(ViTModel(ViTConfig(**_layers("num_hidden_layers", layers))), {"pixel_values": torch.randn(1, 3, 224, 224)})


def update(make: Callable) -> Workload:
    """Returns the workload of an optimizer's step on BERT-base's parameters."""
    return Workload(bert().model, {}, optimizer=make)


def resnet50(batch: int = 1, channels_last: bool = True, training: bool = False) -> Workload:
    """Returns the workload of ResNet-50, by default in channels-last, which is the fastest memory format in eager."""
    from transformers import ResNetConfig, ResNetForImageClassification

    model, pixels = ResNetForImageClassification(ResNetConfig(num_labels=1000)), torch.randn(batch, 3, 224, 224)
    if channels_last:
        model, pixels = model.to(memory_format=torch.channels_last), pixels.to(memory_format=torch.channels_last)
    return Workload(model, {"pixel_values": pixels}, training)


def llama(tokens: int = 128, layers: int = 4) -> Workload:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(hidden_size=2048, num_attention_heads=32, num_key_value_heads=4, intermediate_size=5632,
                         num_hidden_layers=layers or 4, use_cache=False)  # fmt: skip
    return Workload(LlamaForCausalLM(config), {"input_ids": torch.randint(0, config.vocab_size, (1, tokens))})


def mobilenet(batch: int = 1) -> Workload:
    from transformers import MobileNetV2Config, MobileNetV2Model

    model, pixels = MobileNetV2Model(MobileNetV2Config()), torch.randn(batch, 3, 224, 224)
    return Workload(model.to(memory_format=torch.channels_last), {"pixel_values": pixels.to(memory_format=torch.channels_last)})


def convnext(batch: int = 1) -> Workload:
    from transformers import ConvNextConfig, ConvNextModel

    model, pixels = ConvNextModel(ConvNextConfig()), torch.randn(batch, 3, 224, 224)
    return Workload(model.to(memory_format=torch.channels_last), {"pixel_values": pixels.to(memory_format=torch.channels_last)})


class VideoBlock(torch.nn.Module):
    def __init__(self, channels: int, filters: int, stride: int):
        super().__init__()
        self.first = torch.nn.Conv3d(channels, filters, 3, stride, 1, bias=False)
        self.second = torch.nn.Conv3d(filters, filters, 3, 1, 1, bias=False)
        self.first_norm, self.second_norm = torch.nn.BatchNorm3d(filters), torch.nn.BatchNorm3d(filters)
        shortcut = (torch.nn.Conv3d(channels, filters, 1, stride, bias=False), torch.nn.BatchNorm3d(filters)) if stride > 1 else ()
        self.shortcut = torch.nn.Sequential(*shortcut)

    def forward(self, x):
        return F.relu(self.second_norm(self.second(F.relu(self.first_norm(self.first(x))))) + self.shortcut(x))


class VideoNet(torch.nn.Module):
    """A residual network of 18 layers in space and time. Source: Tran et al., "A Closer Look at Spatiotemporal
    Convolutions for Action Recognition", 2018 (R3D)."""

    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Conv3d(3, 64, (3, 7, 7), (1, 2, 2), (1, 3, 3), bias=False)
        self.norm = torch.nn.BatchNorm3d(64)
        sizes = [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]
        self.blocks = torch.nn.Sequential(*(block for channels, filters, stride in sizes
                                            for block in (VideoBlock(channels, filters, stride), VideoBlock(filters, filters, 1))))  # fmt: skip
        self.classes = torch.nn.Linear(512, 400)

    def forward(self, frames):
        return self.classes(self.blocks(F.relu(self.norm(self.stem(frames)))).mean((2, 3, 4)))


def video(frames: int = 8, training: bool = False) -> Workload:
    return Workload(VideoNet(), {"frames": torch.randn(1, 3, frames, 112, 112)}, training)


# -- blocks


class EncoderBlock(torch.nn.Module):
    """A pre-norm transformer encoder block: width 768, 12 heads, feed-forward 3072, GELU."""

    def __init__(self, width: int = 768, heads: int = 12, inner: int = 3072):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.query, self.key, self.value, self.out = (torch.nn.Linear(width, width) for _ in range(4))
        self.up, self.down = torch.nn.Linear(width, inner), torch.nn.Linear(inner, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        split = lambda t: t.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)
        normed = self.norm1(x)
        mixed = F.scaled_dot_product_attention(split(self.query(normed)), split(self.key(normed)), split(self.value(normed)))
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def encoder(tokens: int, batch: int = 1) -> Workload:
    return Workload(EncoderBlock(), {"x": torch.randn(batch, tokens, 768)})


def mlp(batch: int = 256) -> Workload:
    layers = [layer for _ in range(3) for layer in (torch.nn.Linear(1024, 1024), torch.nn.ReLU())]
    return Workload(torch.nn.Sequential(*layers), {"input": torch.randn(batch, 1024)})


# -- matrix products as linear layers; a shape is M x N x K


def gemm(shape: str) -> Workload:
    rows, columns, depth = (int(size) for size in shape.split("x"))
    return Workload(torch.nn.Linear(depth, columns), {"input": torch.randn(rows, depth)}, flops=2 * rows * columns * depth)


# -- single memory-bound operations, and a chain of elementwise operations


def _operation(function: Callable, **inputs: torch.Tensor) -> Workload:
    return Workload(function, inputs, native=True)


def softmax() -> Workload:
    return _operation(lambda x: torch.softmax(x, -1), x=torch.randn(1024, 768))


def layer_norm() -> Workload:
    return _operation(lambda x, weight, bias: F.layer_norm(x, (768,), weight, bias), x=torch.randn(1024, 768),
                      weight=torch.randn(768), bias=torch.randn(768))  # fmt: skip


def gelu() -> Workload:
    return _operation(lambda x: F.gelu(x), x=torch.randn(1024, 1024))


def add() -> Workload:
    return _operation(lambda x, y: x + y, x=torch.randn(1 << 20), y=torch.randn(1 << 20))


def total() -> Workload:
    return _operation(lambda x: x.sum(), x=torch.randn(1 << 20))


def cross_entropy() -> Workload:
    return _operation(lambda x, target: F.cross_entropy(x, target), x=torch.randn(512, 32000),
                      target=torch.randint(0, 32000, (512,)))  # fmt: skip


def chain() -> Workload:
    return _operation(lambda x, y: torch.tanh(x * torch.sigmoid(y) + 1.0) * y - x, x=torch.randn(1 << 20), y=torch.randn(1 << 20))


def empty() -> Workload:
    """Returns a workload with a single add of 16 elements, which measures the overhead of a call."""
    return _operation(lambda x: x + 1, x=torch.zeros(16))


# M x N x K of the matrix products in TPP-MLIR's benchmarks (folder benchmarks/config of its repository), and of two cubes (M = N = K).
GEMM_SHAPES = ("1024x1024x512 1024x2560x1024 1024x352x512 1024x512x256 128x1024x1024 128x1024x4096 128x3072x768 "
               "128x4096x1024 128x768x2304 128x768x3072 128x768x768 256x1024x1024 256x1024x4096 256x3072x768 "
               "256x4096x1024 256x768x3072 256x768x768 1024x1024x1024 2048x2048x2048").split()  # fmt: skip

WORKLOADS: dict[str, Callable[[], Workload]] = {
    "encoder-128": lambda: encoder(128),
    "encoder-512": lambda: encoder(512),
    "mlp": mlp,
    "bert": bert,
    "bert-b8": lambda: bert(8),
    "bert-2": lambda: bert(layers=2),
    "vit": vit,
    "gpt2": gpt2,
    "llama": llama,
    "llama-1": lambda: llama(1),
    "resnet50": resnet50,
    "resnet50-b4": lambda: resnet50(4),
    "resnet50-nchw": lambda: resnet50(channels_last=False),
    "mobilenet": mobilenet,
    "mobilenet-b8": lambda: mobilenet(8),
    "convnext": convnext,
    "video": video,
    "bert-train": lambda: bert(4, training=True),
    "resnet50-train": lambda: resnet50(4, channels_last=False, training=True),
    "resnet50-train-nhwc": lambda: resnet50(4, training=True),
    "video-train": lambda: video(training=True),
    "adamw-bert": lambda: update(functools.partial(torch.optim.AdamW, lr=1e-4)),
    "sgd-bert": lambda: update(functools.partial(torch.optim.SGD, lr=1e-4, momentum=0.9)),
    "softmax": softmax,
    "layer-norm": layer_norm,
    "gelu": gelu,
    "add": add,
    "sum": total,
    "cross-entropy": cross_entropy,
    "chain": chain,
    "empty": empty,
    "empty-whole": lambda: replace(empty(), native=False),
}


def make(name: str, dtype: str, seed: int = 0) -> Workload:
    """Returns the workload `name` (a key of WORKLOADS, or gemm:MxNxK). If the name is unknown, raises a KeyError that
    lists the valid names."""
    torch.manual_seed(seed)
    if name.startswith("gemm:"):
        work = gemm(name.removeprefix("gemm:"))
    elif name in WORKLOADS:
        work = WORKLOADS[name]()
    else:
        raise KeyError(f"unknown workload {name!r}; the workloads are gemm:MxNxK and {', '.join(WORKLOADS)}")
    work = work.cast(DTYPES[dtype])
    work.name = name
    if isinstance(work.model, torch.nn.Module):
        work.model.train(work.training)
    return work

"""The models of libraries that are run: small ones or ones of few layers, with random weights."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from installed import make_importable
from startup import prepare_process, spread_constants, without_randomness
from subject import Subject, by_name
from torch import nn


def made(module: str, name: str, /, *arguments, **keywords) -> nn.Module:
    """Imports a module and calls its function or class `name`."""
    return getattr(importlib.import_module(module), name)(*arguments, **keywords)


class Positional(nn.Module):
    """Calls a model with positional arguments, because libraries name them differently."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, **arguments):
        return self.model(*arguments.values())


@dataclass(frozen=True)
class LibraryModel:
    """A model of a library.

    `make` builds it. `inputs` are drawn.Drawn objects or fixed values, in the order of its arguments or by their
    names. `without` has the modes that it does not support, with the reason.
    """

    name: str
    make: Callable[[], nn.Module]
    inputs: tuple | dict
    modes: tuple = ("inference", "training")
    without: dict = field(default_factory=dict)

    def has(self, mode: str) -> bool:
        return mode in self.modes and mode not in self.without

    def build(self) -> nn.Module:
        torch.manual_seed(0)
        model = self.make()
        spread_constants(model)
        without_randomness(model)
        return model if isinstance(self.inputs, dict) else Positional(model)

    def draw(self, model: nn.Module, mode: str, seed: int) -> dict:
        generator = torch.Generator().manual_seed(seed)
        named = self.inputs if isinstance(self.inputs, dict) else {f"argument_{i}": one for i, one in enumerate(self.inputs)}
        return {name: one.draw(generator) if hasattr(one, "draw") else one for name, one in named.items()}


def library_models() -> dict[str, LibraryModel]:
    from packages import of_diffusers, of_geometric, of_monai, of_timm, of_torchvision, of_vit_pytorch, of_x_transformers

    packages = (of_timm, of_torchvision, of_diffusers, of_monai, of_geometric, of_vit_pytorch, of_x_transformers)
    return by_name(one for package in packages for one in package.MODELS)


def prepare() -> None:
    prepare_process()
    make_importable()


SUBJECT = Subject(Path(__file__).resolve().parent, library_models, prepare, parts=24, share_seconds=240, samples=6, hang=900)

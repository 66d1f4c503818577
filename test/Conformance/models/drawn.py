"""Arguments of a model as data: shapes and ranges, from which a generator draws tensors."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Drawn:
    """A tensor of this shape: normal floats, or integers below `high`, sorted along the last dimension if
    `ascending`."""

    shape: tuple
    high: int = 0
    ascending: bool = False

    def draw(self, generator) -> torch.Tensor:
        if self.high:
            drawn = torch.randint(0, self.high, self.shape, generator=generator)
            return drawn.sort(-1).values if self.ascending else drawn
        return torch.randn(self.shape, generator=generator)


@dataclass(frozen=True)
class Given:
    """A tensor of these numbers."""

    values: tuple

    def draw(self, generator) -> torch.Tensor:
        return torch.tensor(self.values)


def floats(*shape) -> Drawn:
    return Drawn(shape)


def integers(high, *shape) -> Drawn:
    return Drawn(shape, high)


def boxes(high, *shape) -> Drawn:
    """Returns boxes: left, upper, right and lower edges."""
    return Drawn(shape, high, ascending=True)


def given(*values) -> Given:
    return Given(values)

"""Predicates on sizes, some of which are symbols, that can be decided while a graph is traced."""

from __future__ import annotations

from torch.fx.experimental.symbolic_shapes import statically_known_true


def some(*sizes) -> bool:
    """Returns whether none of the sizes is 0 at any call."""
    return all(statically_known_true(size > 0) for size in sizes)


def none(*sizes) -> bool:
    """Returns whether one of the sizes is 0 at each call."""
    return any(statically_known_true(size == 0) for size in sizes)

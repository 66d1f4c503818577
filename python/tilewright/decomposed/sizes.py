"""What is known of sizes while a graph is traced, of which some are symbols."""

from __future__ import annotations

from torch.fx.experimental.symbolic_shapes import statically_known_true


def some(*sizes) -> bool:
    """Whether none of them is 0, at any call."""
    return all(statically_known_true(size > 0) for size in sizes)


def none(*sizes) -> bool:
    """Whether one of them is 0, at each call."""
    return any(statically_known_true(size == 0) for size in sizes)

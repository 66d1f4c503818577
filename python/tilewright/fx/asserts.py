"""Checks of data that torch asserts (one_hot's classes, the `info` of factorizations).

The checked tensor becomes an additional result of the program, and is checked after the call. At this time, the program
has already written into its arguments.

On a GPU, ops that assert run in eager, because reading the checked tensor would wait until the call has finished.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import fx

from .origin import Frame, now_at

aten = torch.ops.aten
ASSERTS = (aten._assert_async.default, aten._assert_async.msg)


@dataclass
class Check:
    """Base class of checks that read a tensor after a call. `frames` contains the locations in the user's program that require the
    check."""

    frames: list[Frame]

    def __setstate__(self, state: dict) -> None:
        vars(self).update(state, frames=now_at(state["frames"]))

    @property
    def where(self) -> str:
        return "".join(f" ({file}:{line} in {name})" for file, line, name in self.frames)


@dataclass
class Holds(Check):
    """Raises a RuntimeError if the tensor is false, as `aten._assert_async` does."""

    said: str

    def __call__(self, tensor: torch.Tensor) -> None:
        if not tensor:
            raise RuntimeError(self.said + self.where)


@dataclass
class NoErrors(Check):
    """Raises a torch.linalg.LinAlgError if one of LAPACK's `info` values is not 0, as `aten._linalg_check_errors`
    does."""

    api: str
    is_matrix: bool

    def __call__(self, info: torch.Tensor) -> None:
        if info.any():
            try:
                aten._linalg_check_errors(info, self.api, is_matrix=self.is_matrix)
            except RuntimeError as error:
                raise type(error)(str(error).splitlines()[0] + self.where) from None


def is_checked(node: fx.Node) -> bool:
    """Returns whether `node` is a check of data."""
    return node.target in ASSERTS or (node.target is torch.ops.higher_order.with_effects and node.args[1] is aten._linalg_check_errors.default)


def check_of(node: fx.Node, frames: list[Frame]):
    """Returns the node of the tensor that `node` checks, and the Check to apply to that tensor after the call."""
    if node.target in ASSERTS:
        return node.args[0], Holds(frames, node.args[1] if len(node.args) > 1 else "Expected Tensor with single nonzero value, but got zero")
    _, _, info, api, *rest = node.args
    return info, NoErrors(frames, api, rest[0] if rest else node.kwargs["is_matrix"])


def is_token(node: fx.Node) -> bool:
    """Returns whether the argument is an effect token of AOTAutograd, which orders effects and is not a tensor at a call."""
    return all(user.target is torch.ops.higher_order.with_effects and user.args[0] is node and node not in user.args[1:] for user in node.users)


def asserting(call, checks: list):
    """Wraps `call` so that it applies `checks` to its last results and returns all other results."""

    def run(arguments):
        results = call(arguments)
        kept = len(results) - len(checks)
        for check, tensor in zip(checks, results[kept:], strict=True):
            check(tensor)
        return results[:kept]

    return run

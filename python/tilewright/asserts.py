"""What torch asserts of data (one_hot's classes, the `info` of factorizations): the tensor is one more result of the program, and
is looked at after the call. What the program writes into arguments is written by then.

On a GPU a look would wait for the call: there the op runs in eager.
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
    """What looks at a tensor after a call. `frames`: where the user's program asks for it."""

    frames: list[Frame]

    def __setstate__(self, state: dict) -> None:
        vars(self).update(state, frames=now_at(state["frames"]))

    @property
    def where(self) -> str:
        return "".join(f" ({file}:{line} in {name})" for file, line, name in self.frames)


@dataclass
class Holds(Check):
    """RuntimeError where the tensor is false, as `aten._assert_async` gives it."""

    said: str

    def __call__(self, tensor: torch.Tensor) -> None:
        if not tensor:
            raise RuntimeError(self.said + self.where)


@dataclass
class NoErrors(Check):
    """torch.linalg.LinAlgError where one of LAPACK's `info` is not 0, as `aten._linalg_check_errors` gives it."""

    api: str
    is_matrix: bool

    def __call__(self, info: torch.Tensor) -> None:
        if info.any():
            try:
                aten._linalg_check_errors(info, self.api, is_matrix=self.is_matrix)
            except RuntimeError as error:
                raise type(error)(str(error).splitlines()[0] + self.where) from None


def is_checked(node: fx.Node) -> bool:
    """Whether `node` is a check of data."""
    return node.target in ASSERTS or (node.target is torch.ops.higher_order.with_effects and node.args[1] is aten._linalg_check_errors.default)


def check_of(node: fx.Node, frames: list[Frame]):
    """Of a check of data the node of the tensor, and what to do with the tensor after the call."""
    if node.target in ASSERTS:
        return node.args[0], Holds(frames, node.args[1] if len(node.args) > 1 else "Expected Tensor with single nonzero value, but got zero")
    _, _, info, api, *rest = node.args
    return info, NoErrors(frames, api, rest[0] if rest else node.kwargs["is_matrix"])


def is_token(node: fx.Node) -> bool:
    """Whether the argument only orders effects: it is no tensor at a call."""
    return all(user.target is torch.ops.higher_order.with_effects and user.args[0] is node and node not in user.args[1:] for user in node.users)


def asserting(call, checks: list):
    """`call`, whose last results are for `checks`."""

    def run(arguments):
        results = call(arguments)
        kept = len(results) - len(checks)
        for check, tensor in zip(checks, results[kept:], strict=True):
            check(tensor)
        return results[:kept]

    return run

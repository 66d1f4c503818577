"""The numbers rule for whole graphs: what rounding each op once may do to the results.

The rule allows each op an error of eps of its result, and measures a whole model by eager's own error. Of a random graph that
is not enough: eager's error of a few numbers may be 0 by luck, and where a graph subtracts what is almost equal, errors that
each op may have grow. So where a result misses the rule, the graph is run in float64 with each op's results multiplied by
1 + eps u, u random in [-1, 1] (for float64 itself 1e-12 in place of eps, as in the rule), a number of times: Monte Carlo
arithmetic. The error which that gives counts like eager's own. Results that are exact in any order of evaluation, views and
writes in place are left alone.
"""

from __future__ import annotations

import torch
from program import WIDE, Program

RUNS = 8


def noisy_eps(dtype: str) -> float:
    return 1e-12 if dtype == "float64" else torch.finfo(getattr(torch, dtype)).eps


class Noisy:
    """A program's float64 module, node by node, with noise."""

    def __init__(self, program: Program, seed: int):
        self.program, self.generator = program, torch.Generator().manual_seed(seed)

    def noise(self, tensor: torch.Tensor, dtype: str) -> torch.Tensor:
        u = torch.rand(tensor.shape, generator=self.generator, dtype=torch.float64) * 2 - 1
        return tensor * (1 + noisy_eps(dtype) * u)

    def __call__(self, tensors: dict) -> list:
        from program import FLOATS

        scope = {"torch": torch, "F": torch.nn.functional, **tensors}
        seen = {t.untyped_storage().data_ptr() for t in tensors.values()}
        for node in self.program.nodes:
            found = eval(FLOATS.sub("torch.float64", node.text), scope)
            results = list(found) if node.many else [found]
            for at, (name, result, keeps, dtype) in enumerate(zip(node.results, results, node.exact, node.dtypes)):
                place = result.untyped_storage().data_ptr()
                if result.is_floating_point() and not keeps and place not in seen:
                    result = self.noise(result, dtype)
                    place = result.untyped_storage().data_ptr()
                seen.add(place)
                scope[name] = result
        return [scope[name] for name in self.program.outputs]


def has_noise(program: Program) -> bool:
    return any(getattr(torch, d) in (*WIDE, torch.float64) for n in program.nodes for d in n.dtypes)

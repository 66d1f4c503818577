"""Metamorphic graphs: identities are inserted before some operands of a graph. The meaning of the graph does not
change, but the compiler sees other layouts, splits, orders of rows, paddings, views and dtypes."""

from __future__ import annotations

import random
import re
from dataclasses import replace

from program import Node, Program

MOST = 5  # identities of a graph at most
ROWS = "({0} if V.dim() else V.clone())"
ANY = [
    "V.clone()", "torch.stack([V, V])[1]", "torch.cat([V.unsqueeze(0), V.unsqueeze(0)]).select(0, 1)", "V.flatten().reshape(V.shape)",
    "V.unsqueeze(-1).transpose(0, -1).clone().transpose(0, -1).squeeze(-1)", "torch.where(V == V, V, V)", "F.pad(V.unsqueeze(-1), (1, 2)).select(-1, 1)",
    "V.unsqueeze(0).expand(2, *V.shape).contiguous().select(0, 1)", ROWS.format("V.flip(0).flip(0)"), ROWS.format("torch.cat([V[:1], V[1:]])"),
    ROWS.format("V.roll(1, 0).roll(-1, 0)"), ROWS.format("V.index_select(0, torch.arange(V.shape[0] - 1, -1, -1)).flip(0)"),
    ROWS.format("torch.stack([V, V], -1).flatten(-2)[..., ::2]"),
]  # fmt: skip
NUMBERS = ["torch.where(V.isfinite(), V + 0 * V, V)", "V.to(torch.float64).to(torch.DTYPE)"]


def changed(program: Program) -> Program:
    """Returns `program` with up to MOST identities. Returns it unchanged if it writes in place, because writing to a
    copy differs from writing to a view."""
    if any(node.writes() for node in program.nodes):
        return program
    draw = random.Random(program.seed)
    known = {i.name: (i.dtype, True) for i in program.inputs}
    counter = 1 + max(int(name[1:]) for name in [*known, *(result for node in program.nodes for result in node.results)])
    made = replace(program, nodes=[])
    left = MOST
    for node in program.nodes:
        uses = [name for name in node.uses() if name in known and name not in node.results]
        if left and uses and draw.random() < MOST / len(program.nodes):
            name = draw.choice(uses)
            dtype, exact = known[name]
            number = dtype in ("float32", "float64", "bfloat16", "float16") and draw.random() < 0.3
            text = draw.choice(NUMBERS if number else ANY).replace("DTYPE", dtype)
            other, left = f"v{counter}", left - 1
            counter += 1
            made.nodes.append(Node("identity", [other], text.replace("V", name), [exact], [dtype]))
            node = replace(node, text=re.sub(rf"\b{name}\b", other, node.text))
        made.nodes.append(node)
        known |= {result: (dtype, exact) for result, dtype, exact in zip(node.results, node.dtypes, node.exact)}
    return made

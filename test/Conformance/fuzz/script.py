"""Writes a stand-alone script of one graph that needs only torch and Tilewright."""

from __future__ import annotations

from program import Input, Program
from verdict import Outcome

HEAD = '''"""{detail}"""

import torch
import torch.nn.functional as F
from tilewright.dynamo.backend import tilewright


{source}

def g(seed):
    return torch.Generator().manual_seed(seed)


def run(how, wide=False):
    inputs = {{
{inputs}
    }}
    if wide:
        inputs = {{n: t.double() if t.dtype in (torch.float32, torch.bfloat16, torch.float16) else t for n, t in inputs.items()}}
{settings}
    results = list(how(graph)(*[t for n, t in inputs.items() if not hasattr(graph, n)]))
{derivatives}    return [r.detach() for r in results + list(inputs.values()) if r is not None]


torch.set_num_threads({threads})
eager, exact = run(lambda m: m), run(lambda m: m, wide=True)
ours = run(lambda m: torch.compile(m, backend=tilewright, fullgraph=True, dynamic={dynamic}))
for a, b, c in zip(ours, eager, exact):
    rms = lambda x: (x.double() - c.double()).square().mean().sqrt().item()
    print(f"{{a.dtype}}{{list(a.shape)}} strides {{a.stride()}}, eager's {{b.stride()}}; RMS error {{rms(a):.3g}}, eager's {{rms(b):.3g}}")
    if a.numel() <= 8:
        print("   ", a.tolist(), b.tolist(), c.tolist())
'''

DERIVATIVES = '''    weights = [torch.linspace(0.5, 1.5, r.numel(), dtype=torch.float64).reshape(r.shape).to(r.dtype) for r in results]
    found = [(r, w) for r, w in zip(results, weights) if r.requires_grad]
    results += torch.autograd.grad([r for r, _ in found], asked, [w for _, w in found], allow_unused=True)
'''


def drawn(i: Input, seed: int) -> str:
    """Returns the input as an expression. g(seed) returns the same numbers as program.numbers."""
    dtype, word, count = f"torch.{i.dtype}", i.numbers.partition(":")[0], i.extent() + 3
    generator = f"generator=g({seed})"
    if word == "order":
        _, dim, most = i.numbers.split(":")
        wide = [int(most) if d == int(dim) else n for d, n in enumerate(i.shape)]
        return f"torch.rand({wide}, {generator}).argsort({dim}).narrow({dim}, 0, {i.shape[int(dim)]}).contiguous()"
    if word == "index":
        text = f"torch.randint(0, {i.numbers.partition(':')[2]}, ({count},), {generator}).to({dtype})"
    elif i.dtype == "bool":
        text = f"(torch.rand({count}, {generator}) < 0.6)"
    elif word == "bits":
        text = f"torch.randint(max(torch.iinfo({dtype}).min, -(2**62)), min(torch.iinfo({dtype}).max, 2**62), ({count},), {generator}).to({dtype})"
    elif "int" in i.dtype:
        text = f"torch.randint({0 if i.dtype == 'uint8' else -6}, 7, ({count},), {generator}).to({dtype})"
    elif word == "uniform":
        text = f"(torch.rand({count}, {generator}, dtype=torch.float64) * 4 - 2).to({dtype})"
    elif word in ("below", "far"):
        scale = "* 3.5 - 4.0" if word == "below" else "+ 6.0"
        text = f"(torch.rand({count}, {generator}, dtype=torch.float64) {scale}).to({dtype})"
    else:
        text = f"(torch.randint(-8, 9, ({count},), {generator}).to({dtype}) / 4)"
    return f"{text}.as_strided({i.shape}, {i.strides}, {i.offset})" if word != "special" else f"{text}.as_strided({i.shape}, {i.strides}) # and NaN"


def script(program: Program, outcome: Outcome) -> str:
    inputs = "\n".join(f"        {i.name!r}: {drawn(i, program.seed * 1000 + int(i.name[1:]))}," for i in program.inputs)
    detail = " ".join(f"{outcome.state}: {outcome.reason}: {outcome.detail}".split())[:300].replace("\\", "/").replace('"', "'")
    asked = [i for i in program.inputs if i.gradient]
    settings = ["    graph = Graph()"]
    settings += [f"    graph.{i.name} = inputs[{i.name!r}] = torch.nn.Parameter(inputs[{i.name!r}], requires_grad=False)"
                 for i in program.inputs if i.parameter]  # fmt: skip
    if asked:
        settings.append("    asked = [" + ", ".join(f"inputs[{i.name!r}].requires_grad_()" for i in asked) + "]")
    return HEAD.format(detail=detail, source=program.source(), inputs=inputs, threads=program.threads, dynamic=program.mode == "dynamic",
                       settings="\n".join(settings), derivatives=DERIVATIVES if asked else "")  # fmt: skip

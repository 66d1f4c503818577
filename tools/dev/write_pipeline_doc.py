"""Writes docs/pipeline.md: a linear layer with GELU from Python to machine code, as the programs print it today.

    PYTHONPATH=build/python python tools/dev/write_pipeline_doc.py

tools/dev/check_pipeline_doc.py fails if the page is not current. The page does not depend on the machine: tilewright-opt assumes 2 threads
and fixed caches, and code is generated for x86-64-v4 and sm_80.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build")) / "bin"
LINE = 200  # longer lines are truncated

PROGRAM = '''
import torch

layer = torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.GELU()).eval()
x = torch.randn(128, 64)
with torch.no_grad():
    torch.compile(layer, backend="tilewright", options={"dump": "ir", "cache": False})(x)
'''.strip()

INTRO = """# From Python to machine code

This page shows one layer, `Linear(64, 96)` and GELU on 128 rows, at every level: the program, the graph that torch passes to the backend, the IR of each stage, the
machine code for a CPU with AVX-512, and the PTX for an NVIDIA GPU. `tools/dev/write_pipeline_doc.py` writes this page with the output of the
programs, and the test `tools/dev/check_pipeline_doc.py` fails if the output changes. Lines longer than {line} characters are truncated.
[Architecture](explanation/architecture.md) describes the stages.

## The program

```python
{program}
```

## The graph

`ir/0-imported.mlir`: torch's operators as ops of the dialect [`tw`](reference/dialects/tw.md); `aten.addmm` is a `tw.matmul` and a `tw.add`.
`tw.static` marks parameters.

{imported}
## Stages that all targets share

**graph** rewrites `tw` ops: views are collapsed, convolutions become channels-last. It changes nothing in this graph.

{graph}
**structured** lowers to `linalg` and forms kernels: the product, the bias and GELU are one function, which `@main` calls. `tw.decisions` lists the
decisions for the report, such as that these ops are fused. The ops state how results may be rounded: sums are in f32, and `contract` is the only
fast-math flag.

{structured}
## CPU with AVX-512

**tiled**: the weight, a parameter, is packed once into panels of 48 columns (three vectors), and the kernel is one `scf.forall` over tiles.
The [schedule](tuning.md) of the kernel sets the size of the tile.

{tiled}
**vector**: tensors have become buffers, and loops compute vectors. The product is still one op, `tw_tile.matmul`, which a micro-kernel replaces next; the bias and GELU are computed by loops over
vectors of 16 elements.
`@main` has become the [plan](explanation/architecture.md), a `tw_plan.program` that the runtime executes.

{vector}
**target**: the code is in the dialect `llvm`. A polynomial has replaced `math.erf`; it begins with these steps:

{target}
**Machine code** (`tilewright compile --emit=asm`): this is the inner loop of the product. Eight rows times three vectors of columns are in 24 accumulators; each step
loads three vectors of the panel and broadcasts eight elements of `x`.

{assembly}
## GPU with tensor cores

This section shows the same layer in bf16, for `--target=cuda --arch=sm_80`. The stages graph and structured are those above, with bf16 operands. Sums
of products, the sum with the bias and GELU are in f32; only the result of the kernel is rounded to bf16.

**tiled**: one block of threads computes 16 x 16 elements, with `mma` on 16 values of k. The schedule is an attribute of the kernel:

{schedule}
**vector**: the code of one thread. Tiles of both operands are copied to shared memory asynchronously, in a swizzled order without bank conflicts; `ldmatrix`
loads them as fragments. The loads of the first step of k, and its first `mma`:

{threads}
**PTX** (`--emit=ptx`): the code of these ops and of the second `mma`.

{ptx}
NVIDIA's `ptxas`, or the driver, translates PTX to the code of the device. [The PTX interpreter](targets/ptx-check.md) can execute the emitted
kernels without a GPU.
"""


def run(*command, cwd: Path) -> str:
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def imported(folder: Path, program: str) -> str:
    """Returns the graph that the program compiles."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(BIN.parent / "python"), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return (folder / "ir" / "0-imported.mlir").read_text()


def block(text: str, language: str = "mlir") -> str:
    lines = [line if len(line) <= LINE else line[: LINE - 4] + " ..." for line in text.strip("\n").splitlines()]
    return "\n".join([f"```{language}", *lines, "```", ""])


def between(text: str, first: str, last: str, count: int = 1) -> str:
    """Returns the lines from the first match of `first` to the `count`-th match of `last` after it, without their common indentation."""
    lines = text.splitlines()
    begin = next(i for i, line in enumerate(lines) if re.search(first, line))
    ends = [i for i, line in enumerate(lines) if i >= begin and re.search(last, line)]
    part = lines[begin : ends[count - 1] + 1]
    indent = min(len(line) - len(line.lstrip()) for line in part if line.strip())
    return "\n".join(line[indent:] for line in part)


def hottest_loop(assembly: str, instruction: str) -> str:
    """Returns the block between two labels that contains `instruction` most often."""
    blocks = re.split(r"(?m)^(?=\.L\w+:)", assembly)
    return max(blocks, key=lambda one: one.count(instruction)).split("\t.p2align")[0].replace("\t", "    ")


def page() -> str:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "layer.mlir").write_text(imported(folder, PROGRAM))
        stages = ["graph", "structured", "tiled", "vector"]
        texts = {name: run(BIN / "tilewright-opt", "layer.mlir", *(f"--tw-stage-{s}" for s in stages[: i + 1]), cwd=folder)
                 for i, name in enumerate(stages)}  # fmt: skip
        (folder / "vector.mlir").write_text(texts["vector"])
        code = [BIN / "tilewright", "compile", "vector.mlir", "--start-at=vector", "--cpu=x86-64-v4"]
        target = run(*code, "--emit=target", cwd=folder)
        assembly = run(*code, "--emit=asm", cwd=folder)
        narrow = PROGRAM.replace(").eval()", ").eval().bfloat16()").replace("(128, 64)", "(128, 64, dtype=torch.bfloat16)")
        (folder / "narrow.mlir").write_text(imported(folder, narrow))
        gpu = [BIN / "tilewright", "compile", "narrow.mlir", "--target=cuda", "--arch=sm_80"]
        tiled, threads, ptx = (run(*gpu, f"--emit={kind}", cwd=folder) for kind in ("tiled", "vector", "ptx"))
        schedule = re.search(r"tw\.schedule = #tw_\w+\.schedule<[^>]*>", tiled)
        return INTRO.format(
            line=LINE, program=PROGRAM, imported=block((folder / "layer.mlir").read_text()), **{name: block(text) for name, text in texts.items()},
            target=block(between(target, r"llvm\.intr\.fma", r"llvm\.intr\.fma", 4)),
            assembly=block(hottest_loop(assembly, "vfmadd231ps"), "text"),
            schedule=block(schedule[0] if schedule else "none", "text"),
            threads=block(between(threads, r"nvvm\.ldmatrix", r"nvvm\.mma\.sync", 1)),
            ptx=block(between(ptx, r"ldmatrix", r"\{%r\d+, %r\d+, %r\d+, %r\d+\};", 2), "text"))  # fmt: skip


if __name__ == "__main__":
    (ROOT / "docs" / "pipeline.md").write_text(page())
    sys.exit(0)

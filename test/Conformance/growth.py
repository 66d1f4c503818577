"""Measures how the memory of a process grows during 20,000 calls of a compiled model, and then during 200
compilations of the model, in inference and training alternately. Before the second measurement, the model is compiled
once for each combination of batch size and mode, so that only repeated compilations are measured. torch itself keeps
memory of every compilation (see tilewright/dynamo/after_reset.py). Without --backend, the growth with aot_eager is
also printed for comparison.

    python test/Conformance/growth.py [--calls N] [--compiles N] [--backend tilewright]
"""

import argparse
import gc
import json
import subprocess
import sys
import warnings

from harness.resident import kibibytes


SIZES = 97  # number of batch sizes; odd, so that each size occurs with and without gradients


def resident() -> int:
    """Returns the KiB of the process in memory."""
    gc.collect()
    return kibibytes("VmRSS")


def measure(backend: str, calls: int, compiles: int) -> dict:
    import torch

    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.LayerNorm(128), torch.nn.Linear(128, 16))

    def call(compiled, rows, training):
        with torch.set_grad_enabled(training):
            result = compiled(torch.ones(rows, 64))
        if training:
            result.sum().backward()

    def compile_again(first, count):
        for number in range(first, first + count):
            torch._dynamo.reset()
            call(torch.compile(model, backend=backend, dynamic=False), 2 + number % SIZES, bool(number % 2))

    compiled = torch.compile(model, backend=backend, dynamic=False)
    for number in range(300):
        call(compiled, 8, bool(number % 2))
    at_first = resident()
    for number in range(calls):
        call(compiled, 8, bool(number % 2))
    after_calls = resident()
    compile_again(0, 2 * SIZES)
    before = resident()
    compile_again(2 * SIZES, compiles)
    return {"calls": after_calls / at_first - 1, "compiles": (resident() - before) / before, "KiB": after_calls}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--compiles", type=int, default=200)
    parser.add_argument("--backend", help="measure only this backend, in this process, and print JSON")
    arguments = parser.parse_args()
    if arguments.backend:
        print(json.dumps(measure(arguments.backend, arguments.calls, arguments.compiles)))
        return 0
    found = {}
    for backend in ("tilewright", "aot_eager"):
        command = [sys.executable, __file__, "--backend", backend, "--calls", str(arguments.calls), "--compiles", str(arguments.compiles)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found[backend] = json.loads(said.splitlines()[-1])
        print(f"{backend:12} {found[backend]['calls']:+8.2%} after {arguments.calls} calls, {found[backend]['compiles']:+8.2%} after "
              f"{arguments.compiles} compilations")  # fmt: skip
    return int(max(found["tilewright"]["calls"], found["tilewright"]["compiles"]) >= 0.01)


if __name__ == "__main__":
    sys.exit(main())

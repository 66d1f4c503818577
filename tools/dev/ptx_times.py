#!/usr/bin/env python3
"""Prints the times to generate the PTX of products, and to assemble it with ptxas, as a table:

    tools/dev/ptx_times.py [--program build/bin/tilewright] [--runs 3]

The first time is that of `tilewright compile --emit=ptx`, less that of `--emit=structured`, which all targets need. Each time is the
minimum CPU time of all runs.
"""

import argparse
import pathlib
import re
import resource
import subprocess
import tempfile

from find_ptxas import find_ptxas

SIZES = [(128, 128, 128), (256, 384, 512), (100, 130, 70), (17, 1024, 1024), (1024, 1024, 1024), (4096, 4096, 4096)]
MODEL = """
func.func @main(%x: tensor<{m}x{k}x{type}>, %w: tensor<{n}x{k}x{type}>, %b: tensor<{n}x{type}>) -> tensor<{m}x{n}x{type}> {{
  %t = tw.permute %w {{permutation = array<i64: 1, 0>}} : tensor<{n}x{k}x{type}> -> tensor<{k}x{n}x{type}>
  %h = tw.matmul %x, %t : (tensor<{m}x{k}x{type}>, tensor<{k}x{n}x{type}>) -> tensor<{m}x{n}x{type}>
  %a = tw.add %h, %b : (tensor<{m}x{n}x{type}>, tensor<{n}x{type}>) -> tensor<{m}x{n}x{type}>
  return %a : tensor<{m}x{n}x{type}>
}}
"""


def best(runs, command):
    """Returns the CPU time in milliseconds, which does not depend on other load of the machine."""
    times = []
    for _ in range(runs):
        begin = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(end.ru_utime - begin.ru_utime + end.ru_stime - begin.ru_stime)
    return min(times) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(pathlib.Path(__file__).parents[2] / "build" / "bin" / "tilewright"))
    parser.add_argument("--runs", type=int, default=3)
    flags = parser.parse_args()
    if not (ptxas := find_ptxas()):
        parser.error("there is no ptxas. Run tools/setup.sh, which installs it.")
    print(f"{'arch':8}{'type':6}{'sizes':18}{'schedule':10}{'PTX ms':>8}{'lines':>7}{'ptxas ms':>10}{'registers':>11}{'spills':>8}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for arch in ("sm_80", "sm_90a"):
            for kind in ("bf16", "i8", "f32"):
                for m, n, k in SIZES:
                    model, ptx, tiled = folder / "m.mlir", folder / "m.ptx", folder / "t.mlir"
                    model.write_text(MODEL.format(m=m, n=n, k=k, type=kind))
                    compile_ = [flags.program, "compile", str(model), "--target=cuda", f"--arch={arch}"]
                    made = best(flags.runs, [*compile_, "--emit=ptx", "-o", str(ptx)])
                    before = best(flags.runs, [*compile_, "--emit=structured", "-o", str(folder / "s.mlir")])
                    subprocess.run([*compile_, "--emit=tiled", "-o", str(tiled)], check=True)
                    schedules = re.findall(r'tw.schedule = #tw_gpu.schedule<kind = (\w+)', tiled.read_text())
                    assemble = [ptxas, f"-arch={arch}", "-v", str(ptx), "-o", str(folder / "m.cubin")]
                    assembled = best(flags.runs, assemble)
                    messages = subprocess.run(assemble, check=True, capture_output=True, text=True).stderr
                    registers = max(map(int, re.findall(r"Used (\d+) registers", messages)))
                    spills = sum(map(int, re.findall(r"(\d+) bytes spill stores", messages)))
                    lines = len(ptx.read_text().splitlines())
                    print(f"{arch:8}{kind:6}{f'{m}x{n}x{k}':18}{'+'.join(schedules):10}{made - before:8.0f}{lines:7}{assembled:10.0f}{registers:11}{spills:8}", flush=True)


if __name__ == "__main__":
    main()

"""Checks a design in Verilog: simulates it with its data, compares its cycles with the estimate, and counts its parts
with yosys."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import tempfile
from pathlib import Path

from hls_trial import DESIGNS, flags_of, generate, run, said

NAMES = sorted(path.stem for path in DESIGNS.glob("rtl_*.mlir"))
# All designs are compiled with this budget, which suffices for each of them.
BUDGET = "dsp=10"
# The designs that `rtl` checks without a pattern if TILEWRIGHT_TEST_FULL is not set: a product with its consumer, queues,
# a ROM, two results, windows, a maximum, fixed point.
SMALL = ["rtl_chain", "rtl_compare", "rtl_conv", "rtl_fixed_constant", "rtl_fixed_mlp", "rtl_gemm_bias_relu", "rtl_max", "rtl_residual", "rtl_table"]
# The designs of SMALL whose cells yosys counts in this case. For each other design, yosys takes up to a minute.
COUNTED = {"rtl_fixed_constant", "rtl_gemm_bias_relu", "rtl_residual"}
# The number of 18-kbit block memories per cell type. AMD's RAMB36E2 has twice the size of a RAMB18E2.
BLOCKS = {"RAMB18E2": 1, "RAMB36E2": 2}
# The number of lookup tables per cell type (AMD UG574). A memory takes all eight lookup tables of a slice, or a part of
# them.
TABLES = {r"LUT\d": 1, r"INV": 1, r"SRL\w+": 1, r"RAM(32M16|64M8|32X16DR8|64X8SW|256X1D|512X1S)": 8, r"RAM(32M|64M|128X1D|256X1S)": 4, r"RAM(32X1D|64X1D|128X1S)": 2, r"RAM(32X1S|64X1S)": 1}


MOST_OFF = 0.3  # the largest accepted relative error of the estimated number of lookup tables


@dataclasses.dataclass
class Simulated:
    name: str
    failures: list[str] = dataclasses.field(default_factory=list)
    report: dict = dataclasses.field(default_factory=dict)
    cycles: int | None = None
    parts: dict[str, int] = dataclasses.field(default_factory=dict)  # by yosys: dsp, bram, lut, ff

    def off(self) -> float:
        """Returns the error of the estimate relative to the cycles that the Verilog takes."""
        return abs(self.report["latency"] - self.cycles) / self.cycles


def missing() -> str:
    """Returns why nothing can be simulated here, or ''."""
    return "" if shutil.which("iverilog") else "there is no iverilog (Debian: iverilog)"


def simulate(folder: Path, result: Simulated) -> None:
    built = run(["iverilog", "-g2012", "-Wall", "-o", "simulation", "test_bench.v", "model.v"], folder / "rtl")
    complaints = [line for line in built.stderr.splitlines() if "timescale" not in line]
    if built.returncode != 0 or complaints:
        result.failures.append(f"iverilog: {' | '.join(complaints[:4]) or said(built)}")
        return
    ran = run(["vvp", "simulation"], folder / "rtl")
    if match := re.search(r"cycles (\d+)", ran.stdout):
        result.cycles = int(match[1])
    if ran.returncode != 0 or not ran.stdout.endswith("PASS\n"):
        result.failures.append(f"simulation: exit {ran.returncode}: {said(ran)}")
    elif result.cycles is None or result.off() > 0.01:
        result.failures.append(f"cycles: {result.cycles}, but the estimate is {result.report['latency']}")


def needs_depths(folder: Path, result: Simulated) -> None:
    """Checks that queues deeper than two, the minimum, have the least sufficient depth: with one element less, the
    design takes longer or does not end."""
    verilog, bench = ((folder / "rtl" / name).read_text() for name in ("model.v", "test_bench.v"))
    (folder / "rtl" / "patient.v").write_text(bench.replace("100000000", str(2 * result.cycles)))
    for name, depth in re.findall(r"assign (\w+)_full = \1_held == (\d+);", verilog):
        if int(depth) <= 2:
            continue
        text = verilog.replace(f"{name}_held == {depth};", f"{name}_held == {int(depth) - 1};")
        (folder / "rtl" / "shallower.v").write_text(text)
        built = run(["iverilog", "-g2012", "-o", "shallower", "patient.v", "shallower.v"], folder / "rtl")
        ran = run(["vvp", "shallower"], folder / "rtl")
        cycles = re.search(r"cycles (\d+)|no end", ran.stdout)
        waits = built.returncode == 0 and bool(cycles) and (cycles[1] is None or int(cycles[1]) > result.cycles)
        if not waits:
            result.failures.append(f"depth: queue {name} has {depth} elements, but with one less the design takes no longer: {said(ran)}")


def count_parts(text: str) -> dict[str, int]:
    """Returns the counts in the output of yosys' `stat`. Memories, shift registers and inverters are lookup tables,
    too."""
    cells = {name: int(count) for name, count in re.findall(r"^ +([A-Z]\w+) +(\d+)$", text, re.M)}
    luts = sum(count * tables for name, count in cells.items() for pattern, tables in TABLES.items() if re.fullmatch(pattern, name))
    return {"dsp": cells.get("DSP48E2", 0), "bram": sum(cells.get(name, 0) * blocks for name, blocks in BLOCKS.items()), "lut": luts, "ff": sum(count for name, count in cells.items() if name.startswith("FD"))}


def synthesise(folder: Path, result: Simulated) -> None:
    script = "read_verilog model.v; synth_xilinx -family xcup -flatten -noiopad -noclkbuf -top model; tee -o stat.txt stat"
    made = run(["yosys", "-q", "-p", script], folder / "rtl")
    if made.returncode != 0:
        result.failures.append(f"yosys: {said(made)}")
        return
    result.parts = count_parts((folder / "rtl" / "stat.txt").read_text())
    result.failures += compare_parts(result.parts, result.report)


def compare_parts(parts: dict[str, int], report: dict) -> list[str]:
    """Checks that the numbers of multipliers and block memories equal the estimate, and that the report's number of
    lookup tables differs by at most 30% from the number that yosys counts."""
    expected = {"dsp": report["dsp"], "bram": report["one_call_bram"]}
    failures = [f"{kind}: yosys counts {parts[kind]}, but the estimate is {its}" for kind, its in expected.items() if parts[kind] != its]
    if not abs(report["rtl"]["lut"] - parts["lut"]) <= MOST_OFF * parts["lut"]:
        failures.append(f"lut: yosys counts {parts['lut']}, but the estimate is {report['rtl']['lut']}")
    return failures


def trial(name: str, keep: Path | None = None, yosys: bool = True) -> Simulated:
    result = Simulated(name)
    with tempfile.TemporaryDirectory() as scratch:
        folder = keep or Path(scratch) / name
        made = generate(DESIGNS / f"{name}.mlir", folder, "--rtl", "--budget", BUDGET, *flags_of(DESIGNS / f"{name}.mlir"))
        if made.returncode != 0:
            result.failures.append(f"compile: {said(made)}")
            return result
        result.report = json.loads((folder / "report.json").read_text())
        simulate(folder, result)
        if not result.failures:
            needs_depths(folder, result)
        if yosys and shutil.which("yosys"):
            synthesise(folder, result)
    return result


def table(results: list[Simulated]) -> str:
    lines = ["| design | cycles | estimate | DSP | estimate | BRAM | estimate | LUT | estimate | off, % | FF | estimate |", f"|{'---|' * 12}"]
    for each in results:
        parts, report = each.parts, each.report
        rtl = report.get("rtl", {})
        off = f"{100 * (rtl['lut'] / parts['lut'] - 1):+.0f}" if parts and rtl else ""
        lines.append(f"| {each.name.removeprefix('rtl_')} | {each.cycles} | {report.get('latency')} | {parts.get('dsp', '')} | {report.get('dsp')} | "
                     f"{parts.get('bram', '')} | {report.get('one_call_bram')} | {parts.get('lut', '')} | {rtl.get('lut')} | {off} | {parts.get('ff', '')} | {rtl.get('ff')} |")  # fmt: skip
    return "\n".join(lines)

"""Prints the tuner's quality measures: from the recorded tables, and from this machine.

    PYTHONPATH=build/python .venv/bin/python test/Tuner/bars.py            the tables, faults, look-ups, bits: two minutes
    PYTHONPATH=build/python .venv/bin/python test/Tuner/bars.py --models   also BERT-base and ResNet-50, f32, tier quick

Times are measured on this machine. With --models, no other program may run at the same time.
"""

import argparse
import os
import pathlib
import re
import subprocess
import tempfile

import torch

import tilewright
from tilewright.bench import workloads

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = pathlib.Path(tilewright.__file__).parents[2] / "bin" / "tilewright"
TABLES = ROOT / "test" / "Tuner" / "Inputs" / "tables"


def tune(*arguments, **environment) -> str:
    done = subprocess.run([PROGRAM, "tune", *map(str, arguments)], env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"tilewright tune {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def row(what: str, found: str, bar: str) -> None:
    print(f"| {what} | {found} | {bar} |", flush=True)


def numbers(summary: str) -> dict:
    pattern = (r"tier 0 (?P<model>[\d.]+), quick (?P<quick>[\d.]+), full (?P<full>[\d.]+), transfer (?P<transfer>[\d.]+).*; agreed (?P<agreed>[\d.]+)%, "
               r"false wins (?P<wins>[\d.]+)%, slower than the default (?P<slower>[\d.]+)%, lost (?P<lost>\d+)")  # fmt: skip
    return re.search(pattern, summary).groupdict()


def tables() -> None:
    *lines, hard, summary = tune(f"--replay-tables={TABLES}").splitlines()
    spaces = [line for line in lines if re.match(r"\s*\d+ ", line)]
    wide = re.search(r"more: (\d+) tables", hard)[1]
    found, of_all = numbers(hard), numbers(summary)

    def both(name: str, unit: str = "") -> str:
        return f"{found[name]}{unit}; {of_all[name]}{unit}"

    row("recorded spaces of 200 schedules and more with median / best of 1.5 and more; all", f"{wide}; {len(spaces)}", "12")
    row("tier 0, best / chosen, geometric mean of these; of all", both("model"), "0.85")
    row("quick", both("quick"), "0.95")
    row("full", both("full"), "0.98")
    row("transfer", both("transfer"), "0.93")
    row("two tunings agree or differ by less than 2%", both("agreed", "%"), "95%")
    row("wins where there is nothing to win", both("wins", "%"), "less than 1%")
    row("after tuning slower than the default", both("slower", "%"), "never")
    faulty = numbers(tune(f"--replay-tables={TABLES}", "--faults=0.3").splitlines()[-1])
    row("with 30% of the schedules crashing, hanging or killed: sessions lost", faulty["lost"], "0")


def on_this_machine(work: pathlib.Path, retunings: int) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(96, 192), torch.nn.GELU(), torch.nn.Linear(192, 96), torch.nn.LayerNorm(96)).eval()
    x = torch.randn(64, 96)
    tilewright.export(model, (x,), str(work / "mlp.pt2"))

    def run(**options) -> torch.Tensor:
        torch._dynamo.reset()
        with torch.no_grad():
            return torch.compile(model, backend="tilewright", options={"cache": False, **options})(x)

    records = work / "records"
    tune(work / "mlp.pt2", f"--records={records}")
    again = tune(work / "mlp.pt2", f"--records={records}")
    measured = sum(int(line.split()[3]) for line in again.splitlines() if re.match(r"\s*[\d.]+%", line))
    row("a second tuning: measurements", str(measured), "0")
    row("a look-up", re.search(r"finds one in ([\d.]+ ms)", tune("--explain", f"--records={records}"))[1], "less than 1 ms")
    plain = run(tune="off")
    different = sum(not torch.equal(plain, run(tune="quick", deterministic=True, records=str(work / f"again{i}"))) for i in range(retunings))
    row(f"deterministic mode, {retunings} tunings: outputs with other bits", str(different), "0")


def models(work: pathlib.Path) -> None:
    for name in ("bert", "resnet50"):
        torch.manual_seed(0)
        workload = workloads.WORKLOADS[name]()
        path = work / f"{name}.pt2"
        tilewright.export(workload.model.eval(), (), str(path), kwargs=workload.inputs)
        last = tune(path, f"--records={work / name}").splitlines()[-1]
        row(f"{name} f32, quick", last.removeprefix("the whole model: "), "less than 90 s, not slower")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", action="store_true")
    parser.add_argument("--retunings", type=int, default=20)
    given = parser.parse_args()
    print("| | found | bar |\n|---|---|---|")
    tables()
    with tempfile.TemporaryDirectory() as folder:
        on_this_machine(pathlib.Path(folder), given.retunings)
        if given.models:
            models(pathlib.Path(folder))

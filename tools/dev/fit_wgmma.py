"""Fits the parameters of the cost model of GPU products (lib/Codegen/GPU/Schedule/WgmmaModel.h) to recorded tables.

    .venv/bin/python tools/dev/fit_wgmma.py                      evaluates the present parameters and, for each table, a fit to all other tables
    .venv/bin/python tools/dev/fit_wgmma.py --fit                also prints the parameters of a fit of all tables

The program build/bin/gpu-model evaluates the model. The script prints four numbers for each table:

- the time of the best schedule, divided by the time of the schedule that the model ranks first,
- the time of the best schedule, divided by the time of the best of the 16 schedules that the model ranks first,
- Spearman's rank correlation of predicted and measured times (times that differ by less than 3% are ties),
- the median relative error of the predicted times.
"""

import argparse
import dataclasses
import json
import pathlib
import subprocess

import numpy as np
from robust_fit import robust_fit

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = ROOT / "build" / "bin" / "gpu-model"
TABLES = ROOT / "test" / "Tuner" / "Inputs" / "gpu" / "h200-products.jsonl"
TIES = 1.03
MEASUREMENTS = 16  # number of measurements of the tuner's tier `quick`


class Model:
    """The running program `gpu-model`, with the tables that it has read."""

    def __init__(self, tables: pathlib.Path, program: pathlib.Path = PROGRAM):
        self.process = subprocess.Popen([program, f"--tables={tables}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        start = json.loads(self.process.stdout.readline())
        self.kernels = start["kernels"]
        self.measured = [np.array(times) for times in start["measured"]]
        self.parameters = [parameter["name"] for parameter in start["parameters"]]
        self.initial, self.least, self.most = (
            np.log([parameter[key] for parameter in start["parameters"]]) for key in ("value", "least", "most")
        )

    def predict(self, logarithms: np.ndarray) -> list[np.ndarray]:
        """Returns the predicted times in nanoseconds of each table, for the logarithms of the parameters."""
        self.process.stdin.write(json.dumps(list(np.exp(logarithms))) + "\n")
        self.process.stdin.flush()
        return [np.array(times) for times in json.loads(self.process.stdout.readline())]

    def close(self) -> None:
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def fit(model: Model, tables: list[int]) -> np.ndarray:
    """Returns the logarithms of the parameters that predict these tables best.

    The residuals are the logarithms of predicted / measured. In each table, a schedule has a weight proportional to the
    square of 1 / time, because the order of fast schedules matters most. All parameters are weakly attracted to the
    middle of their ranges.
    """
    weights = [(times.min() / times) ** 2 for times in model.measured]
    weights = [np.sqrt(weight / weight.sum()) for weight in weights]
    attraction = 0.02
    start = (model.least + model.most) / 2

    def residuals(x: np.ndarray) -> np.ndarray:
        predicted = model.predict(x)
        errors = [weights[i] * np.log(predicted[i] / model.measured[i]) for i in tables]
        return np.concatenate([*errors, attraction * (x - start)])

    return robust_fit(residuals, start, model.least, model.most, scale=0.05)


def rank_correlation(predicted: np.ndarray, measured: np.ndarray) -> float:
    """Returns Spearman's rank correlation. Measured times that differ by less than 3% form a
    group; in both orders, each member gets the mean rank of its group."""
    order = np.argsort(measured)
    groups, first = [[order[0]]], measured[order[0]]
    for index in order[1:]:
        if measured[index] > first * TIES:
            groups.append([])
            first = measured[index]
        groups[-1].append(index)
    ranks = np.argsort(np.argsort(measured)).astype(float), np.argsort(np.argsort(predicted)).astype(float)
    for rank in ranks:
        for group in groups:
            rank[group] = rank[group].mean()
    return float(np.corrcoef(*ranks)[0, 1])


@dataclasses.dataclass
class Quality:
    first: float  # time of the best schedule / time of the schedule with the least predicted time
    quick: float  # time of the best schedule / least time of the 16 schedules with the least predicted times
    rank: float
    error: float  # median of |predicted / measured - 1|

    @staticmethod
    def of(predicted: np.ndarray, measured: np.ndarray) -> "Quality":
        order = np.argsort(predicted, kind="stable")
        return Quality(
            float(measured.min() / measured[order[0]]),
            float(measured.min() / measured[order[:MEASUREMENTS]].min()),
            rank_correlation(predicted, measured),
            float(np.median(np.abs(predicted / measured - 1))),
        )


@dataclasses.dataclass
class Summary:
    first: float  # geometric mean
    quick: float  # geometric mean
    rank: float  # median
    least_rank: float
    error: float  # median

    @staticmethod
    def of(tables: list[Quality]) -> "Summary":
        def mean(values: list[float]) -> float:
            return float(np.exp(np.mean(np.log(values))))

        ranks = [table.rank for table in tables]
        return Summary(
            mean([table.first for table in tables]),
            mean([table.quick for table in tables]),
            float(np.median(ranks)),
            min(ranks),
            float(np.median([table.error for table in tables])),
        )


def present(model: Model) -> list[Quality]:
    """Returns the quality of the parameters in the source code for each table."""
    return [Quality.of(p, m) for p, m in zip(model.predict(model.initial), model.measured, strict=True)]


def unseen(model: Model) -> list[Quality]:
    """Returns, for each table, the quality of the parameters that are fitted to all other tables."""
    result = []
    for left_out in range(len(model.kernels)):
        x = fit(model, [i for i in range(len(model.kernels)) if i != left_out])
        result.append(Quality.of(model.predict(x)[left_out], model.measured[left_out]))
    return result


def show(model: Model, title: str, tables: list[Quality]) -> None:
    print(f"{title:30s} first  quick  rank   error")
    for kernel, quality in zip(model.kernels, tables, strict=True):
        print(f"  {kernel:28s} {quality.first:.3f}  {quality.quick:.3f}  {quality.rank:.3f}  {quality.error:.2f}")
    total = Summary.of(tables)
    print(f"  {'mean (rank, error: median)':28s} {total.first:.3f}  {total.quick:.3f}  {total.rank:.3f}  {total.error:.2f}; least rank {total.least_rank:.3f}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=pathlib.Path, default=TABLES)
    parser.add_argument("--fit", action="store_true")
    given = parser.parse_args()
    model = Model(given.tables)
    show(model, "present parameters", present(model))
    if given.fit:
        x = fit(model, list(range(len(model.kernels))))
        for name, value, before in zip(model.parameters, np.exp(x), np.exp(model.initial), strict=True):
            print(f"  {name:16s} {value:9.4g}  (present value {before:.4g})")
        predicted = model.predict(x)
        show(model, "fit of all tables", [Quality.of(p, m) for p, m in zip(predicted, model.measured, strict=True)])
    show(model, "fit of all other tables", unseen(model))
    model.close()


if __name__ == "__main__":
    main()

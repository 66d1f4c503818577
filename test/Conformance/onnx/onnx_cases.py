"""The cases that the package onnx generates: models of one node each ("node") and small ones ("simple"), with inputs
and the outputs of its reference. They are not stored in this repository."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np
import onnx

KINDS = ("node", "simple")


@dataclass
class Case:
    name: str
    model: onnx.ModelProto
    data: list  # of (inputs, outputs)
    rtol: float
    atol: float


@cache
def all_cases() -> dict[str, Case]:
    """Returns the cases by name, such as "node/test_abs"."""
    cases = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        for kind in KINDS:
            for test in load_model_tests(kind=kind):
                case = loaded(test)
                if case is not None:
                    cases.setdefault(f"{kind}/{test.name}", case)
    return cases


def as_array(value):
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def loaded(test) -> Case | None:
    """Returns a case in memory, or None for a case that would be downloaded. Some of the package's cases are files."""
    if test.model is not None:
        data = [([as_array(i) for i in inputs], [as_array(o) for o in outputs]) for inputs, outputs in test.data_sets or []]
        return Case(test.name, test.model, data, test.rtol, test.atol)
    if test.model_dir is None:
        return None
    from pathlib import Path

    folder = Path(test.model_dir)
    model = onnx.load(folder / "model.onnx")
    data = []
    for dataset in sorted(folder.glob("test_data_set_*")):

        def read(values, stem):
            found = []
            for number, value in enumerate(values):
                tensor = onnx.TensorProto()
                if not value.type.HasField("tensor_type"):
                    found.append(None)
                    continue
                tensor.ParseFromString((dataset / f"{stem}_{number}.pb").read_bytes())  # noqa: B023
                found.append(onnx.numpy_helper.to_array(tensor))
            return found

        initializers = {tensor.name for tensor in model.graph.initializer}
        inputs = [value for value in model.graph.input if value.name not in initializers]
        data.append((read(inputs, "input"), read(model.graph.output, "output")))
    return Case(test.name, model, data, test.rtol, test.atol)

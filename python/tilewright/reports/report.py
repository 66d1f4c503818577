"""Implements tilewright.report(), which reports what was compiled, what was not, and the reasons."""

from __future__ import annotations

import json
import logging
import pathlib
import pickle
import threading
import weakref
from collections import deque
from dataclasses import dataclass, field

from torch._logging import trace_structured

from .. import _tilewright
from ..fx.origin import Origin
from .device_kernels import DeviceKernel, device_kernels

log = logging.getLogger(__name__)

_lock = threading.Lock()
_graphs: deque = deque(maxlen=1000)


# Titles of remarks about missed optimizations, by the kind of the remark (dialects/Graph/Decisions.h).
_MISSED = {"fusion": "not fused", "quantize": "not in integers", "pack": "not packed", "vectorize": "not vectorized"}


def describe(refusals) -> str:
    """Returns one line for each op that runs in eager."""
    lines = []
    for refusal in refusals:
        if refusal.follows:
            continue
        lines.append(f"  {refusal.reason}" if refusal.target in refusal.reason else f"  {refusal.target}: {refusal.reason}"
                     + (f" ({refusal.where})" if refusal.where else ""))  # fmt: skip
    return "\n".join(dict.fromkeys(lines))


@dataclass
class GraphReport:
    """The report of one graph that torch.compile passed to the backend."""

    name: str
    kind: str  # inference, forward or backward
    nodes: int
    segments: int = 0  # number of compiled segments
    eager_segments: int = 0
    refusals: list = field(default_factory=list)
    copied_inputs: list = field(default_factory=list)
    transfers: list = field(default_factory=list)  # descriptions of copies between devices
    frozen: object = None  # a FreezeReport under options={"freeze": True}
    origin: Origin = field(default_factory=Origin)
    restored: bool = False  # True: torch's AOTAutogradCache or a saved function provided the graph, and AOTAutograd did not run
    compiled: list[bytes] = field(default_factory=list, repr=False)  # the report of each compiled segment; pickled, to use a fifth of the memory
    records: list[str] = field(default_factory=list, repr=False)  # the record of each compiled segment, under options={"record": True}
    references: list = field(default_factory=list, repr=False)  # weak references to the GraphCalls, which must not be kept alive

    def watch(self, call) -> None:
        """Adds a compiled segment to the report."""
        self.compiled.append(pickle.dumps(call.report()))
        if call.record:
            self.records.append(call.record)
        self.references.append(weakref.ref(call))

    @property
    def calls(self) -> list:
        """Returns the GraphCalls that have not been destroyed."""
        return [call for reference in self.references if (call := reference()) is not None]

    def __getstate__(self):
        return vars(self) | {"compiled": [], "records": [], "references": [], "frozen": None}

    def packed_bytes(self) -> int:
        """Returns the bytes of packed parameters. Graphs may share them."""
        return sum(call.packed_bytes() for call in self.calls)

    def device_kernels(self) -> list[DeviceKernel]:
        """Returns the kernels of the last calls on a GPU, with their times, under options={"record": True}."""
        return device_kernels(self.calls)

    def kernels(self) -> int:
        return sum(program.get("kernels", 0) for program in self.details())

    def details(self) -> list[dict]:
        """Returns the report of each compiled segment, from the time when it was compiled."""
        return [pickle.loads(report) for report in self.compiled]

    def to_dict(self) -> dict:
        """Returns the whole report as a dict for JSON."""
        details = self.details()
        return {"name": self.name, "kind": self.kind, "nodes": self.nodes, "segments": self.segments,
                "eager_segments": self.eager_segments, "refusals": [vars(r) for r in self.refusals],
                "copied_inputs": self.copied_inputs, "transfers": self.transfers, "restored": self.restored, "packed_bytes": self.packed_bytes(),
                "calls": sum(c.calls for c in self.calls), "origin": {k: v for k, v in vars(self.origin).items() if k != "tensors"},
                "device_kernels": [vars(row) for row in self.device_kernels()],
                "programs": details}  # fmt: skip

    def __str__(self) -> str:
        lines = [f"{self.name} ({self.kind}): {self.nodes} nodes, {self.segments} compiled and {self.eager_segments} eager "
                 f"segments, {self.kernels()} kernels, called {sum(c.calls for c in self.calls)} times"]  # fmt: skip
        if self.restored:
            lines.append("  restored by torch from its cache: AOTAutograd did not run")
        for refusal in self.refusals:
            lines.append(f"  eager: {refusal.reason}" + (f" [{refusal.where}]" if refusal.where else ""))
        for name in self.transfers:
            lines.append(f"  copied between devices: {name}, asynchronous, by pinned memory")
        for name in self.copied_inputs:
            lines.append(f"  copied at each call: {name} (its strides are not those of a dense tensor)")
        if packed := self.packed_bytes():
            lines.append(f"  packed parameters: {packed} bytes")
        if self.frozen is not None:
            lines += ["  " + line for line in str(self.frozen).splitlines()]
        for detail in self.details():
            if detail.get("cache"):
                lines.append(f"  cache: {detail['cache']}")
            if stages := detail.get("stage_milliseconds", []):
                each = ", ".join(f"{name} {ms:.1f}" for name, ms in stages)
                lines.append(f"  compiled in {sum(ms for _, ms in stages):.1f} ms: {each}")
            for decision in detail.get("decisions", []):
                if not decision["done"]:
                    lines.append(f"  {_MISSED[decision['kind']]}: {decision['subject']}: {decision['reason']}"
                                 + (f" [{decision['where']}]" if decision["where"] else ""))  # fmt: skip
        if rows := self.device_kernels():
            lines.append(f"  kernels on the GPU, per call ({sum(row.microseconds for row in rows):.1f} us):")
            lines += [f"  {row}" for row in rows]
        return "\n".join(lines)


class Report(list):
    """A list of reports of graphs. The text of the list describes for each function of the user how the function was
    compiled (explanation.py)."""

    model = None  # the model of the graphs; None: all graphs

    def explanation(self):
        from .explanation import Explanation

        return Explanation(self, self.model)

    def to_json(self) -> str:
        return self.explanation().to_json()

    def html(self, path) -> None:
        """Writes one page that shows every graph compiled under options={"record": True}: docs/how-to/explain.md."""
        records = [record for graph in self for record in graph.records]
        numbers = iter(range(len(records)))
        numbered = {id(graph): [next(numbers) for _ in graph.records] for graph in self}
        if not records:
            raise ValueError('tilewright: no graph of this report was recorded; compile with options={"record": True}, or '
                             "with TILEWRIGHT_RECORD=1 in the environment")  # fmt: skip
        pathlib.Path(path).write_text(_tilewright.explain_page(records, "", json.dumps(self.explanation().of_page(numbered))), encoding="utf-8")

    def __str__(self) -> str:
        return str(self.explanation()) or "nothing was compiled yet"


def add(graph: GraphReport) -> None:
    """Adds the report to the list. TORCH_LOGS=tilewright prints it, and tlparse shows it among the artifacts of
    TORCH_TRACE."""
    with _lock:
        _graphs.append(graph)
    log.info("%s", graph)
    trace_structured("artifact", metadata_fn=lambda: {"name": f"tilewright_{graph.kind}", "encoding": "json"},
                     payload_fn=lambda: json.dumps(graph.to_dict(), default=str))  # fmt: skip


def report(model=None, clear: bool = False) -> Report:
    """Returns a report of the last 1000 graphs that Tilewright has compiled, in the order of their compilation.

    `model` is a module or function, compiled or not, whose graphs are reported; None selects the graphs of all models.
    With `clear`, all graphs, also those of other models, are removed from later reports.

    The result is a list with one element per graph. `str(report)` describes each function that was compiled, its graphs,
    the operators that run in eager, and graph breaks. `report.explanation()` returns an object with this information as
    attributes, and `report.to_json()` returns the information as the text of a JSON object. `report.html(path)` writes a
    page that shows every stage, and raises ValueError if no graph was compiled under `options={"record": True}`.

    An element of the list has the attributes `name`, `kind` (forward, backward or inference), `nodes`, `segments` and
    `eager_segments` (numbers), and `refusals` (operators that run in eager, each with `reason` and `where`). Its methods
    are `kernels()`, the number of kernels; `device_kernels()`, the kernels that ran on a GPU with their times, if the graph
    was compiled under `options={"record": True}`; `packed_bytes()`, the bytes of packed parameters; `details()`, a list with one
    dict per compiled segment, which contains for example the times in milliseconds; and `to_dict()`, the whole element as
    a dict for JSON.
    """
    with _lock:
        result = Report(graph for graph in _graphs if model is None or graph.origin.belongs_to(model))
        result.model = model
        if clear:
            _graphs.clear()
    return result


def repack(model=None) -> None:
    """Discards the packed copies of parameters. Call this function after sparse writes to `.data`, for which torch does
    not increment the version counter of the parameter.

    Models may share packed parameters (tied weights). Therefore the packed parameters of all models are discarded,
    independently of `model`. Each parameter is packed again at the next call that reads it.
    """
    del model
    with _lock:
        calls = [call for graph in _graphs for call in graph.calls]
    for call in calls:
        call.repack()

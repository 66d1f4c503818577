"""Explains how torch.compile compiled each function of a program, as text or as JSON."""

from __future__ import annotations

import json
import linecache
from collections import defaultdict
from dataclasses import dataclass, field

import torch._dynamo.utils as dynamo

from ..fx.origin import Origin, function_name


@dataclass
class Compile:
    """One trace of a function, with its graphs and its time."""

    compile_id: str
    reason: str = ""  # the guard that failed and caused the recompilation
    failure: str = ""
    seconds: float | None = None
    aot_seconds: float | None = None
    graphs: list = field(default_factory=list)


@dataclass
class Function:
    """A function of the user, or the part of one after a graph break."""

    name: str
    file: str
    line: int
    compiles: list[Compile] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.name} ({self.file}:{self.line})"


@dataclass
class Break:
    """A graph break of Dynamo."""

    reason: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass
class Left:
    """A function that runs in eager as a whole, because torch.compile passes no part of it to a backend."""

    function: Function
    reason: str
    file: str  # the file in which Dynamo stopped
    line: int

    def __str__(self) -> str:
        return f"{self.function}: at {self.file}:{self.line}: {self.reason}"


def _plain_reason(text: str) -> str:
    """Returns Dynamo's explanation of a failure on one line, without its debug context.

    torch provides only this text (CompilationMetrics.fail_reason). No code depends on the contents of the text.
    """
    said = []
    for part in text.split("***"):
        lines = [line.strip() for line in part.split("Developer debug context")[0].splitlines() if line.strip()]
        said.append(" ".join(line for line in lines if "report an issue" not in line))
    return " ".join(filter(None, said))


def _left_of(metrics) -> Left | None:
    """Returns the function of this trace if Dynamo compiled nothing of it, else None.

    Either the trace failed, or, from torch 2.15 on, the graph broke before its first op.
    """
    if metrics.is_forward is False:
        return None
    function = Function(metrics.co_name or "?", metrics.co_filename or "?", metrics.co_firstlineno or 0)
    if metrics.fail_reason:
        file, line = metrics.fail_user_frame_filename, metrics.fail_user_frame_lineno
        return Left(function, _plain_reason(metrics.fail_reason), file or function.file, line or function.line)
    if metrics.graph_op_count == 0:
        for entry in dynamo.graph_break_reasons:
            frame = entry.user_stack[-1]
            if (frame.filename, frame.name) == (function.file, function.name):
                return Left(function, _plain_reason(entry.reason), frame.filename, frame.lineno or function.line)
    return None


def _breaks_in(functions: set[tuple[str, str]]) -> list[Break]:
    """Returns the graph breaks that have one of the functions (file, name) on their stack."""
    found = {}
    for entry in dynamo.graph_break_reasons:
        stack = [(frame.filename, function_name(frame.name)) for frame in entry.user_stack]
        if functions.intersection(stack):
            reason = " ".join(line.strip() for line in entry.reason.splitlines()[:2])
            one = Break(reason, entry.user_stack[-1].filename, entry.user_stack[-1].lineno or 0)
            found[(one.reason, one.file, one.line)] = one
    return list(found.values())


def _line_of(where: str) -> dict[str, str]:
    """Returns `where` ("file:line") and the text of this line, which is empty unless the file is a Python file that can be read."""
    file, _, line = where.rpartition(":")
    text = linecache.getline(file, int(line)).strip() if file.endswith(".py") and line.isdigit() else ""
    return {"where": where, "text": text}


class Explanation:
    """All functions that were traced for the graphs of a report, and the functions that run entirely in eager: those of
    `model`, or of all models if `model` is None."""

    def __init__(self, graphs: list, model=None):
        self.functions: list[Function] = []
        by_location: dict[tuple, Function] = {}
        by_id: dict[str, Compile] = {}
        wanted = {graph.origin.compile_id.split("/")[0] for graph in graphs if graph.origin.compile_id}
        left = {}
        for metrics in dynamo.get_compilation_metrics():
            identity = (metrics.compile_id or "").split("_")[0]  # "0/1_1": traced again after a restart
            if identity.split("/")[0] not in wanted or metrics.is_forward is False:
                one = _left_of(metrics)
                if one and (model is None or Origin(function=one.function.name, file=one.function.file).belongs_to(model)):
                    left[str(one)] = one
                continue
            location = (metrics.co_name or "?", metrics.co_filename or "?", metrics.co_firstlineno or 0)
            traced = by_id[identity] = Compile(identity, metrics.recompile_reason or "", metrics.fail_reason or "")
            traced.seconds = (metrics.duration_us or 0) / 1e6 or None
            traced.aot_seconds = (metrics.aot_autograd_cumulative_compile_time_us or 0) / 1e6 or None
            self._function(by_location, location).compiles.append(traced)
        self.left = list(left.values())
        for graph in graphs:
            origin = graph.origin
            if origin.compile_id not in by_id:  # torch has removed the trace, or the graph was passed to the backend directly
                function = self._function(by_location, (origin.function or graph.name, origin.file, origin.line))
                function.compiles.append(Compile(origin.compile_id))
                by_id[origin.compile_id or f"{id(graph)}"] = function.compiles[-1]
            by_id[origin.compile_id or f"{id(graph)}"].graphs.append(graph)
        self.breaks = _breaks_in({(f.file, function_name(f.name)) for f in self.functions})

    def _function(self, by_location: dict, location: tuple) -> Function:
        if location not in by_location:
            by_location[location] = Function(*location)
            self.functions.append(by_location[location])
        return by_location[location]

    def __str__(self) -> str:
        lines = []
        for function in self.functions:
            again = len(function.compiles) - 1
            lines.append(f"{function}" + (f": traced again {again} times" if again > 1 else ": traced again once" if again else ""))
            for one in function.compiles:
                parts = [f"{text}{seconds:.2f} s" for text, seconds in
                         (("", one.seconds), ("of which AOTAutograd and backend took ", one.aot_seconds)) if seconds]  # fmt: skip
                lines.append(f"  compile {one.compile_id or '?'}" + (f" ({', '.join(parts)})" if parts else ""))
                if one.reason:
                    lines.append(f"    because: {' '.join(one.reason.split())}")
                if one.failure:
                    lines.append(f"    failed: {one.failure.splitlines()[0]}")
                for graph in one.graphs:
                    lines += ["    " + line for line in str(graph).splitlines()]
        if self.breaks:
            lines.append("graph breaks")
            lines += [f"  {broken}" for broken in self.breaks]
        if self.left:
            lines.append("functions that torch.compile leaves to eager as a whole")
            lines += [f"  {one}" for one in self.left]
        return "\n".join(lines)

    def of_page(self, records: dict[int, list[int]]) -> dict:
        """Returns the data for the view "Program" of the page. `records` contains the numbers of the records of each
        graph, by the id() of the graph."""
        functions = [{"name": f.name, "where": f"{f.file}:{f.line}",
                      "compiles": [{"id": c.compile_id, "reason": " ".join(c.reason.split()), "seconds": c.seconds,
                                    "graphs": [{"name": g.name, "kind": g.kind, "nodes": g.nodes, "kernels": g.kernels(), "eager": len(g.refusals),
                                                "records": records.get(id(g), [])} for g in c.graphs]} for c in f.compiles]}
                     for f in self.functions]  # fmt: skip
        eager = [{"operator": refusal.target, "reason": refusal.reason, "graph": graph.name, **_line_of(refusal.where)}
                 for function in self.functions for one in function.compiles for graph in one.graphs for refusal in graph.refusals]  # fmt: skip
        breaks = [{"reason": one.reason, **_line_of(f"{one.file}:{one.line}")} for one in self.breaks]
        left = [{"function": str(one.function), "reason": one.reason, **_line_of(f"{one.file}:{one.line}")} for one in self.left]
        return {"functions": functions, "eager": eager, "breaks": breaks, "left": left}

    def to_json(self) -> str:
        breaks = [vars(b) for b in self.breaks]
        functions = [{**vars(f), "compiles": [{**vars(c), "graphs": [g.to_dict() for g in c.graphs]} for c in f.compiles]}
                     for f in self.functions]  # fmt: skip
        left = [{"function": vars(one.function), "reason": one.reason, "file": one.file, "line": one.line} for one in self.left]
        totals: dict = defaultdict(int)
        for function in self.functions:
            for one in function.compiles:
                totals["compiles"] += 1
                for graph in one.graphs:
                    totals["graphs"] += 1
                    totals["kernels"] += graph.kernels()
                    totals["ops in eager"] += len(graph.refusals)
        return json.dumps({"functions": functions, "breaks": breaks, "left": left, "totals": totals}, indent=1, default=str)

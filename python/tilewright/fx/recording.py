"""Records the calls of the importer for a graph, so that another process can repeat them."""

from __future__ import annotations

from .. import _tilewright
from .origin import now_at


class RecordedGraph:
    """A _tilewright.Graph that is pickled as the list of the calls that created it."""

    def __init__(self) -> None:
        self.graph = _tilewright.Graph()
        self.steps: list[tuple] | None = []  # (method, arguments); None after compiling
        self.symbols: list[str] = []  # symbols that a program of this graph reads at a call, in order

    def _record(self, method: str, *arguments):
        result = getattr(self.graph, method)(*arguments)
        assert self.steps is not None  # a graph is compiled after its last node
        self.steps.append((method, arguments))
        return result

    def symbol(self, name: str, low: int, high: int) -> None:
        self._record("symbol", name, low, high)
        self.symbols.append(name)

    def input(self, name: str, dtype: str, sizes: list, strides: list, is_static: bool):
        return self._record("input", name, dtype, sizes, strides, is_static)

    def node(self, target: str, args, kwargs: dict, metas: list, frames: list) -> int:
        return self._record("node", target, args, kwargs, metas, frames)

    def type_of(self, ref) -> str:
        return self.graph.type_of(ref)

    def type_for(self, dtype: str, sizes: list) -> str:
        return self.graph.type_for(dtype, sizes)

    def outputs(self, wanted: list[tuple]) -> list[bool]:
        return self._record("outputs", wanted)

    def compile(self, options: _tilewright.Options) -> _tilewright.GraphCall:
        self.steps = None
        return self.graph.compile(options)

    def tune(self, options: _tilewright.Options, tier: str, worker: list[str], sizes: list[int]) -> list[str]:
        return self.graph.tune(options, tier, worker, sizes)

    def explain(self, options: _tilewright.Options, name: str) -> str:
        return self.graph.explain(options, name)

    def text(self) -> str:
        return self.graph.text()

    def needs_seed(self) -> bool:
        return self.graph.needs_seed()

    @staticmethod
    def replayed(steps: list[tuple]) -> RecordedGraph:
        made = RecordedGraph()
        for method, arguments in steps:
            if method == "symbol":
                made.symbols.append(arguments[0])
            if method == "node":
                arguments = (*arguments[:-1], now_at(arguments[-1]))
            made._record(method, *arguments)
        return made

    def __reduce__(self):
        return RecordedGraph.replayed, (self.steps,)

"""Records the origin of a graph: the user's function that Dynamo traced, and the model whose parameters the graph reads."""

from __future__ import annotations

import contextlib
import contextvars
import re
import weakref
from dataclasses import dataclass, field
from pathlib import PurePath

import torch
from torch import fx
from torch._dynamo import external_utils
from torch._guards import CompileContext

Frame = tuple[str, int, str]  # file, line, function
_FRAME = re.compile(r'File "([^"]*)", line (\d+), in (.*)')
_RESUMED = re.compile(r"^torch_dynamo_resume_in_(.*)_at_\d+$")


@dataclass
class Origin:
    """The origin of the graph of one call of the backend."""

    compile_id: str = ""  # "0/1": function 0, compiled for the second time
    function: str = ""
    name: str = ""  # name for messages: "Net" for Net.forward, "step" for the function step
    file: str = ""
    line: int = 0
    tensors: list = field(default_factory=list, repr=False)  # weak references to parameters and buffers
    frames: list[Frame | None] = field(default_factory=list, repr=False)  # for each node of Dynamo's graph, the innermost frame of the user

    def __getstate__(self):
        return vars(self) | {"tensors": []}

    def belongs_to(self, model) -> bool:
        """Returns whether the graph was compiled for `model`, which is a module or function, or the result of torch.compile.

        A module is identified by its parameters and buffers or, if the graph has none, by its code.
        """
        model = getattr(model, "_orig_mod", model)
        if not isinstance(model, torch.nn.Module):
            return self.is_of(getattr(model, "_torchdynamo_orig_callable", model))
        if self.tensors:
            own = {id(t) for t in (*model.parameters(), *model.buffers())}
            return any(id(tensor) in own for tensor in (reference() for reference in self.tensors) if tensor is not None)
        return any(self.is_of(module.forward) for module in model.modules())

    def is_of(self, function) -> bool:
        """Returns whether the graph was traced from the code of `function`, from its start or after a graph break."""
        code = getattr(function, "__code__", None)
        return code is not None and code.co_filename == self.file and code.co_name == function_name(self.function)


def function_name(name: str) -> str:
    """Returns the name of the user's function that contains the traced code. For torch_dynamo_resume_in_forward_at_7, this is forward."""
    return _RESUMED.sub(r"\1", name)


def _traced_code():
    """Returns the code object that Dynamo is tracing, or None outside of a trace."""
    from torch._dynamo.symbolic_convert import InstructionTranslator

    try:
        return InstructionTranslator.current_tx().output.root_tx.f_code
    except AttributeError:
        return None


def _name_of(code, gm: fx.GraphModule) -> str:
    """Returns the name of a graph. For the forward() of a module, this is the name of the class, else the name of the function."""
    *scopes, name = code.co_qualname.rsplit("<locals>.", 1)[-1].split(".")
    name = function_name(name)
    if name == "<lambda>":
        return f"lambda at {PurePath(code.co_filename).name}:{code.co_firstlineno}"
    if name == "forward" and scopes:
        return ".".join(scopes)
    if code.co_filename == external_utils.__file__:  # torch's wrapper around a module whose forward() is torch's
        for node in gm.graph.nodes:
            for _, module in (node.meta.get("nn_module_stack") or {}).values():
                return getattr(module, "__name__", str(module))
    return ".".join([*scopes, name])


def innermost_frame(node: fx.Node) -> Frame | None:
    """Returns the frame of the user's program that calls the node's operation, or None if torch does not record it."""
    trace = node.meta.get("stack_trace") or node.stack_trace or ""
    found = _FRAME.search(trace, max(trace.rfind('File "'), 0))
    return (found[1], int(found[2]), found[3].strip()) if found else None


def moved_frames(before: Origin, now: Origin) -> dict[Frame, Frame]:
    """Maps frames of a cached graph to frames of this program.

    torch's cache returns a graph also if the function has moved to other lines or to another file. The nodes of the graph
    are the same.
    """
    if len(before.frames) != len(now.frames):
        return {}
    return {old: new for old, new in zip(before.frames, now.frames) if old and new and old != new}


_moved: contextvars.ContextVar[dict[Frame, Frame]] = contextvars.ContextVar("tilewright_moved", default={})


@contextlib.contextmanager
def moving(frames: dict[Frame, Frame]):
    """A context manager that sets the map of frames while a cached graph is read."""
    token = _moved.set(frames)
    try:
        yield
    finally:
        _moved.reset(token)


def has_moved() -> bool:
    """Returns whether the cached graph that is being read was compiled from a function in other lines or another file."""
    return bool(_moved.get())


def now_at(frames: list[Frame]) -> list[Frame]:
    """Returns the frames of this program that correspond to the cached `frames`."""
    moved: dict = _moved.get()
    return [moved.get(frame, frame) for frame in map(tuple, frames)] if moved else frames


def origin_of(gm: fx.GraphModule, example_inputs) -> Origin:
    """Returns the origin of the graph that is being passed to the backend."""
    code, compile_id = _traced_code(), CompileContext.current_compile_id()
    tensors = [weakref.ref(t) for t in example_inputs if isinstance(t, torch.nn.Parameter | torch.nn.Buffer)]
    result = Origin(str(compile_id or ""), tensors=tensors, frames=[innermost_frame(node) for node in gm.graph.nodes])
    if code is not None:
        result.function, result.file, result.line = code.co_name, code.co_filename, code.co_firstlineno
        result.name = _name_of(code, gm)
    return result


_current: contextvars.ContextVar[tuple[Origin, list]] = contextvars.ContextVar("tilewright_origin", default=(Origin(), []))


@contextlib.contextmanager
def entered(origin: Origin, arguments: list):
    """A context manager that sets the current origin while torch compiles graphs of `origin`, or restores them from its cache. `arguments`
    are the arguments of Dynamo's graph."""
    token = _current.set((origin, arguments))
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Origin:
    return _current.get()[0]


def arguments() -> list:
    """Returns the arguments of the first call that are available during a compilation. Returns an empty list at other times."""
    return _current.get()[1]

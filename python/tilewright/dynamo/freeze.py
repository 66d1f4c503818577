"""Option freeze=True: frees parameters that are read only by packing, after they have been packed.

    compilation  Freezer.watch decides which parameters may be released, and records why other parameters are kept. It also changes the
                 class of the parameters that may be released, because torch creates guards on the classes after the compilation
    first call   the runtime packs one parameter after the other, and calls Freezer.release after packing each parameter
    later        a released parameter holds a reference to its packs (docs/decisions/0009-freeze.md)
"""

from __future__ import annotations

import re
import threading
import weakref
from dataclasses import dataclass, field

import torch
from torch._guards import TracingContext

_ATTRIBUTE = "_tilewright_released"
_lock = threading.Lock()
_readers: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # (storage, id) -> a GraphCall that reads the storage unpacked

# Methods and attributes that can be used after a parameter was released, because they do not access its memory.
_METADATA = {
    "dim", "size", "stride", "numel", "nelement", "element_size", "storage_offset", "ndimension", "is_floating_point",
    "is_complex", "is_contiguous", "is_signed", "__hash__", "__len__", "requires_grad_", "__dir__",
}  # fmt: skip
_PROPERTIES = {
    "shape", "dtype", "device", "layout", "requires_grad", "grad", "is_leaf", "ndim", "nbytes", "itemsize", "grad_fn",
    "is_sparse", "is_quantized", "is_mkldnn", "is_nested", "is_meta", "is_cpu", "is_cuda", "names", "_version",
    "_backward_hooks", "output_nr", "grad_dtype", "_base", "is_sparse_csr", "is_xpu", "is_mps", "is_vulkan", "is_xla",
    "retains_grad", "is_mtia", "is_ipu", "is_maia", "name",
}  # fmt: skip


class ReleasedError(RuntimeError):
    """Raised if a parameter is read or written after `freeze` has released its memory."""


def _describe(tensor: torch.Tensor) -> str:
    with torch._C.DisableTorchFunctionSubclass():
        return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def _refuse(function, tensor):
    what = getattr(function, "__name__", str(function))
    if what in ("__get__", "__set__", "__delete__"):
        what = "Tensor." + getattr(function.__self__, "__name__", what)
    raise ReleasedError(
        f"tilewright: {what} needs the parameter {getattr(tensor, _ATTRIBUTE).name} ({_describe(tensor)}), whose "
        "memory was released when options={'freeze': True} had packed it; only the compiled model can use it. Save or "
        "copy the model before its first frozen call, load changed parameters into a new model, or remove the option freeze")  # fmt: skip


def _dispatch(function, args, kwargs):
    """Runs a torch function on parameters that may be released. Raises ReleasedError if a parameter is released and the function may access
    its memory."""
    name = getattr(function, "__name__", "")
    allowed = name in _METADATA
    if name in ("__get__", "__set__", "__delete__"):
        prop = getattr(getattr(function, "__self__", None), "__name__", "")
        # `p.data = tensor` assigns new memory, which compiled graphs pack at the next call.
        allowed = prop in _PROPERTIES if name == "__get__" else prop in ("data", "grad", "requires_grad")
        if name == "__set__" and prop == "data" and _ATTRIBUTE in vars(args[0]):
            delattr(args[0], _ATTRIBUTE)
    if not allowed and TracingContext.try_get() is None:
        released = []
        torch.utils._pytree.tree_map_only(
            Releasable, lambda t: released.append(t) if _ATTRIBUTE in vars(t) else None, (args, kwargs))  # fmt: skip
        if released:
            _refuse(function, released[0])
    with torch._C.DisableTorchFunctionSubclass():
        return function(*args, **kwargs)


class Releasable:
    """Base of the class that is assigned to a parameter whose memory may be released. Before the release, the parameter behaves like a
    parameter of the original class."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if torch.compiler.is_dynamo_compiling():
            return super().__torch_function__(func, types, args, kwargs or {})
        return _dispatch(func, args, kwargs or {})

    def __repr__(self, **options):
        if _ATTRIBUTE in vars(self):
            return f"<released by freeze: {getattr(self, _ATTRIBUTE).name} ({_describe(self)})>"
        return super().__repr__(**options)

    def __reduce_ex__(self, protocol):
        if _ATTRIBUTE in vars(self):
            _refuse(torch.save, self)
        restored = self.detach()
        if isinstance(self, torch.nn.Parameter):
            restored = torch.nn.Parameter(restored, self.requires_grad)
        return restored.__reduce_ex__(protocol)

    def __deepcopy__(self, memo):
        if _ATTRIBUTE in vars(self):
            _refuse(type(self).__deepcopy__, self)
        copied = self.detach().clone()
        if isinstance(self, torch.nn.Parameter):
            copied = torch.nn.Parameter(copied, self.requires_grad)
        memo[id(self)] = copied
        return copied


# type: ignore: mypy does not match `**options` with the keyword argument of Tensor.__repr__.
class ReleasableParameter(Releasable, torch.nn.Parameter):  # type: ignore[misc]
    pass


class ReleasableBuffer(Releasable, torch.Tensor):  # type: ignore[misc]
    pass


_CLASSES: dict[type, type] = {torch.nn.Parameter: ReleasableParameter, torch.Tensor: ReleasableBuffer}


@dataclass
class Kept:
    """A parameter whose memory is not released, and the reason."""

    name: str
    bytes: int
    reason: str


@dataclass
class FreezeReport:
    """The released and the kept parameters of one graph."""

    released: list[str] = field(default_factory=list)
    released_bytes: int = 0
    kept: list[Kept] = field(default_factory=list)

    @property
    def kept_bytes(self) -> int:
        return sum(k.bytes for k in self.kept)

    def __str__(self) -> str:
        lines = [f"frozen: {len(self.released)} parameters released, {self.released_bytes} bytes; {len(self.kept)} kept, "
                 f"{self.kept_bytes} bytes"]  # fmt: skip
        return "\n".join(lines + [f"  kept: {k.name} ({k.bytes} bytes): {k.reason}" for k in self.kept])


def _path(source: str) -> str:
    """Converts Dynamo's source of a parameter to its name: L['self']._modules['0']._parameters['weight'] becomes 0.weight."""
    parts = re.findall(r"_(?:modules|parameters|buffers)\['([^']*)'\]", source)
    return ".".join(parts) or source


def _raw(tensor):
    """Returns the number of bytes of a parameter's storage, the number of bytes of its elements, and the use count of its storage. Works
    for released parameters, too."""
    with torch._C.DisableTorchFunctionSubclass():
        storage = tensor.untyped_storage()
        return storage.nbytes(), tensor.numel() * tensor.element_size(), torch._C._storage_Use_Count(storage._cdata)


class Freezer:
    """The parameters of one graph that Dynamo passed to the backend."""

    def __init__(self, gm, example_inputs) -> None:
        self.tensors: list = []
        self.names: list[str] = []
        nodes = [n for n in gm.graph.nodes if n.op == "placeholder"]
        for node, value in zip(nodes, example_inputs):
            source = getattr(node.meta.get("grapharg"), "source", None)
            name = source.name if source is not None else node.name
            name = name() if callable(name) else name
            module = "_parameters[" in name or "_buffers[" in name or isinstance(value, torch.nn.Parameter)
            known = isinstance(value, torch.Tensor) and module and (type(value) in _CLASSES or isinstance(value, Releasable))
            self.tensors.append(value if known else None)
            self.names.append(_path(name))
        self.report = FreezeReport()

    def begin(self, gm, metadata) -> None:
        """Prepares for AOTAutograd's graph. If the arguments of this graph are not Dynamo's inputs in the same order, no parameter is
        released."""
        self.blocked = {}
        placeholders = [n for n in gm.graph.nodes if n.op == "placeholder"]
        shapes = [getattr(n.meta.get("val"), "shape", None) for n in placeholders]
        if len(placeholders) != len(self.tensors) or any(
            t is not None and tuple(t.shape) != shape for t, shape in zip(self.tensors, shapes)
        ):
            self.tensors = [None] * len(placeholders)
            self.names = [n.name for n in placeholders]
        for info in getattr(metadata, "output_info", ()):
            if isinstance(info.base_idx, int):
                self.blocked[info.base_idx] = "a result is a view of it"
        for index, info in enumerate(getattr(metadata, "input_info", ())):
            if info.mutates_data or info.mutates_metadata:
                self.blocked[index] = "the graph writes it"

    def of_segment(self, arguments, elsewhere: set[int]):
        """Returns a function that decides which parameters of one compiled segment may be released.

        `arguments` contains for each argument of the segment the index of the graph's argument, or -1 for a value that is
        computed in the graph. `elsewhere` contains the indices of arguments that other segments also read.
        """

        def watch(call, imported):
            blocked = {n: "another segment of the graph reads it" for n in elsewhere} | self.blocked
            blocked |= {arguments[a]: "a result is a view of it" for a in imported.returned}
            self.watch(call, imported, arguments, blocked)

        return watch

    def watch(self, call, imported, arguments, blocked) -> None:
        """Decides for each parameter that is an argument of `call` whether it may be released.

        `arguments` contains for each argument of the call the index of Dynamo's input, or -1. `blocked` contains, by the
        index of Dynamo's input, the reason why an argument must not be released.
        """
        packed = call.packed_inputs or [False] * len(imported.inputs)
        watched: dict[int, tuple[weakref.ref, str]] = {}
        for index, argument in enumerate(imported.inputs):
            number = arguments[argument] if argument >= 0 else -1
            tensor = self.tensors[number] if number >= 0 else None
            if tensor is None:
                continue
            name = self.names[number]
            if _ATTRIBUTE in vars(tensor):
                if not packed[index]:
                    raise ReleasedError(
                        f"tilewright: the parameter {name} ({_describe(tensor)}) was released by an earlier graph with "
                        "options={'freeze': True}, and this graph reads it unpacked; compile this graph, too, before the "
                        "first frozen call, or remove the option freeze")  # fmt: skip
                continue
            reason = blocked.get(number, "")
            if not reason and not packed[index]:
                note_reader(tensor, call)
                reason = "a kernel reads it unpacked"
            if not reason and imported.names[index] in imported.copied_inputs:
                reason = "its strides are not those of a dense tensor: a copy of it is packed"
            reason = reason or shared(tensor)
            if reason:
                self.keep(name, tensor, reason)
                continue
            if type(tensor) in _CLASSES:
                tensor.__class__ = _CLASSES[type(tensor)]
            watched[index] = weakref.ref(tensor), name
        if watched:
            wanted = [i in watched for i in range(len(imported.inputs))]
            call.freeze(wanted, lambda index, data, left: self.release(*watched[index], data, left))

    def done(self) -> None:
        """Drops the references to the parameters after the compilation, so that the graph does not prevent their
        deletion."""
        self.tensors = []

    def keep(self, name: str, tensor, reason: str) -> None:
        self.report.kept.append(Kept(name, _raw(tensor)[1], reason))

    def release(self, reference, name: str, data: int, left) -> int:
        """Releases the memory of a parameter that the runtime has packed in the first call. Returns the number of released bytes, or 0 if
        the parameter is kept."""
        tensor = reference()
        if tensor is None:
            return 0
        with torch._C.DisableTorchFunctionSubclass(), torch.no_grad():
            if tensor.data_ptr() != data:
                return 0  # the parameter has other memory than at compile time
            if reason := shared(tensor):
                self.keep(name, tensor, reason)
                return 0
            nbytes = tensor.numel() * tensor.element_size()
            # The parameter gets a new, empty storage. storage.resize_(0) would fail for memory of a file or of a numpy array.
            empty = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device)
            empty.untyped_storage().resize_(0)
            left.name = name
            setattr(tensor, _ATTRIBUTE, left)
            tensor.data = empty
        self.report.released.append(name)
        self.report.released_bytes += nbytes
        return nbytes


def shared(tensor) -> str:
    """Returns the reason why other tensors need the tensor's memory, or ''."""
    storage_bytes, nbytes, uses = _raw(tensor)
    if storage_bytes != nbytes:
        return f"it is part of a storage of {storage_bytes} bytes"
    if uses > 2:  # two uses: the parameter and the storage object of this query
        return "other tensors share its storage (a tied weight, a view, a state_dict that still exists)"
    if find_reader(tensor):
        return "a kernel of another graph reads it unpacked"
    return ""


def _key(tensor):
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.untyped_storage()._cdata


def note_reader(tensor, call) -> None:
    """Records that a kernel of `call` reads the tensor's storage without packing. The record is removed when `call` is destroyed."""
    with _lock:
        _readers[(_key(tensor), id(call))] = call


def find_reader(tensor) -> bool:
    key = _key(tensor)
    with _lock:
        return any(storage == key for storage, _ in _readers)


def check_kind(kind: str) -> None:
    """Raises a RuntimeError unless `kind`, the kind of a graph, is inference."""
    if kind != "inference":
        raise RuntimeError("tilewright: options={'freeze': True} supports inference only, but the parameters of this "
                           "graph require gradients. Call the model under torch.no_grad() or torch.inference_mode() (and in "
                           "model.eval()), or remove the option freeze")  # fmt: skip

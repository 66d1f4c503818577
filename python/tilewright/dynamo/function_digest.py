"""A digest of everything that a user's Python function depends on, for the keys of caches that processes share.

The digest includes the code, the defaults and the closure of the function, the globals that its code references, and
recursively the functions and classes among these values. For modules of torch, the standard library and this package, the
digest includes only the name, because the keys of caches contain the versions of these packages. If a value cannot be
pickled, the digest is specific to this process, so that no other process uses the cached results.
Test: test/Python/test_function_digest.py
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import sys
import types

import torch

# Packages whose functions are not hashed, because the versions of these packages are part of the cache key.
_KNOWN = {*sys.stdlib_module_names, "torch", "tilewright"}


def _is_known(module: str | None) -> bool:
    return module is not None and module != "__main__" and module.partition(".")[0] in _KNOWN


class _Digest:
    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self.seen: dict[int, int] = {}  # id of an object -> number of its first visit; ends the recursion for recursive functions
        self.kept: list = []  # references to the objects in `seen`, so that no new object gets the same id

    def text(self, *parts) -> None:
        self.hash.update("\x1f".join(map(str, parts)).encode() + b"\x1e")

    def add(self, value) -> None:
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            return self.text(type(value).__name__, repr(value))
        if id(value) in self.seen:
            return self.text("again", self.seen[id(value)])
        self.seen[id(value)] = len(self.seen)
        self.kept.append(value)
        self.text(type(value).__qualname__)
        if isinstance(value, (list, tuple)):
            self.each(value)
        elif isinstance(value, (set, frozenset)):
            self.each(sorted(value, key=repr))
        elif isinstance(value, dict):
            self.each([part for pair in value.items() for part in pair])
        elif isinstance(value, types.CodeType):
            self.code(value)
        elif isinstance(value, types.FunctionType):
            self.function(value)
        elif isinstance(value, types.MethodType):
            self.each([value.__self__, value.__func__])
        elif isinstance(value, functools.partial):
            self.each([value.func, value.args, value.keywords])
        elif isinstance(value, (staticmethod, classmethod)):
            self.add(value.__func__)
        elif isinstance(value, property):
            self.each([value.fget])
        elif isinstance(value, type):
            self.type(value)
        elif isinstance(value, types.ModuleType):
            self.text(value.__name__)
        elif isinstance(value, torch.Tensor):
            self.tensor(value)
        else:
            self.object(value)

    def each(self, values) -> None:
        self.text(len(values))
        for value in values:
            self.add(value)

    def code(self, code: types.CodeType) -> None:
        # The fields are hashed one by one, because the bytes of marshal.dumps(code) depend on the reference counts of constants.
        self.text(code.co_name, code.co_argcount, code.co_kwonlyargcount, code.co_flags, code.co_names, code.co_varnames, code.co_freevars)
        self.hash.update(code.co_code)
        self.each(code.co_consts)

    def function(self, function: types.FunctionType) -> None:
        if _is_known(function.__module__):
            return self.text(function.__module__, function.__qualname__)
        self.code(function.__code__)
        self.each([function.__defaults__, function.__kwdefaults__])
        for cell in function.__closure__ or ():
            try:
                self.add(cell.cell_contents)
            except ValueError:
                self.text("an empty cell")
        self.names(function.__code__, function.__globals__)

    def names(self, code: types.CodeType, names: dict) -> None:
        """Adds the globals that `code` and its nested code objects reference. For modules, adds the attributes that are referenced."""
        for name in code.co_names:
            if name not in names:
                continue
            value = names[name]
            self.text(name)
            self.add(value)
            if isinstance(value, types.ModuleType) and not _is_known(value.__name__):
                for attribute in code.co_names:
                    if attribute in vars(value):
                        self.text(attribute)
                        self.add(vars(value)[attribute])
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.names(constant, names)

    def type(self, kind: type) -> None:
        self.text(kind.__module__, kind.__qualname__)
        if not _is_known(kind.__module__) and kind.__module__ != "builtins":
            self.each(list(kind.__bases__))
            for name, value in vars(kind).items():
                if name not in ("__dict__", "__weakref__", "__doc__", "__module__"):
                    self.text(name)
                    self.add(value)

    def tensor(self, tensor: torch.Tensor) -> None:
        self.text(tensor.dtype, tuple(tensor.shape), tensor.device)
        if tensor.layout == torch.strided and type(tensor) in (torch.Tensor, torch.nn.Parameter):
            self.hash.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
        else:
            self.here(tensor)

    def object(self, value) -> None:
        kind = type(value)
        self.type(kind)
        if kind.__reduce_ex__ is object.__reduce_ex__ and kind.__reduce__ is object.__reduce__ and hasattr(value, "__dict__"):
            return self.add(vars(value))  # instances of plain classes are not pickled; the digest includes their attributes
        try:
            self.hash.update(pickle.dumps(value, protocol=4))
        except Exception:  # its __reduce__ may raise anything
            self.here(value)

    def here(self, value) -> None:
        """Adds a value that is unique to this object and this process."""
        self.text(os.getpid(), id(value))


def digest_of(functions: dict) -> str:
    """Returns the digest of the dictionary `functions`, whose keys are names."""
    digest = _Digest()
    for name in sorted(functions):
        digest.text(name)
        digest.add(functions[name])
    return digest.hash.hexdigest()[:16]

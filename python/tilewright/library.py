"""tilewright.load: calls a library of `tilewright compile` from Python."""

from __future__ import annotations

import os
from typing import NamedTuple

import torch

from . import _tilewright


class TensorInfo(NamedTuple):
    """An input or a result of a library."""

    name: str
    dtype: torch.dtype
    sizes: tuple[str, ...]  # numbers, names of sizes, or expressions of them
    written: bool  # a call writes this input

    def __str__(self) -> str:
        return f"{self.name}: {str(self.dtype).removeprefix('torch.')}[{', '.join(self.sizes)}]"


def _infos(rows) -> tuple[TensorInfo, ...]:
    return tuple(TensorInfo(name, getattr(torch, dtype), tuple(sizes), written) for name, dtype, sizes, written in rows)


def _passed(tensor: torch.Tensor) -> tuple[int, str, list[int]]:
    return tensor.data_ptr(), str(tensor.dtype).removeprefix("torch."), list(tensor.shape)


class Library:
    """A loaded library, which can be called like a function.

    The attribute `model` is the name of the model. The attributes `inputs` and `outputs` are tuples with one object per
    tensor. Each object has the fields `name`, `dtype`, `sizes` (a tuple of texts: numbers, names of sizes, or
    expressions of names) and `written` (True if a call writes this input).
    """

    def __init__(self, path: str, threads: int, cpu: str):
        self._library = _tilewright.Library(path, threads, cpu)
        self.model: str = self._library.model
        self.inputs, self.outputs = _infos(self._library.inputs), _infos(self._library.outputs)

    def __repr__(self) -> str:
        return f"<library {self.model}({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})>"

    def __call__(self, *args, **named):
        """Computes the results. The arguments are the model's inputs, in the order of the attribute `inputs` or by name.

        An argument is a torch tensor on the CPU, or an array of another package that supports DLPack (NumPy, JAX, CuPy on
        the host), with the dtype and sizes that `inputs` lists. An input that a call writes must be contiguous. Returns a
        tensor, or a tuple of tensors if there are several results; the results do not require gradients. Raises
        TypeError for a wrong number of inputs, a wrong name, type or dtype; ValueError for wrong sizes, another device, or
        a written input that is not contiguous; and RuntimeError if the call fails, for example because an index is out of
        range.
        """
        tensors = [self._tensor(info, value) for info, value in zip(self.inputs, self._bound(args, named), strict=True)]
        passed = [_passed(tensor) for tensor in tensors]
        results = [torch.empty(sizes, dtype=getattr(torch, dtype)) for dtype, sizes in self._library.shape(passed)]
        self._library.run(passed, [_passed(result) for result in results])
        return results[0] if len(results) == 1 else tuple(results)

    def _bound(self, args: tuple, named: dict) -> list:
        """Returns one value per input."""
        names = [info.name for info in self.inputs]
        takes = f"tilewright: {self.model} takes {', '.join(map(str, self.inputs)) or 'no inputs'}"
        if len(args) > len(names):
            raise TypeError(f"{takes}; {len(args)} inputs were given")
        values = dict(zip(names, args))
        for name, value in named.items():
            if name not in names:
                raise TypeError(f"{takes}; it has no input {name!r}")
            if name in values:
                raise TypeError(f"{takes}; {name!r} was given twice")
            values[name] = value
        if missing := [name for name in names if name not in values]:
            raise TypeError(f"{takes}; {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not given")
        return [values[name] for name in names]

    def _tensor(self, info: TensorInfo, value) -> torch.Tensor:
        """Returns an input as a contiguous tensor on the CPU."""
        if not isinstance(value, torch.Tensor):
            if not hasattr(value, "__dlpack__"):
                raise TypeError(f"tilewright: the input {info} of {self.model} is a {type(value).__name__}; pass a tensor, or an array with DLPack")
            try:
                value = torch.from_dlpack(value)
            except BufferError:  # NumPy does not export arrays that are not writable
                if info.written:
                    raise
                value = torch.tensor(value)
        if value.device.type != "cpu":
            raise ValueError(f"tilewright: the input {info} of {self.model} is on {value.device}; move it with .cpu()")
        if value.dtype != info.dtype:
            raise TypeError(f"tilewright: the input {info} of {self.model} is {value.dtype}; convert it with .to({info.dtype})")
        if value.dim() != len(info.sizes):
            raise ValueError(f"tilewright: the input {info} of {self.model} has the sizes {list(value.shape)}")
        if info.written and not value.is_contiguous():
            raise ValueError(f"tilewright: the input {info} of {self.model} is written by the call, and is not contiguous; pass a contiguous tensor")
        return value.detach().contiguous()


def load(path, *, threads: int = 0, cpu: str = "") -> Library:
    """Loads a shared library that `tilewright compile` wrote. The result can be called with the inputs of the model::

        classify = tilewright.load("classify.so")
        probabilities = classify(torch.tensor([[1.0, 0.0]]))

    `path` is the path of the library. The manifest, and the weights file of a library with external weights, must be in the
    same folder. `threads` is the largest number of threads of a call; 0 means the value of OMP_NUM_THREADS or, if it is not
    set, the number of CPUs that the process may use.
    If the library contains code for several CPUs, `cpu` selects the code; an empty `cpu` selects the code with the most
    instruction sets that this machine supports. Calls of one `Library` are serialized. For concurrent calls, load the
    library once per thread.

    Loading a library executes its code, so load only files that you trust. Raises FileNotFoundError if the file does not
    exist, and RuntimeError if the file is not a library, is damaged, or needs instruction sets that this machine lacks.
    """
    path = os.fspath(path)
    if not os.path.exists(path):
        raise FileNotFoundError(f"tilewright: there is no library {path!r}")
    return Library(path, threads, cpu)

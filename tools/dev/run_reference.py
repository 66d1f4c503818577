#!/usr/bin/env python3
"""Runs a module of tw functions through the reference lowering and calls it with torch tensors.

    run_reference.py FILE.mlir FUNCTION [SIZE...]     runs one function on random inputs and prints the results

As a module: `Library(text, widen=True)` compiles every function of the text; `library.call(name, args)` takes ints for
the `index` arguments and torch tensors for the other arguments, and returns torch tensors. The build folder is build/ next to the
sources, or $TILEWRIGHT_BUILD.
"""
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build"))
DTYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
          "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "ui8": torch.uint8,
          "i1": torch.bool}
NAMES = {dtype: name for name, dtype in DTYPES.items()}

STRUCTURED = ["--tw-lower-graph", "--tw-verify-stage=stage=structured", "--tw-decompose-tile", "--tw-lower-index-checks"]
TO_LLVM = [
    "--llvm-request-c-wrappers", "--tw-keep-roundings", "--eliminate-empty-tensors", "--empty-tensor-to-alloc-tensor",
    "--one-shot-bufferize=bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map",
    "--convert-linalg-to-loops", "--tw-split-reshapes", "--expand-strided-metadata", "--lower-affine", "--convert-scf-to-cf",
    "--arith-expand=include-bf16", "--convert-math-to-llvm", "--convert-math-to-libm",
    "--convert-vector-to-llvm", "--finalize-memref-to-llvm", "--convert-arith-to-llvm", "--convert-index-to-llvm",
    "--convert-cf-to-llvm", "--convert-func-to-llvm", "--reconcile-unrealized-casts"]


def run(command, text=None, what=""):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{what or command[0]} failed\n{done.stderr[-6000:]}")
    return done.stdout


def tensor_type(shape, dtype, sizes=None):
    """Returns the tw type of a tensor. `sizes` (strings with s0, s1...) makes dimensions symbolic."""
    name = dtype if isinstance(dtype, str) else NAMES[dtype]
    if sizes is None:
        return f"tensor<{''.join(f'{n}x' for n in shape)}{name}>"
    symbols = sorted({s for size in sizes for s in re.findall(r"s\d+", str(size))})
    dims = "".join(f"{size}x" if str(size).isdigit() else "?x" for size in sizes)
    return f"tensor<{dims}{name}, affine_map<()[{', '.join(symbols)}] -> ({', '.join(map(str, sizes))})>>"


def descriptor(rank):
    fields = [("base", ctypes.c_void_p), ("data", ctypes.c_void_p), ("offset", ctypes.c_int64)]
    if rank:
        fields += [("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]
    return type(f"MemRef{rank}", (ctypes.Structure,), {"_fields_": fields})


class Library:
    def __init__(self, text, widen=True, passes=()):
        stage = list(passes) + STRUCTURED + (["--tw-widen-floats"] if widen else [])
        self.results = {}
        for name, results in re.findall(r"func\.func @(\w+)\(.*?\)\s*->\s*(.*?)\s*\{\s*$", text, re.M):
            self.results[name] = [(len(re.findall(r"(?:\d+|\?)x", dims)), DTYPES[dtype])
                                  for dims, dtype in re.findall(r"tensor<((?:(?:\d+|\?)x)*)(\w+)", results)]
        opt = str(BUILD / "bin" / "tilewright-opt")
        self.structured = run([opt, "-", *stage], text, "structured")
        lowered = run([opt, "-", *TO_LLVM], self.structured, "to LLVM dialect")
        ir = run(["mlir-translate-22", "--mlir-to-llvmir"], lowered)
        self.folder = tempfile.TemporaryDirectory()
        libraries = run(["llvm-config-22", "--libdir"]).strip()
        object_file, library = f"{self.folder.name}/k.o", f"{self.folder.name}/k.so"
        run(["llc-22", "-O1", "-filetype=obj", "-relocation-model=pic", "-mcpu=x86-64-v3", "-o", object_file], ir)
        run(["clang-22", "-shared", "-o", library, object_file, "-lm", f"-L{libraries}", f"-Wl,-rpath,{libraries}",
             "-lmlir_c_runner_utils"])
        self.library = ctypes.CDLL(library)

    def call(self, name, args):
        results = self.results[name]
        kept, values = [], []
        for arg in args:
            if isinstance(arg, int):
                values.append(ctypes.c_int64(arg))
                continue
            arg = arg.contiguous()
            memref = descriptor(arg.dim())()
            memref.base = memref.data = arg.data_ptr()
            for i in range(arg.dim()):
                memref.sizes[i], memref.strides[i] = arg.shape[i], arg.stride(i)
            kept.append((arg, memref))
            values.append(ctypes.byref(memref))
        fields = [(f"r{i}", descriptor(rank)) for i, (rank, _) in enumerate(results)]
        out = type("Results", (ctypes.Structure,), {"_fields_": fields})()
        getattr(self.library, f"_mlir_ciface_{name}")(ctypes.byref(out), *values)
        tensors = []
        for i, (rank, dtype) in enumerate(results):
            memref = getattr(out, f"r{i}")
            shape = [memref.sizes[d] for d in range(rank)]
            strides = [memref.strides[d] for d in range(rank)]
            span = 1 + sum((n - 1) * s for n, s in zip(shape, strides)) if all(n > 0 for n in shape) else 0
            if span == 0:
                tensors.append(torch.empty(shape, dtype=dtype))
                continue
            width = torch.empty(0, dtype=dtype).element_size()
            data = (ctypes.c_char * (span * width)).from_address(memref.data + memref.offset * width)
            tensors.append(torch.frombuffer(bytearray(data), dtype=dtype).as_strided(shape, strides).clone())
        return tensors


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    text = pathlib.Path(sys.argv[1]).read_text()
    library = Library(text)
    signature = re.search(rf"func\.func @{sys.argv[2]}\((.*?)\)\s*->", text, re.S).group(1)
    sizes = iter(map(int, sys.argv[3:]))
    args = []
    for kind in re.findall(r":\s*(index|tensor<[^,>]*)", signature):
        if kind == "index":
            args.append(next(sizes))
            continue
        *shape, dtype = kind[len("tensor<"):].split("x")
        shape = [args[0] if n == "?" else int(n) for n in shape]
        args.append(torch.randn(shape).to(DTYPES[dtype]))
    for result in library.call(sys.argv[2], args):
        print(result)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Checks that passes on tw preserve the meaning of functions: compiles each function twice with the reference
lowering (run_reference.py), once after the passes and once without them, and compares the results.

    check_passes.py FILE.mlir... -p=PASS [-p=PASS]... [-s SIZE]...     SIZE: values of the symbols, default 3, 5, 7
"""
import argparse
import pathlib
import re
import sys

import torch

from run_reference import DTYPES, Library


def inputs_of(text, name, sizes):
    """Returns random arguments for the function, according to its types and their encodings."""
    aliases = dict(re.findall(r"^(#\w+) = affine_map<\(\)\[.*?\] -> \((.*)\)>", text, re.M))
    signature = re.search(rf"func\.func @{name}\((.*?)\)\s*(?:->|attributes|\{{\s*$)", text, re.S | re.M).group(1)
    symbols = {}
    args = []
    for kind in re.findall(r"%\w+:\s*(index|tensor<[^>]*(?:->[^>]*>)?[^>]*>)", signature):
        if kind == "index":
            symbols[f"s{len(symbols)}"] = sizes[len(symbols) % len(sizes)]
            args.append(symbols[f"s{len(symbols) - 1}"])
            continue
        body = kind[len("tensor<"):]
        dims, dtype = re.match(r"((?:(?:\d+|\?)x)*)(\w+)", body).groups()
        shape = [n for n in dims.split("x") if n]
        if "?" in shape:
            encoding = re.search(r"(#\w+)", body)
            results = aliases[encoding.group(1)] if encoding else re.search(r"-> \((.*)\)>", body).group(1)
            text_sizes = [r.replace(" floordiv ", "//").replace(" mod ", "%") for r in results.split(", ")]
            shape = [eval(size, {}, symbols) for size in text_sizes]
        shape = [int(n) for n in shape]
        kind = DTYPES[dtype]
        if kind.is_floating_point:
            args.append((torch.rand(shape) * 0.5 + 0.25).to(kind) if len(args) % 2 else (torch.randn(shape) * 0.5).to(kind))
        elif kind == torch.bool:
            args.append(torch.rand(shape) > 0.3)
        else:
            args.append(torch.randint(0, 3, shape).to(kind))
    return args


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("-p", action="append", default=[])
    parser.add_argument("-s", action="append", default=[], type=int)
    options = parser.parse_args()
    failures = 0
    for file in options.files:
        text = file.read_text()
        plain, changed = Library(text), Library(text, passes=options.p)
        for name in plain.results:
            torch.manual_seed(0)
            args = inputs_of(text, name, options.s or [3, 5, 7])
            for number, (a, b) in enumerate(zip(plain.call(name, args), changed.call(name, args))):
                a, b = a.double(), b.double()
                eps = {torch.bfloat16: 1e-2}.get(plain.results[name][number][1], 1e-5)
                bad = a.shape != b.shape or not torch.allclose(a, b, rtol=eps, atol=eps * max(1e-30, a.abs().max().item() if a.numel() else 0), equal_nan=True)
                if bad:
                    failures += 1
                    print(f"{file.name} @{name} result {number}: differs by {(a - b).abs().max().item() if a.shape == b.shape else 'shape'}")
        print(f"{file.name}: {sum(len(r) for r in plain.results.values())} results compared", flush=True)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()

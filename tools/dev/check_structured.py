#!/usr/bin/env python3
"""Compares the lowerings of lib/Kernels, run on the target reference, with torch. Intermediate floats have the types in the IR, or are f64.

    check_structured.py [-k WORD] [-p PASS]...     only cases whose name contains WORD; PASS is run first, e.g. --tw-collapse-views
"""
import argparse
import math
import sys

import torch
import torch.nn.functional as F

from run_reference import Library, tensor_type

CASES = []
torch.manual_seed(0)


class Case:
    """A tw function in MLIR's generic syntax, with its inputs and torch's results."""

    def __init__(self, name, symbols=()):
        self.name, self.symbols = name, list(symbols)
        self.parameters = [f"%s{i}: index {{tw.symbol = \"s{i}\"}}" for i in range(len(self.symbols))]
        self.args, self.lines, self.types = list(self.symbols), [], {}
        CASES.append(self)

    def input(self, tensor, sizes=None):
        value = f"%a{len(self.args)}"
        self.types[value] = tensor_type(tensor.shape, tensor.dtype, sizes)
        self.parameters.append(f"{value}: {self.types[value]}")
        self.args.append(tensor)
        return value

    def op(self, name, operands, results, **attributes):
        """Appends an op. `results` is (shape, dtype[, sizes]) or a list of such tuples. Returns the name of each result."""
        many = isinstance(results, list)
        kinds = [tensor_type(*r) for r in (results if many else [results])]
        values = [f"%v{len(self.lines)}_{i}" for i in range(len(kinds))]
        self.types.update(zip(values, kinds))
        attributes = ", ".join(f"{k} = {v}" for k, v in attributes.items())
        properties = f" <{{{attributes}}}>" if attributes else ""
        self.lines.append(f"    {', '.join(values)} = \"tw.{name}\"({', '.join(operands)}){properties} : "
                          f"({', '.join(self.types[o] for o in operands)}) -> ({', '.join(kinds)})")
        return values if many else values[0]

    def constant(self, text, shape, dtype):
        value = f"%v{len(self.lines)}_0"
        self.types[value] = tensor_type(shape, dtype)
        self.lines.append(f"    {value} = tw.constant dense<{text}> : {self.types[value]}")
        return value

    def returns(self, values, expected, tolerance=None):
        values = values if isinstance(values, list) else [values]
        self.expected = expected if isinstance(expected, (list, tuple)) else [expected]
        self.tolerance = tolerance
        kinds = ", ".join(self.types[v] for v in values)
        kinds = f"({kinds})" if len(values) > 1 else kinds
        self.text = (f"  func.func @{self.name}({', '.join(self.parameters)}) -> {kinds} {{\n" + "\n".join(self.lines)
                     + f"\n    return {', '.join(values)} : {kinds.strip('()')}\n  }}\n".replace("affine_map<[", "affine_map<()["))
        if len(values) == 1:
            self.text = self.text.rsplit("return", 1)[0] + f"return {values[0]} : {self.types[values[0]]}\n  }}\n"
        else:
            self.text = self.text.rsplit("return", 1)[0] + \
                f"return {', '.join(values)} : {', '.join(self.types[v] for v in values)}\n  }}\n"

    def check(self, library, widened):
        problems = []
        try:
            results = library.call(self.name, self.args)
        except Exception as error:
            return [f"{type(error).__name__}: {error}"]
        for got, want in zip(results, self.expected):
            if got.shape != want.shape:
                problems.append(f"shape {tuple(got.shape)}, torch {tuple(want.shape)}")
                continue
            if got.numel() == 0:
                continue
            if not got.dtype.is_floating_point:
                if not torch.equal(got, want.to(got.dtype)):
                    problems.append(f"got {got.flatten()[:8].tolist()}, torch {want.flatten()[:8].tolist()}")
                continue
            eps = {torch.float64: 1e-12, torch.float32: 2e-7 if widened else 4e-6, torch.float16: 1e-3,
                   torch.bfloat16: 8e-3}[got.dtype]
            if self.tolerance:
                eps = max(eps, self.tolerance)
            narrow = want.to(got.dtype).double()
            got, want = got.double(), want.double()
            want = torch.where(narrow.isinf(), narrow, want)  # outside of the type's range
            same = (got == want) | (got.isnan() & want.isnan())
            finite = want[want.isfinite()]
            scale = finite.abs().max().item() if finite.numel() else 1.0
            close = (got - want).abs() <= eps * (want.abs() + 0.1 * scale + 1e-30)
            if not bool((same | close).all()):
                bad = (~(same | close)).flatten().nonzero()[0].item()
                problems.append(f"element {bad}: got {got.flatten()[bad]:.9g}, torch {want.flatten()[bad]:.9g}")
        return problems


def ints(*values):
    return f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>"


def i64(value):
    return f"{value} : i64"


#===-- elementwise -----------------------------------------------------------===#
SPECIAL = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 2.0**-10, 30.0, -30.0]
UNARY = dict(abs=torch.abs, neg=torch.neg, exp=torch.exp, exp2=torch.exp2, expm1=torch.expm1, log=torch.log,
             log2=torch.log2, log10=torch.log10, log1p=torch.log1p, sqrt=torch.sqrt, rsqrt=torch.rsqrt,
             reciprocal=torch.reciprocal, sin=torch.sin, cos=torch.cos, tan=torch.tan, asin=torch.asin,
             acos=torch.acos, atan=torch.atan, sinh=torch.sinh, cosh=torch.cosh, tanh=torch.tanh, asinh=torch.asinh,
             acosh=torch.acosh, atanh=torch.atanh, erf=torch.erf, erfc=torch.erfc, sigmoid=torch.sigmoid,
             relu=torch.relu, silu=F.silu, gelu=F.gelu, gelu_tanh=lambda x: F.gelu(x, approximate="tanh"),
             floor=torch.floor, ceil=torch.ceil, round=torch.round, trunc=torch.trunc, sign=torch.sign)
for name, function in UNARY.items():
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        x = torch.cat([torch.tensor(SPECIAL, dtype=torch.float64), torch.randn(17, dtype=torch.float64) * 2]).to(dtype)
        if name == "gelu_tanh" or name == "gelu" or name == "silu":
            x[2] = -20.0  # by the formula, -inf * 0 and -inf / inf are NaN; torch's kernels do not agree on them
        case = Case(f"{name}_{str(dtype)[6:]}")
        want = function(x.double())
        case.returns(case.op(name, [case.input(x)], (x.shape, dtype)), want,
                     tolerance=1e-6 if dtype == torch.float64 and name in () else None)
BOOLS = dict(isnan=torch.isnan, isinf=torch.isinf, logical_not=torch.logical_not)
for name, function in BOOLS.items():
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.uint8):
        x = torch.tensor(SPECIAL).to(dtype)
        case = Case(f"{name}_{str(dtype)[6:]}")
        case.returns(case.op(name, [case.input(x)], (x.shape, "i1")), function(x))

BINARY = dict(add=torch.add, sub=torch.sub, mul=torch.mul, div=torch.div, maximum=torch.maximum, minimum=torch.minimum,
              pow=torch.pow, fmod=torch.fmod, remainder=torch.remainder, atan2=torch.atan2,
              div_trunc=lambda a, b: torch.div(a, b, rounding_mode="trunc"),
              div_floor=lambda a, b: torch.div(a, b, rounding_mode="floor"))
for name, function in BINARY.items():
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x = torch.tensor(SPECIAL, dtype=dtype)[:, None]
        y = torch.cat([torch.tensor(SPECIAL, dtype=dtype), torch.tensor([3.0, -3.0, 2.0, 0.75], dtype=dtype)])[None]
        case = Case(f"{name}_{str(dtype)[6:]}")
        case.returns(case.op(name, [case.input(x), case.input(y)], ((14, 18), dtype)), function(x.double(), y.double()))
INT_BINARY = dict(add=torch.add, sub=torch.sub, mul=torch.mul, maximum=torch.maximum, minimum=torch.minimum,
                  pow=torch.pow, fmod=torch.fmod, remainder=torch.remainder,
                  div_trunc=BINARY["div_trunc"], div_floor=BINARY["div_floor"], bitwise_and=torch.bitwise_and,
                  bitwise_or=torch.bitwise_or, bitwise_xor=torch.bitwise_xor, shift_left=torch.bitwise_left_shift,
                  shift_right=torch.bitwise_right_shift)
DIVIDES = ("fmod", "remainder", "div_trunc", "div_floor")
for name, function in INT_BINARY.items():
    for dtype in (torch.int64, torch.int32, torch.int8, torch.uint8):
        x = torch.tensor([0, 1, 2, 3, 7, 100, -1, -2, -3, -7, -100, 127], dtype=torch.int64).to(dtype)[:, None]
        y = torch.tensor([1, 2, 3, 5, -1, -2, -3, 4] + ([] if name in DIVIDES else [0]), dtype=torch.int64).to(dtype)[None]
        case = Case(f"{name}_{str(dtype)[6:]}")
        case.returns(case.op(name, [case.input(x), case.input(y)], ((12, y.shape[1]), dtype)), function(x, y))
case = Case("division_traps")
low, by = torch.tensor([-2**63, 5, -2**63]), torch.tensor([-1, 0, 0])
a, b = case.input(low), case.input(by)
case.returns([case.op(n, [a, b], ((3,), "i64")) for n in DIVIDES],
             [torch.tensor([0, 0, 0]), torch.tensor([0, 0, 0]), torch.tensor([-2**63, 0, 0]), torch.tensor([-2**63, 0, 0])])
COMPARE = dict(eq=torch.eq, ne=torch.ne, lt=torch.lt, le=torch.le, gt=torch.gt, ge=torch.ge,
               logical_and=torch.logical_and, logical_or=torch.logical_or, logical_xor=torch.logical_xor)
for name, function in COMPARE.items():
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool):
        x = torch.tensor(SPECIAL).to(dtype)[:, None]
        y = torch.tensor([0.0, 1.0, -1.0, float("nan"), 200.0]).to(dtype)[None]
        case = Case(f"{name}_{str(dtype)[6:]}")
        case.returns(case.op(name, [case.input(x), case.input(y)], ((14, 5), "i1")), function(x, y))
for name, function in dict(add=torch.logical_or, mul=torch.logical_and, bitwise_and=torch.bitwise_and,
                           bitwise_or=torch.bitwise_or, bitwise_xor=torch.bitwise_xor, maximum=torch.maximum,
                           minimum=torch.minimum).items():
    x, y = torch.tensor([[True], [False]]), torch.tensor([True, False])
    case = Case(f"{name}_bool")
    case.returns(case.op(name, [case.input(x), case.input(y)], ((2, 2), "i1")), function(x, y))
for name, function in dict(abs=torch.abs, neg=torch.neg, sign=torch.sign, relu=torch.relu,
                           bitwise_not=torch.bitwise_not, floor=lambda x: x).items():
    for dtype in (torch.int64, torch.int8):
        x = torch.tensor([0, 1, -1, 127, -128, 5]).to(dtype)
        case = Case(f"{name}_{str(dtype)[6:]}")
        case.returns(case.op(name, [case.input(x)], (x.shape, dtype)), function(x))
for exponent in (2.0, 3.0, 0.5, -0.5, -1.0, -2.0, 1.0, 0.0, 1.7):
    x = torch.rand(9) + 0.1
    case = Case(f"pow_by_{str(exponent).replace('.', '_').replace('-', 'm')}")
    case.returns(case.op("pow", [case.input(x), case.constant(f"{exponent:e}", (), "f32")], (x.shape, "f32")), x.double() ** exponent)
x = torch.tensor([2, -3, 5, 0])
case = Case("pow_by_int")
case.returns(case.op("pow", [case.input(x), case.constant("5", (), "i64")], (x.shape, "i64")), x ** 5)
x, y, c = torch.randn(4, 1), torch.randn(5), torch.rand(4, 5) > 0.5
case = Case("where")
case.returns(case.op("where", [case.input(c), case.input(x), case.input(y)], ((4, 5), "f32")), torch.where(c, x, y))
for source in (torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool):
    for target in (torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.int16, torch.int8,
                   torch.uint8, torch.bool):
        x = torch.tensor([0.0, 1.0, -1.0, 2.5, -2.5, 100.7, -0.3, 5e-5, 127.0])
        if not source.is_floating_point or target == torch.bool:
            x = torch.cat([x, torch.tensor([200.0, -128.0])])
        if target in (torch.int64, torch.int32) and source in (torch.float32, torch.float64):
            x = torch.cat([x, torch.tensor([float("nan"), float("inf"), -float("inf"), 1e20, -1e20, 2147483648.0, -2147483648.0])])
        x = x.to(source)
        case = Case(f"cast_{str(source)[6:]}_{str(target)[6:]}")
        case.returns(case.op("cast", [case.input(x)], (x.shape, target)), x.to(target))
case = Case("cast_rounds")  # the user's rounding remains, even in f64
x = torch.randn(33)
r = case.op("cast", [case.op("cast", [case.input(x)], (x.shape, "bf16"))], (x.shape, "f32"))
case.returns(r, x.bfloat16().float())

#===-- sources and views -----------------------------------------------------===#
case = Case("constants")
t = torch.tensor([[True, False], [False, True]])
k = case.constant("[[true, false], [false, true]]", (2, 2), "i1")
u = case.constant("[1, 255]", (2,), "ui8")
s = case.constant("3.5", (2, 3), "f32")
case.returns([k, u, s, case.op("cast", [u], ((2,), "f32"))], [t, torch.tensor([1, 255], dtype=torch.uint8), torch.full((2, 3), 3.5), torch.tensor([1.0, 255.0])])
case = Case("sizes_and_iota", symbols=[5])
i = case.op("iota", [], ((5, 3), "i64", ("s0", 3)), dim=i64(0))
f = case.op("iota", [], ((5, 3), "bf16", ("s0", 3)), dim=i64(1))
n = case.op("from_index", [], ((), "i64"), expr="affine_map<()[s0] -> (s0 * 2 + 1)>")
case.returns([i, f, n], [torch.arange(5)[:, None].expand(5, 3), torch.arange(3).bfloat16().expand(5, 3), torch.tensor(11)])
for dims, to in (((2, 3, 4), (6, 4)), ((6, 4), (2, 3, 4)), ((4, 6), (3, 8)), ((2, 3), (3, 2)), ((1, 5, 1), (5,)), ((5,), (1, 5, 1)),
                 ((1, 1), ()), ((), (1, 1)), ((4, 1, 6), (2, 2, 2, 3)), ((1,), (1, 1, 1)), ((2, 1, 3), (1, 2, 3, 1))):
    x = torch.randn(dims)
    case = Case("reshape_" + "x".join(map(str, dims)) + "_to_" + "x".join(map(str, to)))
    a = case.input(x)
    r = case.op("reshape", [a], (to, "f32"))
    case.returns([r, case.op("neg", [r], (to, "f32"))], [x.reshape(to), -x.reshape(to)])
case = Case("reshape_symbolic", symbols=[3, 4])
x = torch.randn(3, 4, 8)
a = case.input(x, ("s0", "s1", 8))
m = case.op("reshape", [a], ((12, 8), "f32", ("s0 * s1", 8)))
h = case.op("reshape", [m], ((3, 4, 2, 4), "f32", ("s0", "s1", 2, 4)))
p = case.op("permute", [h], ((3, 2, 4, 4), "f32", ("s0", 2, "s1", 4)), permutation=ints(0, 2, 1, 3))
q = case.op("reshape", [p], ((3, 8, 4), "f32", ("s0", "s1 * 2", 4)))
flat = case.op("reshape", [q], ((96,), "f32", ("s0 * s1 * 8",)))
case.returns([m, p, q, flat], [x.reshape(12, 8), x.reshape(3, 4, 2, 4).permute(0, 2, 1, 3), x.reshape(3, 4, 2, 4).permute(0, 2, 1, 3).reshape(3, 8, 4),
                               x.reshape(3, 4, 2, 4).permute(0, 2, 1, 3).reshape(-1)])
case = Case("views_are_maps")
x, w = torch.randn(3, 1, 5), torch.randn(4)
a = case.op("permute", [case.input(x)], ((5, 3, 1), "f32"), permutation=ints(2, 0, 1))
e = case.op("broadcast", [a], ((2, 5, 3, 4), "f32"))
g = case.op("add", [e, case.input(w)], ((2, 5, 3, 4), "f32"))
case.returns([e, g], [x.permute(2, 0, 1).expand(2, 5, 3, 4), x.permute(2, 0, 1).expand(2, 5, 3, 4) + w])
x = torch.randn(7, 9)
case = Case("slice_flip_pad_concat", symbols=[7])
a = case.input(x, ("s0", 9))
s = case.op("slice", [a], ((2, 4), "f32"), offsets="affine_map<()[s0] -> (s0 - 3, 1)>", strides=ints(2, 2))
f = case.op("flip", [s], ((2, 4), "f32"), dims=ints(0, 1))
p = case.op("pad", [f], ((4, 2), "f32"), low=ints(1, -1), high=ints(1, -1), value="1.5 : f32")
k = case.op("concat", [s, f, s], ((6, 4), "f32"), dim=i64(0))
d = case.op("concat", [a, a], ((14, 9), "f32", ("s0 * 2", 9)), dim=i64(0))
sl = x[4::2, 1::2]
case.returns([s, f, p, k, d], [sl, sl.flip(0, 1), F.pad(sl.flip(0, 1), (-1, -1, 1, 1), value=1.5), torch.cat([sl, sl.flip(0, 1), sl]), torch.cat([x, x])])
case = Case("view_of_argument_returned")
x = torch.randn(3, 4)
a = case.input(x)
case.returns([a, case.op("permute", [a], ((4, 3), "f32"), permutation=ints(1, 0))], [x, x.T])

#===-- reductions ------------------------------------------------------------===#
REDUCE = dict(sum=0, prod=1, max=2, min=3, any=4, all=5)
TORCH_REDUCE = dict(sum=torch.sum, max=torch.amax, min=torch.amin)
for kind, number in REDUCE.items():
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool, torch.float64):
        for shape, dims, keep in (((3, 17), (1,), False), ((3, 17, 1), (0, 2), True), ((4,), (0,), False)):
            x = (torch.randn(shape) * 3).to(dtype)
            if kind in ("any", "all"):
                to = torch.bool
                want = x != 0
                for d in sorted(dims, reverse=True):
                    want = getattr(torch, kind)(want, d, keepdim=keep)
            elif kind == "prod":
                to = torch.int64 if not dtype.is_floating_point else dtype
                want = x.double() if dtype.is_floating_point else x.long()
                for d in sorted(dims, reverse=True):
                    want = want.prod(d, keepdim=keep)
            else:
                to = dtype if dtype.is_floating_point or kind != "sum" else torch.int64
                wide = x.double() if dtype.is_floating_point else x
                want = TORCH_REDUCE[kind](wide, dims, keepdim=keep)
            case = Case(f"reduce_{kind}_{str(dtype)[6:]}_{len(shape)}")
            attributes = dict(kind=f"{number} : i32", dims=ints(*dims))
            if keep:
                attributes["keepdim"] = "unit"
            case.returns(case.op("reduce", [case.input(x)], (want.shape, to), **attributes), want)
x = torch.tensor([[1.0, float("nan"), 3.0], [2.0, 2.0, 1.0], [-math.inf] * 3])
case = Case("reduce_nan")
a = case.input(x)
case.returns([case.op("reduce", [a], ((3,), "f32"), kind="2 : i32", dims=ints(1)),
              case.op("reduce", [a], ((3,), "f32"), kind="3 : i32", dims=ints(1)),
              case.op("arg_reduce", [a], ((3,), "i64"), kind="2 : i32", dim=i64(1)),
              case.op("arg_reduce", [a], ((3, 1), "i64"), kind="3 : i32", dim=i64(1), keepdim="unit")],
             [x.amax(1), x.amin(1), x.argmax(1), x.argmin(1, keepdim=True)])
for dtype in (torch.bfloat16, torch.int64, torch.uint8):
    x = (torch.randn(5, 9) * 4).to(dtype)
    case = Case(f"arg_reduce_{str(dtype)[6:]}")
    a = case.input(x)
    # torch does not specify which index argmax returns if several elements are equal. Tilewright returns the first index, as numpy does.
    first = lambda t, extreme: (t == extreme).to(torch.int8).argmax(0)
    case.returns([case.op("arg_reduce", [a], ((9,), "i64"), kind="2 : i32", dim=i64(0)),
                  case.op("arg_reduce", [a], ((9,), "i64"), kind="3 : i32", dim=i64(0))],
                 [torch.tensor(x.double().numpy().argmax(0)), torch.tensor(x.double().numpy().argmin(0))])
for dtype in (torch.float32, torch.bfloat16, torch.float64):
    x = torch.randn(4, 17, 3).to(dtype)
    case = Case(f"var_mean_{str(dtype)[6:]}", symbols=[4])
    v, m = torch.var_mean(x.double(), (0, 2), correction=1, keepdim=True)
    a = case.input(x, ("s0", 17, 3))
    got = case.op("var_mean", [a], [((1, 17, 1), dtype), ((1, 17, 1), dtype)], dims=ints(0, 2), correction="1.0 : f64", keepdim="unit")
    case.returns(got, [v, m])
case = Case("sum_of_broadcast")
x = torch.randn(3, 1)
e = case.op("broadcast", [case.input(x)], ((3, 4), "f32"))
case.returns(case.op("reduce", [e], ((3,), "f32"), kind="0 : i32", dims=ints(1)), (x.double() * 4)[:, 0])
for kind, function in enumerate((torch.cumsum, torch.cumprod, lambda x, d: x.cummax(d).values, lambda x, d: x.cummin(d).values)):
    for dtype in (torch.float32, torch.bfloat16, torch.int32):
        x = (torch.randn(4, 6) * 2).to(dtype)
        to = torch.int64 if kind < 2 and dtype == torch.int32 else dtype
        case = Case(f"scan_{kind}_{str(dtype)[6:]}")
        case.returns(case.op("scan", [case.input(x)], (x.shape, to), kind=f"{kind} : i32", dim=i64(0)),
                     function(x.double() if dtype.is_floating_point else x, 0))
for dtype in (torch.float32, torch.int64, torch.bfloat16, torch.uint8):
    for descending in (False, True):
        x = (torch.randn(3, 9) * 3).to(dtype)
        if dtype == torch.float32:
            x[1, 4] = float("nan")
        extra = dict(descending="unit") if descending else {}
        case = Case(f"sort_{str(dtype)[6:]}_{descending}")
        got = case.op("sort", [case.input(x)], [(x.shape, dtype), (x.shape, "i64")], dim=i64(1), **extra)
        case.returns(got, list(torch.sort(x, dim=1, descending=descending, stable=True)))
x = torch.randperm(40).reshape(4, 10).float()
case = Case("topk")
case.returns(case.op("sort", [case.input(x)], [((4, 3), "f32"), ((4, 3), "i64")], dim=i64(1), descending="unit", k=i64(3)),
             list(torch.topk(x, 3, 1)))

#===-- normalizations --------------------------------------------------------===#
for dtype in (torch.float32, torch.bfloat16, torch.float64):
    for dim in (0, 1, 2):
        for log in (False, True):
            x = (torch.randn(3, 17, 2) * 5).to(dtype)
            case = Case(f"softmax_{str(dtype)[6:]}_{dim}_{log}")
            want = (torch.log_softmax if log else torch.softmax)(x.double(), dim)
            case.returns(case.op("softmax", [case.input(x)], (x.shape, dtype), dim=i64(dim), **(dict(log="unit") if log else {})), want)
x = torch.randn(3, 5)
x[1] = -math.inf
for safe in (False, True):
    case = Case(f"softmax_nothing_{safe}")
    want = torch.softmax(x, 1)
    if safe:
        want[1] = 0
    case.returns(case.op("softmax", [case.input(x)], (x.shape, "f32"), dim=i64(1), **(dict(safe="unit") if safe else {})), want)
for dtype in (torch.float32, torch.bfloat16):
    x, w, b = torch.randn(2, 3, 16).to(dtype), torch.randn(16).to(dtype), torch.randn(16).to(dtype)
    stats = torch.float32
    case = Case(f"layer_norm_{str(dtype)[6:]}", symbols=[3])
    a = case.input(x, (2, "s0", 16))
    got = case.op("layer_norm", [a, case.input(w), case.input(b)],
                  [((2, 3, 16), dtype, (2, "s0", 16)), ((2, 3, 1), stats, (2, "s0", 1)), ((2, 3, 1), stats, (2, "s0", 1))],
                  rank=i64(1), eps="1.0e-5 : f64", operandSegmentSizes="array<i32: 1, 1, 1>")
    case.returns(got, torch.native_layer_norm(x.double(), [16], w.double(), b.double(), 1e-5))
    case = Case(f"layer_norm_plain_{str(dtype)[6:]}")
    got = case.op("layer_norm", [case.input(x)], [((2, 3, 16), dtype), ((2, 1, 1), stats), ((2, 1, 1), stats)],
                  rank=i64(2), eps="1.0e-5 : f64", operandSegmentSizes="array<i32: 1, 0, 0>")
    case.returns(got[0], F.layer_norm(x.double(), [3, 16]))
    case = Case(f"rms_norm_{str(dtype)[6:]}")
    got = case.op("rms_norm", [case.input(x), case.input(w)], [((2, 3, 16), dtype), ((2, 3, 1), stats)], rank=i64(1), eps="1.0e-5 : f64")
    r = torch.rsqrt(x.double().square().mean(-1, keepdim=True) + 1e-5)
    case.returns(got, [x.double() * r * w.double(), r])

#===-- contractions ----------------------------------------------------------===#
for dtype in (torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.int32):
    for m, k, n in ((1, 1, 1), (3, 17, 5), (17, 3, 1)):
        a, b = (torch.randn(m, k) * 3).to(dtype), (torch.randn(n, k) * 3).to(dtype)
        case = Case(f"matmul_{str(dtype)[6:]}_{m}")
        t = case.op("permute", [case.input(b)], ((k, n), dtype), permutation=ints(1, 0))
        wide = (lambda t: t.double()) if dtype.is_floating_point else (lambda t: t)
        case.returns(case.op("matmul", [case.input(a), t], ((m, n), dtype)), wide(a) @ wide(b).T)
case = Case("matmul_batch", symbols=[3])
a, b = torch.randn(2, 3, 4, 5), torch.randn(5, 6)
e = case.op("broadcast", [case.input(b)], ((2, 3, 5, 6), "f32", (2, "s0", 5, 6)))
case.returns(case.op("matmul", [case.input(a, (2, "s0", 4, 5)), e], ((2, 3, 4, 6), "f32", (2, "s0", 4, 6))), a.double() @ b.double())
case = Case("matmul_units")  # [b, 1, k] @ [b, k, n], both through unit dimensions and broadcasts
a, b = torch.randn(4, 5), torch.randn(1, 5, 6)
ua = case.op("reshape", [case.input(a)], ((4, 1, 5), "f32"))
e = case.op("broadcast", [case.input(b)], ((4, 5, 6), "f32"))
case.returns(case.op("matmul", [ua, e], ((4, 1, 6), "f32")), (a.double() @ b[0].double())[:, None])
case = Case("matmul_both_broadcast")
a, b = torch.randn(4, 5), torch.randn(5, 6)
ea, eb = (case.op("broadcast", [case.input(t)], ((3, *t.shape), "f32")) for t in (a, b))
case.returns(case.op("matmul", [ea, eb], ((3, 4, 6), "f32")), (a.double() @ b.double()).expand(3, 4, 6))
case = Case("matmul_outer")  # k is a broadcast dimension
a, b = torch.randn(4, 1), torch.randn(3, 6)
ea = case.op("broadcast", [case.input(a)], ((4, 3), "f32"))
case.returns(case.op("matmul", [ea, case.input(b)], ((4, 6), "f32")), a.double().expand(4, 3) @ b.double())

CONVOLUTIONS = [  # N, C, F, sizes, kernel, stride, padding, dilation, groups
    (2, 3, 4, (8, 7), (3, 3), (1, 1), (1, 1), (1, 1), 1), (1, 4, 6, (9, 9), (3, 2), (2, 2), (1, 0), (1, 2), 2),
    (1, 4, 4, (6, 6), (3, 3), (1, 1), (1, 1), (1, 1), 4), (2, 3, 5, (11,), (3,), (2,), (1,), (1,), 1),
    (1, 2, 3, (4, 5, 6), (2, 2, 3), (1, 2, 1), (0, 1, 1), (1, 1, 1), 1), (1, 3, 2, (5, 5), (1, 1), (1, 1), (0, 0), (1, 1), 1),
    (1, 4, 8, (6, 6), (3, 3), (1, 1), (1, 1), (1, 1), 4), (1, 2, 2, (7, 7), (2, 2), (3, 3), (0, 0), (1, 1), 1)]
CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
for number, (n, c, f, sizes, kernel, stride, padding, dilation, groups) in enumerate(CONVOLUTIONS):
    d = len(sizes)
    for dtype in (torch.float32, torch.bfloat16):
        x, w = torch.randn(n, c, *sizes).to(dtype), torch.randn(f, c // groups, *kernel).to(dtype)
        want = CONV[d](x.double(), w.double(), None, stride, padding, dilation, groups)
        attributes = dict(stride=ints(*stride), padding=ints(*padding), dilation=ints(*dilation), groups=i64(groups))
        case = Case(f"convolution_{number}_{str(dtype)[6:]}")
        case.returns(case.op("convolution", [case.input(x), case.input(w)], (want.shape, dtype), output_padding=ints(*[0] * d), **attributes), want)
        g = torch.randn(want.shape).to(dtype)
        grad = torch.ops.aten.convolution_backward(g.double(), x.double(), w.double(), None, stride, padding, dilation, False, [0] * d, groups,
                                                   [True, True, False])
        case = Case(f"convolution_weight_grad_{number}_{str(dtype)[6:]}")
        case.returns(case.op("convolution_weight_grad", [case.input(x), case.input(g)], (w.shape, dtype), **attributes), grad[1])
        t = torch.randn(c, f // groups, *kernel).to(dtype)
        extra = [1 if s > 1 else 0 for s in stride]
        want = TRANSPOSED[d](x.double(), t.double(), None, stride, padding, extra, groups, dilation)
        case = Case(f"convolution_transposed_{number}_{str(dtype)[6:]}")
        case.returns(case.op("convolution", [case.input(x), case.input(t)], (want.shape, dtype), output_padding=ints(*extra), transposed="unit", **attributes), want)
case = Case("convolution_symbolic", symbols=[2, 8])
x, w = torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3)
size = "(s1 + 1) floordiv 2"
case.returns(case.op("convolution", [case.input(x, ("s0", 3, "s1", "s1")), case.input(w)], ((2, 4, 4, 4), "f32", ("s0", 4, size, size)),
                     stride=ints(2, 2), padding=ints(1, 1), dilation=ints(1, 1), output_padding=ints(0, 0), groups=i64(1)),
             F.conv2d(x.double(), w.double(), None, 2, 1))
for dtype in (torch.float32, torch.bfloat16):
    for heads, mask, causal in ((2, None, False), (1, "bool", False), (4, "float", False), (2, None, True)):
        q, k, v = torch.randn(2, 4, 5, 8).to(dtype), torch.randn(2, heads, 7, 8).to(dtype), torch.randn(2, heads, 7, 6).to(dtype)
        case = Case(f"attention_{str(dtype)[6:]}_{heads}_{mask}_{causal}")
        operands = [case.input(t) for t in (q, k, v)]
        m = None
        if mask == "bool":
            m = torch.rand(5, 7) > 0.4
            m[2] = False
        elif mask == "float":
            m = torch.randn(2, 1, 5, 7).to(dtype)
        if m is not None:
            operands.append(case.input(m))
        scores = q.double() @ k.double().repeat_interleave(4 // heads, 1).transpose(2, 3) * 0.3
        if m is not None:
            scores = scores.masked_fill(~m, -math.inf) if mask == "bool" else scores + m.double()
        if causal:
            scores = scores.masked_fill(torch.ones(5, 7).triu(1).bool(), -math.inf)
        want = torch.nan_to_num(torch.softmax(scores, -1)) @ v.double().repeat_interleave(4 // heads, 1)
        case.returns(case.op("attention", operands, [((2, 4, 5, 6), dtype), ((2, 4, 5), "f32")], scale="0.3 : f64", **(dict(causal="unit") if causal else {})),
                     [want, torch.logsumexp(scores, -1)])

case = Case("attention_permuted")
q, k, v = torch.randn(2, 5, 4, 8), torch.randn(2, 7, 4, 8), torch.randn(2, 4, 6, 7)
operands = [case.op("permute", [case.input(t)], (tuple(t.shape[i] for i in p), "f32"), permutation=ints(*p))
            for t, p in ((q, (0, 2, 1, 3)), (k, (0, 2, 1, 3)), (v, (0, 1, 3, 2)))]
r, s = case.op("attention", operands, [((2, 4, 5, 6), "f32"), ((2, 4, 5), "f32")], scale="0.3 : f64")
r = case.op("permute", [r], ((2, 5, 4, 6), "f32"), permutation=ints(0, 2, 1, 3))
want = torch.softmax(q.double().transpose(1, 2) @ k.double().permute(0, 2, 3, 1) * 0.3, -1) @ v.double().transpose(2, 3)
case.returns(case.op("reshape", [r], ((2, 5, 24), "f32")), want.transpose(1, 2).reshape(2, 5, 24))

#===-- pooling ---------------------------------------------------------------===#
POOLS = [((8, 7), (3, 3), (2, 2), (1, 1), (1, 1), False), ((6, 6), (2, 2), (2, 2), (0, 0), (1, 1), False), ((7, 8), (3, 2), (2, 2), (1, 0), (1, 2), True),
         ((9,), (4,), (3,), (2,), (1,), True), ((5, 5, 4), (2, 2, 2), (1, 2, 2), (0, 1, 0), (1, 1, 1), False), ((7, 7), (7, 7), (1, 1), (0, 0), (1, 1), False)]
MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVG = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
for number, (sizes, kernel, stride, padding, dilation, ceil) in enumerate(POOLS):
    for dtype in (torch.float32, torch.bfloat16):
        d = len(sizes)
        x = torch.randn(2, 3, *sizes).to(dtype)
        if number == 0:
            x[0, 0, 2:5, 2:5] = -math.inf
            x[0, 1, 3, 3] = math.nan
        w, i = MAX[d](x.float(), kernel, stride, padding, dilation, ceil, return_indices=True)
        attributes = dict(kernel=ints(*kernel), stride=ints(*stride), padding=ints(*padding))
        for used in (True, False):
            case = Case(f"max_pool_{number}_{str(dtype)[6:]}_{used}")
            r = case.op("max_pool", [case.input(x)], [(w.shape, dtype), (w.shape, "i64")], dilation=ints(*dilation), **attributes)
            case.returns(r if used else r[0], [w, i] if used else w)
        if number == 0:
            x = torch.randn(2, 3, *sizes).to(dtype)
        for include in (True, False):
            want = AVG[d](x.double(), kernel, stride, padding, ceil, include)
            case = Case(f"avg_pool_{number}_{str(dtype)[6:]}_{include}")
            case.returns(case.op("avg_pool", [case.input(x)], (want.shape, dtype), **attributes, **(dict(count_include_pad="unit") if include else {})), want)
case = Case("avg_pool_divisor")
x = torch.randn(1, 2, 6, 6)
case.returns(case.op("avg_pool", [case.input(x)], ((1, 2, 3, 3), "f32"), kernel=ints(2, 2), stride=ints(2, 2), padding=ints(0, 0), divisor=i64(3)),
             F.avg_pool2d(x.double(), 2, divisor_override=3))
case = Case("max_pool_symbolic", symbols=[9])
x = torch.randn(2, 3, 9, 9)
size = "(s0 + 1) floordiv 2"
case.returns(case.op("max_pool", [case.input(x, (2, 3, "s0", "s0"))], [((2, 3, 5, 5), "f32", (2, 3, size, size)), ((2, 3, 5, 5), "i64", (2, 3, size, size))],
                     kernel=ints(3, 3), stride=ints(2, 2), padding=ints(1, 1), dilation=ints(1, 1)),
             list(F.max_pool2d(x, 3, 2, 1, return_indices=True)))

#===-- indexing --------------------------------------------------------------===#
for dtype in (torch.float32, torch.bfloat16, torch.bool):
    table = torch.randn(10, 4).to(dtype)
    index = torch.tensor([[1, -1, 0], [9, -10, 3]])
    case = Case(f"take_{str(dtype)[6:]}")
    case.returns(case.op("take", [case.input(table), case.input(index)], ((2, 3, 4), dtype), dim=i64(0)), table[index])
x = torch.randn(3, 4, 5, 6)
i, j = torch.tensor([[0], [2]]), torch.tensor([1, 4, -2])
case = Case("take_two")
case.returns(case.op("take", [case.input(x), case.input(i), case.input(j)], ((3, 2, 3, 6), "f32"), dim=i64(1)), x[:, i, j])
case = Case("take_of_view")
t = case.op("permute", [case.input(x[0, 0])], ((6, 5), "f32"), permutation=ints(1, 0))
case.returns(case.op("take", [t, case.input(j.int())], ((3, 5), "f32"), dim=i64(0)), x[0, 0].T[j])
case = Case("gather", symbols=[4])
g = torch.randint(0, 5, (3, 4, 2, 6))
case.returns(case.op("gather", [case.input(x, (3, "s0", 5, 6)), case.input(g, (3, "s0", 2, 6))], ((3, 4, 2, 6), "f32", (3, "s0", 2, 6)), dim=i64(2)), x.gather(2, g))
for kind, how in enumerate(("set", "sum", "prod", "amax", "amin")):
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        x, s = (torch.randn(3, 5) * 3).to(dtype), (torch.randn(2, 3) * 3).to(dtype)
        g = torch.tensor([[0, 1, 2], [2, 0, 1]]) if how == "set" else torch.randint(0, 3, (2, 3))
        wide = (lambda t: t.double()) if dtype.is_floating_point else (lambda t: t)
        want = wide(x).scatter(0, g, wide(s)) if how == "set" else wide(x).scatter_reduce(0, g, wide(s), how)
        case = Case(f"scatter_{how}_{str(dtype)[6:]}")
        case.returns(case.op("scatter", [case.input(x), case.input(g), case.input(s)], (x.shape, dtype), dim=i64(0), kind=f"{kind} : i32"), want)
x, s = torch.randn(4, 5, 6, 2), torch.randn(3, 2)
i, j = torch.tensor([[0], [2]]), torch.tensor([1, -1, 3])
for accumulate in (False, True):
    case = Case(f"put_{accumulate}")
    want = x.clone()
    want.index_put_((slice(None), i, j) if False else (torch.arange(4)[:, None, None], i, j), s, accumulate)
    case.returns(case.op("put", [case.input(x), case.input(s), case.input(i), case.input(j)], (x.shape, "f32"), dim=i64(1),
                         kind=f"{int(accumulate)} : i32"), want)
case = Case("put_into_zeros")  # embedding's gradient
g, ids = torch.randn(2, 3, 4).bfloat16(), torch.tensor([[1, 2, 1], [0, 1, 4]])
z = case.constant("0.0", (5, 4), "bf16")
case.returns(case.op("put", [z, case.input(g), case.input(ids)], ((5, 4), "bf16"), dim=i64(0), kind="1 : i32"),
             torch.zeros(5, 4).double().index_put_((ids,), g.double(), True))


#===-- random ----------------------------------------------------------------===#
def philox(counter, key):
    x, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [(p1 >> 32) ^ x[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ x[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return x


assert philox([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2)[0] == 0x408F276D  # the known answer of the paper
seed = torch.tensor([0x123456789ABCDEF])
words = [philox([i, 0, 3, 0], [0x89ABCDEF, 0x1234567]) for i in range(12)]
case = Case("random_numbers")
a = case.input(seed)
uniform = torch.tensor([(w[0] >> 8) * 2.0**-24 for w in words], dtype=torch.float64).reshape(3, 4)
normal = torch.tensor([math.sqrt(-2 * math.log(((w[0] >> 8) + 1) * 2.0**-24)) * math.cos(2 * math.pi * (w[1] >> 8) * 2.0**-24) for w in words],
                      dtype=torch.float64).reshape(3, 4)
case.returns([case.op("random", [a], ((3, 4), t), stream=i64(3), kind=f"{k} : i32") for k, t in ((0, "f32"), (1, "f32"), (2, "i64"))],
             [uniform, normal, torch.tensor([w[0] for w in words]).reshape(3, 4)], tolerance=1e-6)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="")
    parser.add_argument("-p", action="append", default=[])
    parser.add_argument("--print", action="store_true", help="print the tw functions and stop")
    options = parser.parse_args()
    chosen = [case for case in CASES if options.k in case.name]
    names = [case.name for case in chosen]
    assert len(set(names)) == len(names), [n for n in names if names.count(n) > 1]
    text = "module {\n" + "".join(case.text for case in chosen) + "}\n"
    if options.print:
        return print(text)
    failures = 0
    for widened in (False, True):
        library = Library(text, widened, options.p)
        for case in chosen:
            for problem in case.check(library, widened):
                failures += 1
                print(f"{case.name}{' (f64)' if widened else ''}: {problem}")
    print(f"{len(chosen)} cases, {failures} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()

"""Tables of functions that test ops. In UNARY and BINARY, a row maps the name of a function of torch to (input kind, dtypes). In the
other tables, a row maps a name to a function.

Input kinds (make() in test_tables.py): `x` any number, `p` positive, `u` in (-1, 1), `h` in (0, 1), `g` above 1, `i` integers, `n` positive,
at least 0.5 for floats."""

import torch
import torch.nn.functional as F

FLOATS = ("f32", "bf16", "f16", "f64")
REAL = ("f32", "bf16", "i32", "i64")
INTEGERS = ("i64", "i32", "u8")
ALL = ("f32", "bf16", "f64", "i64", "i32", "bool")

aten = torch.ops.aten

UNARY = {
    "abs": ("x", REAL), "neg": ("x", REAL), "exp": ("u", FLOATS), "exp2": ("u", FLOATS), "expm1": ("u", FLOATS), "log": ("p", FLOATS),
    "log2": ("p", FLOATS), "log10": ("p", FLOATS), "log1p": ("p", FLOATS), "sqrt": ("p", FLOATS), "rsqrt": ("p", FLOATS),
    "reciprocal": ("p", FLOATS), "sin": ("x", FLOATS), "cos": ("x", FLOATS), "tan": ("u", FLOATS), "asin": ("u", FLOATS),
    "acos": ("u", FLOATS), "atan": ("x", FLOATS), "sinh": ("x", FLOATS), "cosh": ("x", FLOATS), "tanh": ("x", FLOATS),
    "asinh": ("x", FLOATS), "acosh": ("g", FLOATS), "atanh": ("u", FLOATS), "erf": ("x", FLOATS), "erfc": ("x", FLOATS),
    "sigmoid": ("x", FLOATS), "relu": ("x", REAL), "floor": ("x", REAL), "ceil": ("x", REAL), "round": ("x", REAL), "trunc": ("x", REAL),
    "sign": ("x", REAL), "square": ("x", REAL), "frac": ("x", FLOATS), "isnan": ("x", ALL), "isinf": ("x", ALL), "isfinite": ("x", ALL),
    "signbit": ("x", REAL), "logical_not": ("i", ALL), "bitwise_not": ("i", INTEGERS), "nan_to_num": ("x", FLOATS), "logit": ("h", FLOATS),
    "erfinv": ("u", FLOATS), "lgamma": ("p", FLOATS), "digamma": ("p", FLOATS), "i0": ("x", FLOATS), "angle": ("x", REAL),
}  # fmt: skip

ACTIVATIONS = {
    "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid, "hardtanh": F.hardtanh, "relu6": F.relu6, "leaky_relu": F.leaky_relu, "elu": F.elu, "celu": F.celu,
    "selu": F.selu, "softplus": F.softplus, "mish": F.mish, "logsigmoid": F.logsigmoid, "softsign": F.softsign,
    "threshold": lambda x: F.threshold(x, 0.1, 2.0), "glu": lambda x: F.glu(torch.cat([x, x], -1)), "tanh": torch.tanh,
    "sigmoid": torch.sigmoid, "relu": F.relu, "hardshrink": F.hardshrink, "softshrink": F.softshrink,
}  # fmt: skip

BINARY = {
    "add": ("x", ALL), "sub": ("x", REAL), "mul": ("x", ALL), "div": ("n", REAL), "maximum": ("x", REAL), "minimum": ("x", REAL),
    "fmod": ("n", REAL), "remainder": ("n", REAL), "floor_divide": ("n", REAL), "pow": ("p", FLOATS), "atan2": ("x", FLOATS),
    "eq": ("i", ALL), "ne": ("i", ALL), "lt": ("i", REAL), "le": ("i", REAL), "gt": ("i", REAL), "ge": ("i", REAL),
    "logical_and": ("i", ALL), "logical_or": ("i", ALL), "logical_xor": ("i", ALL), "bitwise_and": ("i", INTEGERS),
    "bitwise_or": ("i", INTEGERS), "bitwise_xor": ("i", INTEGERS), "fmax": ("x", FLOATS), "fmin": ("x", FLOATS), "hypot": ("x", FLOATS),
    "logaddexp": ("x", FLOATS), "copysign": ("x", FLOATS),
}  # fmt: skip

SCALARS = {
    "add": lambda x: x + 2, "add_float": lambda x: x + 0.1, "radd": lambda x: 3 - x, "mul": lambda x: x * 0.3, "div": lambda x: x / 3,
    "rdiv": lambda x: 2 / (x.abs() + 1), "pow2": lambda x: x**2, "pow3": lambda x: x**3, "pow_half": lambda x: x.abs() ** 0.5,
    "pow_minus1": lambda x: (x.abs() + 1) ** -1.0, "rpow": lambda x: 2 ** x.clamp(-3, 3), "clamp": lambda x: x.clamp(-0.5, 0.5),
    "clamp_min": lambda x: x.clamp(min=0.1), "clamp_max": lambda x: x.clamp(max=0.1), "alpha": lambda x: torch.add(x, x, alpha=2),
    "div_floor": lambda x: torch.div(x, 0.7, rounding_mode="floor"), "div_trunc": lambda x: torch.div(x, 0.7, rounding_mode="trunc"),
    "gt": lambda x: x > 0.25, "where": lambda x: torch.where(x > 0, x, -1.0), "masked_fill": lambda x: x.masked_fill(x > 0, float("-inf")),
    "lerp": lambda x: torch.lerp(x, x * 2, 0.7), "addcmul": lambda x: torch.addcmul(x, x, x, value=0.5),
    "addcdiv": lambda x: torch.addcdiv(x, x, x.abs() + 1, value=0.5), "rsub": lambda x: torch.rsub(x, 1.5),
    "xlogy": lambda x: torch.xlogy(x, 2.5), "xlogy_of_a_number": lambda x: torch.xlogy(2.5, x.abs() + 0.1), "xlog1py": lambda x: torch.special.xlog1py(x, 2.5),
    "fma": lambda x: torch.ops.prims.fma(x, x * 2, x),
    "i0e": torch.special.i0e, "i1": torch.special.i1, "i1e": torch.special.i1e, "ldexp": lambda x: torch.ldexp(x, (x > 0).long() * 3),
}  # fmt: skip

REDUCTIONS = {
    "sum": lambda x: x.sum(), "sum_last": lambda x: x.sum(-1), "sum_first": lambda x: x.sum(0, keepdim=True), "mean": lambda x: x.mean(),
    "mean_last": lambda x: x.mean(-1, keepdim=True), "amax": lambda x: x.amax(-1), "amin": lambda x: x.amin(0), "max": lambda x: x.max(),
    "min": lambda x: x.min(), "max_dim": lambda x: x.max(-1), "min_dim": lambda x: x.min(0), "argmax": lambda x: x.argmax(-1),
    "argmin": lambda x: x.argmin(), "prod": lambda x: x.clamp(0.5, 1.5).prod(-1), "any": lambda x: (x > 1).any(), "any_dim": lambda x: (x > 1).any(-1),
    "all": lambda x: (x > -9).all(), "var": lambda x: x.var(-1), "var_mean": lambda x: torch.var_mean(x, -1, correction=0),
    "std": lambda x: x.std(-1), "logsumexp": lambda x: x.logsumexp(-1), "norm": lambda x: torch.linalg.vector_norm(x, dim=-1),
    "softmax": lambda x: x.softmax(-1), "softmax_first": lambda x: x.softmax(0), "log_softmax": lambda x: x.log_softmax(-1),
    "cumsum": lambda x: x.cumsum(-1), "cumsum_first": lambda x: x.cumsum(0), "cumprod": lambda x: x.clamp(0.5, 1.5).cumprod(-1),
    "sort": lambda x: x.sort(-1), "sort_descending": lambda x: x.sort(dim=0, descending=True, stable=True),
    "topk": lambda x: x.topk(min(3, x.shape[-1]), -1), "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:]), "sum_i64": lambda x: (x > 0).sum(-1),
}  # fmt: skip

VIEWS = {
    "t": lambda x: x.t() + 0, "transpose": lambda x: x.transpose(0, 1) * 2, "view": lambda x: x.reshape(-1) + 1, "permute_output": lambda x: (x * 2).t(),
    "unsqueeze": lambda x: x.unsqueeze(1) * 2, "squeeze": lambda x: x.unsqueeze(0).squeeze(0) * 2, "expand": lambda x: x.unsqueeze(0).expand(3, *x.shape) * 2,
    "expanded_output": lambda x: (x * 2).unsqueeze(0).expand(3, *x.shape), "repeat": lambda x: x.repeat(2, 3), "cat": lambda x: torch.cat([x, x * 2], 0),
    "cat_last": lambda x: torch.cat([x, x * 2, x], -1), "stack": lambda x: torch.stack([x, -x], 1), "slice": lambda x: x[:, 1:] * 2,
    "slice_negative": lambda x: x[-2:, :-1] * 2, "slice_step": lambda x: x[::2] * 2, "select": lambda x: x[-1] * 2 if x.shape[0] else x * 2,
    "split": lambda x: [p * 2 for p in x.split(5, 0)], "chunk": lambda x: [p * 2 for p in x.chunk(2, 1)], "unbind": lambda x: [p * 2 for p in x.unbind(0)],
    "flip": lambda x: x.flip(0) * 2, "roll": lambda x: x.roll(2, 1) * 2, "pad": lambda x: F.pad(x, (1, 2, 0, 3), value=0.5),
    "tril": lambda x: x.tril(1), "triu": lambda x: x.triu(), "diagonal": lambda x: x.diagonal() * 2, "arange": lambda x: x + torch.arange(x.shape[1]),
    "arange_step": lambda x: x[:, :1] + torch.arange(0, 5, 2), "linspace": lambda x: x[:, :1] + torch.linspace(0, 1, 7), "linspace between tensors": lambda x: x[:, :1] + torch.linspace(x.sum().clamp(-3, -2), x.sum().clamp(1, 2), 7),
    "linspace from a tensor": lambda x: x[:, :1] + torch.linspace(x.sum().clamp(0, 1), 2, 7), "linspace to a tensor": lambda x: x[:, :1] + torch.linspace(-2, x.sum().clamp(0, 1), 7),
    "full": lambda x: x + torch.full((x.shape[1],), 0.25),
    "zeros_like": lambda x: torch.zeros_like(x), "ones_output": lambda x: (x * 2, torch.ones(3)), "slice_scatter": lambda x: x.slice_scatter(x[:1] * 2, 0, 0, 1),
    "select_scatter": lambda x: x.select_scatter(x[0] * 2, 0, 0), "double": lambda x: x.double(), "int": lambda x: x.int(), "bool": lambda x: x.bool(),
    "bf16": lambda x: x.bfloat16(), "same_twice": lambda x: (lambda y: (y, y))(x + 1), "inputs_back": lambda x: (x, x + 1),
    "view_back": lambda x: (x.t(), x + 1),
}  # fmt: skip

"""Elementwise ops: functions of one number, of two, of three, and selection by a mask."""

from op import ANY, BF16, BOOL, F16, F32, FLOAT, NUMBER, boolean, choice, exact, floating, number, op, partner, scalar, value

BOUNDED = "torch.clamp({x}, -3, 3)"
POSITIVE = "({x}.abs() + 0.5)"
UNIT = "(torch.tanh({x}) * 0.875)"
BETWEEN = "(torch.sigmoid({x}) * 0.75 + 0.125)"

# ANYWHERE lists functions that are applied to all numbers. GUARDED maps an expression to functions that are applied to
# its value, because they are undefined or overflow for other numbers.
ANYWHERE = ("sin cos tanh sigmoid erf erfc atan asinh sinc").split()
GUARDED = {
    BOUNDED: "exp exp2 expm1 sinh cosh".split(),
    POSITIVE: "log log2 log10 log1p sqrt rsqrt reciprocal lgamma".split(),
    UNIT: "asin acos atanh erfinv tan".split(),
    "({x}.abs() + 1.25)": ["acosh"],
}
ACTIVATIONS = {
    "relu": "", "relu6": "", "gelu": "", "silu": "", "mish": "", "softplus": "", "elu": "", "selu": "", "celu": "", "leaky_relu": "",
    "hardtanh": "", "hardswish": "", "hardsigmoid": "", "logsigmoid": "", "softsign": "", "tanhshrink": "", "softshrink": "",
}  # fmt: skip
STEPS = "floor ceil round trunc sign frac signbit".split()  # discontinuous: applied to exact numbers only
COMPARISONS = "eq ne lt le gt ge".split()
TESTS = "isnan isinf isfinite isposinf isneginf".split()

OPS = [op(name, f"torch.{name}({{x}})", x=number(), weight=0.5) for name in ANYWHERE]
OPS += [op(name, f"torch.{name}({{x}})", x=floating(guard=guard), weight=0.5) for guard, names in GUARDED.items() for name in names]
OPS += [op(name, f"F.{name}({{x}})", x=floating(), exact=name in ("relu", "relu6", "hardtanh"), weight=0.5) for name in ACTIVATIONS]
OPS += [op(name, f"torch.{name}({{x}})", x=exact(FLOAT), exact=True, weight=0.4) for name in STEPS]
OPS += [op(name, f"torch.{name}({{x}}, {{y}})", x=exact(ANY), y=partner("x", exact=True), exact=True, weight=0.6) for name in COMPARISONS]
OPS += [op(name, f"torch.{name}({{x}})", x=exact(FLOAT), exact=True, weight=0.15) for name in TESTS]
OPS += [
    op("neg", "-{x}", x=number(), exact=True),
    op("abs", "{x}.abs()", x=number(), exact=True),
    op("square", "torch.square({x})", x=number(), exact=True),
    op("gelu tanh", 'F.gelu({x}, approximate="tanh")', x=floating()),
    op("glu", "F.glu({x}, dim=-1)", x=floating(ranks=(1, 5), where=lambda v: v.shape[-1] % 2 == 0)),
    op("nan_to_num", "torch.nan_to_num({x}, {a}, 2.0, -2.0)", x=floating(), a=scalar(0.0, 1.5), exact=True, weight=0.4),
    op("deg2rad", "torch.deg2rad({x})", x=floating(), weight=0.3),
    op("positive", "torch.positive({x})", x=number(), exact=True, weight=0.2),
    op("logit", "torch.logit({x})", x=floating(guard=BETWEEN), weight=0.4),
    op("i0", "torch.special.i0e({x})", x=floating(), weight=0.2),
    op("ndtr", "torch.special.ndtr({x})", x=floating(), weight=0.2),
    # f64 is excluded, because eager's derivatives of digamma have nine correct digits, which is too few for a
    # reference.
    op("polygamma", "torch.polygamma(1, {x})", x=value((F32, BF16, F16), guard=POSITIVE), weight=0.15, modes=("inference", "dynamic")),
    op("digamma", "torch.digamma({x})", x=value((F32, BF16, F16), guard=POSITIVE), weight=0.4),
    op("hardshrink", "F.hardshrink({x}, 0.5)", x=exact(FLOAT), exact=True, weight=0.3),
    op("threshold", "F.threshold({x}, 0.25, {a})", x=exact(FLOAT), a=scalar(-1.0, 0.5), exact=True, weight=0.3),
    op("heaviside", "torch.heaviside({x}, {y})", x=exact(FLOAT), y=partner("x", exact=True), exact=True, weight=0.3),
    op("add", "{x} + {y}", x=number(), y=partner("x"), exact=True, weight=4),
    op("add alpha", "torch.add({x}, {y}, alpha={a})", x=floating(), y=partner("x"), a=scalar(), exact=True),
    op("add scalar", "{x} + {a}", x=value(ANY), a=scalar(), exact=True),
    op("add number", "{x} + {a}", x=floating(), a=scalar(0.1, 0.7, 1 / 3)),
    op("sub", "{x} - {y}", x=number(), y=partner("x"), exact=True, weight=2),
    op("rsub", "{a} - {x}", x=number(), a=scalar(), exact=True),
    op("mul", "{x} * {y}", x=number(), y=partner("x"), exact=True, weight=4),
    op("mul scalar", "{x} * {a}", x=number(), a=scalar(), exact=True),
    op("div", "{x} / {y}", x=number(), y=partner("x", guard=POSITIVE), weight=2),
    op("div scalar", "{x} / {a}", x=number(), a=scalar(2, -0.5, 4, 3, 0.7)),
    op("div floor", "torch.div({x}, {y}, rounding_mode={m})", x=exact(), y=partner("x", exact=True, guard="({x}.abs() + 1)"),
       m=choice("'floor'", "'trunc'"), exact=True),
    op("reciprocal by", "{a} / {x}", x=floating(guard=POSITIVE), a=scalar()),
    op("pow scalar", "{x} ** {a}", x=floating(guard=POSITIVE), a=scalar(0.5, 2, 3, -1, 1.5, -0.5, 0.3)),
    op("pow", "{x} ** {y}", x=floating(guard=POSITIVE), y=partner("x", FLOAT, guard=BOUNDED)),
    op("pow base", "{a} ** {x}", x=floating(guard=BOUNDED), a=scalar(2, 0.5, 1.5)),
    op("maximum", "torch.maximum({x}, {y})", x=number(), y=partner("x"), exact=True),
    op("minimum", "torch.minimum({x}, {y})", x=number(), y=partner("x"), exact=True),
    op("fmax", "torch.fmax({x}, {y})", x=number(), y=partner("x"), exact=True, weight=0.5),
    op("fmin", "torch.fmin({x}, {y})", x=number(), y=partner("x"), exact=True, weight=0.5),
    op("atan2", "torch.atan2({x}, {y})", x=floating(), y=partner("x", FLOAT, guard=POSITIVE), weight=0.5),
    op("hypot", "torch.hypot({x}, {y})", x=floating(guard=POSITIVE), y=partner("x", FLOAT), weight=0.5),
    op("logaddexp", "torch.logaddexp({x}, {y})", x=floating(), y=partner("x", FLOAT), weight=0.5),
    op("xlogy", "torch.xlogy({x}, {y})", x=floating(), y=partner("x", guard=POSITIVE), weight=0.5),
    op("copysign", "torch.copysign({x}, {y})", x=floating(), y=partner("x", exact=True), weight=0.5),
    op("ldexp", "torch.ldexp({x}, {y})", x=floating(), y=partner("x", (BOOL,)), weight=0.2),
    op("fmod", "torch.fmod({x}, {y})", x=exact(), y=partner("x", exact=True, guard="({x}.abs() + 1)"), exact=True, weight=0.5),
    op("remainder", "torch.remainder({x}, {y})", x=exact(), y=partner("x", exact=True, guard="({x}.abs() + 1)"), exact=True, weight=0.7),
    op("floor_divide", "{x} // {y}", x=exact(), y=partner("x", exact=True, guard="({x}.abs() + 1)"), exact=True, weight=0.5),
    op("lerp", "torch.lerp({x}, {y}, {a})", x=floating(), y=partner("x"), a=scalar(0.25, 0.5, 0.8)),
    op("lerp tensor", "torch.lerp({x}, {y}, {z})", x=floating(), y=partner("x"), z=partner("x"), weight=0.5),
    op("addcmul", "torch.addcmul({x}, {y}, {z}, value={a})", x=floating(), y=partner("x"), z=partner("x"), a=scalar(), exact=True),
    op("addcdiv", "torch.addcdiv({x}, {y}, {z}, value={a})", x=floating(), y=partner("x"), z=partner("x", guard=POSITIVE), a=scalar()),
    op("clamp", "torch.clamp({x}, {a}, {c})", x=number(), a=scalar(-1, -0.5, 0, None), c=scalar(0.5, 1, 2, 1.25), exact=True),
    op("clamp min", "{x}.clamp_min({a})", x=number(), a=scalar(-1, 0, 0.5), exact=True, weight=0.5),
    op("clamp tensor", "torch.clamp({x}, {y}, {z})", x=number(), y=partner("x"), z=partner("x"), exact=True, weight=0.6),
    op("where", "torch.where({c}, {x}, {y})", x=value(ANY), c=partner("x", (BOOL,)), y=partner("x"), exact=True, weight=3),
    op("where scalar", "torch.where({c}, {x}, {a})", x=number(), c=partner("x", (BOOL,)), a=scalar(0, 1.5, -1), exact=True),
    op("where scalars", "torch.where({c}, {a}, {d})", c=boolean(), a=scalar(0.0, 1.5), d=scalar(2.0, -1.0), exact=True, weight=0.4),
    op("masked_fill", "{x}.masked_fill({c}, {a})", x=number(), c=partner("x", (BOOL,)), a=scalar(0, 1, -2), exact=True, weight=1.5),
    op("compare scalar", "{x} {o} {a}", x=exact(), o=choice("<", "<=", ">", ">=", "==", "!="), a=scalar(0, 0.5, 1, -1.25), exact=True),
    op("isclose", "torch.isclose({x}, {y})", x=exact(NUMBER), y=partner("x", exact=True), exact=True, weight=0.2),
    op("isin", "torch.isin({x}, {y})", x=exact(NUMBER), y=exact(NUMBER, ranks=(1, 1)), exact=True, weight=0.2),
    op("dropout", "F.dropout({x}, 0.5, training=False)", x=floating(), exact=True, weight=0.3),
    op("prelu", "F.prelu({x}, {w})", x=floating(ranks=(2, 5)), w=lambda b, d: b.of_shape([d["x"].shape[1]], d["x"].dtype, "", 0.5)),
    op("rrelu", "F.rrelu({x}, training=False)", x=floating(), weight=0.2),
    op("logical", "torch.logical_{o}({x}, {y})", x=exact(ANY), y=partner("x", ANY, exact=True), o=choice("and", "or", "xor"), exact=True),
    op("logical_not", "torch.logical_not({x})", x=exact(ANY), exact=True, weight=0.5),
]  # fmt: skip

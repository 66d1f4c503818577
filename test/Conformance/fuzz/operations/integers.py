"""Integers and bits."""

from op import BOOL, INT, boolean, choice, integer, op, partner, scalar, value

WHOLE = INT + (BOOL,)
SHIFT = "({x} & 3)"
DIVISOR = "(({x} & 3) + 1)"

OPS = [
    op("bitwise", "{x} {o} {y}", x=value(WHOLE), o=choice("&", "|", "^"), y=partner("x", WHOLE), exact=True, weight=1.5),
    op("bitwise scalar", "{x} {o} {a}", x=integer(), o=choice("&", "|", "^"), a=scalar(1, 3, 7), exact=True, weight=0.5),
    op("bitwise_not", "~{x}", x=value(WHOLE), exact=True),
    op("shift", "{x} {o} {y}", x=integer(), o=choice("<<", ">>"), y=partner("x", INT, guard=SHIFT), exact=True, weight=0.5),
    op("shift scalar", "{x} {o} {a}", x=integer(), o=choice("<<", ">>"), a=scalar(1, 2, 3), exact=True, weight=0.5),
    op("integer remainder", "torch.{o}({x}, {y})", x=integer(), o=choice("remainder", "fmod", "floor_divide"),
       y=partner("x", INT, guard=DIVISOR), exact=True, weight=0.7),
    op("integer arithmetic", "{x} {o} {y}", x=integer(), o=choice("+", "-", "*"), y=partner("x", INT), exact=True, weight=1.5),
    op("integer by scalar", "{x} {o} {a}", x=integer(), o=choice("//", "%"), a=scalar(3, 7, -2), exact=True, weight=0.6),
    op("integer matmul", "{x} @ {x}.mT", x=value(INT, ranks=(2, 3)), exact=True, weight=0.4),
    op("sum of a mask", "{x}.sum({d})", x=boolean(ranks=(1, 5)), d=choice("-1", "0"), exact=True, weight=0.5),
    op("mask to number", "{x}.to(torch.{o})", x=boolean(), o=choice("float32", "int64", "int32", "uint8"), exact=True),
    op("unsigned and back", "{x}.to(torch.{o}).to({x}.dtype)", x=integer(), o=choice("uint16", "uint32", "uint64"), exact=True, weight=0.4),
    op("bits of unsigned", "({x}.to(torch.{o}) {p} {x}.to(torch.{o})).to(torch.int64)", x=integer(), o=choice("uint16", "uint32", "uint64"),
       p=choice("&", "|", "^", "*"), exact=True, weight=0.4),
    op("sum of unsigned", "{x}.to(torch.{o}).{p}(0)", x=value(INT, ranks=(1, 5)), o=choice("uint8", "uint16", "uint32"), p=choice("sum", "cumsum"), exact=True,
       weight=0.4),
    op("not", "torch.logical_not({x})", x=value(WHOLE), exact=True, weight=0.5),
]  # fmt: skip

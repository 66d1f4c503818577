"""Passes the nodes of an fx graph to the C++ importer, one by one."""

from __future__ import annotations

import contextlib
import operator
from dataclasses import dataclass, field

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils._sympy.functions import CeilToInt, FloorToInt, RoundToInt, TruncToInt

from .. import _tilewright
from ..decompositions import lowerings
from . import refused_by_eager, strided, symbolic_floats
from .asserts import check_of, is_checked, is_token
from .devices import is_transfer, mixes
from .origin import innermost_frame
from .pairs import TO_COMPLEX, TO_REAL, is_result, is_viewed, of_pairs, shown_as_pairs
from .recording import RecordedGraph
from .sizes import expression, of_graph, stride_expression

MOST = 2**63 - 1


@dataclass
class Refusal:
    """A node that cannot be imported, and the reason."""

    node: str
    target: str
    reason: str
    where: str = ""
    follows: bool = False  # True: the node is refused only because one of its arguments was refused
    chosen: bool = False  # True: an option requires the refusal


@dataclass
class Imported:
    """An imported graph, with the data that is needed to compile and to call it."""

    graph: RecordedGraph | None  # None: the compiler has crashed, and every op is refused
    refusals: list[Refusal] = field(default_factory=list)
    argument_count: int = 0
    inputs: list[int] = field(default_factory=list)  # for each input of the program, the index of the argument; -1: the next constant
    constants: list[torch.Tensor] = field(default_factory=list)
    symbols: list[str] = field(default_factory=list)
    hints: list[int] = field(default_factory=list)  # for each declared symbol, its value in the traced call, which tuning uses
    symbol_sources: list[tuple[int, int, int, int]] = field(default_factory=list)
    recipes: list[tuple[str, int, object]] = field(default_factory=list)
    asserted: list = field(default_factory=list)  # checks of the last results after a call: asserts.py
    copied_inputs: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # names of the program's inputs
    negatives: list[int] = field(default_factory=list)  # arguments that are torch's lazy negatives
    viewed: list[int] = field(default_factory=list)  # complex arguments that are passed as pairs: pairs.py
    returned: set[int] = field(default_factory=set)  # arguments that are results, or of which results are views
    device: torch.device | None = torch.device("cpu")  # the device of the tensors; None: several devices, not compiled
    lets_go: bool = False  # a call frees arguments after reading them, because no other code needs them


def finite(bound, otherwise: int) -> int:
    """Returns a bound of a range as an int, or `otherwise` if it is not an integer."""
    return int(bound) if bound.is_Integer else otherwise


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def frames(node: fx.Node, cache: dict) -> list[tuple[str, int, str]]:
    """Returns the user's stack frame of a node as a list; it is empty if torch does not record it."""
    trace = node.meta.get("stack_trace") or node.stack_trace or ""
    found = cache.get(trace)
    if found is None:
        frame = innermost_frame(node)
        found = cache[trace] = [frame] if frame else []
    return found


def readable(target) -> str:
    """Returns an operator's name as torch prints it, or a Python function's module and name."""
    if isinstance(target, (str, torch._ops.OpOverload)) or not hasattr(target, "__name__"):
        return str(target)
    return f"{(getattr(target, '__module__', None) or '').lstrip('_')}.{target.__name__}".lstrip(".")


def meta_of(value):
    """Returns (dtype, sizes) of a tensor, or None for any other value."""
    if isinstance(value, torch.Tensor):
        return dtype_name(value.dtype), [expression(s) for s in value.shape]
    return None


def symbolic_sizes(value) -> list[torch.SymInt]:
    """Returns the symbolic sizes and strides of a node's value, or values, and the value itself if it is a symbol."""
    found = []
    for each in value if isinstance(value, (list, tuple)) else [value]:
        sizes = (*each.shape, *each.stride()) if isinstance(each, torch.Tensor) and each.layout == torch.strided else (each,)
        found += [size for size in sizes if isinstance(size, torch.SymInt)]
    return found


def writes_argument(node: fx.Node) -> bool:
    """Returns whether the node is a copy_ into an argument. If the graph returns such a node, the result is the
    argument."""
    return (node.target is torch.ops.aten.copy_.default and isinstance(node.args[0], fx.Node) and node.args[0].op == "placeholder"
            and isinstance(node.args[1], fx.Node) and all(user.op == "output" for user in node.users))  # fmt: skip


def is_random(target: torch._ops.OpOverload) -> bool:
    """Returns whether the op draws from torch's generator."""
    return torch.Tag.nondeterministic_seeded in target.tags


def device_of(gm: fx.GraphModule) -> torch.device:
    """Returns the device of a graph: the GPU of its first tensor that is on one, else the CPU."""
    for node in gm.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and value.device.type == "cuda":
            return value.device
    return torch.device("cpu")


_DTYPES = frozenset(_tilewright.dtype_names())


def unsupported_tensor(value, device: torch.device | None) -> str:
    """Returns why a tensor cannot be part of a graph that runs on `device` (None: on any device), or ''."""
    if not isinstance(value, torch.Tensor):
        return f"it is {type(value).__name__}, not a tensor"
    if value.layout != torch.strided:
        return f"its layout is {value.layout}; only strided tensors are supported"
    if value.device.type not in ("cpu", "cuda"):
        return f"it is on {value.device}; Tilewright compiles for cpu and cuda"
    if device is not None and value.device != device:
        return f"it is on {value.device}; the graph is compiled for {device}"
    if value.is_quantized:
        return "it is quantized; only plain tensors are supported"
    if dtype_name(value.dtype) not in _DTYPES:
        return f"its dtype {value.dtype} is not supported"
    return ""


def number_or_symbol(size: torch.SymInt):
    """Returns the symbolic integer for the importer: a number if a guard has made it constant."""
    value = expression(size)
    return value if isinstance(value, int) else _tilewright.Sym(value)


_ROUNDED = (TruncToInt, FloorToInt, CeilToInt, RoundToInt)  # sympy's functions that round a float to an integer


def make_numbers_constant(node: fx.Node) -> bool:
    """Adds guards that make symbolic integers constant if they are passed to parameters of `node`'s operator that are
    numbers, but not integers, in its schema. The importers of most operators need the value of such a number.

    Returns False if no guard was added. The following integers remain symbolic: sizes that depend on data, because they
    have no value at compile time; integers in a backward graph, because it is compiled after torch has created the
    guards; integers that were rounded from a float, such as int(1.3 * n), because they are mostly sizes of results (for
    example of arange). A node that runs in eager supports all sizes, whereas a constant would require a compilation for
    each size.
    """
    found = False
    schema = node.target._schema.arguments
    named = {parameter.name: parameter for parameter in schema}
    for parameter, value in [*zip(schema, node.args), *((named[name], value) for name, value in node.kwargs.items() if name in named)]:
        held = value.meta.get("val") if isinstance(value, fx.Node) else value
        kind = parameter.type.getElementType() if isinstance(parameter.type, torch.OptionalType) else parameter.type
        if (isinstance(held, torch.SymInt) and isinstance(kind, (torch.NumberType, torch.FloatType)) and not held.node.expr.is_number
                and not held.node.expr.has(*_ROUNDED) and not free_unbacked_symbols(held) and not held.node.shape_env.frozen):  # fmt: skip
            int(held)
            found = True
    return found


class Walker:
    def __init__(self, gm: fx.GraphModule, static: set[int], name: str, strides: dict[fx.Node, tuple], first_saved: int,
                 anywhere: bool, asserts: bool, eager_random: bool):  # fmt: skip
        self.gm = gm
        self.eager_random = eager_random
        self.device = None if anywhere else device_of(gm)
        self.asserts = asserts and self.device == torch.device("cpu")
        self.static = static
        self.strides = dict(strides)
        self.first_saved = first_saved
        self.name = name
        self.graph = RecordedGraph()
        self.result = Imported(self.graph, device=self.device)
        self.refs: dict[fx.Node, _tilewright.Ref] = {}
        self.lists: dict[fx.Node, int] = {}
        self.reasons: dict[fx.Node, str] = {}
        self.frame_cache: dict[str, list] = {}
        self.arguments: dict[fx.Node, int] = {}
        self.numbers: dict[fx.Node, tuple[int, list]] = {}  # index of the program's input, and its strides ([] if it is copied)
        self.made_constant = False  # a guard was added after which a refused node can be imported
        self.writes: list = []  # results that are written into inputs
        self.conditions: list[fx.Node] = []  # tensors that asserts check
        self.unknown: set[str] = set()  # symbols that depend on the contents of tensors
        self.found: set[str] = set()  # the symbols in `unknown` that a node in eager defines

    # -- arguments ---------------------------------------------------------

    def argument(self, value):
        if isinstance(value, fx.Node):
            ref = self.refs.get(value)
            if ref is not None:
                return ref
            held = value.meta.get("val")
            if isinstance(held, torch.SymInt):
                return number_or_symbol(held)
            if isinstance(held, int) and not isinstance(held, bool):
                return held
            if isinstance(held, torch.SymFloat):
                return symbolic_floats.number_of(self, value)
            if isinstance(held, torch.SymBool):
                raise _tilewright.Refused(f"its argument {value.name} is a symbolic bool")
            raise _tilewright.Refused(f"its argument {value.name} runs in eager")
        if isinstance(value, (list, tuple)):
            return [self.argument(v) for v in value]
        if isinstance(value, torch.SymInt):
            return number_or_symbol(value)
        if isinstance(value, torch.dtype):
            return _tilewright.Dtype(dtype_name(value))
        if isinstance(value, (torch.device, torch.layout, torch.memory_format)):
            return str(value).removeprefix("torch.")
        if isinstance(value, complex):
            raise _tilewright.Refused("complex numbers are not supported")
        return value

    # -- symbols -----------------------------------------------------------

    def find_symbols(self, placeholders):
        """Declares every symbol of the inputs and finds the equation for its value at a call. Returns the symbols."""
        equations = []  # (sympy expression, argument, dim)
        shape_env = None
        for index, node in enumerate(placeholders):
            value = node.meta.get("val")
            if isinstance(value, torch.SymInt):
                equations.append((value.node.expr, index, -1))
                shape_env = value.node.shape_env
            elif isinstance(value, torch.Tensor):
                for dim, size in enumerate(value.shape):
                    if isinstance(size, torch.SymInt):
                        equations.append((size.node.expr, index, dim))
                        shape_env = size.node.shape_env
        known = {}
        for bare in (True, False):
            for expr, index, dim in equations:
                if bare and expr.is_Symbol and expr not in known:
                    known[expr] = (index, dim, 1, 0)
                elif not bare and not expr.is_number:
                    unknown = [s for s in expr.free_symbols if s not in known]
                    if len(unknown) == 1 and len(expr.free_symbols) == 1:
                        try:
                            a, b = expr.as_poly(unknown[0]).all_coeffs()
                            known[unknown[0]] = (index, dim, int(a), int(b))
                        except Exception:
                            pass  # the expression is not linear; another equation may determine the symbol
        for symbol, source in known.items():
            self.declare(symbol, shape_env, 0 if source[1] >= 0 else -MOST)
            self.result.symbols.append(str(symbol))
            self.result.symbol_sources.append(source)
        self.declare_unknown()
        return known.keys()

    def declare(self, symbol, shape_env, least: int):
        """Declares a symbol that is at least `least`: 0 for a size."""
        low, high = least, MOST
        if shape_env is not None and symbol in shape_env.var_to_range:
            bounds = shape_env.var_to_range[symbol]
            low, high = finite(bounds.lower, least), finite(bounds.upper, MOST)
        hint = getattr(shape_env, "backed_var_to_val", {}).get(symbol) if shape_env is not None else None
        self.result.hints.append(int(hint) if hint is not None else 8)
        self.graph.symbol(str(symbol), max(low, least), min(high, MOST))

    def declare_unknown(self):
        """Declares symbols that depend on the contents of tensors. They are ordinary arguments of the segments after
        the op that defines them."""
        for node in self.gm.graph.nodes:
            for size in symbolic_sizes(node.meta.get("val")):
                self.declare_symbols_of(size)

    def unbound(self, value) -> set[str]:
        """Returns the symbols in `value`, the value of a node, that neither an argument nor an earlier node defines at a call."""
        symbols = {str(symbol) for size in symbolic_sizes(value) for symbol in size.node.expr.free_symbols}
        return symbols - {*self.result.symbols, *self.found} if symbols else symbols

    def declare_symbols_of(self, size: torch.SymInt):
        for symbol in free_unbacked_symbols(size):
            if str(symbol) not in self.result.symbols and str(symbol) not in self.unknown:
                self.unknown.add(str(symbol))
                self.declare(symbol, size.node.shape_env, -MOST)

    # -- inputs ------------------------------------------------------------

    def add_input(self, node: fx.Node, name: str, value, argument: int, is_static: bool):
        # As in eager, a 0-d tensor on the CPU may be an operand of ops on the GPU. Each call copies it to the GPU.
        here = value.device if value.device.type == "cpu" and value.dim() == 0 else self.device
        reason = unsupported_tensor(value, here)
        if not reason and value.is_neg() and any(writes_argument(user) for user in node.users):
            reason = "it is a lazy negative that the graph writes; pass the result of its method resolve_neg() instead"
        if not reason and value.is_neg() and argument < 0:
            reason = "it is a constant that is a lazy negative"
        if reason:
            return self.refuse_argument(node, name, value, reason)
        if value.is_neg():
            self.result.negatives.append(argument)
        strides = [stride_expression(s) for s in self.strides.get(node, value.stride())]
        try:
            dtype, sizes = meta_of(value)
            ref, dense = self.graph.input(name, dtype, sizes, strides, is_static)
        except _tilewright.Refused as error:
            return self.refuse_argument(node, name, value, str(error))
        self.refs[node] = ref
        self.numbers[node] = len(self.result.inputs), strides if dense else []
        self.result.inputs.append(argument)
        self.result.names.append(name)
        if not dense:
            self.result.copied_inputs.append(name)

    def add_pairs(self, node: fx.Node, argument: int):
        """Adds a complex argument that is read only as pairs."""
        reads = [user for user in node.users if user.target is TO_REAL]
        held = self.strides.pop(node, None)
        if held is not None:
            self.strides[node] = of_pairs(held)
        self.add_input(node, node.name, shown_as_pairs(node.meta["val"]), argument, False)
        if node in self.refs:
            self.result.viewed.append(argument)
            self.refs.update(dict.fromkeys(reads, self.refs[node]))

    def refuse_argument(self, node: fx.Node, name: str, value, reason: str):
        """Refuses an argument. The ops that read it are then refused, too, and the refusal reports the line of the
        first of these ops."""
        self.reasons[node] = reason
        where = [f for user in node.users for f in self.frames_of(user)[-1:]]
        location = f"{where[0][0]}:{where[0][1]}" if where else ""
        sizes = list(value.shape) if value.layout == torch.strided else "..."
        what = f"argument {name} ({dtype_name(value.dtype)}{sizes}), read by {', '.join(str(u.target) for u in node.users)}"
        self.result.refusals.append(Refusal(node.name, what, reason, location))

    def add_inputs(self):
        placeholders = [n for n in self.gm.graph.nodes if n.op == "placeholder"]
        self.result.argument_count = len(placeholders)
        for index, node in enumerate(placeholders):
            self.arguments[node] = index
            value = node.meta.get("val")
            if is_viewed(node):
                self.add_pairs(node, index)
            elif isinstance(value, torch.Tensor) and node.users and not is_token(node):
                # An argument that the graph writes is not imported as a parameter, because a pack of it would become invalid.
                is_static = index in self.static and not any(writes_argument(user) for user in node.users)
                self.add_input(node, node.name, value, index, is_static)
        for node in self.gm.graph.nodes:
            if node.op == "get_attr":
                value = self.gm
                for part in str(node.target).split("."):
                    value = getattr(value, part, None)
                if isinstance(value, FakeTensor) and value.numel() == 0:
                    with unset_fake_temporarily():  # torch.tensor([], device="cuda") creates such a constant
                        value = torch.empty(value.shape, dtype=value.dtype, device=value.device)
                if isinstance(value, torch.Tensor):
                    before = len(self.result.inputs)
                    self.add_input(node, node.name, value, -1, True)
                    if len(self.result.inputs) > before:
                        self.result.constants.append(value)

    # -- nodes -------------------------------------------------------------

    def stand_in(self, node: fx.Node):
        """Makes the result of a node that runs in eager an input of the graph, because it will be an input of the next
        segment. The consumers of the result can then be imported, or refused for other reasons."""
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor) or unsupported_tensor(value, self.device):
            return
        dtype, sizes = meta_of(value)
        with contextlib.suppress(_tilewright.Refused):
            strides = [stride_expression(s) for s in value.stride()]
            self.refs[node], _ = self.graph.input(f"{node.name} of eager", dtype, sizes, strides, False)

    def frames_of(self, node: fx.Node) -> list[tuple[str, int, str]]:
        return frames(node, self.frame_cache)

    def refuse(self, node: fx.Node, reason: str, follows: bool = False, chosen: bool = False):
        self.reasons[node] = reason
        self.stand_in(node)
        where = self.frames_of(node)
        location = f"{where[-1][0]}:{where[-1][1]}" if where else ""
        self.result.refusals.append(Refusal(node.name, readable(node.target), reason, location, follows, chosen))

    def add_write(self, node: fx.Node):
        """Adds a write into an argument, which is one of AOTAutograd's last nodes, as a result that is stored in the
        memory of the argument."""
        into, source = node.args[:2]
        held = into.meta["val"]
        if is_viewed(into):
            source, held = source.args[0], shown_as_pairs(held)
        new = source.meta.get("val")
        if into not in self.numbers or source not in self.refs:
            self.refuse(node, f"its argument {(source if into in self.numbers else into).name} runs in eager", follows=True)
        elif not isinstance(new, torch.Tensor) or meta_of(new) != meta_of(held):
            self.refuse(node, f"it writes {meta_of(new)} into {meta_of(held)}")
        else:
            number, strides = self.numbers[into]
            self.writes.append((self.refs[source], dtype_name(held.dtype), strides, number))
            self.arguments[node] = self.arguments[into]

    def add_assert(self, node: fx.Node) -> None:
        """Adds the tensor that an assert checks as an additional result. The op's effect token is replaced by the
        previous token, which is None at a call."""
        tensor, check = check_of(node, self.frames_of(node))
        tokens = [user for user in node.users if user.target is operator.getitem and user.args[1] == 0]
        missing = tensor if tensor not in self.refs else node.args[0] if tokens and node.args[0] not in self.arguments else None
        if missing is not None:
            return self.refuse(node, f"its argument {missing.name} runs in eager", follows=True)
        self.conditions.append(tensor)
        self.result.asserted.append(check)
        for token in tokens:
            self.arguments[token] = self.arguments[node.args[0]]

    def add_node(self, node: fx.Node):
        value = node.meta.get("val")
        if self.device is None and (is_transfer(node) or mixes(node)):
            return self.refuse(node, mixes(node) or "it copies between devices")
        if unbound := self.unbound(value):
            # The segments after this node get the new symbols as arguments.
            self.found |= unbound
            what = f"its value {value}" if isinstance(value, torch.SymInt) else f"the size {', '.join(sorted(unbound))} of its result"
            return self.refuse(node, f"{what} depends on the contents of a tensor")
        if writes_argument(node):
            return self.add_write(node)
        if self.asserts and is_checked(node):
            return self.add_assert(node)
        if node.target is TO_REAL and node in self.refs:
            return
        if is_result(node) and node.args[0] in self.refs:
            return
        if node.target is operator.getitem:
            source, index = node.args
            if node in self.arguments:  # the node is an effect token
                return
            if source in self.lists:
                self.refs[node] = _tilewright.Ref(self.lists[source], index)
            elif source not in self.reasons or node.users:
                self.refuse(node, f"its argument {source.name} runs in eager", follows=True)
            return
        if isinstance(value, torch.SymInt):  # the expression of the size is known
            return
        if isinstance(value, int) and not isinstance(value, bool):
            return
        if isinstance(value, (torch.SymBool, torch.SymFloat, bool, float)) and not node.users:
            return
        if isinstance(value, (torch.SymFloat, float)) and not isinstance(node.target, torch._ops.OpOverload):
            return  # Python's arithmetic is imported where its result is read
        if not isinstance(node.target, torch._ops.OpOverload):
            self.refuse(node, f"{readable(node.target)} is not an ATen operator")
            return
        if node.target._schema.is_mutable:
            self.refuse(node, f"{node.target} writes into its arguments")
            return
        if self.eager_random and is_random(node.target):
            return self.refuse(node, "with options['random'] = 'eager', ops that draw random numbers run in eager", chosen=True)
        if reason := refused_by_eager.reason_of_node(node):
            return self.refuse(node, f"eager refuses this call: {reason}")
        values = value if isinstance(value, (list, tuple)) else [value] if value is not None else []
        try:
            for each in values:
                reason = unsupported_tensor(each, self.device) if isinstance(each, torch.Tensor) else ""
                if reason:
                    raise _tilewright.Refused("its result: " + reason)
            metas = [meta_of(v) for v in values]
            where = self.frames_of(node)
            if lowerings.registered and str(node.target) in lowerings.registered:
                number = lowerings.import_lowering(self, node, metas, where)
            else:
                args, kwargs = strided.arguments(node) if node.target in strided.TARGETS else (node.args, node.kwargs)
                args = [self.argument(a) for a in args]
                kwargs = {k: self.argument(v) for k, v in kwargs.items()}
                number = self.graph.node(str(node.target), args, kwargs, metas, where)
        except _tilewright.Refused as error:
            follows = node.target in (TO_COMPLEX, TO_REAL) or any(
                a in self.reasons and a not in self.refs and a.target is not TO_COMPLEX for a in node.all_input_nodes)
            self.made_constant |= make_numbers_constant(node)
            self.refuse(node, str(error), follows)
            return
        if isinstance(value, (list, tuple)):
            self.lists[node] = number
        else:
            self.refs[node] = _tilewright.Ref(number)

    # -- outputs -----------------------------------------------------------

    def add_outputs(self, node: fx.Node):
        from .outputs import recipes_for

        recipes_for(self, node.args[0])

    def walk(self) -> Imported:
        symbols = self.find_symbols([n for n in self.gm.graph.nodes if n.op == "placeholder"])
        with of_graph(symbols):
            return self.walk_nodes()

    def walk_nodes(self) -> Imported:
        self.add_inputs()
        output = None
        for node in self.gm.graph.nodes:
            if node.op == "call_function":
                self.add_node(node)
            elif node.op == "output":
                output = node
            elif node.op not in ("placeholder", "get_attr"):
                self.refuse(node, f"{node.op} nodes are not supported")
        if not self.result.refusals and output is not None:
            try:
                self.add_outputs(output)
            except _tilewright.Refused as error:
                for value in output.args[0]:
                    held = value.meta.get("val") if isinstance(value, fx.Node) else None
                    if isinstance(held, torch.Tensor):
                        symbolic = not all(isinstance(s, int) for s in (*held.shape, *held.stride()))
                    else:
                        symbolic = isinstance(held, (torch.SymInt, torch.SymFloat, torch.SymBool)) and value.op == "call_function"
                    if symbolic:
                        self.refuse(value, str(error))
                if not self.result.refusals:
                    raise
        return self.result


def walk(gm: fx.GraphModule, static=(), name: str = "graph", strides: dict[fx.Node, tuple] | None = None,
         first_saved: int = MOST, anywhere: bool = False, asserts: bool = False, eager_random: bool = False) -> Imported:  # fmt: skip
    """Imports `gm`, whose nodes carry fake tensors in meta["val"]. The result lists the refusals.

    `strides` has the strides of arguments and results that differ from those of their fake tensors. Results from
    index `first_saved` on are only for a backward graph and may share memory with each other. If `anywhere`, tensors
    may be on several devices, and only the refusals are valid. If `asserts`, the caller checks the results that
    torch's asserts require. If `eager_random`, ops that draw random numbers are refused.
    """
    walker = Walker(gm, set(static), name, strides or {}, first_saved, anywhere, asserts, eager_random)
    imported = walker.walk()
    if not walker.made_constant:
        return imported
    # During the walk, a guard has made a symbol constant. The second walk uses this constant in the sizes of the whole graph.
    return Walker(gm, set(static), name, strides or {}, first_saved, anywhere, asserts, eager_random).walk()

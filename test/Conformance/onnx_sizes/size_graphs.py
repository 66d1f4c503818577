"""Random ONNX graphs whose inputs have symbolic sizes, and whose constants are valid only for some of these sizes.

A graph is made for base sizes, at which every node is valid. Weights, shapes, splits and bounds are computed from
these. At other sizes, some equations hold and others do not. No symbol has the base size 1: broadcasting a symbolic size of 1
is not supported, and is reported.
"""

from __future__ import annotations

import math
import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 18


class Unfit(Exception):
    """Raised if the drawn node is not valid for the existing values."""


class GraphMaker:
    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.nodes, self.initializers, self.inputs = [], [], []
        self.shapes: dict[str, tuple[int, ...]] = {}  # at the base sizes
        self.used: set[str] = set()
        self.symbols = {}
        self.named = 0

    # --- values
    def name(self, what: str) -> str:
        self.named += 1
        return f"{what}{self.named}"

    def weight(self, *sizes: int) -> str:
        name = self.name("w")
        array = (self.numbers.standard_normal(sizes) / math.sqrt(max(1, sizes[-1] if sizes else 1))).astype(np.float32)
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def integers(self, values) -> str:
        name = self.name("i")
        self.initializers.append(numpy_helper.from_array(np.asarray(values, np.int64), name))
        return name

    def floats(self, values) -> str:
        name = self.name("f")
        self.initializers.append(numpy_helper.from_array(np.asarray(values, np.float32), name))
        return name

    def emit(self, op: str, inputs, shape, **attributes) -> str:
        shape = tuple(int(size) for size in shape)
        if any(size < 0 for size in shape) or math.prod(shape) > 1 << 16 or len(shape) > 5:
            raise Unfit
        result = self.name("v")
        self.nodes.append(helper.make_node(op, list(inputs), [result], name=f"{op}_{len(self.nodes)}", **attributes))
        self.shapes[result] = shape
        self.used.update(inputs)
        return result

    def pick(self, *ranks: int) -> tuple[str, list[int]]:
        fitting = [name for name, shape in self.shapes.items() if not ranks or len(shape) in ranks]
        if not fitting:
            raise Unfit
        name = self.random.choice(fitting[-6:])
        return name, list(self.shapes[name])

    # --- nodes
    def unary(self):
        x, shape = self.pick()
        self.emit(self.random.choice(["Relu", "Tanh", "Sigmoid", "Neg", "Abs"]), [x], shape)

    def add(self):
        x, shape = self.pick()
        kind = self.random.randrange(3)
        if kind == 0:
            self.emit("Add", [x, self.weight(*shape)], shape)
        elif kind == 1 and shape:
            ones = [size if self.random.random() < 0.5 else 1 for size in shape]
            self.emit("Mul", [x, self.weight(*ones)], shape)
        else:
            y, other = self.pick(len(shape))
            self.emit("Add", [x, y], np.broadcast_shapes(tuple(shape), tuple(other)))

    def concat(self):
        x, shape = self.pick(1, 2, 3, 4)
        axis = self.random.randrange(len(shape))
        others = [name for name, other in self.shapes.items() if len(other) == len(shape) and
                  all(a == b or i == axis for i, (a, b) in enumerate(zip(shape, other)))]
        if self.random.random() < 0.5:
            sizes = list(shape)
            sizes[axis] = self.random.choice([1, 2, 8])
            y, more = self.weight(*sizes), sizes[axis]
        else:
            y = self.random.choice(others)
            more = self.shapes[y][axis]
        shape[axis] += more
        self.emit("Concat", [x, y], shape, axis=axis - (len(shape) if self.random.random() < 0.3 else 0))

    def factors(self, count: int) -> list[int]:
        sizes = []
        while count > 1 and len(sizes) < 3:
            size = self.random.choice([d for d in range(1, count + 1) if count % d == 0])
            sizes.append(size)
            count //= size
        return [*sizes, count]

    def reshape(self):
        x, shape = self.pick()
        sizes = self.factors(math.prod(shape))
        wanted = list(sizes)
        kind = self.random.randrange(4)
        if kind == 1:
            wanted[self.random.randrange(len(wanted))] = -1
        elif kind == 2 and shape and sizes[0] == shape[0]:
            wanted[0] = 0
        elif kind == 3 and len(shape) >= 2:  # nodes compute the first size from the shape of x
            whole = self.emit_shape(x, len(shape))
            first = self.name("v")
            self.nodes.append(helper.make_node("Gather", [whole, self.integers([0])], [first], name=f"Gather_{len(self.nodes)}"))
            self.shapes[first] = (1,)
            rest = math.prod(shape[1:])
            wanted_name = self.name("v")
            self.nodes.append(helper.make_node("Concat", [first, self.integers([rest])], [wanted_name], axis=0, name=f"Concat_{len(self.nodes)}"))
            self.emit("Reshape", [x, wanted_name], [shape[0], rest])
            for name in (whole, first):
                self.shapes.pop(name, None)
            return
        self.emit("Reshape", [x, self.integers(wanted)], sizes)

    def emit_shape(self, x: str, rank: int) -> str:
        name = self.name("v")
        self.nodes.append(helper.make_node("Shape", [x], [name], name=f"Shape_{len(self.nodes)}"))
        self.shapes[name] = (rank,)
        self.used.add(x)
        return name

    def matmul(self):
        x, shape = self.pick(2, 3, 4)
        columns = self.random.choice([1, 3, 8, 17])
        if self.random.random() < 0.3 and len(shape) == 2:
            self.emit("Gemm", [x, self.weight(columns, shape[1]), self.weight(columns)], [shape[0], columns], transB=1)
        elif self.random.random() < 0.3:
            transposed = self.transposed(x, shape, [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2])
            self.emit("MatMul", [x, transposed], [*shape[:-1], shape[-2]])
        else:
            self.emit("MatMul", [x, self.weight(shape[-1], columns)], [*shape[:-1], columns])

    def transposed(self, x, shape, order):
        return self.emit("Transpose", [x], [shape[i] for i in order], perm=order)

    def transpose(self):
        x, shape = self.pick(2, 3, 4)
        order = list(range(len(shape)))
        self.random.shuffle(order)
        self.transposed(x, shape, order)

    def convolution(self):
        x, shape = self.pick(3, 4)
        groups = shape[1] if self.random.random() < 0.2 else 1
        kernel = [self.random.choice([1, 2, 3]) for _ in shape[2:]]
        strides = [self.random.choice([1, 2]) for _ in kernel]
        pads = [self.random.choice([0, 1]) for _ in kernel] * 2
        sizes = [(size + 2 * pad - k) // stride + 1 for size, pad, k, stride in zip(shape[2:], pads, kernel, strides)]
        if min(sizes) < 1:
            raise Unfit
        out = 4 * groups if groups > 1 else self.random.choice([1, 4, 8])
        self.emit("Conv", [x, self.weight(out, shape[1] // groups, *kernel)], [shape[0], out, *sizes],
                  kernel_shape=kernel, strides=strides, pads=pads, group=groups)

    def pool(self):
        x, shape = self.pick(3, 4)
        kernel = [self.random.choice([2, 3]) for _ in shape[2:]]
        strides = [self.random.choice([1, 2]) for _ in kernel]
        pads = [self.random.choice([0, 1]) for _ in kernel] * 2
        sizes = [(size + 2 * pad - k) // stride + 1 for size, pad, k, stride in zip(shape[2:], pads, kernel, strides)]
        if min(sizes) < 1:
            raise Unfit
        self.emit(self.random.choice(["MaxPool", "AveragePool"]), [x], [*shape[:2], *sizes], kernel_shape=kernel, strides=strides, pads=pads)

    def gather_elements(self):
        x, shape = self.pick(1, 2, 3)
        axis = self.random.randrange(len(shape))
        sizes = [self.random.randint(1, 5) if i == axis else self.random.choice([size, size, max(1, size - 1)]) for i, size in enumerate(shape)]
        name = self.name("i")
        self.initializers.append(numpy_helper.from_array(self.numbers.integers(0, shape[axis], sizes), name))
        self.emit("GatherElements", [x, name], sizes, axis=axis)

    def scatter_elements(self):
        x, shape = self.pick(1, 2, 3)
        axis = self.random.randrange(len(shape))
        sizes = [1 if i == axis else self.random.choice([size, size, max(1, size - 1)]) for i, size in enumerate(shape)]
        name = self.name("i")
        self.initializers.append(numpy_helper.from_array(self.numbers.integers(0, shape[axis], sizes), name))
        self.emit("ScatterElements", [x, name, self.weight(*sizes)], shape, axis=axis)

    def gather(self):
        x, shape = self.pick(1, 2, 3)
        axis = self.random.randrange(len(shape))
        places = [self.random.randrange(-shape[axis], shape[axis]) for _ in range(self.random.randint(1, 4))]
        self.emit("Gather", [x, self.integers(places)], [*shape[:axis], len(places), *shape[axis + 1:]], axis=axis)

    def top_k(self):
        x, shape = self.pick(1, 2, 3)
        axis = self.random.randrange(len(shape))
        k = self.random.randint(1, shape[axis])
        values, places = self.name("v"), self.name("v") + "_places"
        shape[axis] = k
        self.nodes.append(helper.make_node("TopK", [x, self.integers([k])], [values, places], name=f"TopK_{len(self.nodes)}", axis=axis))
        self.shapes[values] = tuple(shape)
        self.used.add(x)

    def space_to_depth(self):
        x, (n, c, h, w) = self.pick(4)
        block = 2
        if self.random.random() < 0.5 and h % block == 0 and w % block == 0:
            self.emit("SpaceToDepth", [x], [n, c * 4, h // 2, w // 2], blocksize=block)
        elif c % 4 == 0:
            self.emit("DepthToSpace", [x], [n, c // 4, h * 2, w * 2], blocksize=block, mode=self.random.choice(["DCR", "CRD"]))
        else:
            raise Unfit

    def slice(self):
        x, shape = self.pick(1, 2, 3, 4)
        axis = self.random.randrange(len(shape))
        size, step = shape[axis], self.random.choice([1, 1, 2, -1])
        first, last = sorted(self.random.sample(range(size + 1), 2)) if size >= 1 else (0, 0)
        if step < 0:
            first, last = max(last - 1, 0), first - 1
            start, end = first, last if last >= 0 else -(1 << 60)
        else:
            start = self.random.choice([first, first - size]) if first < size else first
            end = self.random.choice([last, 1 << 60]) if last == size else self.random.choice([last, last - size])
        count = len(range(first, last, step))
        shape[axis] = count
        if count < 1:
            raise Unfit
        self.emit("Slice", [x, self.integers([start]), self.integers([end]), self.integers([axis]), self.integers([step])], shape)

    def split(self):
        x, shape = self.pick(1, 2, 3)
        axis = self.random.randrange(len(shape))
        if shape[axis] < 2:
            raise Unfit
        first = self.random.randint(1, shape[axis] - 1)
        parts = [first, shape[axis] - first]
        inputs, attributes = [x], {"axis": axis}
        if self.random.random() < 0.4:
            attributes["num_outputs"] = 2
            parts = [(shape[axis] + 1) // 2, shape[axis] // 2]
        else:
            inputs.append(self.integers(parts))
        names = [self.name("v") + "_a", self.name("v") + "_b"]
        self.nodes.append(helper.make_node("Split", inputs, names, name=f"Split_{len(self.nodes)}", **attributes))
        self.used.add(x)
        for name, part in zip(names, parts):
            self.shapes[name] = (*shape[:axis], part, *shape[axis + 1:])

    def squeeze(self):
        x, shape = self.pick(1, 2, 3)
        if 1 in shape:
            axis = shape.index(1)
            self.emit("Squeeze", [x, self.integers([axis])], shape[:axis] + shape[axis + 1:])
        else:
            axis = self.random.randrange(len(shape) + 1)
            self.emit("Unsqueeze", [x, self.integers([axis])], [*shape[:axis], 1, *shape[axis:]])

    def flatten(self):
        x, shape = self.pick(2, 3, 4)
        axis = self.random.randrange(1, len(shape))
        self.emit("Flatten", [x], [math.prod(shape[:axis]), math.prod(shape[axis:])], axis=axis)

    def expand(self):
        x, shape = self.pick(1, 2, 3)
        wanted = [self.random.choice([size, 1]) if size != 1 else self.random.choice([1, 3]) for size in shape]
        self.emit("Expand", [x, self.integers(wanted)], np.broadcast_shapes(tuple(shape), tuple(wanted)))

    def tile(self):
        x, shape = self.pick(1, 2, 3)
        times = [self.random.choice([1, 2]) for _ in shape]
        self.emit("Tile", [x, self.integers(times)], [size * by for size, by in zip(shape, times)])

    def pad(self):
        x, shape = self.pick(1, 2, 3)
        low = [self.random.choice([-1, 0, 1, 2]) for _ in shape]
        high = [self.random.choice([-1, 0, 1]) for _ in shape]
        sizes = [size + a + b for size, a, b in zip(shape, low, high)]
        if min(sizes) < 1 or any(size < max(0, -a) + max(0, -b) for size, a, b in zip(shape, low, high)):
            raise Unfit
        self.emit("Pad", [x, self.integers(low + high)], sizes)

    def reduce(self):
        x, shape = self.pick(1, 2, 3)
        axis, keep = self.random.randrange(len(shape)), self.random.randrange(2)
        sizes = [1 if i == axis else size for i, size in enumerate(shape) if keep or i != axis]
        self.emit(self.random.choice(["ReduceSum", "ReduceMax", "ReduceMean"]), [x, self.integers([axis])], sizes, keepdims=keep)

    def softmax(self):
        x, shape = self.pick(1, 2, 3)
        self.emit("Softmax", [x], shape, axis=self.random.randrange(len(shape)))

    def layer_norm(self):
        x, shape = self.pick(2, 3)
        self.emit("LayerNormalization", [x, self.weight(shape[-1]), self.weight(shape[-1])], shape, axis=-1)

    def resize(self):
        """Adds a resize of images (onnxruntime supports no others), such that rounding in f32 changes neither the
        lengths nor the selection of elements."""
        x, shape = self.pick(4)
        how = {"mode": "linear", "coordinate_transformation_mode": self.random.choice(["half_pixel", "asymmetric"]), "axes": [2, 3]}
        if self.random.random() < 0.5:
            by = self.random.choice([2.0, 0.5, 1.5])
            sizes = [math.floor(by * size) for size in shape[2:]]
            if by != 1.5 and self.random.random() < 0.5:
                how.update(mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric")
            if min(sizes) < 1:
                raise Unfit
            self.emit("Resize", [x, "", self.floats([by, by])], [*shape[:2], *sizes], **how)
        else:
            sizes = [self.random.randint(1, 9), self.random.randint(1, 9)]
            how["coordinate_transformation_mode"] = self.random.choice(["half_pixel", "asymmetric", "align_corners"])
            self.emit("Resize", [x, "", "", self.integers(sizes)], [*shape[:2], *sizes], **how)

    def where(self):
        x, shape = self.pick(1, 2, 3)
        y, other = self.pick(len(shape))
        name = self.name("v")
        self.nodes.append(helper.make_node("Greater", [x, self.weight(*shape)], [name], name=f"Greater_{len(self.nodes)}"))
        self.used.add(x)
        sizes = np.broadcast_shapes(tuple(shape), tuple(other))
        self.emit("Where", [name, x, y], sizes)

    def cumulative(self):
        x, shape = self.pick(1, 2, 3)
        self.emit("CumSum", [x, self.integers(self.random.randrange(len(shape)))], shape)

    # --- a graph
    def make(self) -> onnx.ModelProto:
        for symbol in "nmc"[:self.random.randint(1, 3)]:
            self.symbols[symbol] = self.random.choice([2, 3, 4, 5, 8, 9, 12, 16, 17])
        for i in range(self.random.randint(1, 3)):
            dims = [self.random.choice([*self.symbols, *self.symbols, 1, 3, 4, 8, 16]) for _ in range(self.random.choice([1, 2, 2, 3, 4]))]
            if i == 0:
                dims[self.random.randrange(len(dims))] = self.random.choice([*self.symbols])
            shape = tuple(self.symbols.get(size, size) for size in dims)
            if math.prod(shape) > 1 << 13:
                dims = dims[:2]
                shape = shape[:2]
            self.inputs.append(helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, dims))
            self.shapes[f"x{i}"] = shape
        kinds = [self.unary, self.add, self.add, self.concat, self.concat, self.reshape, self.reshape, self.reshape, self.matmul,
                 self.matmul, self.transpose, self.convolution, self.convolution, self.pool, self.pool, self.gather_elements,
                 self.scatter_elements, self.gather, self.top_k, self.space_to_depth, self.slice, self.slice, self.split,
                 self.squeeze, self.flatten, self.expand, self.tile, self.pad, self.reduce, self.softmax, self.layer_norm,
                 self.resize, self.where, self.cumulative]
        wanted, drawn = self.random.randint(1, 7), 0
        while len(self.nodes) < wanted and drawn < 60:
            drawn += 1
            before = len(self.nodes), len(self.initializers), dict(self.shapes), set(self.used)
            try:
                self.random.choice(kinds)()
            except (Unfit, ValueError, IndexError):
                nodes, initializers, self.shapes, self.used = before
                del self.nodes[nodes:], self.initializers[initializers:]
        given = {info.name for info in self.inputs}
        results = [name for name in self.shapes if name not in self.used and name not in given]
        if not results:
            return self.make_identity()
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results]
        read = {name for node in self.nodes for name in node.input}
        inputs = [info for info in self.inputs if info.name in read]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)

    def make_identity(self):
        node = helper.make_node("Relu", ["x0"], ["v"], name="Relu_0")
        graph = helper.make_graph([node], "g", self.inputs[:1], [helper.make_tensor_value_info("v", TensorProto.FLOAT, None)])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)

    def calls(self, count: int):
        """Yields values of the symbols: the base sizes first, then values that fulfil all, some or none of the
        equations."""
        yield dict(self.symbols)
        for _ in range(count - 1):
            sizes = dict(self.symbols)
            for symbol in sizes:
                kind = self.random.randrange(5)
                if kind == 1:
                    sizes[symbol] = self.random.randint(1, 20)
                elif kind == 2:
                    sizes[symbol] = max(1, sizes[symbol] + self.random.choice([-1, 1]))
                elif kind == 3:
                    sizes[symbol] = self.random.choice([sizes[symbol] * 2, max(1, sizes[symbol] // 2), 1])
                elif kind == 4:
                    sizes[symbol] = self.random.choice(list(self.symbols.values()))
            yield sizes

"""Tests every imported op at sizes around the tile sizes: 0, 1, prime, tile - 1, tile, tile + 1, in all layouts of the inputs."""

import math
import zlib

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import assert_numbers, compiled_strictly, leaves, widen, with_threads
from ops.size_table import ATTENTION, CONVOLUTIONS, GRADIENTS, INDEXING, MORE, NORMS, OVERLOADS, POOLS, PRODUCTS, SYSTEMS
from ops.table import ACTIVATIONS, BINARY, REDUCTIONS, SCALARS, UNARY, VIEWS
from ops.test_tables import DTYPES, make

SIZES = (0, 1, 7, 15, 16, 17, 31, 32, 33, 47, 48, 49)


def transposed(x):
    return x.transpose(0, -1).contiguous().transpose(0, -1)


def stepped(x):
    return torch.stack([x, torch.full_like(x, 77)], -1).flatten(-2)[..., ::2]


def offset(x):
    return torch.cat([torch.full_like(x[:1], 77), x])[1:]


def of_one_row(x):
    return x[:1].expand(x.shape)


def of_one_column(x):
    return x[..., :1].expand(x.shape)


LAYOUTS = (torch.Tensor.contiguous, transposed, stepped, of_one_row, offset, of_one_column)
KEEPING = (torch.Tensor.contiguous, transposed, stepped, offset)  # layouts that keep the elements
IN_ORDER = (torch.Tensor.contiguous, stepped, offset, of_one_row)  # layouts without permuted dimensions


def laid_out(inputs, turn, layouts):
    """Returns the inputs, where input i has the layout i + turn (modulo the number of layouts). Over more sizes than layouts, each input has every
    layout. Empty inputs and inputs without dimensions are not changed."""
    return [layouts[(turn + i) % len(layouts)](x) if x.dim() and x.numel() else x for i, x in enumerate(inputs)]


def together(cases, gradients):
    """Returns one function for all cases (name, function, inputs), its arguments, and a function that evaluates it or its gradients."""
    counts = [len(inputs) for _, _, inputs in cases]

    def run(*flat):
        results, rest = [], list(flat)
        for (_, fn, _), count in zip(cases, counts):
            results.append(fn(*rest[:count]))
            rest = rest[count:]
        return results

    evaluate = gradients_of(cases) if gradients else lambda function, values: function(*values)
    return run, [x for _, _, inputs in cases for x in inputs], evaluate


def check_cases(cases, gradients=False):
    """Compiles all cases as one graph and checks each case, or its gradients, separately."""
    run, flat, evaluate = together(cases, gradients)
    torch._dynamo.reset()  # otherwise Dynamo makes the sizes symbolic when it sees a second set of sizes
    with torch.set_grad_enabled(gradients):
        eager = [with_threads(n, evaluate, run, flat) for n in (1, 2)]
        reference = evaluate(run, [widen(x) for x in flat])
        results = evaluate(compiled_strictly(run), flat)
    wrong = []
    for index, (name, _, _) in enumerate(cases):
        assert leaves(reference[index]), f"{name}: nothing to compare"
        try:
            assert_numbers(leaves(results[index]), [leaves(e[index]) for e in eager], leaves(reference[index]))
        except AssertionError as error:
            wrong.append(f"{name}: {error}")
    assert not wrong, "\n".join(wrong)


def accepted(fn, inputs):
    """Returns True if eager accepts the case. Cases that eager rejects are not compared."""
    try:
        with torch.no_grad():
            fn(*inputs)
    except (RuntimeError, IndexError, ValueError):
        return False
    return True


def check_sizes(key, case, sizes=SIZES, layouts=LAYOUTS, gradients=False):
    """Checks `case(n)`, which returns (function, inputs...), at all sizes. `key` determines the layout of each size."""
    start = zlib.crc32(key.encode())
    cases = []
    for turn, n in enumerate(sizes):
        fn, *inputs = case(n)
        inputs = laid_out(inputs, start + turn, layouts)
        if accepted(fn, inputs):
            cases.append((f"{key} at {n}, layout {(start + turn) % len(layouts)}", fn, inputs))
    assert len(cases) >= len(sizes) // 2, f"{key}: eager refuses most sizes"
    check_cases(cases, gradients)


def elementwise(fn, kinds, dtype="f32", shape=3):
    return lambda n: (fn, *[make((shape, n), DTYPES[dtype], kind) for kind in kinds])


@pytest.mark.parametrize("name", UNARY)
def test_unary_op_at_all_sizes_matches_eager(name):
    kind, dtypes = UNARY[name]
    check_sizes(name, elementwise(getattr(torch, name), kind, "f32" if "f32" in dtypes else dtypes[0]))


# torch's meta functions and its kernels disagree about the strides of these ops' results: see test_result_strides_for_transposed_input_equal_eager.
OTHER_STRIDES = {
    "copysign": (torch.copysign, 2), "floor_divide": (torch.floor_divide, 2), "logsigmoid": (F.logsigmoid, 1),
    "rpow": (SCALARS["rpow"], 1), "pow_scalar": (lambda v: torch.pow(2.5, v), 1),
    "batch_norm": (lambda v: F.batch_norm(v, None, None, training=True), 1), "batch_norm_space": None, "batch_norm_training": None,
    "batch_norm_running": None,
}  # fmt: skip


def layouts_for(name, otherwise=LAYOUTS):
    return IN_ORDER if name in OTHER_STRIDES else otherwise


@pytest.mark.parametrize("name", BINARY)
def test_binary_op_at_all_sizes_matches_eager(name):
    kind, dtypes = BINARY[name]
    check_sizes(name, elementwise(getattr(torch, name), kind * 2, "f32" if "f32" in dtypes else dtypes[0]), layouts=layouts_for(name))


@pytest.mark.parametrize("name", [name for name, row in OTHER_STRIDES.items() if row])
def test_result_strides_for_transposed_input_equal_eager(name):
    fn, count = OTHER_STRIDES[name]
    check_cases([(name, fn, [make((3, 16, 2), torch.float32, "n"), transposed(make((3, 16, 2), torch.float32, "n"))][-count:])])


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_at_all_sizes_matches_eager(name):
    check_sizes(name, elementwise(ACTIVATIONS[name], "x"), layouts=layouts_for(name))


@pytest.mark.parametrize("name", SCALARS)
def test_op_with_scalar_at_all_sizes_matches_eager(name):
    check_sizes(name, elementwise(SCALARS[name], "x"), layouts=layouts_for(name))


SUMS = ("sum", "mean", "cumsum", "logsumexp", "norm")  # tested with positive numbers: see size_table.py


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction_at_all_sizes_matches_eager(name):
    kind = "p" if name.startswith(SUMS) else "x"
    fn = REDUCTIONS[name]
    # In the layouts `of_one_row` and `of_one_column`, which are expanded, all elements of a reduction can be equal. topk may return any of several
    # equal elements, and reductions that cancel to zero have a separate test below.
    layouts = KEEPING if name in ("topk", "var", "var_mean", "std", "layer_norm", "sum_first") else LAYOUTS
    case = lambda n: (fn, make((n, 5) if "first" in name or name in ("amin", "min_dim") else (3, n), torch.float32, kind))  # noqa: E731
    check_sizes(name, case, layouts=layouts)


OF_EQUALS = {"var": lambda v: v.var(-1), "std": lambda v: v.std(-1), "layer_norm": lambda v: F.layer_norm(v, v.shape[-1:]),
             "sum_first": lambda v: v.sum(0)}  # fmt: skip


@pytest.mark.parametrize("name", OF_EQUALS)
def test_reduction_of_equal_elements_matches_eager(name):
    """The variance of equal elements is 0, as in eager, and the error of a sum is that of a tree, as in eager."""
    fn = OF_EQUALS[name]
    spread = (lambda v, n: v.expand(n, 5)) if name == "sum_first" else (lambda v, n: v[0, :3, None].expand(3, n))
    check_cases([(f"{name} at {n}", fn, [spread(make((1, 5), torch.float32, "p"), n)]) for n in SIZES[2:]])


@pytest.mark.parametrize("name", VIEWS)
def test_view_op_at_all_sizes_matches_eager(name):
    check_sizes(name, elementwise(VIEWS[name], "x"))
    check_sizes(name + " rows", lambda n: (VIEWS[name], make((n, 5), torch.float32)), sizes=SIZES[1:6])


FAMILIES = {"products": PRODUCTS, "convolutions": CONVOLUTIONS, "pools": POOLS, "norms": NORMS, "indexing": INDEXING,
            "attention": ATTENTION, "more": MORE, "systems": SYSTEMS, "overloads": OVERLOADS}  # fmt: skip
ROWS = [(family, name) for family, rows in FAMILIES.items() for name in rows]


@pytest.mark.parametrize("family,name", ROWS)
def test_op_of_each_family_at_all_sizes_matches_eager(family, name):
    # The results of duplicate writes and the order of equal elements are unspecified. Therefore only products,
    # convolutions and attention are tested with layouts that repeat elements.
    layouts = LAYOUTS if family in ("products", "convolutions", "attention") else KEEPING
    check_sizes(name, FAMILIES[family][name], layouts=layouts_for(name, layouts))


def gradients_of(cases):
    """Returns a function that computes each case's gradients of a sum of its results with fixed weights."""

    def gradients(function, flat):
        flat = [v.detach().requires_grad_(v.is_floating_point()) for v in flat]
        total = 0
        for out in leaves(function(*flat)):
            if out.is_floating_point() and out.requires_grad:
                weights = torch.linspace(0.5, 1.5, out.numel(), dtype=torch.float64).reshape(out.shape)
                total = total + (out * weights.to(out.dtype)).sum()
        total.backward()
        rest, result = iter(flat), []
        for _, _, inputs in cases:
            result.append([v.grad for v in [next(rest) for _ in inputs] if v.grad is not None])
        return result

    return gradients


@pytest.mark.parametrize("name", list(GRADIENTS) + list(ACTIVATIONS))
def test_gradient_at_all_sizes_matches_eager(name):
    case = GRADIENTS.get(name) or elementwise(ACTIVATIONS[name], "x")
    # Autograd creates each gradient with the strides of its input. Therefore only the following layouts are tested.
    sizes = SIZES[1:] if name == "group_norm" else SIZES  # the size 0 has a separate test below
    check_sizes("gradient of " + name, case, sizes=sizes, layouts=(torch.Tensor.contiguous, stepped, offset), gradients=True)


def test_gradient_of_an_empty_group_norm_matches_eager():
    check_sizes("gradient of group_norm", GRADIENTS["group_norm"], sizes=(0,), gradients=True)


OTHER_DTYPES = [("unary", n, d) for n in ("abs", "neg", "exp", "tanh", "relu", "sign") for d in ("bf16", "i64") if d in UNARY[n][1]]
OTHER_DTYPES += [("binary", n, d) for n in ("add", "mul", "div", "maximum", "lt", "remainder") for d in ("bf16", "i64")]
OTHER_DTYPES += [("reduction", n, d) for n in ("sum_last", "amax", "softmax", "argmax", "cumsum", "sort_descending") for d in ("bf16", "i64") if (n, d) != ("softmax", "i64")]
OTHER_DTYPES += [("view", n, d) for n in ("cat_last", "slice_step", "roll", "flip", "repeat") for d in ("bf16", "i64")]


@pytest.mark.parametrize("table,name,dtype", OTHER_DTYPES)
def test_bf16_and_int64_op_at_all_sizes_matches_eager(table, name, dtype):
    kind = {"unary": UNARY, "binary": BINARY}[table][name][0] if table in ("unary", "binary") else "p" if name.startswith(SUMS) else "x"
    fn = {"reduction": REDUCTIONS, "view": VIEWS}[table][name] if table in ("reduction", "view") else getattr(torch, name)
    check_sizes(name + dtype, elementwise(fn, kind * (2 if table == "binary" else 1), dtype), layouts=KEEPING)


@pytest.mark.parametrize("name", ["mm_m", "mm_n", "mm_k", "linear", "bmm", "conv2d", "conv2d_out"])
def test_bf16_product_at_all_sizes_matches_eager(name):
    rows = CONVOLUTIONS if name.startswith("conv") else PRODUCTS

    def case(n):
        fn, *inputs = rows[name](n)
        return fn, *[v.bfloat16() for v in inputs]

    check_sizes(name, case, layouts=KEEPING)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
def test_elementwise_op_in_each_layout_at_all_sizes_matches_eager(layout):
    """Tests all pairs of size and layout for two elementwise ops, because the handling of layouts does not depend on the op."""
    for fn in (lambda v: v * 2 + 1, lambda v: v.transpose(0, -1).exp()):
        check_sizes(layout.__name__, lambda n, fn=fn: (fn, make((3, n), torch.float32)), layouts=(layout,))
        check_sizes(layout.__name__, lambda n, fn=fn: (fn, make((2, n, 5), torch.float32)), layouts=(layout,))


def doubled_in_place(view):
    def fn(x):
        view(x).mul_(2)
        return view(x) + 1

    return fn


WRITTEN = {"all": lambda x: x, "every_second": lambda x: x[:, ::2], "columns": lambda x: x.t(), "row": lambda x: x[1], "tail": lambda x: x[:, 1:]}


@pytest.mark.parametrize("name", WRITTEN)
def test_in_place_write_changes_only_elements_of_strided_input(name):
    """The result is written to the elements of the caller's tensor only."""
    for n in SIZES:
        for layout in KEEPING:
            given = layout(torch.randn(3, n))
            expected = layout(given.clone())
            got = layout(given.clone())
            fn = doubled_in_place(WRITTEN[name])
            torch._dynamo.reset()
            assert torch.equal(compiled_strictly(fn)(got), fn(expected)), f"{n}, {layout.__name__}"
            storages = [t._base if t._base is not None else t for t in (got, expected)]
            assert torch.equal(*storages), f"{n}, {layout.__name__}: elements outside of the input were written"


SYMBOLIC = {"elementwise": lambda x: (x * 2).tanh(), "sum": lambda x: x.sum(-1), "softmax": lambda x: x.softmax(-1), "cumsum": lambda x: x.cumsum(-1),
            "transpose": lambda x: x.t() * 2, "cat": lambda x: torch.cat([x, x + 1], 1), "product": lambda x: x @ x.t(),
            "sort": lambda x: x.sort(-1)[0], "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:])}  # fmt: skip


@pytest.mark.parametrize("name", SYMBOLIC)
def test_one_dynamic_compile_at_all_sizes_matches_eager(name):
    fn = SYMBOLIC[name]
    compiled = compiled_strictly(fn, dynamic=True)
    with torch.no_grad():
        for n in SIZES[2:] + (49, 7):
            x = make((3, n), torch.float32, "p")
            eager = [leaves(with_threads(count, fn, x)) for count in (1, 2)]
            assert_numbers(leaves(compiled(x)), eager, leaves(fn(widen(x))))


# This list has imported ops that other tests compare with eager, or whose results cannot be compared.
ELSEWHERE = {
    "results are uninitialized or absent": ("empty", "empty_permuted", "empty_strided", "new_empty_strided", "_assert_tensor_metadata"),
    "decomposed by torch before any backend": ("hardshrink", "softshrink"),
    "created by autograd and views only, never in a graph of torch.compile": ("_conj", "_reshape_alias"),
    "test_quantized.py": ("quantize_per_tensor", "quantize_per_channel", "quantize_per_token", "dequantize_per_tensor", "dequantize_per_channel",
                          "dequantize_per_token", "choose_qparams", "choose_qparams_symmetric", "choose_qparams_per_token",
                          "choose_qparams_per_token_asymmetric"),
    "test_float8.py": ("_scaled_mm",),
    "test_special_functions.py": ("polygamma", "special_erfcx", "special_ndtri", "special_spherical_bessel_j0",
                                  *(f"special_bessel_{kind}{order}" for kind in "jy" for order in "01"),
                                  *(f"special_{scaled}modified_bessel_k{order}" for scaled in ("", "scaled_") for order in "01"),
                                  "special_modified_bessel_i0", "special_modified_bessel_i1",
                                  *(f"special_{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw")),
    "test_decomposed.py: created by second derivatives": ("_efficientzerotensor",),
    "test_plain_exports.py: a part of _embedding_bag_backward": ("_embedding_bag_dense_backward",),
    "test_decomposed.py: products of groups": ("_grouped_mm", "grouped_mm_fallback", "grouped_mm_fallback_backward"),
    "test_decomposed.py and test_plain_exports.py": ("grid_sampler_2d_backward", "grid_sampler_3d_backward", "_native_multi_head_attention",
                                                     "_transformer_encoder_layer_fwd"),
    "random distributions": ("uniform", "exponential", "cauchy", "geometric", "log_normal", "normal", "normal_functional", "multinomial",
                             "rrelu_with_noise_functional"),
    "random": ("rand", "randn", "randint", "bernoulli", "rand_like", "randn_like", "randint_like", "native_dropout", "native_dropout_backward"),
}  # fmt: skip


def targets_of(cases, gradients):
    """Returns the operators that reach the importer, without compiling them."""
    from torch._dynamo.backends.common import aot_autograd

    from tilewright.decompositions.table import decompositions

    seen = set()

    def collect(graph, _):
        seen.update(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
        return graph.forward

    backend = aot_autograd(fw_compiler=collect, bw_compiler=collect, decompositions=decompositions())
    torch._dynamo.reset()
    run, flat, evaluate = together(cases, gradients)
    with torch.set_grad_enabled(gradients):
        evaluate(torch.compile(run, backend=backend, fullgraph=True), flat)
    return seen


def decomposed_before_backend(target):
    """Returns True for ops that never reach a backend: composite ops are decomposed, and functionalization replaces *_copy and lift*."""
    space, name, overload = target.split(".")
    op = getattr(getattr(getattr(torch.ops, space), name, None), overload, None)
    return op is None or op.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd) or name.endswith("_copy") or name.startswith("lift")


def test_every_imported_op_has_a_table_row():
    from tilewright import operators

    n = 16
    rows = [(name, getattr(torch, name), [make((3, n), DTYPES[d[0]], k)]) for name, (k, d) in UNARY.items()]
    rows += [(name, getattr(torch, name), [make((3, n), DTYPES[d[0]], k) for _ in "ab"]) for name, (k, d) in BINARY.items()]
    rows += [(name, fn, [make((3, n), torch.float32)]) for t in (ACTIVATIONS, SCALARS, REDUCTIONS, VIEWS) for name, fn in t.items()]
    rows += [(name, made[0], list(made[1:])) for t in FAMILIES.values() for name, case in t.items() for made in [case(n)]]
    smooth = [(name, made[0], list(made[1:])) for name, case in GRADIENTS.items() for made in [case(n)]]
    smooth += [(name, fn, [make((3, n), torch.float32)]) for name, fn in ACTIVATIONS.items()]
    seen = targets_of(rows, False) | targets_of(smooth, True)
    elsewhere = {name for names in ELSEWHERE.values() for name in names}
    missing = [t for t in sorted(operators.of_kind("import")) if t not in seen and t.split(".")[1] not in elsewhere and not decomposed_before_backend(t)]
    assert not missing, f"{len(missing)} imported overloads have no row: {' '.join(missing)}"


FLOATS_OF_SIZES = {
    "a divisor": lambda x: x / (x.shape[1] / 3),
    "a root": lambda x: torch.softmax(x @ x.mT / math.sqrt(x.shape[-1]), -1) @ x,
    "a power": lambda x: x.abs() ** (1 / x.shape[2]) - x.shape[1] ** 0.5,
    "bounds": lambda x: x.clamp(-1 / x.shape[1], x.shape[2] * 0.1),
    "int32 operand": lambda x: (x * 4).int() * (x.shape[2] / 3),
    "of bf16": lambda x: x.bfloat16() * (x.shape[1] / 3) + x.shape[2] * 0.5,
    "full()": lambda x: torch.full((2,), x.shape[1] / 7) + x[:1, :1, :2],
    "slice to half": lambda x: x[:, : int(x.shape[1] * 0.5)] * 2,
    "three quarters": lambda x: x[:, : int(3 * (x.shape[1] / 4))] * 2,
    "slice to a third, rounded up": lambda x: x[:, : math.ceil(x.shape[1] / 3)] * 2,
    "a third, down": lambda x: x[:, : math.floor(x.shape[1] / 3)] * 2,
    "interpolate by 1.5": lambda x: F.interpolate(x[None], scale_factor=1.5, mode="bilinear"),
    "smaller images": lambda x: F.interpolate(x[None], scale_factor=0.5, mode="nearest"),
}


@pytest.mark.parametrize("fn", FLOATS_OF_SIZES.values(), ids=FLOATS_OF_SIZES)
def test_floats_computed_from_symbolic_sizes_match_eager(fn):
    """Found by fuzz (graph 404090): `int(1.5 * size)` was unknown at a call, which was an error."""
    torch._dynamo.reset()
    compiled = compiled_strictly(fn, dynamic=True)
    for rows in (9, 10, 11, 12, 33):
        x = torch.randn(3, rows, rows + 4)
        assert_numbers(compiled(x), [fn(x)], fn(x.double()))


@pytest.mark.parametrize("fn", [lambda x: F.interpolate(x[None], scale_factor=1.3), lambda x: x[:, : round(x.shape[1] / 2)] * 2])
def test_sizes_rounded_from_floats_fall_back_to_eager(fn):
    """1.3 is not a fraction with a power of two as denominator, so int(1.3 * n) depends on the rounding of the product."""
    torch._dynamo.reset()
    compiled = torch.compile(fn, backend="tilewright", fullgraph=True, dynamic=True)
    with pytest.warns(UserWarning, match="rounded|RoundToInt"):
        compiled(torch.randn(3, 10, 9))
    for rows in (9, 10, 11, 30):
        x = torch.randn(3, rows, 9)
        torch.testing.assert_close(compiled(x), fn(x), rtol=0, atol=0)

"""Tests products, convolutions, attention, pools and their gradients."""

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import assert_numbers, check, check_gradient, leaves, with_threads

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
SIZES = [(1, 1, 1), (1, 64, 64), (17, 33, 15), (64, 64, 64), (130, 257, 67)]


def test_long_sums_of_positive_products_match_eager():
    """Found by fuzz (graph 202449): 750 positive products were summed sequentially, with 3.7 times eager's error."""
    for k, size in ((750, 15), (512, 64), (700, 31)):
        a, b = torch.rand(k, size) + 1, torch.rand(k, size) + 1
        check(lambda a, b: a.mT @ b, a, b)


@pytest.mark.parametrize("depth", [384, 768, 1024, 2048])
@pytest.mark.parametrize("rows", [1, 2, 4, 16])
def test_long_sums_of_few_rows_match_eager(rows, depth):
    """Found by libraries (torchvision/googlenet): a classifier of positive features, whose weights exceed the L2 cache, had
    2.5 times eager's error, because a partial sum had 512 terms."""
    w, b = (torch.rand(2500, depth) - 0.5) / 16, torch.rand(2500)
    check(F.linear, torch.rand(rows, depth), w, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m,n,k", SIZES)
def test_matrix_and_vector_products_match_eager(m, n, k, dtype):
    a, b, c = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype), torch.randn(n).to(dtype)
    if m * n * k == 1:  # one element: if terms cancel, only eager's order of additions satisfies an error bound on the result
        a, b, c = a.abs(), b.abs(), c.abs()
    check(torch.mm, a, b)
    check(torch.addmm, c, a, b)
    check(lambda x, y: torch.mm(x, y.t()), a, b.t().contiguous())
    check(torch.bmm, a.expand(3, m, k).contiguous(), b.expand(3, k, n).contiguous())
    check(torch.baddbmm, torch.randn(3, m, n).to(dtype), a.expand(3, m, k).contiguous(), b.expand(3, k, n).contiguous())
    check(torch.mv, a, b[:, 0].contiguous())
    check(torch.dot, a[0], b[:, 0].contiguous())
    check(lambda x, w, bias: F.gelu(F.linear(x, w, bias)), a, b.t().contiguous(), c)


def test_addmm_scales_gradients_and_empty_products_match_eager():
    a, b, c = torch.randn(17, 33), torch.randn(33, 15), torch.randn(17, 15)
    check(lambda x, y, z: torch.addmm(z, x, y, beta=0.5, alpha=2), a, b, c)
    check(lambda x, y, z: torch.addmm(z * float("nan"), x, y, beta=0), a, b, c)
    check_gradient(torch.mm, a, b)
    check_gradient(lambda x, y, z: torch.addmm(z, x, y), a, b, c)
    check(torch.mm, torch.randint(-9, 9, (7, 8)), torch.randint(-9, 9, (8, 5)))
    check(torch.mm, torch.randn(0, 8), torch.randn(8, 5))
    check(torch.mm, torch.randn(4, 0), torch.randn(0, 5))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 7, 64, 130])
def test_combined_products_of_equal_sizes_match_eager(rows, dtype):
    """Products of equal sizes whose results are combined are one kernel, as in gated layers and recurrent cells."""
    x, y = torch.randn(rows, 65).to(dtype), torch.randn(rows, 40).to(dtype)
    g, u, r = (torch.randn(1100, k).to(dtype) for k in (65, 65, 40))
    b = torch.randn(1100).to(dtype)
    check(lambda x, g, u: F.silu(F.linear(x, g)) * F.linear(x, u), x, g, u)
    check(lambda x, y, g, r, b: torch.tanh(F.linear(x, g, b) + F.linear(y, r)), x, y, g, r, b)
    check(lambda x, g, u: torch.stack([F.linear(x, g) + F.linear(x, u), F.linear(x, u)]), x, g, u)
    check(lambda x, y, g, u, r: F.linear(x, g) * F.linear(x, u) - F.linear(y, r).sigmoid(), x, y, g, u, r)
    if rows > 1:  # one element: if terms cancel, only eager's order of additions satisfies an error bound on the result
        check(lambda x, g, u: (F.linear(x, g) * F.linear(x, u)).sum(-1), x, g, u)


CONVOLUTIONS = {
    "1x1": dict(k=1), "3x3": dict(k=3, padding=1), "stride2": dict(k=3, padding=1, stride=2), "7x7": dict(k=7, padding=3, stride=2),
    "dilated": dict(k=3, dilation=2, padding=2), "groups": dict(k=3, groups=2), "depthwise": dict(k=3, groups=4, padding=1),
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_conv2d_and_gradient_match_eager(name, dtype):
    options = dict(CONVOLUTIONS[name])
    k, groups = options.pop("k"), options.get("groups", 1)
    x, w, b = torch.randn(2, 4, 17, 19).to(dtype), torch.randn(8, 4 // groups, k, k).to(dtype), torch.randn(8).to(dtype)
    fn = lambda x, w, b: F.conv2d(x, w, b, **options)  # noqa: E731
    check(fn, x, w, b)
    check(fn, x.contiguous(memory_format=torch.channels_last), w, b)
    if dtype == torch.float32:
        check_gradient(fn, x, w, b)


@pytest.mark.parametrize("dtype, channels", [(torch.float32, 1024), (torch.bfloat16, 2048), (torch.float16, 2048)])
def test_conv2d_of_pixels_with_4096_byte_stride_matches_eager(dtype, channels):
    """If pixels have a stride of 4096 bytes, the kernel processes fewer of them at a time (lib/Codegen/CPU/MicroKernels/MicroKernel.cpp)."""
    x, w = torch.randn(1, channels, 7, 6).to(dtype), torch.randn(64, channels, 1, 1).to(dtype)
    check(F.conv2d, x.contiguous(memory_format=torch.channels_last), w)
    check(lambda x, w: F.conv2d(x, w, stride=2), x[:, : channels // 2].contiguous(memory_format=torch.channels_last), w[:, : channels // 2])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", [{"padding": 0}, {"padding": 1}, {"stride": 2}, {"groups": 2}, {"groups": 8, "padding": 1}, {"dilation": 2}], ids=str)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_conv2d_of_image_slice_matches_eager(k, options, dtype):
    """The kernel reads an image that is a slice of channels without a copy: its pixels are not contiguous."""
    x, w = torch.randn(2, 4, 11, 13).to(dtype), torch.randn(16, 4, 3, 3).to(dtype)
    v = torch.randn(8, 8 // options.get("groups", 1), k, k).to(dtype)
    parts = {"first": lambda y: y[:, :8], "last": lambda y: y[:, 8:], "each second": lambda y: y[:, ::2], "lines": lambda y: y[:, :8, 1:-1, ::2]}
    for part in parts.values():
        check(lambda x, w, v, part=part: F.conv2d(part(F.conv2d(x, w)), v, **options), x, w, v)
    last = torch.randn(2, 16, 9, 11).to(dtype).contiguous(memory_format=torch.channels_last)
    for part in parts.values():
        check(lambda x, v, part=part: F.conv2d(part(x), v, **options), last, v)


def test_gradient_through_concatenated_images_matches_eager():
    """Tests the slice of the concatenated images' gradient that a transposed convolution reads, as in a U-Net."""
    x, up, w = torch.randn(2, 32, 8, 8), torch.randn(32, 16, 2, 2), torch.randn(16, 32, 3, 3)
    skip = torch.randn(2, 16, 16, 16)
    check_gradient(lambda x, up, skip, w: F.conv2d(torch.cat([F.conv_transpose2d(x, up, stride=2), skip], 1), w, padding=1), x, up, skip, w)


@pytest.mark.parametrize("dtype", DTYPES)
def test_conv2d_with_odd_window_ignores_infinity_outside_window(dtype):
    """A line of a window has 21 elements, so its last pair of elements along k is incomplete. An infinity next to the window must not matter (in oneDNN it does)."""
    x, w = torch.randn(1, 3, 20, 41).to(dtype), torch.randn(64, 3, 7, 7).to(dtype)
    x = x.contiguous(memory_format=torch.channels_last)
    check(lambda x, w: F.conv2d(x, w, stride=2), x, w)
    x[0, 0, :, 7] = float("inf")
    with torch.no_grad():
        found = torch.compile(lambda x, w: F.conv2d(x, w, stride=2), backend="tilewright")(x, w)
    assert torch.equal(found.isfinite(), F.conv2d(x.double(), w.double(), stride=2).isfinite())


def test_conv1d_conv3d_and_conv_transpose2d_match_eager():
    check(F.conv1d, torch.randn(2, 3, 33), torch.randn(5, 3, 4))
    check(F.conv3d, torch.randn(1, 2, 5, 6, 7), torch.randn(3, 2, 2, 2, 2))
    transposed = lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1)  # noqa: E731
    check(transposed, torch.randn(2, 4, 7, 9), torch.randn(4, 6, 3, 3))
    check_gradient(transposed, torch.randn(2, 4, 7, 9), torch.randn(4, 6, 3, 3))


IN_SPACE = {
    "padded": ({"padding": 1}, (4, 6, 3, 3, 3)), "one plane": ({"stride": 2}, (4, 6, 1, 1, 1)), "planes": ({"padding": (0, 1, 1)}, (4, 6, 1, 3, 3)),
    "depths": ({"padding": (1, 0, 0)}, (4, 6, 3, 1, 1)), "strides": ({"stride": (2, 1, 2), "padding": (1, 2, 0)}, (4, 6, 3, 2, 3)),
    "more stride than taps": ({"stride": (3, 2, 1), "padding": (1, 0, 0)}, (4, 6, 2, 2, 2)), "dilated": ({"dilation": (2, 1, 2), "padding": 2}, (4, 6, 3, 3, 2)),
    "dilated with strides": ({"dilation": 2, "stride": 2, "padding": 1}, (4, 6, 2, 2, 2)), "in groups": ({"groups": 2, "padding": 1}, (4, 3, 3, 3, 3)),
    "in groups with strides": ({"groups": 3, "stride": 2, "padding": 1}, (6, 2, 3, 3, 3)), "depthwise": ({"groups": 6, "padding": 1}, (6, 1, 3, 3, 3)),
    "depthwise, each twice": ({"groups": 6, "padding": (1, 0, 1)}, (12, 1, 3, 1, 3)), "long": ({"padding": (9, 0, 0)}, (4, 6, 18, 1, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_SPACE)
def test_conv3d_and_gradient_match_eager(name):
    options, weight = IN_SPACE[name]
    x, w = torch.randn(2, 6, 7, 8, 9), torch.randn(weight)
    convolution = lambda x, w: F.conv3d(x, w, **options)  # noqa: E731
    check(convolution, x, w)
    check(convolution, x.bfloat16(), w.bfloat16())
    if weight[3:] != (1, 1):  # otherwise eager's strides depend on the number of threads
        check(convolution, x.contiguous(memory_format=torch.channels_last_3d), w)
    check_gradient(convolution, x, w)


@pytest.mark.parametrize("output_padding", [0, 1])
@pytest.mark.parametrize("name", [name for name in IN_SPACE if "dilated with" not in name])
def test_conv_transpose3d_and_gradient_match_eager(name, output_padding):
    options, weight = IN_SPACE[name]
    if output_padding and options.get("stride", 1) == 1 and options.get("dilation", 1) == 1:
        return  # torch rejects this
    groups = options.get("groups", 1)
    x, w = torch.randn(2, weight[0], 4, 5, 6), torch.randn(weight[0], weight[1] if groups > 1 else 3, *weight[2:])
    larger = [min(output_padding, max(s, d) - 1) for s, d in zip(*(v if isinstance(v, tuple) else (v,) * 3
              for v in (options.get("stride", 1), options.get("dilation", 1))))]  # fmt: skip
    convolution = lambda x, w: F.conv_transpose3d(x, w, output_padding=larger, **options)  # noqa: E731
    check(convolution, x, w)
    check_gradient(convolution, x, w)


@pytest.mark.parametrize("dims", [(0,), (2,), (0, 3, 4), (0, 2, 3, 4)])
def test_conv3d_with_symbolic_sizes_matches_eager(dims):
    """A convolution whose depth and batch are both symbols is not split into planes."""
    block = lambda x, v, w: F.conv3d(F.relu(F.conv3d(x, v, padding=1)), w, stride=2, padding=1)  # noqa: E731
    v, w = torch.randn(8, 3, 3, 3, 3), torch.randn(4, 8, 3, 3, 3)
    torch._dynamo.reset()
    compiled = torch.compile(block, backend="tilewright", fullgraph=True)
    for size in (6, 9):
        x = torch.randn([size if dim in dims else 5 if dim != 1 else 3 for dim in range(5)])
        for dim in dims:
            torch._dynamo.mark_dynamic(x, dim)
        with torch.no_grad():
            torch.testing.assert_close(compiled(x, v, w), block(x, v, w), atol=1e-4, rtol=1e-4)


def test_conv3d_residual_block_and_gradient_match_eager():
    """Norms between convolutions are computed in the dimension order of the convolutions."""
    norm = lambda y: F.batch_norm(y, None, None, training=True)  # noqa: E731
    block = lambda x, v, w: F.relu(norm(F.conv3d(F.relu(norm(F.conv3d(x, v, padding=1))), w, padding=1)) + x).mean((2, 3, 4))  # noqa: E731
    x, v, w = torch.randn(2, 8, 4, 6, 6), torch.randn(8, 8, 3, 3, 3), torch.randn(8, 8, 3, 3, 3)
    check(block, x, v, w)
    check_gradient(block, x, v, w)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["plain", "causal", "bool", "float"])
def test_attention_with_each_mask_kind_matches_eager(kind, dtype):
    for length, keys in [(1, 17), (16, 16), (33, 67)]:
        q, k, v = torch.randn(2, 4, length, 32).to(dtype), torch.randn(2, 4, keys, 32).to(dtype), torch.randn(2, 4, keys, 32).to(dtype)
        if kind == "causal" and length != keys:
            continue
        mask = torch.rand(2, 1, length, keys) > 0.2 if kind == "bool" else torch.randn(length, keys).to(dtype) if kind == "float" else None
        fn = lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m, is_causal=kind == "causal")  # noqa: E731
        check(fn, q, k, v, mask)
    if dtype == torch.float32:
        check_gradient(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=kind == "causal"),
                       *[torch.randn(2, 4, 33, 32) for _ in range(3)])  # fmt: skip


def test_max_and_avg_pool2d_match_eager():
    x = torch.randn(2, 3, 17, 19)
    for fn in (lambda x: F.max_pool2d(x, 3, 2, 1), lambda x: F.max_pool2d(x, 2, ceil_mode=True), lambda x: F.avg_pool2d(x, 2),
               lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), lambda x: F.adaptive_avg_pool2d(x, 1),
               lambda x: F.avg_pool2d(x, 1280, ceil_mode=True), lambda x: F.avg_pool2d(x, 40, 3, 20, ceil_mode=True),
               lambda x: F.avg_pool2d(x, 40, 3, 20, count_include_pad=False), lambda x: F.max_pool2d(x, 999, ceil_mode=True),
               lambda x: F.max_pool2d(x, 40, 3, 20, return_indices=True), lambda x: F.max_pool2d(x, 18, 1, 9, 2)):  # fmt: skip
        check(fn, x)
    check(lambda x: F.adaptive_avg_pool2d(x, 4), torch.randn(2, 3, 16, 8))
    check(lambda x: F.adaptive_avg_pool2d(x, 1), x.abs().contiguous(memory_format=torch.channels_last))
    for fn in (lambda x: F.max_pool2d(x, 3, 2, 1), lambda x: F.max_pool2d(x, 5, 2, 2, ceil_mode=True), lambda x: F.max_pool2d(x, 3, 3)):
        check(fn, x, dynamic=True)  # the end of the last window is not known
    check_gradient(lambda x: F.max_pool2d(x, 3, 2, 1), x)


def test_channels_last_avg_pool_with_cancelling_terms_matches_eager():
    """The means are near zero because the terms of the sums cancel."""
    check(lambda x: F.adaptive_avg_pool2d(x, 1), torch.randn(2, 3, 17, 19).contiguous(memory_format=torch.channels_last))


def test_group_batch_and_layer_norm_match_eager():
    x, w, b = torch.randn(4, 6, 5, 7), torch.randn(6), torch.randn(6)
    check(lambda x, w, b: F.group_norm(x, 3, w, b), x, w, b)
    check(lambda x, w, b, m, v: F.batch_norm(x, m, v, w, b), x, w, b, torch.randn(6), torch.rand(6) + 0.5)
    check(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), x, w, b)
    check_gradient(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), x, w, b)
    # Regression (graph 202070 of the fuzzer): if all elements are equal, the result is the bias.
    check(lambda x, w, b: F.batch_norm(x.expand(33, 6), None, None, w, b, training=True), torch.randn(6), w, b)
    check_gradient(lambda x, w, b: F.layer_norm(x, (7,), w, b), x, torch.randn(7), torch.randn(7))
    check_gradient(lambda x, w, b: F.group_norm(x, 3, w, b), x, w, b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("columns,depth", [(96, 64), (70, 800), (64, 512)])
def test_linear_with_dynamic_rows_compiles_once_and_matches_eager(dtype, columns, depth):
    """Tests a dynamic number of rows with whole blocks of the micro-kernels, with every remainder, and with an
    epilogue."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    weight, bias = torch.randn(columns, depth).to(dtype), torch.randn(columns).to(dtype)
    fn = lambda x, w, b: torch.nn.functional.gelu(torch.nn.functional.linear(x, w, b))
    graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    compiled = torch.compile(fn, backend="tilewright", fullgraph=True, options={"strict": True})
    with torch.no_grad():
        for rows in (128, 7, 16, 33, 100, 197, 512, *range(2, 9), 15, 31, 32, 48, 63, 64, 65, 300):
            x = torch.randn(rows, depth).to(dtype)
            torch._dynamo.mark_dynamic(x, 0)
            eager = [leaves(with_threads(count, fn, x, weight, bias)) for count in (1, 2)]
            exact = leaves(fn(x.double(), weight.double(), bias.double()))
            assert_numbers(leaves(compiled(x, weight, bias)), eager, exact)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == graphs + 1


@pytest.mark.parametrize("name,make", {
    "mv": lambda: (torch.mv, torch.rand(65, 130), torch.rand(130)), "mv of a transposed matrix": lambda: (torch.mv, torch.rand(130, 65).t(), torch.rand(130)),
    "mm": lambda: (torch.mm, torch.rand(65, 130), torch.rand(130, 1)), "mm of strided columns": lambda: (torch.mm, torch.rand(65, 260)[:, :130], torch.rand(130, 3)[:, 1:2]),
    "addmm": lambda: (torch.addmm, torch.rand(1), torch.rand(65, 130), torch.rand(130, 1)), "addmm by parts": lambda: (lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), torch.rand(65, 1), torch.rand(65, 130), torch.rand(130, 1)),
    "bmm": lambda: (torch.bmm, torch.rand(3, 65, 130), torch.rand(3, 130, 1)), "linear": lambda: (torch.nn.functional.linear, torch.rand(4, 7, 33), torch.rand(1, 33), torch.rand(1)),
    "no terms": lambda: (torch.mm, torch.rand(65, 0), torch.rand(0, 1)), "f64": lambda: (torch.mv, torch.rand(65, 130).double(), torch.rand(130).double()),
    "bf16": lambda: (torch.mv, torch.rand(65, 130).bfloat16(), torch.rand(130).bfloat16()),
}.items())  # fmt: skip
def test_products_with_one_column_match_eager(name, make):
    function, *inputs = make()
    check(function, *inputs)
    check(function, *inputs, dynamic=True)
    if name in ("mm", "linear", "bmm"):
        check_gradient(function, *inputs)

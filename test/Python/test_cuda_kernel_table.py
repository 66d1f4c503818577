"""A table with every kind of kernel of the target cuda. Each kernel is compiled for sm_80 and for sm_90a. ptx-check
reports no error, results satisfy the numbers rule against float64, and ptxas reports neither spills nor that it
serializes wgmma. Kernels of one thread per element, the fallback schedule, may spill."""

import functools
import re
import subprocess

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check, check_gradient
from test_cuda import PROGRAM, find_ptxas

BF16, F16, F32, INT8 = torch.bfloat16, torch.float16, torch.float32, torch.int8
ROWS = {}


def row(name, fn, *inputs, gradient=False, kinds=None):
    """Adds a row to the table.

    `inputs` are called for each run. `kinds`: the kinds of schedules by arch that the kernels must at least have.
    Rows whose name has tf32 set that option.
    """
    assert name not in ROWS, name
    compare = check_gradient if gradient else functools.partial(check, eps=2.0**-10) if "tf32" in name else check
    ROWS[name] = (fn, inputs, compare, kinds or {})


def random(*shape, dtype=F32):
    if dtype is INT8:
        return lambda: torch.randint(-128, 128, shape, dtype=dtype)
    return lambda: torch.randn(shape).to(dtype)


# The products cover every size with every dtype, all transpositions, all epilogues, and batches.

EPILOGUES = {
    "plain": lambda y, bias, residual: y,
    "bias": lambda y, bias, residual: y + bias,
    "activation": lambda y, bias, residual: F.gelu(y + bias),
    "residual": lambda y, bias, residual: y + residual,
    "scale": lambda y, bias, residual: y * 0.125,
    "cast": lambda y, bias, residual: y.to(torch.float32 if y.dtype != torch.float32 else torch.bfloat16),
    "statistics": lambda y, bias, residual: F.layer_norm(y + residual, [y.shape[-1]], bias),
}
SIZES = [(128, 128, 128), (256, 384, 512), (100, 130, 70)]
FEW = [(1, 136, 264), (3, 136, 264), (17, 136, 264)]  # rows
TYPES = {"bf16": BF16, "f16": F16, "f32": F32, "tf32": F32, "int8": INT8}


def following(epilogue):
    return lambda a, b, bias, residual: EPILOGUES[epilogue](a @ b, bias, residual)


for name, dtype in TYPES.items():
    for m, n, k in SIZES + FEW:
        mapped = dtype in (BF16, F16) and k % 8 == 0 and n % 8 == 0
        fast = "fma" if name == "f32" else "mma"
        parts = name == "f32" and k % 8 == 0 and n % 8 == 0 and k >= 256  # products of long sums are divided into bf16 parts
        kinds = {} if name == "f32" and m < 4 else {"sm_80": [fast], "sm_90a": ["wgmma" if mapped or parts else fast]}
        row(f"product-{name}-{m}x{n}x{k}", lambda a, b: a @ b, random(m, k, dtype=dtype), random(k, n, dtype=dtype), kinds=kinds)
for epilogue in EPILOGUES:
    for m, n, k in [(100, 130, 70), *FEW]:
        row(f"product-{epilogue}-{m}x{n}x{k}", following(epilogue), random(m, k, dtype=BF16), random(k, n, dtype=BF16), random(n, dtype=BF16), random(m, n, dtype=BF16))
    row(f"product-{epilogue}-f16", following(epilogue), random(128, 128, dtype=F16), random(128, 128, dtype=F16), random(128, dtype=F16), random(128, 128, dtype=F16))
    row(f"product-{epilogue}-f32", following(epilogue), random(100, 70), random(70, 130), random(130), random(100, 130))
for turned_a in (False, True):
    for turned_b in (False, True):
        for name, dtype in TYPES.items():
            row(f"product-{name}-{'t' if turned_a else 'n'}{'t' if turned_b else 'n'}",
                lambda a, b, turned_a=turned_a, turned_b=turned_b: (a.t() if turned_a else a) @ (b.t() if turned_b else b),
                random(*((48, 40) if turned_a else (40, 48)), dtype=dtype), random(*((56, 48) if turned_b else (48, 56)), dtype=dtype))  # fmt: skip
for sizes in ((128, 128, 128), (17, 64, 264)):
    row(f"product-tf32-linear-{'x'.join(map(str, sizes))}", lambda x, w, b: F.gelu(F.linear(x, w, b)), random(sizes[0], sizes[2]), random(sizes[1], sizes[2]),
        random(sizes[1]), kinds={"sm_80": ["mma"], "sm_90a": ["wgmma"]})  # fmt: skip
for name, dtype in TYPES.items():
    row(f"product-{name}-batched", torch.matmul, random(3, 24, 32, dtype=dtype), random(3, 32, 40, dtype=dtype))

# Products with long sums and few results are split into parts, or on sm_90a by split_k.

for name, dtype in TYPES.items():
    row(f"split-{name}", lambda a, b: a @ b, random(3, 4096, dtype=dtype), random(4096, 64, dtype=dtype))
for m in (3, 17):
    row(f"split-linear-{m}", lambda x, w, b: F.gelu(F.linear(x, w, b)), random(m, 4096, dtype=BF16), random(64, 4096, dtype=BF16), random(64, dtype=BF16))
row("split-statistics", lambda x, w, r: F.rms_norm(F.linear(x, w) + r, [72]), random(5, 8192, dtype=BF16), random(72, 8192, dtype=BF16), random(5, 72, dtype=BF16))
row("split-batched", torch.matmul, random(2, 3, 8192, dtype=F16), random(2, 8192, 40, dtype=F16))
row("split-two-results", lambda a, b: (a @ b, torch.relu(a @ b).t()), random(24, 4096, dtype=BF16), random(4096, 40, dtype=BF16))

# Products with one row or one column whose operands are contiguous along k are computed as dot products, with the schedule `rows`.

for name, dtype in TYPES.items():
    row(f"dot-products-{name}", lambda x, w: x @ w.t(), random(1, 264, dtype=dtype), random(72, 264, dtype=dtype), kinds={"sm_80": ["rows"], "sm_90a": ["rows"]})
row("dot-products-epilogue", lambda x, w, b, r: F.gelu(F.linear(x, w, b)) + r, random(1, 1, 1000, dtype=BF16), random(72, 1000, dtype=BF16), random(72, dtype=BF16),
    random(1, 1, 72, dtype=BF16), kinds={"sm_80": ["rows"], "sm_90a": ["rows"]})  # fmt: skip
row("dot-products-odd", F.linear, random(1, 512, dtype=BF16), random(71, 512, dtype=BF16), kinds={"sm_80": ["rows"], "sm_90a": ["rows"]})
row("short-dot-products", F.linear, random(1, 64, dtype=BF16), random(72, 64, dtype=BF16), kinds={"sm_80": ["mma"], "sm_90a": ["wgmma"]})
row("dot-products-column", lambda x, w: x @ w, random(72, 264, dtype=BF16), random(264, 1, dtype=BF16), kinds={"sm_80": ["rows"], "sm_90a": ["rows"]})
row("dot-products-batched", lambda x, w: x @ w.mT, random(3, 1, 264, dtype=BF16), random(3, 72, 264, dtype=BF16), kinds={"sm_80": ["rows"], "sm_90a": ["rows"]})
row("dot-products-statistics", lambda x, w, r: F.rms_norm(F.linear(x, w) + r, [72]), random(1, 512, dtype=BF16), random(72, 512, dtype=BF16), random(1, 72, dtype=BF16))
row("split-dot-products", F.linear, random(1, 32768, dtype=BF16), random(5, 32768, dtype=BF16), random(5, dtype=BF16))

# The following kernels compute attention and its gradient.


def attend(**how):
    return lambda q, k, v, *mask: F.scaled_dot_product_attention(q, k, v, *mask, **how)


def heads(rows, columns, size=64, heads=4, key_heads=4, dtype=BF16):
    return random(1, heads, rows, size, dtype=dtype), random(1, key_heads, columns, size, dtype=dtype), random(1, key_heads, columns, size, dtype=dtype)


for size in (64, 72, 128, 192, 256):
    row(f"attention-{size}", attend(), *heads(70, 130, size), kinds={"sm_80": ["attention"], "sm_90a": ["attention"]})
    row(f"attention-causal-{size}", attend(is_causal=True), *heads(96, 96, size))
    row(f"attention-decode-{size}", attend(), *heads(1, 300, size))
row("attention-masked", attend(), *heads(33, 75), lambda: torch.rand(33, 75) > 0.4)
row("attention-biased", attend(), *heads(33, 75), random(1, 4, 33, 75, dtype=BF16))
row("attention-grouped", attend(enable_gqa=True), *heads(40, 72, key_heads=2))
row("attention-grouped-decode", attend(enable_gqa=True), *heads(1, 200, heads=8, key_heads=2))
row("attention-f32", attend(is_causal=True), *heads(24, 24, 16, dtype=F32))
for size in (64, 72, 128):
    row(f"attention-gradient-{size}", attend(), *heads(40, 70, size, 2, 2), gradient=True)
    row(f"attention-gradient-causal-{size}", attend(is_causal=True), *heads(70, 70, size, 1, 1), gradient=True)
row("attention-gradient-f16", attend(), *heads(33, 40, 64, 1, 1, F16), gradient=True)
row("attention-gradient-f32", attend(is_causal=True), *heads(16, 16, 64, 1, 1, F32), gradient=True)

# The following kernels operate on rows: norms, softmax, losses and reductions.

for columns in (7, 512, 4099):
    for name, dtype in (("f32", F32), ("bf16", BF16)):
        x, scale, shift = random(3, columns, dtype=dtype), random(columns, dtype=dtype), random(columns, dtype=dtype)
        row(f"softmax-{name}-{columns}", lambda x: torch.softmax(x, -1), x, kinds={"sm_80": ["rows"], "sm_90a": ["rows"]})
        row(f"layer-norm-{name}-{columns}", lambda x, w, b, columns=columns: F.layer_norm(x, [columns], w, b), x, scale, shift)
        row(f"rms-norm-{name}-{columns}", lambda x, w, columns=columns: F.rms_norm(x, [columns], w, 1e-5), x, scale)
    row(f"cross-entropy-{columns}", F.cross_entropy, random(5, columns), lambda columns=columns: torch.randint(0, columns, (5,)))
row("layer-norm-gradient", lambda x, w, b: F.layer_norm(x, [512], w, b), random(7, 512), random(512), random(512), gradient=True)
row("rms-norm-gradient", lambda x, w: F.rms_norm(x, [512], w, 1e-5), random(7, 512), random(512), gradient=True)
row("softmax-gradient", lambda x: torch.softmax(x, -1), random(7, 512), gradient=True)
row("cross-entropy-gradient", F.cross_entropy, random(17, 512), lambda: torch.randint(0, 512, (17,)), gradient=True)
for dims in (0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2)):
    row(f"reductions-{dims}", lambda x, dims=dims: (x.sum(dims), x.mean(dims), x.amax(dims)), random(6, 17, 33))
    if isinstance(dims, int):
        row(f"reductions-bf16-{dims}", lambda x, dims=dims: (x.sum(dims), x.amin(dims)), random(6, 17, 33, dtype=BF16))
# Rows that do not begin at multiples of 8 bytes are stored by whole warps.
for dtype in (F32, BF16, INT8):
    name = str(dtype).removeprefix("torch.")
    for columns in (331, 330):
        row(f"odd-columns-{name}-{columns}", torch.matmul, random(70, 64, dtype=dtype), random(64, columns, dtype=dtype))
row("odd-columns-two-results", lambda x, w, b: ((h := F.linear(x, w) + b), torch.relu(h).t()), random(70, 64, dtype=BF16), random(331, 64, dtype=BF16), random(331, dtype=BF16))
row("odd-columns-batched", torch.matmul, random(3, 20, 64, dtype=F16), random(3, 64, 163, dtype=F16))
row("odd-columns-gated", lambda x, g, u: F.silu(F.linear(x, g)) * F.linear(x, u), random(70, 64, dtype=BF16), random(331, 64, dtype=BF16), random(331, 64, dtype=BF16))
# Long reductions with few results are split into parts.
for name, shape, dims in (("columns", (4096, 40), 0), ("channels", (8, 16, 32, 36), (0, 2, 3)), ("middle", (2, 8192, 9), 1)):
    row(f"split-reduction-{name}", lambda x, dims=dims: (x * 2).sum(dims), random(*shape))
    row(f"split-reduction-{name}-int", lambda x, dims=dims: x.sum(dims), lambda shape=shape: torch.randint(-9, 9, shape))
# A reduction of the results of another reduction is computed by a second kernel.
for dtype in (F32, BF16):
    name = str(dtype).removeprefix("torch.")
    row(f"chain-pool-norm-{name}", lambda x, w: F.layer_norm(x.mean((2, 3)), [96], w), random(24, 96, 5, 5, dtype=dtype), random(96, dtype=dtype))
row("chain-three", lambda x: (x.sum(0).softmax(1) * 3).amax(0), random(48, 40, 72))
row("chain-kept", lambda x: (x.amax(1), torch.softmax(x.amax(1), 1)), random(32, 40, 72))
row("split-reduction-greatest", lambda x: x.amax(0) + 1, random(8192, 17))
row("split-reduction-bf16", lambda x: F.relu(x.sum(0)), random(8192, 17, dtype=BF16))
row("split-reduction-dot", lambda x, y: (x * y).sum(0), random(8192, 17), random(8192, 17))
row("split-reduction-broadcast", lambda x, y: (x * y).sum(0), random(8192, 17), random(17))
row("reduction-of-a-prime", lambda x: x.sum(0), random(131101))
row("reduction-of-one-dimension", lambda x: (x * 2).sum(0), random(160000)) # split for all targets, before kernels are formed
row("reductions-int-every", lambda x: [x.sum(d) for d in (0, 1, 2)], lambda: torch.randint(-9, 9, (6, 17, 33)))

# Convolutions.

for name, dtype in (("bf16", BF16), ("f32", F32), ("tf32", F32)):
    x, bias = random(2, 16, 9, 11, dtype=dtype), random(24, dtype=dtype)
    for size in (1, 3):
        w = random(24, 16, size, size, dtype=dtype)
        row(f"convolution-{name}-{size}x{size}", lambda x, w, b, size=size: F.relu(F.conv2d(x, w, b, padding=size // 2)), x, w, bias)
        row(f"convolution-{name}-{size}x{size}-channels-last", lambda x, w, b, size=size: F.conv2d(x, w, b, padding=size // 2),
            lambda x=x: x().to(memory_format=torch.channels_last), w, bias)  # fmt: skip
    row(f"convolution-{name}-stride", lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1), x, random(24, 16, 3, 3, dtype=dtype), bias)
for name, dtype in (("bf16", BF16), ("f32", F32)):
    for groups in (4, 16):
        row(f"convolution-{name}-{groups}-groups", lambda x, w, b, groups=groups: F.relu(F.conv2d(x, w, b, padding=1, groups=groups)),
            random(2, 16, 9, 11, dtype=dtype), random(32, 16 // groups, 3, 3, dtype=dtype), random(32, dtype=dtype))  # fmt: skip
        row(f"convolution-{name}-{groups}-groups-gradient", lambda x, w, groups=groups: F.conv2d(x, w, stride=2, padding=1, groups=groups),
            random(2, 16, 7, 9, dtype=dtype), random(16, 16 // groups, 3, 3, dtype=dtype), gradient=True)  # fmt: skip
row("convolution-transposed-groups", lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, groups=2), random(1, 16, 5, 6), random(16, 8, 3, 3))
row("convolution-gradient", lambda x, w: F.conv2d(x, w, padding=1), random(1, 8, 7, 7), random(16, 8, 3, 3), gradient=True)


# Pools.

for name, pool in (("max", F.max_pool2d), ("average", F.avg_pool2d)):
    for layout in (torch.contiguous_format, torch.channels_last):
        for dtype in (F32, BF16):
            row(f"pool-{name}-{str(dtype)[6:]}-{str(layout)[6:]}", lambda x, pool=pool: pool(x, 3, 2, 1), lambda layout=layout, dtype=dtype: torch.randn(2, 16, 9, 11).to(dtype).contiguous(memory_format=layout),
                kinds={"sm_80": ["elements"], "sm_90a": ["elements"]})  # fmt: skip
row("pool-max-large-window", lambda x: F.max_pool2d(x, 7, 1), lambda: torch.randn(2, 16, 9, 11).contiguous(memory_format=torch.channels_last))
row("reductions-of-few-rows", lambda x: (x.sum(1), x.amax(1)), random(6, 5, 64))


# Sorting is stable, NaN is the largest element, and -0 equals 0.


def special(*shape):
    def make():
        x = torch.randint(-3, 4, shape).float()
        x[x == 1], x[x == 2], x[x == -2] = -0.0, float("nan"), float("-inf")
        return x

    return make


for descending in (False, True):
    for name, values in (("f32", random(5, 33)), ("bf16", random(5, 33, dtype=BF16)), ("special", special(4, 17)), ("f64", lambda: torch.randn(3, 9).double()),
                         ("int64", lambda: torch.randint(-9, 9, (5, 33))), ("bool", lambda: torch.randint(0, 2, (3, 9)).bool()),
                         ("uint8", lambda: torch.randint(0, 256, (3, 9)).to(torch.uint8)), ("int8", random(3, 40, dtype=INT8))):  # fmt: skip
        row(f"sort-{name}{'-descending' * descending}", lambda x, descending=descending: torch.sort(x, dim=1, descending=descending, stable=True), values)
row("sort-rows", lambda x: torch.sort(x, dim=0, stable=True), random(33, 5))
row("topk", lambda x: torch.topk(x, 5), random(5, 70))
row("topk-smallest", lambda x: torch.topk(x, 3, largest=False), random(5, 70))
row("median", lambda x: torch.median(x, 1), random(4, 31))


@pytest.fixture(params=["sm_80", "sm_90a"])
def arch(request, monkeypatch, tmp_path):
    for name, value in (("TARGET", "cuda"), ("DEVICE", "emulated"), ("ARCH", request.param), ("DUMP", str(tmp_path / "dump"))):
        monkeypatch.setenv(f"TILEWRIGHT_{name}", value)
    return request.param


def schedules(tiled):
    """Returns the kind of each kernel's schedule."""
    return dict(re.findall(r'func.func (?:private )?@(\w+)\(.*?tw.schedule = #tw_gpu.schedule<kind = (\w+)', tiled.read_text()))


def assert_assembled(tiled, arch, folder):
    ptxas = find_ptxas()
    if not ptxas:
        return
    ptx = folder / "kernels.ptx"
    subprocess.run([PROGRAM, "compile", tiled, "--start-at=tiled", "--target=cuda", f"--arch={arch}", "--emit=ptx", "-o", ptx], check=True, timeout=60)
    done = subprocess.run([ptxas, f"-arch={arch}", "-v", ptx, "-o", folder / "kernels.cubin"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    spills = dict(re.findall(r"Function properties for (\w+)\n.*?(\d+) bytes spill stores", done.stderr))
    kinds = dict(re.findall(r"^// (\w+): (\w+)", ptx.read_text(), re.MULTILINE))  # the comments with the schedules
    assert set(spills) == set(kinds) and sorted(kinds.values()) == sorted(schedules(tiled).values())
    assert all(spills[kernel] == "0" or kind == "elements" for kernel, kind in kinds.items()), f"{kinds}\n{done.stderr}"
    assert "C75" not in done.stderr and "serializ" not in done.stderr and "warning" not in done.stderr, done.stderr


@pytest.mark.parametrize("name", ROWS)
def test_kernels_of_table_row_match_eager_and_do_not_spill(name, arch, tmp_path, monkeypatch):
    fn, inputs, compare, wanted = ROWS[name]
    monkeypatch.setenv("TILEWRIGHT_TF32", str(int("tf32" in name)))
    torch.manual_seed(1)
    compare(fn, *[make() for make in inputs])
    graphs = sorted((tmp_path / "dump").rglob("*-tiled.mlir"))
    assert graphs
    kinds = [kind for tiled in graphs for kind in schedules(tiled).values()]
    assert set(wanted.get(arch, [])) <= set(kinds), kinds
    # On sm_90a, the blocks of a cluster may share a sum.
    texts = [tiled.read_text() for tiled in graphs]
    if name.startswith("split-"):
        assert any("sum of parts" in text or "split_k" in text for text in texts)
    else:
        assert not any("sum of parts" in text for text in texts)
    for tiled in graphs:
        assert_assembled(tiled, arch, tmp_path)


def test_one_query_row_of_attention_without_tensor_cores_is_computed_by_a_warp_or_block(monkeypatch, tmp_path, arch):
    """Tensor cores do not support this head size. ptxas spills registers of this kernel."""
    torch.manual_seed(1)
    check(attend(), *[make() for make in heads(1, 300, 20)])
    (tiled,) = (tmp_path / "dump").rglob("*-tiled.mlir")
    assert list(schedules(tiled).values()) == ["rows"]


def test_tf32_follows_the_option_and_the_precision_of_torch(monkeypatch, tmp_path, arch):
    """Products and convolutions of f32 use tf32 only if the option or torch's flags allow it. The option has priority."""
    inputs = torch.randn(40, 48), torch.randn(48, 56)
    images = torch.randn(2, 32, 8, 9), torch.randn(32, 32, 3, 3)
    cores = "wgmma" if arch == "sm_90a" else "mma"

    def kinds(function=torch.matmul, inputs=inputs, **options):
        torch._dynamo.reset()
        compiled = torch.compile(function, backend="tilewright", options={"strict": True} | options)
        compiled(*inputs)
        tiled = max((tmp_path / "dump").rglob("*-tiled.mlir"), key=lambda file: file.stat().st_mtime_ns)
        return list(schedules(tiled).values())

    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("highest")
        assert kinds() == ["fma"] and kinds(tf32=True) == ["mma"]
        torch.set_float32_matmul_precision("high")
        assert kinds() == ["mma"] and kinds(tf32=False) == ["fma"]
    finally:
        torch.set_float32_matmul_precision(before)
    convolution = functools.partial(kinds, F.conv2d, images)
    assert cores in convolution() and cores in convolution(tf32=True)
    assert "fma" in convolution(tf32=False) and cores not in convolution(tf32=False)
    with torch.backends.cudnn.flags(allow_tf32=False):
        assert "fma" in convolution() and cores not in convolution()
        assert cores in convolution(tf32=True)
    with pytest.raises(Exception, match="options\\['tf32'\\] is an option of target 'cuda', not of 'cpu'"):
        torch.compile(torch.matmul, backend="tilewright", options={"target": "cpu", "device": "", "arch": "", "tf32": True})(*inputs)


@pytest.mark.parametrize("height", [2, 3, 8])
def test_product_with_tiles_in_bands_matches_eager(height, arch, tmp_path, monkeypatch):
    """Blocks compute every tile once, including those of the last band, which may have fewer rows."""
    (tmp_path / "s.json").write_text('{"*": {"tile_rows_per_band": %d, %s}}' % (height, '"n": 64, "consumer_rows": 64, "consumers": 1' if arch == "sm_90a" else '"warp_m": 16, "warps_m": 2'))
    monkeypatch.setenv("TILEWRIGHT_SCHEDULE_FILE", str(tmp_path / "s.json"))
    torch.manual_seed(1)
    check(torch.matmul, torch.randn(2, 300, 72).bfloat16(), torch.randn(2, 72, 200).bfloat16())
    (tiled,) = (tmp_path / "dump").rglob("*-tiled.mlir")
    assert f"tile_rows_per_band = {height}" in tiled.read_text()

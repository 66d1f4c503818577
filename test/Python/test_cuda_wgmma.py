"""Tests of products for sm_90a on the emulated device, which use TMA and wgmma if tensor maps can describe the
operands. ptx-check reports no error, and results satisfy the numbers rule."""

import copy
import json
import pathlib
import re
import subprocess

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import assert_numbers, check
from test_cuda import EPILOGUES, PRODUCT, PROGRAM, find_ptxas, product, small
from tilewright.dynamo.backend import tilewright


@pytest.fixture(autouse=True)
def hopper(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_TARGET", "cuda")
    monkeypatch.setenv("TILEWRIGHT_DEVICE", "emulated")
    monkeypatch.setenv("TILEWRIGHT_ARCH", "sm_90a")
    monkeypatch.setenv("TILEWRIGHT_DUMP", str(tmp_path / "dump"))


def dumped(tmp_path, stage):
    """Returns the IR of the last graph at a stage."""
    return max((tmp_path / "dump").rglob(f"*-{stage}.mlir"), key=lambda file: file.stat().st_mtime_ns).read_text()


def kinds(tmp_path):
    """Returns the kinds of schedules of the last compilation's kernels."""
    return re.findall(r'tw.schedule = #tw_gpu.schedule<kind = (\w+)', dumped(tmp_path, "tiled"))


def check_by_wgmma(tmp_path, fn, *inputs, **how):
    check(fn, *inputs, **how)
    assert "wgmma" in kinds(tmp_path)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("turned_a", [False, True])
@pytest.mark.parametrize("turned_b", [False, True])
def test_product_of_transposed_operands_uses_wgmma(dtype, turned_a, turned_b, tmp_path):
    for sizes in [(128, 128, 128), (104, 136, 72), (256, 384, 512)]:
        check_by_wgmma(tmp_path, lambda a, b: a @ b, *product(*sizes, dtype, turned_a, turned_b))


def test_product_with_partial_tiles_uses_wgmma(tmp_path):
    check_by_wgmma(tmp_path, lambda a, b: a @ b, *product(100, 136, 72, torch.bfloat16))
    check_by_wgmma(tmp_path, lambda a, b: a @ b, *product(1, 8, 8, torch.bfloat16))
    # If the number of columns is odd, the results are stored element by element.
    check_by_wgmma(tmp_path, lambda a, b: a @ b, *product(70, 37, 24, torch.bfloat16, turned_b=True))


@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False)])
def test_product_of_rows_not_aligned_to_16_bytes_uses_mma(transposed, tmp_path):
    check(lambda a, b: a @ b, *product(100, 130, 70, torch.bfloat16, *transposed))
    assert kinds(tmp_path) == ["mma"]


@pytest.mark.parametrize("epilogue", EPILOGUES)
def test_product_with_epilogue_uses_wgmma(epilogue, tmp_path):
    a, b = product(100, 136, 72, torch.bfloat16)
    check_by_wgmma(tmp_path, lambda a, b, bias, residual: EPILOGUES[epilogue](a @ b, bias, residual), a, b,
                   torch.randn(136).bfloat16(), torch.randn(100, 136).bfloat16())  # fmt: skip


@pytest.mark.parametrize("rows", [1, 3, 17])
def test_product_of_few_rows_uses_wgmma(rows, tmp_path):
    a, b = product(rows, 96, 80, torch.bfloat16, turned_b=True)
    check_by_wgmma(tmp_path, lambda a, b, bias: F.silu(a @ b + bias), a, b, torch.randn(96).bfloat16())


def test_batched_product_uses_wgmma(tmp_path):
    check_by_wgmma(tmp_path, torch.matmul, torch.randn(3, 40, 48).bfloat16(), torch.randn(3, 48, 56).bfloat16())
    # Two batch dimensions form one dimension of the TMA tensor map.
    check_by_wgmma(tmp_path, torch.matmul, torch.randn(2, 3, 24, 32).half(), torch.randn(2, 3, 40, 32).half().transpose(-1, -2))
    # Two dimensions of rows also form one dimension of the tensor map.
    check_by_wgmma(tmp_path, F.linear, torch.randn(2, 35, 48).bfloat16(), torch.randn(56, 48).bfloat16(), torch.randn(56).bfloat16())


def test_channels_last_1x1_convolution_uses_wgmma(tmp_path):
    """In channels-last layout, a 1x1 convolution is a matrix product. Convolutions with larger windows or strides, which
    test_cuda_convolution_wgmma.py tests, use mma if they have few channels."""
    x, w, b = torch.randn(2, 16, 9, 11).bfloat16().to(memory_format=torch.channels_last), torch.randn(24, 16, 1, 1).bfloat16(), torch.randn(24).bfloat16()
    check_by_wgmma(tmp_path, lambda x, w, b: F.relu(F.conv2d(x, w, b)), x, w, b)
    check(lambda x, w, b: F.conv2d(x, w, b, stride=2), x, w, b)
    check(lambda x, w, b: F.conv2d(x, w, b), x, torch.randn(24, 16, 3, 3).bfloat16(), b)
    assert kinds(tmp_path)[-1] == "mma"


def test_product_with_transposed_or_two_results_uses_wgmma(tmp_path):
    a, b = product(70, 40, 48, torch.bfloat16)
    check_by_wgmma(tmp_path, lambda a, b: (a @ b).t().contiguous(), a, b)
    check_by_wgmma(tmp_path, lambda a, b: (a @ b, torch.relu(a @ b)), a, b)


def run_dynamic(fn, pairs):
    """Runs `fn` on each of `pairs` with one compiled program. Dimension 0 of the tensors that a pair names is
    symbolic."""
    torch._dynamo.reset()
    compiled = torch.compile(fn, backend=tilewright, options={"strict": True})
    for tensors, symbolic in pairs:
        for tensor in symbolic:
            torch._dynamo.mark_dynamic(tensor, 0)
        assert_numbers([compiled(*tensors)], [[fn(*tensors)]], [fn(*(t.double() for t in tensors))])


def test_product_with_symbolic_rows_or_batch_uses_wgmma(tmp_path):
    """At each call, the tensor maps are created from the sizes of this call."""
    b = torch.randn(64, 72).bfloat16()
    run_dynamic(lambda a, b: F.relu(a @ b), [((a, b), [a]) for rows in (70, 5, 200, 64) for a in [torch.randn(rows, 64).bfloat16()]])
    assert kinds(tmp_path) == ["wgmma"]
    w = torch.randn(56, 64).bfloat16()
    run_dynamic(F.linear, [((x, w), [x]) for batch in (3, 40) for x in [torch.randn(batch, 7, 64).bfloat16()]])
    assert kinds(tmp_path) == ["wgmma"]
    run_dynamic(torch.matmul, [((x, y), [x, y]) for n in (3, 5) for x, y in [(torch.randn(n, 40, 48).bfloat16(), torch.randn(n, 48, 56).bfloat16())]])
    assert kinds(tmp_path) == ["wgmma"]


def test_product_with_symbolic_reduction_size_uses_wgmma(tmp_path):
    """If K is the outer dimension of both operands and symbolic, the number of steps along k is computed at run time."""
    run_dynamic(lambda a, b: a.t() @ b, [((a, b), [a, b]) for k in (40, 64, 150, 2) for a, b in [(torch.randn(k, 72).bfloat16(), torch.randn(k, 64).bfloat16())]])
    assert kinds(tmp_path) == ["wgmma"]


def test_product_with_all_sizes_symbolic_uses_mma(tmp_path):
    """A tensor map cannot describe strides that are not known to be multiples of 16 bytes."""
    check(lambda a, b: a @ b, *product(70, 64, 72, torch.bfloat16), dynamic=True)
    assert kinds(tmp_path) == ["mma"]


def test_int8_product_contiguous_along_the_reduction_uses_wgmma(tmp_path):
    """Both operands must be contiguous along k, because neither wgmma nor ldmatrix can transpose bytes. Sums wrap
    around."""
    for sizes in [(129, 72, 144), (17, 40, 32), (300, 264, 272)]:
        a, b = product(*sizes, torch.float64, turned_b=True)
        check_by_wgmma(tmp_path, lambda a, b: a @ b, (a * 40).to(torch.int8), (b * 40).to(torch.int8))


def test_int8_product_not_contiguous_along_the_reduction_uses_mma(tmp_path):
    a, b = product(128, 128, 128, torch.float64)
    check(lambda a, b: a @ b, (a * 40).to(torch.int8), (b * 40).to(torch.int8))
    assert kinds(tmp_path) == ["mma"]


def test_product_with_infinity_and_nan_at_the_last_index_matches_eager(tmp_path):
    """Elements of a tile after the end of the sum are zero in both operands."""
    a, b = product(70, 64, 72, torch.bfloat16)
    a[3, 71], b[5, 7] = float("inf"), float("nan")
    check_by_wgmma(tmp_path, lambda a, b: a @ b, a, b)


@pytest.mark.parametrize("turned_b", [False, True])
@pytest.mark.parametrize("schedule", [
    {"consumer_rows": 64, "consumers": 2, "n": 256, "stages": 4}, {"consumer_rows": 128, "consumers": 1, "n": 64, "stages": 2},
    {"consumer_rows": 128, "consumers": 2, "n": 128, "stages": 3}, {"consumer_rows": 64, "consumers": 1, "n": 192, "stages": 6}])  # fmt: skip
def test_product_with_each_schedule_matches_eager(schedule, turned_b, tmp_path, monkeypatch):
    (tmp_path / "s.json").write_text('{"*": %s}' % str(schedule).replace("'", '"'))
    monkeypatch.setenv("TILEWRIGHT_SCHEDULE_FILE", str(tmp_path / "s.json"))
    check_by_wgmma(tmp_path, lambda a, b, c: F.gelu(a @ b + c), *product(300, 328, 200, torch.bfloat16, turned_b=turned_b), torch.randn(328).bfloat16())
    tiled = dumped(tmp_path, "tiled")
    assert f'block = [{schedule["consumer_rows"] * schedule["consumers"]}, {schedule["n"]}, 64]' in tiled


@pytest.mark.parametrize("sizes", [(256, 264, 96), (104, 136, 72), (17, 304, 64)])
def test_drawn_schedules_of_a_product_pass_the_reference_check(tmp_path, sizes):
    """The code of every drawn schedule runs without an error of ptx-check, and `--check` compares its results with the
    reference."""
    m, n, k = sizes
    model = tmp_path / "m.mlir"
    model.write_text(PRODUCT.format(m=m, n=n, k=k, type="bf16"))
    cuda = ["--target=cuda", "--arch=sm_90a"]
    drawn = subprocess.run([PROGRAM, "tune", "--draw=6", f"--seed={m}", *cuda, model], capture_output=True, text=True, check=True, timeout=60)
    for schedule in drawn.stdout.splitlines():
        assert "consumer_rows" in schedule
        (tmp_path / "s.json").write_text(schedule)
        done = subprocess.run([PROGRAM, "run", model, *cuda, "--device=emulated", f"--schedule-file={tmp_path / 's.json'}", "--check"],
                              capture_output=True, text=True, timeout=120)  # fmt: skip
        assert done.returncode == 0, schedule + done.stderr


DAMAGE = {
    "nothing": (r"", "", ""),
    "no wait for an empty slot": (r"\tmbarrier\.try_wait[^\n]*\n\t@!done bra again;\n(?=(?s:.)*expect_tx)", "", "mbarrier-misuse"),
    "no wait for a full slot": (r"\tmbarrier\.try_wait[^\n]*\n\t@!done bra again;\n(?!(?s:.)*expect_tx)", "", "race"),
    "no wait for products": (r"wgmma\.wait_group\.sync\.aligned 1;", "", "async-not-waited"),
    "two groups in flight": (r"wgmma\.wait_group\.sync\.aligned 1;", "wgmma.wait_group.sync.aligned 2;", "race"),
    "no wait for the last products": (r"wgmma\.wait_group\.sync\.aligned 0;", "", "register-in-flight"),
    "no fence of the sums": (r"wgmma\.fence\.sync\.aligned;", "", "missing-wgmma-fence"),
    "no group": (r"wgmma\.commit_group\.sync\.aligned;", "", "async-not-waited"),
    "a slot is never empty": (r"mbarrier\.arrive\.shared::cta\.b64 [^\n]*", "", "deadlock"),
    "a warp is not waited for": (r"(mbarrier\.init[^\n]*), 8;", r"\1, 7;", "race"),
    "one warp too many": (r"(mbarrier\.init[^\n]*), 8;", r"\1, 9;", "deadlock"),
    "a box is not waited for": (r"(expect_tx[^\n]*), 24576;", r"\1, 16384;", "async-not-waited"),
    "no fence of the mbarriers": (r"fence\.mbarrier_init\.release\.cluster;", "", "missing-proxy-fence"),
    "no barrier behind them": (r"bar\.sync[^\n]*", "", "race"),
    "no registers given up": (r"setmaxnreg\.dec[^\n]*", "", "deadlock"),
}


def check_damaged(tmp_path, pattern, change, expected, grid=3, **schedule):
    """Replaces `pattern` by `change` in a kernel. Checks that ptx-check then reports `expected`, or no error if
    `expected` is empty, in four orders of the warps. With the default schedule, a slot has 24 KB."""
    schedule = {"consumer_rows": 64, "consumers": 2, "n": 64, "stages": 3, "split_k": 1} | schedule
    rows = schedule["consumer_rows"] * schedule["consumers"]
    (tmp_path / "m.mlir").write_text(PRODUCT.format(m=100, n=136, k=392, type="bf16"))
    (tmp_path / "s.json").write_text(json.dumps({"*": schedule}))
    text = subprocess.run([PROGRAM, "compile", tmp_path / "m.mlir", "--target=cuda", "--arch=sm_90a", f"--schedule-file={tmp_path / 's.json'}", "--emit=ptx"],
                          capture_output=True, text=True, check=True).stdout  # fmt: skip
    damaged, count = re.subn(pattern, change, text) if pattern else (text, 1)
    assert count > 0
    (tmp_path / "k.ptx").write_text(damaged)
    shapes = {"A": [100, 392], "B": [392, 136], "C": [100, 136]}
    maps = [{"buffer": name, "dtype": "bf16", "dims": shapes[name][::-1], "strides": [2 * shapes[name][1]], "box": box, "swizzle": 128}
            for name, box in (("A", [64, rows]), ("B", [64, 64]))]  # fmt: skip
    launch = {"grid": grid, "block": 128 * (schedule["consumers"] + 1), "dynamic_shared": 3 * ((rows + schedule["n"]) * 128 + 16),
              "buffers": {name: {"dtype": "bf16", "shape": shape, "fill": "uninitialised" if name == "C" else "random"} for name, shape in shapes.items()},
              "arguments": [{"buffer": name} for name in shapes] + [{"tensor_map": each} for each in maps]}  # fmt: skip
    (tmp_path / "launch.json").write_text(json.dumps(launch))
    for seed in range(4):
        done = subprocess.run([pathlib.Path(PROGRAM).with_name("ptx-check"), tmp_path / "k.ptx", "--args", tmp_path / "launch.json", "--seed", str(seed)],
                              capture_output=True, text=True, timeout=60)  # fmt: skip
        assert done.returncode == (1 if expected else 0), done.stdout + done.stderr
        assert expected in done.stdout + done.stderr


@pytest.mark.parametrize("damage", DAMAGE)
def test_ptx_check_finds_damaged_synchronization(damage, tmp_path):
    check_damaged(tmp_path, *DAMAGE[damage])


# Changes of a kernel whose thread blocks compute several tiles.
DAMAGE_IN_TURN = {
    "nothing": (r"", "", ""),
    "the last slot of a tile is never empty": (r"(wgmma\.wait_group\.sync\.aligned 0;(?s:.)*?)mbarrier\.arrive\.shared::cta\.b64 [^\n]*", r"\1", "deadlock"),
    "no wait for the last products": (r"wgmma\.wait_group\.sync\.aligned 0;", "", "register-in-flight"),
}


@pytest.mark.parametrize("damage", DAMAGE_IN_TURN)
def test_ptx_check_finds_damage_with_several_tiles_per_block(damage, tmp_path):
    check_damaged(tmp_path, *DAMAGE_IN_TURN[damage], grid=2, tiles_per_block=2)


# Each entry removes or changes a part of the synchronization of a kernel with clusters. In a cluster, each block loads half of B into the
# shared memory of both blocks.
DAMAGE_IN_CLUSTERS = {
    "nothing": (r"", "", ""),
    "the other block is not notified of an empty slot": (r"(mapa\.shared::cluster\.u32 there, [^,]*), [^;]*;", r"\1, 0;", "deadlock"),
    "the other block's warps are not waited for": (r"(mbarrier\.init[^\n]*), 8;", r"\1, 4;", "while an asynchronous operation may still access it"),
    "half of B is not waited for": (r"(expect_tx[^\n]*), 24576;", r"\1, 16384;", "async-not-waited"),
    "B's half is loaded to one block": (r"\.multicast::cluster( [^;]*), %rs\d+;", r"\1;", "deadlock"),
    "blocks begin apart": (r"(fence\.mbarrier_init(?s:.)*?)barrier\.cluster\.arrive\.relaxed;\n\s*barrier\.cluster\.wait;", r"\1", "mbarrier is not initialised"),
    "blocks end without a release": (r"barrier\.cluster\.arrive;", "barrier.cluster.arrive.relaxed;", "exited-block"),
    "blocks end apart": (r"barrier\.cluster\.arrive;\n\s*barrier\.cluster\.wait;((?:(?!barrier\.cluster)(?s:.))*)\Z", r"\1", "exited-block"),
}


@pytest.mark.parametrize("tiles_per_block", [1, 2])
@pytest.mark.parametrize("damage", DAMAGE_IN_CLUSTERS)
def test_ptx_check_finds_damage_in_clusters(damage, tiles_per_block, tmp_path):
    check_damaged(tmp_path, *DAMAGE_IN_CLUSTERS[damage], grid=4 // tiles_per_block, consumers=1, n=128, cluster=2, tiles_per_block=tiles_per_block)


@pytest.mark.parametrize("schedule", [
    {"consumer_rows": 64, "consumers": 1, "n": 128}, {"consumer_rows": 128, "consumers": 1, "n": 128}, {"consumer_rows": 64, "consumers": 2, "n": 256},
    {"consumer_rows": 64, "consumers": 1, "n": 128, "tiles_per_block": 3}, {"consumer_rows": 64, "consumers": 1, "n": 128, "tile_rows_per_band": 2}])  # fmt: skip
def test_product_in_clusters_matches_eager(schedule, tmp_path, monkeypatch):
    """For some sizes, the number of rows of tiles is odd. Therefore the last block of a cluster may be below the last row.
    All blocks of a cluster compute the same number of tiles."""
    (tmp_path / "s.json").write_text(json.dumps({"*": {"stages": 3, "cluster": 2} | schedule}))
    monkeypatch.setenv("TILEWRIGHT_SCHEDULE_FILE", str(tmp_path / "s.json"))
    for sizes, turned_b in [((300, 328, 200), False), ((64, 136, 64), False), ((200, 136, 72), True), ((5, 8, 72), True)]:
        check_by_wgmma(tmp_path, lambda a, b: F.gelu(a @ b), *product(*sizes, torch.bfloat16, turned_b=turned_b))
        assert "cluster = 2" in dumped(tmp_path, "tiled")
    check_by_wgmma(tmp_path, lambda a, b: a @ b, torch.randn(3, 200, 72).half(), torch.randn(3, 72, 136).half())
    b = torch.randn(64, 136).bfloat16()
    run_dynamic(lambda a, b: F.relu(a @ b), [((a, b), [a]) for rows in (70, 5, 200, 64) for a in [torch.randn(rows, 64).bfloat16()]])
    assert kinds(tmp_path) == ["wgmma"] and "tw_cuda.cluster = 2" in dumped(tmp_path, "target")


def test_int8_product_in_clusters_equals_eager(tmp_path, monkeypatch):
    (tmp_path / "s.json").write_text('{"*": {"consumer_rows": 64, "consumers": 1, "n": 64, "stages": 3, "cluster": 2}}')
    monkeypatch.setenv("TILEWRIGHT_SCHEDULE_FILE", str(tmp_path / "s.json"))
    a, b = product(129, 72, 144, torch.float64, turned_b=True)
    check_by_wgmma(tmp_path, lambda a, b: a @ b, (a * 40).to(torch.int8), (b * 40).to(torch.int8))
    assert "cluster = 2" in dumped(tmp_path, "tiled")


@pytest.mark.parametrize("schedule, why", [
    ({"cluster": 3, "n": 128}, "clusters have 3 blocks, but must have one or two"), ({"cluster": 2, "n": 64}, "a multiple of 128 if columns are contiguous")])
def test_unsupported_cluster_schedule_is_refused(schedule, why, tmp_path):
    (tmp_path / "m.mlir").write_text(PRODUCT.format(m=256, n=256, k=64, type="bf16"))
    (tmp_path / "s.json").write_text(json.dumps({"*": {"consumer_rows": 64, "consumers": 1, "stages": 3} | schedule}))
    done = subprocess.run([PROGRAM, "compile", tmp_path / "m.mlir", "--target=cuda", "--arch=sm_90a", f"--schedule-file={tmp_path / 's.json'}", "--emit=ptx"],
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode != 0 and why in done.stderr, done.stderr


@pytest.mark.parametrize("schedule", [{"tiles_per_block": 2, "consumers": 2}, {"tiles_per_block": 3, "consumers": 1}, {"tiles_per_block": 64, "consumers": 2, "tile_rows_per_band": 2}])
def test_product_with_several_tiles_per_block_matches_eager(schedule, tmp_path, monkeypatch):
    """Each block computes several tiles one after the other, and the last block may compute fewer. With 64 tiles per
    block, one block computes all tiles."""
    (tmp_path / "s.json").write_text(json.dumps({"*": {"consumer_rows": 64, "n": 64, "stages": 2} | schedule}))
    monkeypatch.setenv("TILEWRIGHT_SCHEDULE_FILE", str(tmp_path / "s.json"))
    check_by_wgmma(tmp_path, lambda a, b: F.gelu(a @ b), torch.randn(2, 300, 72).bfloat16(), torch.randn(2, 72, 200).bfloat16())
    assert f'tiles_per_block = {schedule["tiles_per_block"]}' in dumped(tmp_path, "tiled")
    a, b = product(300, 328, 200, torch.bfloat16)
    torch._dynamo.mark_dynamic(a, 0)
    check_by_wgmma(tmp_path, lambda a, b: a @ b, a, b)


@pytest.mark.parametrize("sizes, schedule", [
    ((4096, 4096, 4096), {}), ((1024, 1024, 1024), {}), ((16, 4096, 4096), {}),
    ((1000, 1024, 1024), {"consumer_rows": 64, "consumers": 2, "n": 256, "stages": 3, "cluster": 2, "tiles_per_block": 4})])  # fmt: skip
def test_ptxas_reports_no_spills_and_no_serialized_wgmma(sizes, schedule, tmp_path):
    ptxas = find_ptxas()
    if not ptxas:
        pytest.skip("there is no ptxas: run tools/setup.sh")
    m, n, k = sizes
    (tmp_path / "m.mlir").write_text(PRODUCT.format(m=m, n=n, k=k, type="bf16"))
    (tmp_path / "s.json").write_text(json.dumps({"*": schedule} if schedule else {}))
    ptx = tmp_path / "m.ptx"
    subprocess.run([PROGRAM, "compile", tmp_path / "m.mlir", "--target=cuda", "--arch=sm_90a", f"--schedule-file={tmp_path / 's.json'}", "--emit=ptx", "-o", ptx], check=True)
    assert ".reqnctapercluster 2" in ptx.read_text() or "cluster" not in schedule
    done = subprocess.run([ptxas, "-arch=sm_90a", "-v", ptx, "-o", tmp_path / "m.cubin"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"(\d+) bytes spill stores", done.stderr)) == {"0"}, done.stderr
    assert "wgmma" not in done.stderr and "C75" not in done.stderr and "warning" not in done.stderr, done.stderr


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_transformer_products_use_wgmma(name, tmp_path):
    pytest.importorskip("transformers")
    model, call = small(name)
    model = model.eval()
    tokens = torch.randint(0, 500, (1, 64))
    wide = copy.deepcopy(model).double()
    narrow = model.bfloat16()
    compiled = torch.compile(lambda tokens: call(narrow, tokens), backend=tilewright, options={"strict": True})
    with torch.no_grad():
        assert_numbers([compiled(tokens)], [[call(narrow, tokens)]], [call(wide, tokens)])
    chosen = kinds(tmp_path)
    assert chosen.count("wgmma") >= 3 and "mma" not in chosen, chosen
    code = dumped(tmp_path, "target")
    assert "wgmma.mma_async" in code and "cp.async.bulk.tensor" in code


def test_operands_with_odd_rows_are_copied_once_for_large_products(tmp_path):
    """Both products read the same copy of an operand, one along k and one along the rows. The rows of the copy begin at multiples of 16 bytes."""
    g, w, x = (torch.randn(shape).bfloat16() for shape in ((600, 301), (301, 4096), (600, 4096)))
    check(lambda g, w, x: (g @ w, g.t() @ x), g, w, x)
    text = dumped(tmp_path, "tiled")
    assert len(re.findall(r"call @\w+_aligned_rows\(", text)) == 1 and len(re.findall(r"call @\w+_aligned\(", text)) == 2
    assert not re.search(r"kind = (mma|fma)", text)


def test_rows_of_both_operands_are_aligned_in_a_batch(tmp_path):
    check(lambda a, b: a @ b.transpose(1, 2), torch.randn(3, 1030, 301).bfloat16(), torch.randn(3, 2060, 301).bfloat16())
    assert len(re.findall(r"call @\w+_aligned_rows\w*\(", dumped(tmp_path, "tiled"))) == 2

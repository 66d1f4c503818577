"""Tests of attention on sm_90a with wgmma and TMA on the emulated device: ptx-check reports no error, and results
satisfy the numbers rule."""

import os
import re
import subprocess

import numpy
import pytest
import torch
import torch.nn.functional as F

from numbers_rule import assert_numbers, check, check_gradient
from test_cuda import PROGRAM
from test_cuda_attention_mma import attend, operands
from test_cuda_wgmma import dumped, hopper  # noqa: F401 (a fixture of all tests)
from warp_group_kernels import assert_assembled_without_spills, check_damage

WHOLE = os.environ.get("TILEWRIGHT_TEST_FULL") == "1"


def consumers(tiled):
    """Returns the number of consumer warp groups of attention, 0 for mma.sync."""
    schedule = re.search(r"tw.schedule = #tw_gpu.schedule<kind = attention, ([^>]*)>", tiled)[1]
    found = re.search(r"consumers = (\d+)", schedule)
    return int(found[1]) if found else 0


def check_by_wgmma(tmp_path, groups, fn, *inputs):
    check(fn, *inputs)
    assert consumers(dumped(tmp_path, "tiled")) == groups


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("size", [64, 128])
def test_plain_and_causal_attention_use_wgmma(dtype, size, tmp_path):
    check_by_wgmma(tmp_path, 2, attend(), *operands(128, 128, size, heads=1, key_heads=1, dtype=dtype))
    check_by_wgmma(tmp_path, 1, attend(), *operands(64, 70, size, dtype=dtype, batches=2))
    check_by_wgmma(tmp_path, 2, attend(is_causal=True), *operands(150, 150, size, heads=1, key_heads=1, dtype=dtype))
    check_by_wgmma(tmp_path, 2, attend(is_causal=True, scale=0.3), *operands(96, 40, size, heads=1, key_heads=1, dtype=dtype))


def test_attention_with_more_key_tiles_than_slots_matches_eager(tmp_path):
    """There are more tiles of keys than slots. In causal attention, the last block iterates over more tiles than the
    first block."""
    check_by_wgmma(tmp_path, 2, attend(), *operands(100, 601, heads=1, key_heads=1))
    check_by_wgmma(tmp_path, 2, attend(is_causal=True), *operands(300, 300, 192, heads=1, key_heads=1))


@pytest.mark.parametrize("size", [8, 80, 96, 192, 256] + ([16, 32, 40, 72, 112, 160] if WHOLE else []))
def test_attention_with_other_head_sizes_uses_wgmma(size, tmp_path):
    check_by_wgmma(tmp_path, 2, attend(is_causal=True), *operands(70, 70, size, heads=1, key_heads=1, dtype=torch.float16))


OTHER_VALUES = """func.func @main(%q: tensor<1x2x{rows}x{size}xf16>, %k: tensor<1x1x90x{size}xf16>, %v: tensor<1x1x90x{values}xf16>) -> tensor<1x2x{rows}x{values}xf16> {{
  %r, %l = tw.attention %q, %k, %v {{scale = 0.125 : f64}} : tensor<1x2x{rows}x{size}xf16>, tensor<1x1x90x{size}xf16>, tensor<1x1x90x{values}xf16> -> tensor<1x2x{rows}x{values}xf16>, tensor<1x2x{rows}xf32>
  return %r : tensor<1x2x{rows}x{values}xf16>
}}
"""


@pytest.mark.parametrize("size, value_size", [(192, 128), (64, 128), (40, 24), (256, 64), (64, 256)])
def test_attention_with_values_of_another_size_uses_wgmma(size, value_size, tmp_path):
    """The test uses MLIR, because on the CPU, PyTorch decomposes attention with another head size of the values into products before it calls a backend."""
    model = tmp_path / "m.mlir"
    model.write_text(OTHER_VALUES.format(rows=70, size=size, values=value_size))
    query, key, value = torch.randn(1, 2, 70, size).half(), torch.randn(1, 1, 90, size).half(), torch.randn(1, 1, 90, value_size).half()
    given = []
    for number, tensor in enumerate((query, key, value)):
        numpy.save(tmp_path / f"{number}.npy", tensor.numpy())
        given.append(f"--input=input{number}={tmp_path / f'{number}.npy'}")
    cuda = ["--target=cuda", "--arch=sm_90a"]
    assert consumers(subprocess.run([PROGRAM, "compile", model, *cuda, "--emit=tiled"], capture_output=True, text=True, check=True).stdout) == 2
    done = subprocess.run([PROGRAM, "run", model, *cuda, "--device=emulated", *given, f"--output={tmp_path / 'out'}"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (result,) = (tmp_path / "out").glob("*.npy")
    attended = [F.scaled_dot_product_attention(*(x.to(type) for x in (query, key, value)), scale=0.125) for type in (torch.half, torch.double)]
    assert_numbers([torch.from_numpy(numpy.load(result))], [attended[:1]], attended[1:])


def test_grouped_query_attention_uses_wgmma(tmp_path):
    check_by_wgmma(tmp_path, 2, attend(enable_gqa=True), *operands(80, 90, heads=4, key_heads=2, batches=2))
    check_by_wgmma(tmp_path, 2, attend(enable_gqa=True, is_causal=True), *operands(80, 80, heads=4, key_heads=1))


def test_masked_attention_uses_wgmma(tmp_path):
    q, k, v = operands(96, 75, batches=2)
    for mask in (torch.rand(96, 75) > 0.4, torch.randn(2, 1, 96, 75).bfloat16()):
        check_by_wgmma(tmp_path, 2, lambda q, k, v, mask: F.scaled_dot_product_attention(q, k, v, mask), q, k, v, mask)


def test_fully_masked_rows_are_zero(tmp_path):
    q, k, v = operands(64, 64)
    mask = torch.rand(64, 64) > 0.3
    mask[5] = False
    out = torch.compile(lambda q, k, v, mask: F.scaled_dot_product_attention(q, k, v, mask), backend="tilewright")(q, k, v, mask)
    assert consumers(dumped(tmp_path, "tiled")) == 1
    assert out.isfinite().all() and (out[:, :, 5] == 0).all()


def test_attention_of_heads_strided_within_rows_uses_wgmma(tmp_path):
    """In memory, the dimension of heads is between the rows and the elements of a head, also in the tensor maps."""
    def forward(q, k, v):
        q, k, v = (x.view(2, 70, 2, 64).transpose(1, 2) for x in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(2, 70, 128)

    check_by_wgmma(tmp_path, 2, forward, *(torch.randn(2, 70, 128).bfloat16() for _ in range(3)))


def test_attention_with_symbolic_lengths_uses_wgmma(tmp_path):
    q, k, v = operands(150, 170, heads=1, key_heads=1)
    for value in (q, k, v):
        torch._dynamo.mark_dynamic(value, 2)
    check_by_wgmma(tmp_path, 2, attend(), q, k, v)
    check_by_wgmma(tmp_path, 2, attend(is_causal=True), q, k, v)


def test_attention_with_few_queries_uses_mma(tmp_path):
    """With few queries, attention uses mma.sync, because most of the 64 rows of a wgmma instruction would not be used."""
    check_by_wgmma(tmp_path, 0, attend(), *operands(40, 130))
    check_by_wgmma(tmp_path, 0, attend(enable_gqa=True), *operands(1, 90, heads=8, key_heads=2))


def test_causal_attention_in_training_matches_eager():
    check_gradient(attend(is_causal=True), *operands(72, 72, heads=1, key_heads=1))


HEAD = """func.func @main(%q: tensor<2x4x{rows}x{size}x{type}>, %k: tensor<2x2x{rows}x{size}x{type}>) -> tensor<2x4x{rows}x{size}x{type}> {{
  %r, %l = tw.attention %q, %k, %k {{scale = 0.125 : f64{causal}}} : tensor<2x4x{rows}x{size}x{type}>, tensor<2x2x{rows}x{size}x{type}>, tensor<2x2x{rows}x{size}x{type}> -> tensor<2x4x{rows}x{size}x{type}>, tensor<2x4x{rows}xf32>
  return %r : tensor<2x4x{rows}x{size}x{type}>
}}
"""


@pytest.mark.parametrize("size", [64, 128, 256] + ([80, 96, 160, 192] if WHOLE else []))
@pytest.mark.parametrize("causal", ["", ", causal"])
def test_ptxas_reports_no_spills_and_no_serialized_wgmma(size, causal, tmp_path):
    for rows, type in ((64, "bf16"), (1000, "f16")):
        assert_assembled_without_spills(HEAD.format(rows=rows, size=size, type=type, causal=causal), tmp_path)


DAMAGE = {
    "nothing": (r"", "", ""),
    "no wait for queries": (r"(setmaxnreg\.inc(?s:.)*?)mbarrier\.try_wait[^\n]*\n\t@!done bra again;\n", r"\1", "race"),
    "no wait for an empty slot": (r"\tmbarrier\.try_wait[^\n]*\n\t@!done bra again;\n(?=(?s:.)*expect_tx)", "", "mbarrier-misuse"),
    "no wait for products": (r"wgmma\.wait_group\.sync\.aligned 0;", "", "register-in-flight"),
    "no fence of the sums": (r"wgmma\.fence\.sync\.aligned;", "", "missing-wgmma-fence"),
    "a slot is never empty": (r"mbarrier\.arrive\.shared::cta\.b64 [^\n]*", "", "deadlock"),
    "a warp is not waited for": (r"(mbarrier\.init[^\n]*), 8;", r"\1, 7;", "race"),
    "one warp too many": (r"(mbarrier\.init[^\n]*), 8;", r"\1, 9;", "deadlock"),
    "more bytes than expected": (r"(expect_tx[^\n]*), 16384;(?![\s\S]*expect_tx)", r"\1, 8192;", "deadlock"),
    "a turn is not passed": (r"bar\.arrive %r\d+, 256;", "", "deadlock"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_ptx_check_finds_damaged_synchronization(damage, tmp_path):
    """ptx-check reports no error for the unchanged kernel, in any order of its warps. If any part of its
    synchronization is removed, it reports an error. The kernel has four slots of 16 KB for keys, four for values, and six tiles."""
    shapes = {"Q": [1, 1, 130, 64], "K": [1, 1, 650, 64], "V": [1, 1, 650, 64], "R": [1, 1, 130, 64]}
    types = {name: f"tensor<{'x'.join(map(str, shape))}xbf16>" for name, shape in shapes.items()}
    model = f"""func.func @main(%q: {types['Q']}, %k: {types['K']}, %v: {types['V']}) -> {types['R']} {{
  %r, %l = tw.attention %q, %k, %v {{scale = 0.125 : f64}} : {types['Q']}, {types['K']}, {types['V']} -> {types['R']}, tensor<1x1x130xf32>
  return %r : {types['R']}
}}"""
    maps = [{"buffer": name, "dtype": "bf16", "dims": shapes[name][::-1], "strides": [128, 128 * shapes[name][2], 128 * shapes[name][2]],
             "box": [64, 128, 1, 1], "swizzle": 128} for name in ("Q", "K", "V")]  # fmt: skip
    launch = {"grid": 2, "block": 384,
              "buffers": {name: {"dtype": "bf16", "shape": shape, "fill": "uninitialised" if name == "R" else "random"} for name, shape in shapes.items()},
              "arguments": [{"buffer": name} for name in shapes] + [{"tensor_map": each} for each in maps]}  # fmt: skip
    check_damage(model, DAMAGE[damage], launch, tmp_path)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_weights_of_equal_scores_are_equal_in_all_tiles(arch, monkeypatch):
    """All scores are 10,000, so the maximum does not change after the first tile. A factor that is not exactly 1 would
    change the sums of the first tiles more often than those of the last."""
    monkeypatch.setenv("TILEWRIGHT_ARCH", arch)
    query, key = torch.full((1, 1, 64, 64), 25.0).half(), torch.full((1, 1, 2048, 64), 10_000 / 0.3 / 25 / 64).half()
    value = torch.zeros(1, 1, 2048, 64).half()
    value[:, :, :1024] = 1
    out = torch.compile(attend(scale=0.3), backend="tilewright")(query, key, value)
    assert (out == 0.5).all()


def test_attention_without_keys_is_zero(tmp_path):
    (tmp_path / "m.mlir").write_text("""func.func @main(%q: tensor<1x1x130x64xbf16>, %k: tensor<1x1x0x64xbf16>) -> tensor<1x1x130x64xbf16> {
  %r, %l = tw.attention %q, %k, %k {scale = 0.125 : f64} : tensor<1x1x130x64xbf16>, tensor<1x1x0x64xbf16>, tensor<1x1x0x64xbf16> -> tensor<1x1x130x64xbf16>, tensor<1x1x130xf32>
  return %r : tensor<1x1x130x64xbf16>
}
""")
    done = subprocess.run([PROGRAM, "run", tmp_path / "m.mlir", "--target=cuda", "--arch=sm_90a", "--device=emulated", "--check"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "magnitude 0" in done.stdout, done.stdout + done.stderr

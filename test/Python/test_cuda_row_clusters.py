"""Tests of long rows on sm_90a: the blocks of a cluster share a row, which is read once. Results satisfy the numbers
rule, and there are no errors of ptx-check and no spills."""

import os
import re
import subprocess

import pytest
import torch
import torch.nn.functional as F

from numbers_rule import check, compiled_strictly
from test_cuda import PROGRAM
from test_cuda_kernel_table import assert_assembled

FULL = os.environ.get("TILEWRIGHT_TEST_FULL") == "1"
BF16 = torch.bfloat16


@pytest.fixture
def tiled(monkeypatch, tmp_path):
    """Returns a function that returns the path of the tiled IR of the last compilation."""
    for name, value in (("TARGET", "cuda"), ("DEVICE", "emulated"), ("ARCH", "sm_90a"), ("DUMP", str(tmp_path / "dump"))):
        monkeypatch.setenv(f"TILEWRIGHT_{name}", value)
    return lambda: max((tmp_path / "dump").rglob("*-tiled.mlir"), key=lambda file: file.stat().st_mtime_ns)


def clusters(file):
    return [int(found) for found in re.findall(r"cluster = (\d+)", file.read_text())]


NORMS = {
    "softmax": lambda x, w: torch.softmax(x, -1),
    "log-softmax": lambda x, w: torch.log_softmax(x, -1),
    "layer-norm": lambda x, w: F.layer_norm(x, [x.shape[-1]], w, w),
    "rms-norm": lambda x, w: F.rms_norm(x, [x.shape[-1]], w, 1e-5),
    "sum-and-greatest": lambda x, w: ((x * w).sum(-1), x.amax(-1)),
}
CASES = [("softmax", 8, 40000, torch.float32), ("layer-norm", 9, 33000, BF16), ("log-softmax", 8, 20011, torch.float32), ("rms-norm", 1, 30000, torch.float16)]
if FULL:
    CASES += [(name, rows, columns, dtype) for name in NORMS for rows, columns, dtype in
              ((200, 32768 + 8, BF16), (8, 128256, torch.float32), (8, 262144, BF16), (5, 16387, torch.float32), (8, 50257, torch.float32))]  # fmt: skip
    CASES += [(name, 2, 20000, torch.float64) for name in ("layer-norm", "rms-norm", "sum-and-greatest")]  # exp of f64 is not supported


@pytest.mark.parametrize("name,rows,columns,dtype", CASES)
def test_norm_of_long_rows_in_clusters_matches_eager(name, rows, columns, dtype, tiled, tmp_path):
    torch.manual_seed(1)
    check(NORMS[name], torch.randn(rows, columns).to(dtype), torch.randn(columns).to(dtype))
    file = tiled()
    assert name == "sum-and-greatest" or clusters(file), file.read_text()
    assert_assembled(file, "sm_90a", tmp_path)


def test_cross_entropy_of_long_rows_in_clusters_matches_eager(tiled, tmp_path):
    torch.manual_seed(1)
    check(F.cross_entropy, torch.randn(8, 33000), torch.randint(0, 33000, (8,)))
    assert clusters(tiled())
    assert_assembled(tiled(), "sm_90a", tmp_path)


def ptx_of(rows, columns, folder, schedule=""):
    """Returns the PTX of a softmax."""
    source, ptx = folder / "softmax.mlir", folder / "softmax.ptx"
    source.write_text(f"""func.func @main(%x: tensor<{rows}x{columns}xf32>) -> tensor<{rows}x{columns}xf32> {{
      %s = tw.softmax %x {{dim = 1 : i64}} : tensor<{rows}x{columns}xf32> -> tensor<{rows}x{columns}xf32>
      return %s : tensor<{rows}x{columns}xf32>
    }}""")
    subprocess.run([PROGRAM, "compile", source, "--target=cuda", "--arch=sm_90a", "--emit=ptx", "-o", ptx], check=True, timeout=60)
    return ptx.read_text()


@pytest.mark.parametrize("rows,columns,blocks", [(500, 16384, 1), (500, 32768, 1), (500, 32772, 2), (500, 65540, 4), (500, 262144, 8), (1, 16384, 2), (16, 131072, 8), (500, 262148, 1)])
def test_cluster_has_as_many_blocks_as_hold_the_row(rows, columns, blocks, tmp_path):
    """A cluster has as many blocks as are needed to hold the row, or more if there are few rows. A row that is too long
    for eight blocks is read more than once."""
    text = ptx_of(rows, columns, tmp_path)
    found = re.search(r"\.reqnctapercluster (\d+)", text)
    assert int(found[1] if found else 1) == blocks
    loads = len(re.findall(r"ld\.global", text))
    threads = int(re.search(r"\.reqntid (\d+)", text)[1])
    assert columns > 262144 or loads == -(-columns // (4 * threads * blocks)), "a row is read once"


COLUMNS = {
    "sum": (lambda x, w: x.sum(0), torch.float32), "sum-bf16": (lambda x, w: x.sum(0), BF16), "sum-f64": (lambda x, w: (x * w).sum(0), torch.float64),
    "gradient-of-norm-weight": (lambda x, w: ((x.float() - x.float().mean(1, keepdim=True)) * w).sum(0), BF16),
    "variance": (lambda x, w: x.var(0), torch.float32), "greatest": (lambda x, w: x.amax(0), torch.float16), "normalized": (lambda x, w: (x - x.mean(0)) / (x.var(0) + 1), torch.float32),
    "integers": (lambda x, w: (x * 100).to(torch.int16).sum(0), torch.float32), "any": (lambda x, w: (x > 3).any(0), torch.float32), "smallest-of-int8": (lambda x, w: (x * 30).to(torch.int8).amin(0), torch.float32),
    "image": (lambda x, w: x.view(16, 40, -1).sum((0, 1)), torch.float32),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_reduction_of_columns_in_clusters_matches_eager(name, tiled, tmp_path):
    """The lanes of a warp have adjacent columns. The last warp has fewer than 32 columns."""
    torch.manual_seed(1)
    fn, dtype = COLUMNS[name]
    check(fn, torch.randn(640, 1607).to(dtype), torch.randn(1607).to(dtype))
    assert clusters(tiled()) and "rows_across_lanes" in tiled().read_text(), tiled().read_text()
    assert_assembled(tiled(), "sm_90a", tmp_path)


def test_columns_of_symbolic_length_have_no_clusters(tiled):
    x = torch.randn(600, 1607)
    torch._dynamo.reset()
    torch._dynamo.mark_dynamic(x, 0)
    torch.testing.assert_close(compiled_strictly(lambda x: x.sum(0))(x), x.sum(0), rtol=1e-4, atol=1e-4)
    assert not clusters(tiled())


@pytest.mark.parametrize("rows,columns,blocks", [(8192, 768, 8), (8192, 3072, 4), (8192, 8192, 2), (8192, 16384, 1), (700, 1600, 2), (400, 1600, 1), (8192, 64, 1)])
def test_columns_have_clusters_if_they_then_occupy_most_multiprocessors(rows, columns, blocks, tmp_path):
    source, made = tmp_path / "sum.mlir", tmp_path / "tiled.mlir"
    source.write_text(f"""func.func @main(%x: tensor<{rows}x{columns}xf32>) -> tensor<{columns}xf32> {{
      %s = tw.reduce sum %x {{dims = array<i64: 0>}} : tensor<{rows}x{columns}xf32> -> tensor<{columns}xf32>
      return %s : tensor<{columns}xf32>
    }}""")
    subprocess.run([PROGRAM, "compile", source, "--target=cuda", "--arch=sm_90a", "--emit=tiled", "-o", made], check=True, timeout=60)
    assert (clusters(made) or [1]) == [blocks], made.read_text()

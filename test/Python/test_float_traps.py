"""A host that traps floating-point exceptions can run compiled code, and its exception flags (except inexact) are
unchanged afterwards."""

import pathlib
import subprocess
import sys

import pytest

import tilewright

PROGRAM = pathlib.Path(tilewright.__file__).parents[2] / "bin" / "tilewright"

# The inputs of these functions are finite. Results, or vector lanes that are not part of a result (after the last
# element, or of a branch that is not taken), divide by 0, overflow or become NaN.
FUNCTIONS = """
import ctypes, sys, torch, torch.nn.functional as F, tilewright
libm = ctypes.CDLL("libm.so.6")
DIVBYZERO, OVERFLOW, INVALID, INEXACT = 4, 8, 1, 32
FUNCTIONS = {
    "where": lambda x: torch.where(x > 0, 1 / x, x), "softmax": lambda x: x.softmax(-1), "masked": lambda x: (x.masked_fill(x > 0, float("-inf"))).softmax(-1),
    "rsqrt": lambda x: x.relu().rsqrt().clamp(max=9), "log": lambda x: x.relu().log(), "mean": lambda x: x.mean(0) / (x.sum() - x.sum()),
    "exp": lambda x: (x * 1000).exp(), "layer norm": lambda x: F.layer_norm(x, (x.shape[-1],)), "matmul": lambda x: x @ x.T,
}
x = torch.randn(37, 101); x[3] = 0
compiled = {name: torch.compile(f, backend="tilewright", options={"strict": True}, dynamic=False) for name, f in FUNCTIONS.items()}
want = {name: f(x) for name, f in FUNCTIONS.items()}
"""


def run(script):
    return subprocess.run([sys.executable, "-c", FUNCTIONS + script], capture_output=True, text=True, timeout=300)


def test_compiled_code_runs_under_floating_point_traps():
    """Floating-point traps are enabled for compilation and calls, or only for calls."""
    done = run("""
def same(name):
    torch.testing.assert_close(got, want[name], equal_nan=True, rtol=1e-4, atol=1e-4)
for name in list(FUNCTIONS)[::2]:
    libm.feenableexcept(DIVBYZERO | OVERFLOW | INVALID)
    got = compiled[name](x)
    libm.fedisableexcept(DIVBYZERO | OVERFLOW | INVALID)
    same(name)
for name in FUNCTIONS:
    compiled[name](x)
    libm.feenableexcept(DIVBYZERO | OVERFLOW | INVALID)
    for _ in range(3):
        got = compiled[name](x)
    assert libm.fegetexcept() == DIVBYZERO | OVERFLOW | INVALID, name
    libm.fedisableexcept(DIVBYZERO | OVERFLOW | INVALID)
    same(name)
print("done")
""")
    assert done.returncode == 0 and "done" in done.stdout, (done.returncode, done.stderr)


def test_call_keeps_floating_point_exception_flags():
    """The sticky exception flags of the caller, except inexact, are the same before and after the call."""
    done = run("""
with torch.no_grad():
    for name in FUNCTIONS:
        compiled[name](x)
        for before in (0, INVALID, DIVBYZERO):
            libm.feclearexcept(0x3d)
            if before:
                libm.feraiseexcept(before)
            compiled[name](x)
            after = libm.fetestexcept(0x3d) & ~INEXACT
            assert after == before, (name, before, after)
print("done")
""")
    assert done.returncode == 0 and "done" in done.stdout, (done.returncode, done.stderr)


MODEL = """func.func @main(%x: tensor<37x101xf32> {tw.name = "x"}) -> (tensor<37x101xf32> {tw.name = "y"}, tensor<37xf32> {tw.name = "s"}) {
  %a = tw.relu %x : (tensor<37x101xf32>) -> tensor<37x101xf32>
  %r = tw.reciprocal %a : (tensor<37x101xf32>) -> tensor<37x101xf32>
  %l = tw.log %a : (tensor<37x101xf32>) -> tensor<37x101xf32>
  %p = tw.add %r, %l : (tensor<37x101xf32>, tensor<37x101xf32>) -> tensor<37x101xf32>
  %y = tw.softmax %p {dim = 1 : i64} : tensor<37x101xf32> -> tensor<37x101xf32>
  %s = tw.reduce sum %r {dims = array<i64: 1>} : tensor<37x101xf32> -> tensor<37xf32>
  return %y, %s : tensor<37x101xf32>, tensor<37xf32>
}
"""
HOST = """
import ctypes, sys, numpy as np
from ctypes import POINTER, Structure, byref, c_int32, c_int64, c_void_p
libm = ctypes.CDLL("libm.so.6")
class Tensor(Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_int32), ("rank", c_int32), ("sizes", c_int64 * 8), ("strides", c_void_p)]
x = (np.arange(37 * 101) % 7 - 3).astype(np.float32).reshape(37, 101)
y, s = np.zeros_like(x), np.zeros(37, np.float32)
def tensor(array):
    return Tensor(array.ctypes.data, 8, array.ndim, (c_int64 * 8)(*array.shape), None)
library = ctypes.CDLL(sys.argv[1])
library.m_create.restype, library.m_error.restype = c_void_p, ctypes.c_char_p
error = ctypes.create_string_buffer(256)
TRAPS = 4 | 8 | 1
libm.feclearexcept(0x3d)
libm.feenableexcept(TRAPS)
model = c_void_p(library.m_create(None, error, 256))
codes = [library.m_run(model, (Tensor * 1)(tensor(x)), (Tensor * 2)(tensor(y), tensor(s))) for _ in range(3)]
traps = libm.fegetexcept()
libm.fedisableexcept(TRAPS)
assert codes == [0, 0, 0], library.m_error(model)
assert traps == TRAPS and libm.fetestexcept(TRAPS) == 0, (traps, libm.fetestexcept(TRAPS))
assert np.isinf(s).all()
print("done")
"""


@pytest.mark.skipif(not PROGRAM.exists(), reason="tilewright was not imported from a build tree")
def test_library_runs_under_floating_point_traps(tmp_path):
    (tmp_path / "m.mlir").write_text(MODEL)
    made = subprocess.run([PROGRAM, "compile", tmp_path / "m.mlir", "-o", tmp_path / "m.so"], capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr
    done = subprocess.run([sys.executable, "-c", HOST, tmp_path / "m.so"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "done" in done.stdout, (done.returncode, done.stderr)

"""Children of a process that has compiled, or that calls in another thread, do not wait for threads or locks of the
parent."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DRIVER = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build")) / "bin" / "tilewright"
MODEL = ROOT / "docs/examples/ahead-of-time/classify.mlir"

# These programs are the code of the child processes, and the code that the parent process runs at the same time. An alarm ends a child that
# hangs.
CHILDREN = """
import os, signal, sys, threading, time

def in_child(body, seconds=120):
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(seconds)
            body()
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert status == 0, f"a child ended with {status}: {'it hung' if os.WIFSIGNALED(status) else 'see above'}"

class Meanwhile:
    def __init__(self, body):
        self.ends = False
        self.thread = threading.Thread(target=lambda: [body() for _ in iter(lambda: self.ends, True)])
    def __enter__(self):
        self.thread.start()
    def __exit__(self, *_):
        self.ends = True
        self.thread.join()
"""


def run(code, **environment):
    done = subprocess.run([sys.executable, "-c", CHILDREN + textwrap.dedent(code)], capture_output=True, text=True, timeout=500,
                          env={**os.environ, **environment})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_library_runs_in_forked_children_of_a_process_that_calls_it(tmp_path):
    """The instance's lock is held by a thread that does not exist in the child."""
    shutil.copy(MODEL, tmp_path)
    subprocess.run([DRIVER, "compile", "classify.mlir", "-o", "classify.so"], cwd=tmp_path, check=True, timeout=200)
    run(f"""
        import ctypes

        class Tensor(ctypes.Structure):
            _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                        ("sizes", ctypes.c_int64 * 8), ("strides", ctypes.c_void_p)]

        library = ctypes.CDLL({str(tmp_path / "classify.so")!r})
        library.classify_create.restype = ctypes.c_void_p
        library.classify_error.restype = ctypes.c_char_p
        for name in ("run", "shape", "error", "destroy"):
            getattr(library, "classify_" + name).argtypes = [ctypes.c_void_p] * (3 if name in ("run", "shape") else 1)
        F32 = int(next(line.split("=")[1].strip(" ,\\n") for line in open({str(tmp_path / "classify.h")!r}) if "CLASSIFY_F32 =" in line))
        error = ctypes.create_string_buffer(512)
        model = library.classify_create(None, error, ctypes.c_size_t(512))
        assert model, error.value

        def call(points):
            given, made = (ctypes.c_float * (2 * points))(*[1, 0] * points), (ctypes.c_float * (3 * points))()
            x = Tensor(ctypes.addressof(given), F32, 2, (points, 2))
            y = Tensor(ctypes.addressof(made), F32, 2, (points, 3))
            shape = Tensor()
            assert library.classify_shape(model, ctypes.byref(x), ctypes.byref(shape)) == 0, library.classify_error(model)
            assert library.classify_run(model, ctypes.byref(x), ctypes.byref(y)) == 0, library.classify_error(model)
            return list(made)

        one = call(1)

        def child():
            for points in (1, 3, 5000):
                assert call(points) == one * points
            threads = [threading.Thread(target=call, args=[points]) for points in (2, 20000, 4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            in_child(lambda: call(7), 60)
            library.classify_destroy(model)

        sizes = iter(range(10**9))
        with Meanwhile(lambda: call(20000 + next(sizes) % 30)):
            for _ in range(40):
                in_child(child, 60)
        assert call(1) == one
        """)


def test_forked_child_of_a_process_that_has_compiled_can_compile(tmp_path):
    """The threads of the parent's MLIR context do not exist in the child."""
    run("""
        import torch
        torch.set_num_threads(1)  # libgomp's threads do not survive fork(), either; this test does not test eager

        def compiled(function):
            return torch.compile(function, backend="tilewright", options={"strict": True})

        x = torch.arange(64.0).reshape(8, 8)
        first = compiled(lambda x: (x @ x + 1).sum(0))
        expected = first(x)

        def child():
            assert torch.equal(first(x), expected)
            second = compiled(lambda x: torch.softmax(x @ x.t(), 1) * 2)
            torch.testing.assert_close(second(x), torch.softmax(x @ x.t(), 1) * 2)
            in_child(lambda: compiled(lambda x: x.sum(1) * 3)(x))

        for _ in range(3):
            in_child(child)
        torch.testing.assert_close(compiled(lambda x: x.cumsum(0))(x), x.cumsum(0))
        """, TILEWRIGHT_CACHE_DIR=str(tmp_path))  # fmt: skip


def test_forked_child_of_a_process_that_calls_can_pack_and_call(tmp_path):
    """Locks of packs and pools are free, or reinitialized. The compiled graph is called without Dynamo, whose guards
    have a lock that a child can inherit locked (RootGuardManager of torch)."""
    run("""
        import torch
        from tilewright.runtime import compiled
        torch.set_num_threads(1)
        made, build = [], compiled.build
        compiled.build = lambda *arguments: made.append(build(*arguments)) or made[-1]
        x, weight = torch.randn(64, 256), torch.nn.Parameter(torch.randn(256, 256))
        with torch.no_grad():
            torch.compile(lambda x: (x @ weight).relu(), backend="tilewright", options={"strict": True})(x)

        def call(x):
            return made[-1]([x, weight])[0]

        def busy():
            with torch.no_grad():
                weight.mul_(-1)  # packs anew
                call(x)

        def child():
            with torch.no_grad():
                weight.copy_(torch.eye(256))
                for factor in (1, -1, 3):
                    torch.testing.assert_close(call(x * factor), (x * factor).relu())

        with Meanwhile(busy):
            for _ in range(30):
                in_child(child)
        """, TILEWRIGHT_CACHE_DIR=str(tmp_path))  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2])
def test_pool_of_forked_workers_can_compile_and_call(tmp_path, threads):
    run(f"""
        import multiprocessing, torch
        torch.set_num_threads({threads})
        f = torch.compile(lambda x: torch.tanh(x) + 1, backend="tilewright", options={{"strict": True}})
        f(torch.ones(4))

        def work(n):
            torch.set_num_threads(1)
            g = torch.compile(lambda x: torch.sin(x) * n, backend="tilewright", options={{"strict": True}})
            return float(g(torch.ones(3)).sum()), float(f(torch.zeros(4)).sum())

        signal.alarm(300)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            results = pool.map(work, range(4))
        assert [r[1] for r in results] == [4.0] * 4, results
        """, TILEWRIGHT_CACHE_DIR=str(tmp_path))  # fmt: skip

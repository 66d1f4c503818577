"""The wheel in its user's environment: with torch, and without LLVM, compiler or linker (docs/how-to/wheel.md).

Building it takes minutes, so these tests run only with --full.
"""

import ctypes
import fcntl
import importlib.metadata
import itertools
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
READELF = shutil.which("readelf") or "llvm-readelf-22"
TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
# The wheel may depend on these libraries of glibc and of the C++ compiler. The dynamic loader is one of them, because it defines
# __tls_get_addr.
ALLOWED = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "ld-linux-x86-64.so.2", "libstdc++.so.6", "libgcc_s.so.1"}

pytestmark = pytest.mark.skipif(not os.environ.get("TILEWRIGHT_TEST_FULL"), reason="making a wheel takes minutes: --full")


def output(*command, status=0, **keywords):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600, **keywords)
    assert done.returncode == status, f"{command}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout + done.stderr


def make_wheel():
    done = subprocess.run(["bash", str(ROOT / "tools/build-wheel.sh"), sys.executable], capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / re.findall(r"(dist/\S+\.whl)", done.stdout)[-1]


@pytest.fixture(scope="module")
def wheel():
    """Builds the wheel and returns its path. Processes of pytest-xdist build it one after the other, and the second process finds everything
    built."""
    (ROOT / "build-wheel").mkdir(exist_ok=True)
    with open(ROOT / "build-wheel" / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield make_wheel()


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def installed_with(names):
    """Returns the distributions of this environment that `names` require, including themselves."""
    found, wanted = {}, list(names)
    while wanted:
        name = wanted.pop().lower().replace("_", "-")
        if name in found:
            continue
        try:
            found[name] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # a requirement of another system
        for text in found[name].requires or []:
            requirement = Requirement(text)
            if not requirement.marker or requirement.marker.evaluate({"extra": ""}):
                wanted.append(requirement.name)
    return found.values()


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """A new virtual environment with the wheel. torch and transformers (1 GB) are symbolic links to the packages of this
    environment."""
    folder = tmp_path_factory.mktemp("environment")
    output(sys.executable, "-m", "venv", "--without-pip", folder)
    site = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    for distribution in installed_with(["torch", "transformers", "triton"]):
        for top in {file.parts[0] for file in distribution.files}:
            source = Path(distribution.locate_file(top))
            if top not in ("..", "__pycache__") and source.exists() and not (site / top).exists():
                (site / top).symlink_to(source)
    output(sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--no-deps", "--no-index", wheel)
    return folder


@pytest.fixture
def bare(environment, tmp_path):
    """Returns a function that runs a program of the environment, without system folders in PATH, without a library
    path, and with an empty home."""
    def run(program, *arguments, status=0, **variables):
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        variables = {"PATH": str(environment / "bin"), "LD_LIBRARY_PATH": "", "HOME": str(home), "TMPDIR": str(tmp_path), **variables}
        return output(environment / "bin" / program, *arguments, status=status, cwd=tmp_path, env=variables)
    return run


def test_wheel_contains_three_binaries_with_allowed_dependencies(wheel, unpacked):
    """The wheel is small enough for distribution, its name states the required glibc, and its three binaries depend only on libraries in ALLOWED."""
    assert wheel.stat().st_size <= 60e6
    assert re.search(rf"-{TAG}-{TAG}-manylinux_2_\d+_x86_64\.whl$", wheel.name), wheel.name
    binaries = sorted(path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*")
                      if path.is_file() and path.read_bytes()[:4] == b"\x7fELF")
    assert len(binaries) == 3, binaries
    module, library, program = binaries[1], "tilewright/libTilewright.so", "tilewright-0.1.0.data/scripts/tilewright"
    assert sorted(binaries) == sorted([module, library, program]) and module.startswith("tilewright/_tilewright.")
    for name, own in ((library, set()), (module, {"libTilewright.so"}), (program, {"libTilewright.so"})):
        dynamic = output(READELF, "-dW", unpacked / name)
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
        assert own <= needed <= ALLOWED | own, (name, needed)
        assert "(TEXTREL)" not in dynamic
        content = (unpacked / name).read_bytes()
        for path in (str(ROOT).encode(), b"/usr/lib/llvm", b"lib/llvm-22"):
            assert path not in content, (name, path)


def dynamic_symbols(path):
    """Returns the names of defined and of undefined symbols, with versions."""
    table = output(READELF, "--dyn-syms", "-W", path)
    return set(re.findall(r" DEFAULT +\d+ (\S+)", table)), set(re.findall(r" UND (\S+)", table))


def test_library_exports_only_the_symbols_that_are_called(unpacked):
    """The library exports only the symbols that the module and the program call, with the symbol version of
    Tilewright."""
    shown, _ = dynamic_symbols(unpacked / "tilewright" / "libTilewright.so")
    shown -= {"TILEWRIGHT_0.1.0"}
    assert shown and all(name.endswith("@@TILEWRIGHT_0.1.0") for name in shown)
    called = set()
    for path in [*unpacked.glob("tilewright/_tilewright.*.so"), *unpacked.glob("*.data/scripts/tilewright")]:
        called |= {name for name in dynamic_symbols(path)[1] if "@TILEWRIGHT" in name}
    assert {name.split("@")[0] for name in shown} == {name.split("@")[0] for name in called}
    assert dynamic_symbols(next(unpacked.glob("tilewright/_tilewright.*.so")))[0] == {"PyInit__tilewright"}


def test_quickstart_example_runs_with_the_wheel(bare):
    said = bare("python", ROOT / "docs" / "examples" / "quickstart.py")
    errors = re.search(r"RMS error to float64 +eager (\S+), here (\S+)", said)
    assert errors and float(errors[2]) <= 2 * float(errors[1]), said
    assert re.search(r"kernels formed +[1-9]", said)


TRAIN = """
import sys
for name in sys.argv[1:]:
    __import__("triton._C.libtriton" if name == "triton" else name)
import torch
torch.manual_seed(0)
x, w = torch.randn(33, 65), torch.randn(65, 17, requires_grad=True)
compiled = torch.compile(lambda x, w: torch.softmax(torch.nn.functional.gelu(x @ w), -1).square().sum(), backend="tilewright", options={"strict": True})
loss = compiled(x, w)
loss.backward()
exact = w.detach().double().requires_grad_()
torch.softmax(torch.nn.functional.gelu(x.double() @ exact), -1).square().sum().backward()
assert torch.allclose(w.grad.double(), exact.grad, rtol=1e-4, atol=1e-6)
loaded = [line.split()[-1] for line in open("/proc/self/maps") if line.split()[-1].startswith("/")]
assert any("libTilewright" in path for path in loaded)
print([path for path in loaded if "libLLVM" in path or "libMLIR" in path or "llvm-22" in path])
"""


def test_torch_triton_and_tilewright_import_in_any_order(bare, environment):
    """torch, triton (if it is installed) and tilewright share a process, and no other LLVM is loaded."""
    names = ["torch", "tilewright"] + ["triton"] * bool(list(environment.glob("lib/*/site-packages/triton")))
    for order in itertools.permutations(names):
        assert bare("python", "-c", TRAIN, *order).strip().endswith("[]"), order


EXPORT = """
import torch, tilewright
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 10), torch.nn.Softmax(-1)).eval()
x = torch.randn(8, 64)
tilewright.export(model, (x,), "model.pt2", dynamic_shapes=({0: torch.export.Dim("batch", min=2, max=512)},))
x.numpy().tofile("x")
with torch.no_grad():
    model.double()(x.double()).numpy().tofile("exact")
"""


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("sizes", ctypes.c_int64 * 8), ("strides", ctypes.POINTER(ctypes.c_int64))]


def test_installed_program_runs_and_compiles_a_model(bare, tmp_path):
    """The program that pip installs runs a model, and links a library of it without compiler and linker."""
    bare("python", "-c", EXPORT)
    assert "check: every kernel agrees with the reference" in bare("tilewright", "run", "model.pt2", "--check")
    bare("tilewright", "compile", "model.pt2", "-o", "model.so")
    x = np.fromfile(tmp_path / "x", np.float32).reshape(8, 64)
    exact = np.fromfile(tmp_path / "exact").reshape(8, 10)
    result = np.empty((8, 10), np.float32)
    library = ctypes.CDLL(str(tmp_path / "model.so"))
    library.model_create.restype = ctypes.c_void_p
    model = ctypes.c_void_p(library.model_create(None, None, ctypes.c_size_t(0)))
    assert model
    given, made = (Tensor(array.ctypes.data, 8, 2, array.shape) for array in (x, result))
    assert library.model_run(model, ctypes.byref(given), ctypes.byref(made)) == 0
    library.model_destroy(model)
    assert np.sqrt(np.square(result - exact).mean()) <= 1e-6 * np.sqrt(np.square(exact).mean())


def test_plugins_are_refused(bare, tmp_path):
    (tmp_path / "model.mlir").write_text("module {}\n")
    said = bare("tilewright", "compile", "model.mlir", "--target=guest", status=1, TILEWRIGHT_PLUGINS="guest.so")
    assert "unknown target 'guest'" in said
    assert "plug-in guest.so: this Tilewright is from a wheel, in which the symbols of LLVM are hidden" in said


def test_wheel_is_byte_identical_after_linking_again(wheel):
    """The wheel is byte-identical after linking and packing again."""
    before = wheel.read_bytes()
    (ROOT / "build-wheel" / "cmake" / "lib" / "libTilewright.so").unlink()
    assert make_wheel() == wheel
    assert wheel.read_bytes() == before
    # Linked files do not contain the path of the repository, so that a build in another folder produces the same bytes.
    folder = ROOT / "build-wheel" / "cmake"
    linked = [folder / "bin" / "tilewright", folder / "python" / "tilewright" / f"_tilewright{sysconfig.get_config_var('EXT_SUFFIX')}"]
    for path in linked:
        assert str(ROOT).encode() not in path.read_bytes(), path

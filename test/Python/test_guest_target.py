"""Tests docs/examples/guest-target, a separate CMake project that is built against the installed package and loaded
as a plug-in."""

import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest

import tilewright

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(tilewright.__file__).parents[2]
PYTHON_PATH = str(pathlib.Path(tilewright.__file__).parents[1])


def run(*command, **environment):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=600, env={**os.environ, **environment})
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def cached(name):
    lines = (BUILD / "CMakeCache.txt").read_text().splitlines()
    return next((line.split("=", 1)[1] for line in lines if line.startswith(name + ":")), "")


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    """Builds the example's library against a separate prefix."""
    if not (BUILD / "CMakeCache.txt").exists():
        pytest.skip("tilewright was not imported from a build tree")
    folder = tmp_path_factory.mktemp("guest")
    cmake = shutil.which("cmake", path=os.path.dirname(sys.executable)) or cached("CMAKE_COMMAND") or "cmake"
    run(cmake, "--install", BUILD, "--prefix", folder / "prefix", "--component", "development")
    shutil.copytree(ROOT / "docs" / "examples" / "guest-target", folder / "source")  # Tilewright's sources are out of reach
    run(cmake, "-G", "Ninja", "-S", folder / "source", "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={folder / 'prefix'}",
        f"-DCMAKE_CXX_COMPILER={cached('CMAKE_CXX_COMPILER')}", f"-DCMAKE_C_COMPILER={cached('CMAKE_C_COMPILER')}",
        f"-DCMAKE_MAKE_PROGRAM={cached('CMAKE_MAKE_PROGRAM')}", "-DCMAKE_BUILD_TYPE=Release")  # fmt: skip
    run(cmake, "--build", folder / "build")
    return folder / "build" / "guest_target.so"


MODEL = """
func.func @main(%x: tensor<256x64xf32>, %w: tensor<64x96xf32>) -> tensor<256x96xf32> {
  %m = tw.matmul %x, %w : (tensor<256x64xf32>, tensor<64x96xf32>) -> tensor<256x96xf32>
  return %m : tensor<256x96xf32>
}
"""


def test_installed_cmake_package_does_not_name_the_source_folder(plugin):
    prefix = plugin.parents[1] / "prefix"
    assert (prefix / "lib" / "libTilewright.so").exists()
    for path in (prefix / "lib" / "cmake" / "Tilewright").iterdir():
        assert str(ROOT) not in path.read_text(), path


def test_schedule_of_plug_in_target_is_used(plugin, tmp_path):
    model = tmp_path / "model.mlir"
    model.write_text(MODEL)
    driver = BUILD / "bin" / "tilewright"
    ours = run(driver, "compile", model, "--emit=tiled", "--target=guest", TILEWRIGHT_PLUGINS=str(plugin))
    plain = run(driver, "compile", model, "--emit=tiled", "--target=cpu")
    assert "tiles = [16, " in ours and "tiles = [16, " not in plain
    checked = run(driver, "run", model, "--check", "--target=guest", TILEWRIGHT_PLUGINS=str(plugin))
    assert "every kernel agrees with the reference" in checked


def test_option_of_plug_in_target_is_a_flag_and_a_key_of_options(plugin, tmp_path):
    model = tmp_path / "model.mlir"
    model.write_text(MODEL)
    driver = BUILD / "bin" / "tilewright"
    plugged = {"TILEWRIGHT_PLUGINS": str(plugin), "PYTHONPATH": PYTHON_PATH}
    assert "tiles = [8, " in run(driver, "compile", model, "--emit=tiled", "--target=guest", "--task-rows=8", **plugged)
    refused = subprocess.run([driver, "compile", model, "--target=guest", "--task-rows=many"], capture_output=True, text=True, env={**os.environ, **plugged})
    assert refused.returncode == 1 and "task_rows is a positive number, not 'many'" in refused.stderr
    code = """
        import torch, tilewright
        def compiled(**options):
            torch._dynamo.reset()
            return torch.compile(lambda x, w: x @ w, backend="tilewright", options={"strict": True, **options})
        x, w = torch.randn(64, 32), torch.randn(32, 48)
        torch.testing.assert_close(compiled(target="guest", task_rows="4")(x, w), x @ w)
        try:
            compiled(target="cpu", task_rows="4")(x, w)
        except Exception as error:
            print(error)
    """
    assert "target 'cpu' takes no task_rows, an option of target 'guest'" in run(sys.executable, "-c", textwrap.dedent(code), **plugged)


def test_torch_compile_with_plug_in_target_matches_eager(plugin):
    code = """
        import torch, tilewright
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.GELU(), torch.nn.Linear(96, 32), torch.nn.LayerNorm(32))
        x = torch.randn(256, 64)
        with torch.no_grad():
            fn = torch.compile(model, backend="tilewright", fullgraph=True, options={"target": "guest", "strict": True})
            torch.testing.assert_close(fn(x), model(x))
        print("kernels", tilewright.report()[-1].kernels())
    """
    said = run(sys.executable, "-c", textwrap.dedent(code), TILEWRIGHT_PLUGINS=str(plugin), PYTHONPATH=PYTHON_PATH)
    assert int(said.split()[-1]) >= 2


def test_missing_plug_in_is_named(tmp_path):
    model = tmp_path / "model.mlir"
    model.write_text(MODEL)
    done = subprocess.run([BUILD / "bin" / "tilewright", "compile", model, "--target=guest"], capture_output=True, text=True,
                          env={**os.environ, "TILEWRIGHT_PLUGINS": "/nowhere/guest.so"})  # fmt: skip
    assert done.returncode == 1 and "unknown target 'guest'; known targets: cpu, reference" in done.stderr
    assert "/nowhere/guest.so" in done.stderr


def test_plug_in_that_is_not_loaded_warns_for_every_target(tmp_path):
    model = tmp_path / "model.mlir"
    model.write_text(MODEL)
    for plugin, reason in (("/nowhere/guest.so", "No such file"), (str(next((BUILD / "lib").glob("libTilewright.so"))), "exports no tilewrightRegisterTarget")):
        done = subprocess.run([BUILD / "bin" / "tilewright", "compile", model, "--emit=graph"], capture_output=True, text=True,
                              env={**os.environ, "TILEWRIGHT_PLUGINS": plugin})  # fmt: skip
        assert done.returncode == 0 and f"warning: TILEWRIGHT_PLUGINS names {plugin}, which is not loaded" in done.stderr, done.stderr
        assert reason in done.stderr and done.stderr.count("TILEWRIGHT_PLUGINS") == 1

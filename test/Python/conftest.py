"""Makes the package importable: if it is neither installed nor in PYTHONPATH, build/python is added to sys.path."""

import faulthandler
import os
import pathlib
import sys
import tempfile

import pytest
import torch
from _pytest.faulthandler import fault_handler_stderr_fd_key

here = pathlib.Path(__file__).parent
sys.path[:0] = [str(here), str(here.parent / "Conformance" / "harness")]
built = here.parent.parent / "build" / "python"
try:
    import tilewright  # noqa: F401
except ImportError:
    sys.path.insert(0, str(built))


# Tests do not use the user's cache. Tests of one run share a cache.
_cache = tempfile.TemporaryDirectory(prefix="tilewright-cache-")
os.environ["TILEWRIGHT_CACHE_DIR"] = _cache.name
os.environ["TILEWRIGHT_PTXAS"] = "off"  # the fake CUDA driver accepts PTX
# Tests do not use torch's AOTAutograd cache either, because a graph in this cache is not imported again.
# test_aotautograd_cache.py tests the cache in separate processes.
os.environ["TORCHINDUCTOR_AUTOGRAD_CACHE"] = "0"


def is_plain(value) -> bool:
    """Returns True for values whose text is the same in every process: numbers, strings, dtypes, and tuples, lists and
    dicts of them."""
    if isinstance(value, (tuple, list)):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(is_plain(part) for item in value.items() for part in item)
    return value is None or isinstance(value, (bool, int, float, str, torch.dtype, torch.memory_format))


def pytest_make_parametrize_id(config, val, argname):
    """Names a dtype, sizes or options in a test's id by its value: "float32" and "(2, 3)" instead of "dtype0" and
    "sizes1"."""
    if not isinstance(val, (torch.dtype, torch.memory_format, tuple, list, dict)) or not is_plain(val):
        return None
    text = str(val).replace("torch.", "")
    return text if len(text) <= 80 else None


MOST_SECONDS = 3600 if os.environ.get("TILEWRIGHT_TEST_FULL") else 600


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Ends the process if a test hangs, and prints the stack of each of its threads. pytest-xdist reports the test as failed, and
    continues with the next test in a new process. Packages such as pytest-timeout cannot end a test that hangs in compiled code while it
    holds Python's lock."""
    faulthandler.dump_traceback_later(MOST_SECONDS, exit=True, file=item.config.stash[fault_handler_stderr_fd_key])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def fresh(request, monkeypatch):
    # This variable makes the compiler verify the IR after every pass and the contract of every stage. A verified
    # compilation reads nothing from the cache.
    if not request.node.get_closest_marker("reads_cache"):
        monkeypatch.setenv("TILEWRIGHT_VERIFY", "1")
    torch.manual_seed(0)
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


# tools/test.sh runs one of N parametrized cases of these files, selected by name (harness/shares.py). With --full, and
# in a manual run of pytest, all cases run.
SHARES = {
    "ops/test_tables.py": 6, "ops/test_tile_boundary_sizes.py": 5, "ops/test_grouped_convolutions.py": 5, "ops/test_quantized.py": 3,
    "ops/test_attention_f16_f64_and_few_rows.py": 3, "ops/test_contractions.py": 5, "test_reference.py": 3, "test_cpu_attention_training.py": 3,
    "test_model_import.py": 4, "test_models.py": 3, "test_training.py": 2, "test_check.py": 2, "test_plain_exports.py": 3, "test_plain_operators.py": 3, "ops/test_casts.py": 3, "ops/test_scalars_with_half_precision.py": 3,
    "ops/test_decomposed.py": 4, "ops/test_interleaved.py": 4, "ops/test_topk_argmax_and_scans.py": 2, "ops/test_channels_last.py": 2, "ops/test_as_strided.py": 2,
    "ops/test_special_functions.py": 2, "test_flex_attention.py": 2, "test_cuda_kernel_table.py": 3, "test_cuda_wgmma.py": 2,
    "test_cuda_convolution_wgmma.py": 2, "test_cuda_attention_wgmma.py": 2, "test_cuda_attention_mma.py": 2, "test_cuda_attention_gradient.py": 2,
    "test_cuda_attention_gradient_wgmma.py": 2, "test_cuda_windows.py": 2, "test_cuda_float8.py": 2, "test_cuda_join_rows.py": 2, "test_cuda.py": 2,
    "ops/test_random.py": 2, "test_data_dependent_sizes.py": 2, "test_onnx_microsoft.py": 2, "test_onnx_references.py": 2,
}  # fmt: skip


def leave_out_other_shares(config, items) -> None:
    from shares import share

    kept, others = [], []
    for item in items:
        parts = SHARES.get(item.path.relative_to(here).as_posix(), 1) if "[" in item.name else 1
        (kept if share([item.nodeid], parts) else others).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=others)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    import quick_process

    quick_process.prepare()


def pytest_collection_modifyitems(config, items):
    from known_failures import KNOWN

    if os.environ.get("TILEWRIGHT_TEST_SHARES"):
        leave_out_other_shares(config, items)

    for item in items:
        name = f"{item.path.relative_to(here).as_posix()}::{item.name}"
        if name in KNOWN:
            item.add_marker(pytest.mark.xfail(reason=KNOWN[name]))

"""Tests need build/python on PYTHONPATH, or the package installed; tools/test.sh and ctest see to it."""

import os
import pathlib
import sys
import tempfile

import pytest
import torch

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here))
built = here.parent.parent / "build" / "python"
try:
    import tilewright  # noqa: F401
except ImportError:
    sys.path.insert(0, str(built))


# The user's own cache is not for tests; what one run compiles, its other tests may load.
_cache = tempfile.TemporaryDirectory(prefix="tilewright-cache-")
os.environ["TILEWRIGHT_CACHE_DIR"] = _cache.name
# Nor is torch's: a graph that it has is not imported again (test_kept_by_torch.py has processes of its own).
os.environ["TORCHINDUCTOR_AUTOGRAD_CACHE"] = "0"


VERIFIED = ("ops", "test_models.py", "test_training.py", "test_training_attention.py", "test_reference.py")


@pytest.fixture(autouse=True)
def fresh(request, monkeypatch):
    # The IR is verified after every pass; and nothing is loaded from the cache.
    if request.path.parent.name in VERIFIED or request.path.name in VERIFIED:
        monkeypatch.setenv("TILEWRIGHT_VERIFY", "1")
    torch.manual_seed(0)
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def pytest_collection_modifyitems(items):
    from known_failures import KNOWN

    for item in items:
        if item.name in KNOWN:
            item.add_marker(pytest.mark.xfail(reason=KNOWN[item.name]))

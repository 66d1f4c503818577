"""Keys of caches change with everything that a registered decomposition or lowering depends on."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys, torch, tilewright
sys.path.insert(0, {folder!r})
import helper_of_test
FACTOR = {factor}
def deeper(x):
    return x * FACTOR
@torch.library.custom_op("digest::f", mutates_args=())
def f(x: torch.Tensor) -> torch.Tensor:
    return x.clone()
@f.register_fake
def _(x):
    return torch.empty_like(x)
@tilewright.register_decomposition(torch.ops.digest.f)
def decomposition(x):
    return deeper(x) + helper_of_test.add(x)
print(torch.compile(lambda x: torch.ops.digest.f(x), backend="tilewright")(torch.ones(1)).item())
"""


def run(folder, factor, added):
    (folder / "helper_of_test.py").write_text(f"def add(x):\n    return x * {added}\n")
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(folder / "torch"), "TILEWRIGHT_CACHE_DIR": str(folder / "ours"),
                                "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip
    (folder / "program.py").write_text(PROGRAM.format(folder=str(folder), factor=factor))
    done = subprocess.run([sys.executable, str(folder / "program.py")], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return float(done.stdout.split()[-1])


def test_cached_results_change_with_dependencies_of_a_decomposition(tmp_path):
    assert run(tmp_path, 2, 0) == 2
    assert run(tmp_path, 3, 0) == 3
    assert run(tmp_path, 3, 5) == 8


SOURCE = """
TABLE = {{"bias": {bias}}}
WEIGHT = torch.tensor([{weight}])
def inner(x):
    return x + TABLE["bias"]
class Scale:
    amount = {attribute}
    def __init__(self):
        self.state = {state}
    def __call__(self, x):
        return x * self.amount + self.state
scale = Scale()
def made(closed):
    def decomposition(x, extra={default}, *, keyword={keyword}):
        nested = lambda v: inner(v) + {constant}
        return nested(x) + closed + extra + WEIGHT + scale(x)
    return decomposition
f = made({closed})
"""
VALUES = dict.fromkeys(("bias", "weight", "attribute", "state", "default", "keyword", "constant", "closed"), 1)


def from_source(**changed):
    import torch

    names = {"torch": torch, "__name__": "__main__"}
    exec(SOURCE.format(**{**VALUES, **changed}), names)  # noqa: S102
    return names["f"]


@pytest.mark.parametrize("changed", VALUES)
def test_digest_changes_with_each_dependency(changed):
    assert digest(from_source()) == digest(from_source())
    assert digest(from_source()) != digest(from_source(**{changed: 2}))


def digest(function):
    from tilewright.dynamo.function_digest import digest_of

    return digest_of({"f": function})


def test_equal_functions_have_equal_digests():
    def make(n):
        return lambda x: x + n

    assert digest(make(1)) == digest(make(1)) != digest(make(2))


def test_recursive_functions_and_unpicklable_values_have_digests():
    def recursive(x):
        return recursive(x)

    lock = __import__("threading").Lock()
    assert digest(recursive) == digest(recursive)
    assert digest(lambda: lock) == digest(lambda: lock)
    assert digest(lambda: lock) != digest(lambda: __import__("threading").Lock())


@pytest.mark.parametrize("change", ["global", "builtin"])
def test_digest_changes_with_a_global_or_shadowed_builtin(change):
    names = {"n": 1}
    exec("def f(x): return x + n if len([x]) else x", names)  # noqa: S102
    before = digest(names["f"])
    if change == "global":
        names["n"] = 2
    else:
        names["len"] = lambda x: 0
    assert digest(names["f"]) != before

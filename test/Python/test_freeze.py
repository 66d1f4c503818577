"""options={"freeze": True}: packed parameters are released, and released memory is never read."""

import copy
import gc
import io
import subprocess
import sys
import textwrap
import threading

import pytest
import torch
from torch import nn

import tilewright
from models import Tied

FREEZE = {"freeze": True, "strict": True}


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    tilewright.report(clear=True)
    yield
    torch._dynamo.reset()


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(96, 160), nn.ReLU(), nn.LayerNorm(160), nn.Linear(160, 64)).eval()


def convolutions():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 16, 1)).eval()


def compiled(model, **options):
    return torch.compile(model, backend="tilewright", options={"strict": True, **options})


def frozen_report(index=-1):
    return tilewright.report()[index].frozen


def reasons(index=-1):
    return {k.name: k.reason for k in frozen_report(index).kept}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("make, shape", [(mlp, (16, 96)), (convolutions, (2, 16, 12, 12))])
def test_frozen_results_equal_those_of_the_unfrozen_model(make, shape, dtype):
    model = make().to(dtype)
    plain = compiled(copy.deepcopy(model))
    frozen = torch.compile(model, backend="tilewright", options=FREEZE)
    x = torch.randn(shape, dtype=dtype)
    with torch.no_grad():
        expected = plain(x)
        for _ in range(3):
            assert torch.equal(frozen(x), expected)
    assert frozen_report().released_bytes > 0


def test_memory_of_packed_parameters_is_released():
    model = mlp()
    weights = [model[0].weight, model[3].weight]
    expected = sum(w.untyped_storage().nbytes() for w in weights)
    with torch.no_grad():
        compiled(model, freeze=True)(torch.randn(16, 96))
    report = frozen_report()
    assert sorted(report.released) == ["0.weight", "3.weight"] and report.released_bytes == expected
    with torch._C.DisableTorchFunctionSubclass():
        assert all(w.untyped_storage().nbytes() == 0 for w in weights)
    assert model[0].weight is weights[0] and weights[0].shape == (160, 96) and isinstance(weights[0], nn.Parameter)


def test_report_lists_released_and_kept_parameters_with_reasons():
    model = mlp()
    with torch.no_grad():
        compiled(model, freeze=True)(torch.randn(16, 96))
    assert reasons() == {name: "a kernel reads it unpacked" for name in ("0.bias", "2.weight", "2.bias", "3.bias")}
    text = str(tilewright.report())
    released = (96 * 160 + 160 * 64) * 4
    assert f"frozen: 2 parameters released, {released} bytes; 4 kept, {(160 * 3 + 64) * 4} bytes" in text
    assert "kept: 2.weight (640 bytes): a kernel reads it unpacked" in text


def test_graphs_that_train_are_refused():
    model = mlp()
    with pytest.raises(RuntimeError, match=r"freeze.*supports inference only.*require gradients.*torch\.no_grad\(\)"):
        compiled(model, freeze=True)(torch.randn(16, 96))
    assert type(model[0].weight) is nn.Parameter


def test_freeze_refuses_the_eager_check():
    with pytest.raises(Exception, match="releases the parameters that options.'check'. = 'eager' reads"):
        compiled(mlp(), freeze=True, check="eager")(torch.randn(16, 96))


def test_tied_embedding_table_is_kept():
    model = Tied().eval()
    plain, x = compiled(copy.deepcopy(model)), torch.randint(0, 192, (16,))
    frozen = compiled(model, freeze=True)
    with torch.no_grad():
        assert torch.equal(frozen(x), plain(x)) and torch.equal(frozen(x), plain(x))
    assert frozen_report(0).released == ["inner.weight"]
    assert any("a kernel reads it unpacked" in reason for name, reason in reasons(0).items() if "weight" in name)


@pytest.mark.parametrize("hold", ["view", "state_dict", "part"])
def test_parameter_with_shared_storage_is_kept(hold):
    model, x = mlp(), torch.randn(16, 96)
    if hold == "part":
        both = torch.randn(2, 160, 96)
        model[0].weight = nn.Parameter(both[0])
        del both
    held = {"view": lambda: model[0].weight.detach()[3], "state_dict": model.state_dict, "part": lambda: None}[hold]()
    with torch.no_grad():
        expected, first = model(x), model[0](x)
        frozen = compiled(model, freeze=True)
        torch.testing.assert_close(frozen(x), expected)
        assert "storage" in reasons()["0.weight"]
        assert torch.equal(model[0](x), first)
    del held


def test_parameter_viewed_between_compile_and_release_is_kept():
    """Conditions that are checked at compile time are checked again before memory is released."""
    model, x = mlp(), torch.randn(16, 96)
    frozen = compiled(model, freeze=True)
    held = []
    original = tilewright.dynamo.freeze.Freezer.done

    def done(self):
        held.append(model[0].weight.detach())
        original(self)

    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(tilewright.dynamo.freeze.Freezer, "done", done)
        expected = model(x)
        torch.testing.assert_close(frozen(x), expected)
        torch.testing.assert_close(model[0](x), nn.functional.linear(x, held[0], model[0].bias))
    assert frozen_report().released == ["3.weight"] and "other tensors share" in reasons()["0.weight"]


def test_returned_parameter_is_kept():
    class Returns(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(128, 128)

        def forward(self, x):
            return self.inner(x), self.inner.weight.t()

    model, x = Returns().eval(), torch.randn(16, 128)
    with torch.no_grad():
        expected = [t.clone() for t in model(x)]
        frozen = compiled(model, freeze=True)
        for result in (frozen(x), frozen(x)):
            torch.testing.assert_close(result[0], expected[0])
            assert torch.equal(result[1], expected[1])
    assert "inner.weight" in reasons()


def test_calls_with_other_sizes_use_the_same_packs():
    """The calls have a dynamic batch size or one row, or belong to an unfrozen model with the same parameters."""
    model = mlp()
    plain, frozen = compiled(copy.deepcopy(model)), compiled(model, freeze=True)
    with torch.no_grad():
        for rows in (16, 33, 7, 1, 16):
            x = torch.randn(rows, 96)
            assert torch.equal(frozen(x), plain(x)), rows
        x = torch.randn(16, 96)
        second = compiled(nn.Sequential(*model))
        torch.testing.assert_close(second(x), plain(x))
    assert sum(len(g.frozen.released) for g in tilewright.report() if g.frozen) == 2


def test_packs_outlive_a_reset_of_dynamo():
    """torch._dynamo.reset() frees every graph, but the parameter holds references to its packs."""
    model, x = mlp(), torch.randn(16, 96)
    with torch.no_grad():
        expected = compiled(model, freeze=True)(x).clone()
        torch._dynamo.reset()
        tilewright.report(clear=True)
        gc.collect()
        assert torch.equal(compiled(model, freeze=True)(x), expected)


def test_packs_are_freed_with_the_parameter():
    model, x = mlp(), torch.randn(16, 96)
    frozen = compiled(model, freeze=True)
    with torch.no_grad():
        frozen(x)
    left = model[0].weight._tilewright_released
    import weakref

    gone = weakref.ref(left)
    del left, frozen
    model = None
    torch._dynamo.reset()
    tilewright.report(clear=True)
    gc.collect()
    assert gone() is None


class Scales(nn.Module):
    """A kernel that reads a weight of `model` unpacked."""

    def __init__(self, model):
        super().__init__()
        self.first = model[0]

    def forward(self, x):
        return x * self.first.weight


class Sums(Scales):
    """The sum of the weight is computed once, like packs, and has a different form from the packs of products."""

    def forward(self, x):
        return x + self.first.weight.sum(0)


@pytest.mark.parametrize("freeze", [True, False])
@pytest.mark.parametrize("reader, reason", [(Scales, "reads it unpacked"), (Sums, "no pack of it that this graph could use")])
def test_graph_that_reads_a_released_parameter_is_refused_by_name(reader, reason, freeze):
    model = mlp()
    with torch.no_grad():
        compiled(model, freeze=True)(torch.randn(16, 96))
        text = r"parameter (0|first)\.weight \(float32\[160, 96\]\) was released.*" + reason + ".*freeze"
        with pytest.raises(RuntimeError, match=text):
            compiled(reader(model), freeze=freeze)(torch.randn(160, 96))


def test_parameter_that_another_graph_reads_unpacked_is_kept():
    model, x = mlp(), torch.randn(160, 96)
    scales, frozen = compiled(Scales(model), freeze=True), compiled(model, freeze=True)
    with torch.no_grad():
        before = scales(x)
        frozen(x)
        assert torch.equal(scales(x), before)
    assert reasons()["0.weight"] == "a kernel of another graph reads it unpacked"


def release_one():
    """Returns a model whose 0.weight was released."""
    model = mlp()
    with torch.no_grad():
        compiled(model, freeze=True)(torch.randn(16, 96))
    return model


USES = {
    "forward": lambda m: m(torch.randn(16, 96)),
    "matmul": lambda m: torch.randn(4, 160) @ m[0].weight,
    "clone": lambda m: m[0].weight.clone(),
    "sum": lambda m: m[0].weight.sum(),
    "add": lambda m: m[0].weight + 1,
    "copy_": lambda m: m[0].weight.data.copy_(torch.ones(160, 96)),
    "read_data": lambda m: m[0].weight.data,
    "data_ptr": lambda m: m[0].weight.data_ptr(),
    "item": lambda m: m[0].weight[0, 0].item(),
    "numpy": lambda m: m[0].weight.detach().numpy(),
    "tolist": lambda m: m[0].weight.tolist(),
    "equal": lambda m: torch.equal(m[0].weight, m[0].weight),
    "foreach": lambda m: torch._foreach_add([m[0].weight], 1),
    "dlpack": lambda m: torch.from_dlpack(m[0].weight),
    "storage": lambda m: m[0].weight.untyped_storage(),
    "to": lambda m: m.to(torch.bfloat16),
    "deepcopy": copy.deepcopy,
    "state_dict": lambda m: m.state_dict(),
    "save_parameter": lambda m: torch.save(m[0].weight, io.BytesIO()),
    "save_model": lambda m: torch.save(m, io.BytesIO()),
    "load_state_dict": lambda m: m.load_state_dict(mlp().state_dict()),
    "init": lambda m: nn.init.normal_(m[0].weight),
    "vector": lambda m: nn.utils.parameters_to_vector(m.parameters()),
    "share": lambda m: m.share_memory(),
}


@pytest.mark.parametrize("use", USES)
def test_eager_use_of_a_released_parameter_is_an_error(use):
    model = release_one()
    with torch.no_grad(), pytest.raises(RuntimeError, match=r"0\.weight"):
        USES[use](model)


def test_metadata_of_a_released_parameter_is_available():
    model = release_one()
    weight = model[0].weight
    assert weight.numel() == 160 * 96 and weight.dtype == torch.float32 and weight.requires_grad
    assert "released by freeze: 0.weight (float32[160, 96])" in repr(weight)
    assert sum(p.numel() for p in model.parameters()) == sum(p.numel() for p in mlp().parameters())
    assert "Linear" in repr(model)


def test_kept_parameters_can_be_saved_and_loaded():
    model = release_one()
    loaded = io.BytesIO()
    torch.save(model[2].state_dict(), loaded)
    loaded.seek(0)
    assert torch.equal(torch.load(loaded)["weight"], model[2].weight)


def test_parameter_with_new_memory_is_packed_again():
    """p.data = tensor and load_state_dict(assign=True) restore a released parameter."""
    model, other, x = mlp(), mlp(), torch.randn(16, 96)
    frozen = compiled(model, freeze=True)
    with torch.no_grad():
        for p in other.parameters():
            p.mul_(1.5)
        frozen(x)
        for ours, theirs in zip(model.parameters(), other.parameters()):
            ours.data = theirs.detach().clone()
        torch.testing.assert_close(frozen(x), other(x))
        torch.testing.assert_close(model(x), other(x))
        model.load_state_dict(copy.deepcopy(mlp().state_dict()), assign=True)
        torch.testing.assert_close(frozen(x), mlp()(x))


def test_repack_keeps_packs_of_released_parameters():
    model, x = mlp(), torch.randn(16, 96)
    frozen = compiled(model, freeze=True)
    with torch.no_grad():
        expected = frozen(x)
        tilewright.repack(model)
        assert torch.equal(frozen(x), expected)


def test_only_parameters_of_a_single_segment_are_released():
    """Only parameters that a single compiled segment reads are released."""

    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(128, 128), nn.Linear(128, 128)

        def forward(self, x):
            y = torch.linalg.qr(self.first(x))[0]
            return self.second(y) + self.first(y)

    model = Broken().eval()
    x = torch.randn(128, 128)
    with torch.no_grad(), pytest.warns(UserWarning):
        expected = torch.compile(copy.deepcopy(model), backend="tilewright")(x)
    frozen = torch.compile(model, backend="tilewright", options={"freeze": True})
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(frozen(x), expected)
    assert frozen_report().released == ["second.weight"]
    assert reasons()["first.weight"] == "another segment of the graph reads it"


def test_concurrent_first_calls_of_a_frozen_model_give_equal_results():
    model = mlp()
    plain, frozen = compiled(copy.deepcopy(model)), compiled(model, freeze=True)
    x = torch.randn(16, 96)
    with torch.no_grad():
        expected = plain(x)
    results, errors = [], []

    def call():
        try:
            with torch.no_grad():
                for _ in range(5):
                    results.append(frozen(x))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and len(results) == 20 and all(torch.equal(r, expected) for r in results)


MEMORY = """
import sys, torch, tilewright
from torch import nn
def resident():
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith(sys.argv[2])) // 1024
model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(16)]).eval()   # 256 MiB
warm = torch.compile(nn.Linear(64, 64).eval(), backend="tilewright", options={"freeze": True})
with torch.no_grad():
    warm(torch.randn(8, 64))
    before = resident()
    torch.compile(model, backend="tilewright", options={"freeze": sys.argv[1] == "1"})(torch.randn(8, 2048))
print(resident() - before)
"""


@pytest.mark.parametrize("what, most", [("VmRSS", 48), ("VmHWM", 96)])
def test_freezing_does_not_hold_weights_and_packs_together(what, most):
    """The model has 256 MiB of weights. Each weight is replaced by its pack before the next weight is packed."""
    grown = {}
    for freeze in ("0", "1"):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(MEMORY), freeze, what], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        grown[freeze] = int(done.stdout)
    assert grown["1"] < most and grown["0"] > 200, grown

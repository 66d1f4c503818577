"""Parameters are packed between compiling and the first call. That call uses the values of its own arguments."""

import subprocess
import sys

import pytest
import torch

import tilewright


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)]).eval()


@pytest.fixture
def seen(monkeypatch):
    """Records the types of the known arguments at each call of pack_ahead()."""
    from tilewright.runtime import compiled

    found = []
    right = compiled.CompiledGraph.pack_ahead

    def pack_ahead(self):
        found.append([type(a) for a in compiled.arguments()])
        right(self)

    monkeypatch.setattr(compiled.CompiledGraph, "pack_ahead", pack_ahead)
    return found


def test_first_call_with_parameters_packed_ahead_matches_eager(seen):
    model, x = network(), torch.randn(64, 1024)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(model, backend="tilewright", fullgraph=True)(x), model(x))
    assert len(seen) == 1 and seen[0].count(torch.nn.Parameter) == 8


def test_first_call_uses_parameters_written_after_compiling():
    """A backend that wraps Tilewright's backend writes the parameters after Tilewright's backend has returned."""
    from tilewright.dynamo.backend import tilewright as ours

    model, x = network(), torch.randn(64, 1024)

    def backend(gm, inputs):
        call = ours(gm, inputs)
        with torch.no_grad():
            model[0].weight.mul_(3)
            model[2].weight.add_(1)
        return call

    with torch.no_grad():
        got = torch.compile(model, backend=backend, fullgraph=True)(x)
        torch.testing.assert_close(got, model(x), rtol=1e-4, atol=1e-3)


def test_gradients_of_first_training_step_match_eager(seen):
    model, x = network().train(), torch.randn(64, 1024)
    torch.compile(model, backend="tilewright", fullgraph=True)(x).sum().backward()
    got = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model(x).sum().backward()
    for one, other in zip(got, model.parameters()):
        torch.testing.assert_close(one, other.grad, rtol=1e-4, atol=1e-3)


def test_frozen_parameters_packed_ahead_are_released():
    model, x = network(), torch.randn(64, 1024)
    expected = model(x)
    with torch.no_grad():
        compiled = torch.compile(model, backend="tilewright", options={"freeze": True})
        torch.testing.assert_close(compiled(x), expected)
    report = tilewright.report(model)
    assert any(g.frozen is not None and g.frozen.released for g in report), report


def test_pages_are_prefaulted_for_parameters_that_will_be_packed(monkeypatch):
    from tilewright.runtime import prefault

    asked = []
    monkeypatch.setattr(prefault._tilewright, "bring_pages", asked.append)
    model, x = network(), torch.randn(64, 1024)
    with torch.no_grad():
        for _ in range(2):
            torch._dynamo.reset()
            torch.testing.assert_close(torch.compile(model, backend="tilewright", fullgraph=True)(x), model(x))
            assert asked == [4 * 1024 * 1024 * 4]  # biases are not packed; each weight once

        torch._dynamo.reset()  # without a report of the start of tracing, the graph shows that the table is not packed

        class Other(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.table = torch.nn.Parameter(torch.randn(100, 16))
                self.filters = torch.nn.Parameter(torch.randn(8, 16, 3))

            def forward(self, x):
                return torch.nn.functional.conv1d((x + self.table).T[None], self.filters)

        torch.compile(Other(), backend="tilewright")(torch.randn(100, 16))
        assert asked[1:] == [8 * 16 * 3 * 4]
        torch.compile(network(), backend="tilewright", options={"freeze": True})(x)
        assert len(asked) == 2


def test_pages_are_prefaulted_when_tracing_begins(monkeypatch):
    from tilewright.dynamo import prewarm
    from tilewright.dynamo.backend import tilewright as ours
    from tilewright.runtime import prefault

    asked, when_called = [], []
    monkeypatch.setattr(prefault._tilewright, "bring_pages", asked.append)
    prewarm.watch(ours)

    def backend(gm, inputs):
        when_called.append(list(asked))
        return ours(gm, inputs)

    class Words(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.layer = torch.nn.Embedding(100, 64), torch.nn.Linear(64, 32)

        def forward(self, x):
            return self.layer(self.table(x))

    backend._torchdynamo_orig_backend = ours
    model, x = Words(), torch.arange(5)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(model, backend=backend)(x), model(x))
        assert when_called == [[64 * 32 * 4]] and len(asked) == 1
        torch.compile(Words(), backend="aot_eager")(x)  # a graph of another backend
        assert len(asked) == 1
        torch.compile(Words(), backend="tilewright", options={"threads": 1})(x)
        assert len(asked) == 2
        torch.compile(Words(), backend="tilewright", options={"freeze": True})(x)
        assert len(asked) == 2
        with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="unknown option"):
            torch.compile(Words(), backend="tilewright", options={"threadz": 1})(x)


def test_process_exit_waits_for_the_prewarm_thread():
    """If a daemon thread waits for the GIL after the interpreter has ended, it is unwound through torch's C++, which
    aborts."""
    program = """if True:
        import time, torch
        from tilewright.dynamo import prewarm
        key = prewarm._key
        prewarm._key = lambda: (time.sleep(2), key(), print("ended", flush=True))
        print(torch.compile(torch.relu, backend="tilewright")(torch.ones(3)).sum().item(), flush=True)
        """
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0 and ran.stdout.split() == ["3.0", "ended"], ran.stdout + ran.stderr

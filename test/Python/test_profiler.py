"""Each call is a span of torch.profiler, and contains a span for each of its kernels. Without a profiler, the overhead
is negligible."""

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from tilewright.dynamo.backend import tilewright as backend


def spans(profiler):
    return [e.key for e in profiler.key_averages() if e.key.startswith("tilewright: ")]


def test_a_call_is_a_span():
    x = torch.ones(3, requires_grad=True)
    fn = torch.compile(lambda x: (x * 2).sum(), backend=backend)
    fn(x).backward()
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(3):
            fn(x).backward()
    (forward,) = [e for e in profiler.key_averages() if e.key.startswith("tilewright: ") and e.key.endswith("(forward)")]
    (backward,) = [e for e in profiler.key_averages() if e.key.startswith("tilewright: ") and e.key.endswith("(backward)")]
    assert forward.count == backward.count == 3
    fn(x)
    with profile(activities=[ProfilerActivity.CPU]) as later:
        torch.ones(3) * 2
    assert spans(later) == []


class Feed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.norm = torch.nn.Linear(64, 256), torch.nn.Linear(256, 64), torch.nn.LayerNorm(64)

    def forward(self, x):
        return self.norm(x + self.second(torch.nn.functional.gelu(self.first(x))))


def step(x):
    return (x @ x.T).relu().sum(-1)


@pytest.mark.parametrize("threads", [1, 2])
def test_kernels_are_spans_with_names_of_their_ops(threads):
    fn, x = torch.compile(Feed(), backend=backend, options={"threads": threads}), torch.randn(512, 64)
    with torch.no_grad():
        fn(x)
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            for _ in range(3):
                fn(x)
    counts = {e.key: e.count for e in profiler.key_averages()}
    assert counts["tilewright: Feed (inference)"] == 3
    assert counts["matmul_add_gelu_0"] == counts["matmul_add_1"] == counts["layer_norm_2"] == 3, counts
    for event in profiler.events():
        if event.name == "matmul_add_gelu_0":
            assert event.cpu_parent.name == "tilewright: Feed (inference)"


@pytest.mark.parametrize("function, name", [
    (Feed(), "Feed"), (step, "step"), (lambda x: x + 1, "lambda at test_profiler.py:"), (torch.nn.Linear(64, 4), "Linear"),
    (torch.nn.Sequential(torch.nn.Linear(64, 4), torch.nn.GELU()), "Sequential"), (Feed().forward, "Feed"),
])  # fmt: skip
def test_graph_has_the_name_of_its_function_or_module(function, name):
    fn = torch.compile(function, backend=backend)
    with torch.no_grad():
        fn(torch.randn(64, 64))
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            fn(torch.randn(64, 64))
    (span,) = spans(profiler)
    assert span.startswith(f"tilewright: {name}") and span.endswith(" (inference)"), span


def test_graph_after_a_graph_break_has_the_name_of_its_function():
    def broken(x):
        y = x.sin()
        torch._dynamo.graph_break()
        return y.cos() * 2

    fn = torch.compile(broken, backend=backend)
    fn(torch.randn(4))
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        fn(torch.randn(4))
    assert [(e.key, e.count) for e in profiler.key_averages() if e.key.startswith("tilewright: ")] == [("tilewright: broken (inference)", 2)]


def test_segments_between_eager_ops_are_spans():
    x = torch.randn(4, 4)
    with torch.no_grad(), pytest.warns(UserWarning, match="linalg_qr"):
        from tilewright.runtime import compiled as module

        module._warned.clear()
        fn = torch.compile(lambda x: torch.linalg.qr(x * 2)[1] + 1, backend=backend)
        fn(x)
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            fn(x)
    assert sum(e.count for e in profiler.key_averages() if e.key.startswith("tilewright: ")) == 2


def test_a_failed_call_closes_its_span():
    fn = torch.compile(lambda a, b: a @ b, backend=backend)
    a, b = torch.ones(10**7, 4), torch.ones(4, 10**7)
    with profile(activities=[ProfilerActivity.CPU]) as profiler, torch.no_grad():
        with pytest.raises(MemoryError):
            fn(a, b)
        torch.compile(lambda x: x + 1, backend=backend)(torch.ones(3))
    events = [e for e in profiler.events() if e.name.startswith("tilewright: ")]
    assert len(events) == 2 and all(e.cpu_parent is None or e.cpu_parent not in events for e in events)

"""Each call is a span of torch.profiler. Without a profiler, the overhead is negligible."""

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

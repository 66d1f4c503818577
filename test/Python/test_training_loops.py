"""Tests of the code around a training step (scaled gradients, accumulation, checkpoints, clipped norms), which is
compared with eager by the numbers rule."""

import copy
import threading

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from numbers_rule import assert_numbers, widen
from tilewright.dynamo.backend import tilewright

WIDTH = 48


class Net(nn.Module):
    def __init__(self, checkpointed=False, dropout=0.0):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 96), nn.GELU(), nn.Linear(96, WIDTH),
                                                  nn.Dropout(dropout)) for _ in range(2))  # fmt: skip
        self.head = nn.Linear(WIDTH, 7)
        self.checkpointed = checkpointed

    def forward(self, x):
        for block in self.blocks:
            x = x + (checkpoint(block, x, use_reentrant=False) if self.checkpointed else block(x))
        return self.head(x)


def batches(count):
    return [(torch.randn(9, WIDTH), torch.randint(0, 7, (9,))) for _ in range(count)]


def compare(loop, model, data):
    """Runs `loop(module, its forward, data, widened)` compiled, in eager and in float64."""
    ours, theirs, exact = model, copy.deepcopy(model), copy.deepcopy(model).double()
    got = loop(ours, torch.compile(ours, backend=tilewright, options={"strict": True}, fullgraph=True), data, False)
    want = loop(theirs, theirs, data, False)
    truth = loop(exact, exact, [widen(pair) for pair in data], True)
    assert_numbers([t.detach() for t in got], [[t.detach() for t in want]], [t.detach() for t in truth])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_scaled_and_clipped_gradients_under_autocast_match_eager(dtype):
    def loop(model, forward, data, exact):
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=dtype == torch.float16 and not exact)
        norms = []
        for x, y in data:
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cpu", dtype, enabled=not exact):
                loss = nn.functional.cross_entropy(forward(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.5))
            scaler.step(optimizer)
            scaler.update()
        return [*norms, *model.parameters()]

    compare(loop, Net(), batches(4))


def test_steps_with_infinite_gradients_are_skipped():
    """f16 overflows in the backward graph: GradScaler must detect it, halve its scale and not change the parameters."""
    model = Net()
    before = [p.detach().clone() for p in model.parameters()]
    optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1), torch.amp.GradScaler("cpu", init_scale=2.0**40)
    forward = torch.compile(model, backend=tilewright, options={"strict": True})
    ((x, y),) = batches(1)
    with torch.autocast("cpu", torch.float16):
        loss = nn.functional.cross_entropy(forward(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 2.0**39
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters()))


@pytest.mark.parametrize("optimizer", [lambda p: torch.optim.AdamW(p, 1e-2, eps=1e-4), lambda p: torch.optim.SGD(p, 0.1, foreach=True)])
def test_accumulated_gradients_match_eager(optimizer):
    def loop(model, forward, data, _exact):
        chosen = optimizer(model.parameters())
        for start in (0, 3):
            chosen.zero_grad(set_to_none=True)
            for x, y in data[start : start + 3]:
                (nn.functional.cross_entropy(forward(x), y) / 3).backward()
            chosen.step()
        return [*[p.grad for p in model.parameters()], *model.parameters()]

    compare(loop, Net(), batches(6))


def test_gradients_of_checkpointed_blocks_match_eager():
    def loop(model, forward, data, _exact):
        for x, y in data:
            nn.functional.cross_entropy(forward(x), y).backward()
        return [p.grad for p in model.parameters()]

    compare(loop, Net(checkpointed=True), batches(2))


def test_checkpoint_recomputes_with_the_same_dropout_mask():
    """The block is recomputed in the backward graph, with the mask of the first computation."""
    torch.manual_seed(3)
    x = torch.ones(64, WIDTH, requires_grad=True)

    def block(x):
        return nn.functional.dropout(x * 2, 0.5)

    fn = torch.compile(lambda x: checkpoint(block, x, use_reentrant=False) * 3, backend=tilewright)
    y = fn(x)
    y.sum().backward()
    assert 0.3 < (y == 0).float().mean() < 0.7
    torch.testing.assert_close(x.grad, y.detach())


def test_training_of_some_parameters_matches_eager():
    """Parameters that are not trained get no gradient, and their packs remain valid."""
    def loop(model, forward, data, _exact):
        model.blocks[0].requires_grad_(False)
        optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.1)
        for x, y in data:
            optimizer.zero_grad()
            nn.functional.cross_entropy(forward(x), y).backward()
            optimizer.step()
        assert all(p.grad is None for p in model.blocks[0].parameters())
        return list(model.parameters())

    compare(loop, Net(), batches(3))


def test_concurrent_backward_graphs_of_different_sizes_match_eager():
    """During a call, results are allocated with the sizes of this call, and saved activations are freed."""
    model = torch.nn.Sequential(*[m for _ in range(4) for m in (torch.nn.Linear(512, 512), torch.nn.Tanh())])
    compiled = torch.compile(model, backend="tilewright", dynamic=True, options={"strict": True})
    drawn = {rows: torch.randn(rows, 512) for rows in (4500, 5000, 6100)}

    def gradient(function, rows):
        x = drawn[rows].clone().requires_grad_()
        return torch.autograd.grad(function(x).square().sum(), [x, *model.parameters()])

    wanted = {rows: gradient(model, rows) for rows in drawn}
    gradient(compiled, 4500), gradient(compiled, 5000)
    found = {}

    def work(rows):
        found[rows] = [gradient(compiled, rows) for _ in range(3)]

    threads = [threading.Thread(target=work, args=(rows,)) for rows in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rows, want in wanted.items():
        for got in found[rows]:
            for a, b in zip(got, want, strict=True):
                torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3 * b.abs().max().item())

"""Cases of test_cuda_driver.py, which run in a separate process whose CUDA driver is the fake one (test/FakeCuda).

    TILEWRIGHT_LIBCUDA=build/lib/libtilewright_fake_cuda.so python test/Python/driver_program.py NAME...

In most cases, results are compared bit by bit with those of the emulated device, which runs the same kernels.
"""

import ctypes
import gc
import json
import os
import signal
import sys
import threading
import warnings

import torch
import torch.nn.functional as F

import tilewright  # noqa: F401

fake = ctypes.CDLL(os.environ["TILEWRIGHT_LIBCUDA"])
fake.fakeCudaReport.restype = ctypes.c_char_p


def report() -> dict:
    return json.loads(fake.fakeCudaReport())


GRAPHS = os.environ.get("DRIVER_PROGRAM_GRAPHS") == "1"


def compiled(fn, device, **options):
    if GRAPHS and device == "cuda":
        options["cuda_graph"] = True
    return torch.compile(fn, backend="tilewright", options={"strict": True, "target": "cuda", "device": device, **options})


def same(results, others):
    assert len(results) == len(others) > 0
    for a, b in zip(results, others, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape and torch.equal(a.view(torch.uint8) if a.dim() else a,
                                                                         b.view(torch.uint8) if b.dim() else b)  # fmt: skip


def on_both(fn, *inputs, **options):
    """Returns the results on the driver's device, and checks that they equal the emulated device's."""
    found = []
    for device in ("cuda", "emulated"):
        torch._dynamo.reset()
        with torch.no_grad():
            call = compiled(fn, device, **options)
            found.append([r.clone() for r in call(*inputs)])
            for _ in range(3 if GRAPHS and device == "cuda" else 0):
                same(found[0], call(*inputs))
    same(*found)
    return found[0]


def network():
    """Runs products on tensor cores, kernels on rows and elementwise ops, and calls the program again with other
    numbers and another size."""
    w0, b0, w1 = torch.randn(96, 64).bfloat16(), torch.randn(96).bfloat16(), torch.randn(24, 96).bfloat16()

    def fn(x):
        hidden = F.layer_norm(F.gelu(F.linear(x, w0, b0)), [96])
        return (torch.softmax(F.linear(hidden, w1).float(), -1), hidden.sum(0))

    for arch in ("sm_80", "sm_90a"):
        if arch == "sm_90a" and "9.0" not in os.environ.get("TILEWRIGHT_FAKE_CUDA", ""):
            continue
        on_both(fn, torch.randn(48, 64).bfloat16(), arch=arch)
    torch._dynamo.reset()
    # The emulated device gets the architecture of the fake driver's GPU, because another architecture sums rows in
    # another order.
    own = {"arch": "sm_90a"} if "9.0" in os.environ.get("TILEWRIGHT_FAKE_CUDA", "") else {}
    call, other = compiled(fn, "cuda"), compiled(fn, "emulated", **own)
    with torch.no_grad():
        for rows in (48, 48, 17, 33):
            x = torch.randn(rows, 64).bfloat16()
            same(call(x), other(x))


def chip():
    """Checks that code for the architecture of the device is selected, and that the driver creates the tensor maps."""
    a, b = torch.randn(256, 128).bfloat16(), torch.randn(384, 128).bfloat16()
    found = on_both(lambda a, b: (F.linear(a, b),), a, b, arch="sm_90a")
    torch._dynamo.reset()
    before = report()["calls"].get("cuTensorMapEncodeTiled", 0)
    call = compiled(lambda a, b: (F.linear(a, b),), "cuda")
    same(call(a, b), found)
    assert report()["calls"]["cuTensorMapEncodeTiled"] > before, "sm_90a is the chip's own"
    for dtype in (torch.bfloat16, torch.float32):  # f32 is rounded to tf32
        torch._dynamo.reset()
        before = report()["calls"].get("cuTensorMapEncodeIm2col", 0)
        x, w = torch.randn(2, 24, 7, 10).to(dtype), torch.randn(32, 24, 3, 2).to(dtype)
        on_both(lambda x: (F.conv2d(x, w, padding=(2, 0), stride=(1, 2)),), x, arch="sm_90a")
        assert report()["calls"]["cuTensorMapEncodeIm2col"] > before, "maps of windows are used"


def convolution():
    w = torch.randn(32, 16, 3, 3).bfloat16()
    on_both(lambda x: (F.relu(F.conv2d(x, w, padding=1)), F.max_pool2d(x, 2)), torch.randn(2, 16, 12, 12).bfloat16())


def attention():
    q, k, v = (torch.randn(1, 4, 40, 64).bfloat16() for _ in range(3))
    on_both(lambda q, k, v: (F.scaled_dot_product_attention(q, k, v, is_causal=True),), q, k, v)


def forked():
    """Checks that a call in a forked child raises an error that states a solution, even if another thread of the
    parent was inside a call."""
    # The thread calls a separate function: torch 2.13 holds a mutex of the function while it checks guards, and a child
    # that is forked meanwhile waits for this mutex forever. Both functions have the same graph and use the same device.
    model, other = (compiled(fn, "cuda") for fn in (lambda x: (x.sin() * 2,), lambda x: (x.sin() * 2,)))
    x, begun, stop = torch.randn(64, 64), threading.Event(), threading.Event()
    model(x)

    def keep_calling():
        other(x)
        begun.set()  # a child that is forked while Dynamo compiles for this thread runs the function in eager
        while not stop.is_set():
            other(x)

    thread = threading.Thread(target=keep_calling)
    thread.start()
    assert begun.wait(300)
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(60)  # a hang ends here
                try:
                    model(x)
                    os._exit(1)
                except RuntimeError as error:
                    if "was in use when this process was forked" not in str(error):
                        print(error, file=sys.stderr, flush=True)
                        os._exit(2)
                    os._exit(0)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            assert code == 0, f"the child ended with {code}"
    finally:
        stop.set()
        thread.join()


def training():
    model = torch.nn.Sequential(torch.nn.Embedding(50, 24), torch.nn.Linear(24, 32), torch.nn.GELU(), torch.nn.Linear(32, 10))
    tokens, wanted = torch.randint(0, 50, (6, 5)), torch.randint(0, 10, (30,))
    start = [p.detach().clone() for p in model.parameters()]
    found = []
    for device in ("cuda", "emulated"):
        torch._dynamo.reset()
        for parameter, value in zip(model.parameters(), start, strict=True):
            parameter.data.copy_(value)
        call, steps = compiled(model, device), []
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            loss = F.cross_entropy(call(tokens).reshape(30, 10), wanted)
            loss.backward()
            optimizer.step()
            steps += [loss.detach().clone(), *[p.grad.clone() for p in model.parameters()]]
        found.append(steps)
    same(*found)


def parameters():
    """Values that are computed once from parameters are computed again if these change."""
    model = torch.nn.Sequential(torch.nn.Conv2d(8, 16, 3), torch.nn.BatchNorm2d(16)).eval()
    x = torch.randn(1, 8, 10, 10)
    call, other = compiled(model, "cuda"), compiled(model, "emulated")
    with torch.no_grad():
        same([call(x)], [other(x)])
        first = report()["launches"]
        same([call(x)], [other(x)])
        second = report()["launches"]
        again = {name for name, count in second.items() if count > first.get(name, 0)}
        if not GRAPHS:
            assert again and again < set(first), f"{again} of {set(first)} were launched again"
        model[0].weight.mul_(2)
        same([call(x)], [other(x)])


def in_place():
    def fn(x, y):
        x.add_(y)
        return (x * 2,)

    found = []
    for device in ("cuda", "emulated"):
        torch._dynamo.reset()
        x, y = torch.arange(40.0), torch.ones(40)
        call = compiled(fn, device)
        found.append([result for _ in range(3) for result in [*call(x, y), x.clone()]])
    same(*found)


def random():
    """The kernels draw random numbers, from a seed on the host."""
    found = []
    for device in ("cuda", "emulated"):
        torch._dynamo.reset()
        torch.manual_seed(3)
        found.append([compiled(lambda x: F.dropout(x, 0.5), device)(torch.ones(64, 8))])
    same(*found)


def index():
    table = torch.randn(9, 16)
    call = compiled(lambda i: table[i], "cuda")
    call(torch.tensor([1, 8]))
    try:
        call(torch.tensor([1, 9]))
    except IndexError as error:
        assert "index 9 is out of range for a dimension of size 9" in str(error) and "driver_program.py" in str(error), error
    else:
        raise AssertionError("no error")


def transformer():
    import transformers

    sizes = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=1, intermediate_size=128, vocab_size=100,
                 max_position_embeddings=32)  # fmt: skip
    tokens = torch.randint(0, 100, (1, 24))
    bert = transformers.BertModel(transformers.BertConfig(**sizes)).eval().bfloat16()
    on_both(lambda tokens: (bert(input_ids=tokens).last_hidden_state,), tokens)
    llama = transformers.LlamaForCausalLM(transformers.LlamaConfig(num_key_value_heads=1, **sizes)).eval().bfloat16()
    on_both(lambda tokens: (llama(input_ids=tokens, use_cache=False).logits,), tokens)


def resnet():
    class Block(torch.nn.Module):
        def __init__(self, channels, stride):
            super().__init__()
            width = channels * stride
            self.first, self.second = torch.nn.Conv2d(channels, width, 3, stride, 1), torch.nn.Conv2d(width, width, 3, 1, 1)
            self.norms = torch.nn.ModuleList(torch.nn.BatchNorm2d(width) for _ in range(2))
            self.skip = torch.nn.Conv2d(channels, width, 1, stride)

        def forward(self, x):
            hidden = F.relu(self.norms[0](self.first(x)))
            return F.relu(self.norms[1](self.second(hidden)) + self.skip(x))

    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 7, 2, 3), torch.nn.MaxPool2d(3, 2, 1), Block(8, 1), Block(8, 2),
                                torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(16, 10)).eval()  # fmt: skip
    on_both(lambda x: (model(x),), torch.randn(2, 3, 32, 32))


def tensors_on_the_gpu():
    """Graphs whose tensors are on a GPU are compiled for it. torch has no GPU here, so the tensors are fake."""
    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    from tilewright.fx.walker import walk
    from tilewright.options import read_options
    from tilewright.runtime.compiled import Program

    def traced(fn, *inputs):
        with FakeTensorMode(allow_non_fake_inputs=True):
            return make_fx(fn, tracing_mode="fake")(*[torch.empty(4, 8, device=d) if d != "number" else torch.empty(()) for d in inputs])

    imported = walk(traced(lambda x, y: [torch.exp(x) + y], "cuda:0", "cuda:0"))
    assert not imported.refusals and imported.device == torch.device("cuda:0"), imported.refusals
    program = Program(imported, read_options(None, None), "graph", keep=False)
    assert report()["modules"] == 1, "the kernels are on the device"
    try:
        program.run([torch.ones(4, 8), torch.ones(4, 8)])
    except ValueError as error:
        assert "is on the CPU; the graph was compiled for cuda:0; move it there" in str(error), error
    else:
        raise AssertionError("tensors on the CPU were used as tensors on the GPU")
    number = walk(traced(lambda x, y: [x * y], "cuda:0", "number"))
    assert not number.refusals, "a 0-d tensor on the CPU is copied at each call"
    mixed = walk(traced(lambda x, y: [torch.exp(x), torch.exp(y)], "cuda:0", "cpu"))
    assert any("it is on cpu; the graph is compiled for cuda:0" in r.reason for r in mixed.refusals), mixed.refusals
    moved = walk(traced(lambda x: [x.to("cpu").exp()], "cuda:0"))
    assert any("it is on cpu; the graph is compiled for cuda:0" in r.reason for r in moved.refusals), moved.refusals
    for options, wanted in [({"target": "reference"}, "remove this"), ({"target": "cuda", "device": "emulated"}, "from which tensors"),
                            ({"target": "cuda", "device": "cuda:1"}, "remove this"), ({"check": "reference"}, "computes on the CPU")]:  # fmt: skip
        try:
            read_options(options, None).on(torch.device("cuda:0"))
        except ValueError as error:
            assert wanted in str(error), error
        else:
            raise AssertionError(options)


def mixed():
    """A graph on the CPU and on a GPU becomes one program for each, with copies between them.

    torch has no GPU here. Tensors are fake while the graph is split. At the call, tensors for the GPU are on the
    host, from which the fake driver copies.
    """
    from dataclasses import replace

    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    from tilewright.dynamo import backend
    from tilewright.fx import devices
    from tilewright.fx.origin import Origin
    from tilewright.options import read_options

    compiled_for, done = [], []

    def local(imported, options, title, keep):
        compiled_for.append(str(imported.device))
        if imported.device.type == "cuda":
            imported.device, options = torch.device("cpu"), replace(options, target="cuda", device="cuda")
        return program(imported, options, title, keep)

    def to_gpu(tensor, device, dtype):
        done.append(f"to {device}")
        return tensor.to(dtype)

    def start_to_host(tensor, device, dtype):
        done.append("start")
        return torch.full_like(tensor.to(dtype), float("nan")), tensor.to(dtype)

    def arrived(started):
        done.append("arrived")
        return started[0].copy_(started[1])

    def fn(x, w, y, bias):
        h = torch.relu(x @ w)
        c = h.to("cpu")
        g = torch.exp(h * 2) + bias  # while h is copied; bias is a 0-d tensor on the CPU
        r = torch.tanh(c + y).to("cuda:0", torch.bfloat16)
        return [g + r, c + 1, r.argsort(stable=True)]

    def on_cpu(x, w, y, bias):
        h = torch.relu(x @ w)
        r = torch.tanh(h + y).to(torch.bfloat16)
        return [torch.exp(h * 2) + bias + r, h + 1, r.argsort(stable=True)]

    program, backend.Program = backend.Program, local
    kept = devices.to_gpu, devices.start_to_host, devices.arrived
    devices.to_gpu, devices.start_to_host, devices.arrived = to_gpu, start_to_host, arrived
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            fakes = [torch.empty(24, 16, device="cuda:0"), torch.empty(16, 8, device="cuda:0"), torch.empty(24, 8), torch.empty(())]
            gm = make_fx(fn, tracing_mode="fake")(*fakes)
        graph = backend.compile_graph(gm, fakes, kind="inference", options=read_options({"strict": True}, None), keep=False, origin=Origin())
    finally:
        backend.Program, (devices.to_gpu, devices.start_to_host, devices.arrived) = program, kept
    assert compiled_for == ["cuda:0", "cuda:0", "cpu", "cuda:0"], compiled_for
    assert (graph.report.segments, graph.report.eager_segments, graph.report.refusals) == (4, 0, []), str(graph.report)
    assert "copied between devices: cuda:0 to cpu: relu (float32[24, 8]), asynchronous, by pinned memory" in str(graph.report)
    assert len(graph.report.transfers) == 2
    inputs = [torch.randn(24, 16), torch.randn(16, 8), torch.randn(24, 8), torch.tensor(0.5)]
    launches = sum(report()["launches"].values())
    results = graph(list(inputs))
    assert done == ["start", "arrived", "to cuda:0"] and sum(report()["launches"].values()) > launches, done
    for result, wanted in zip(results, on_cpu(*inputs), strict=True):
        torch.testing.assert_close(result, wanted, rtol=2e-5, atol=2e-5)


def mixed_ops():
    """An op whose tensors are on two devices runs in eager and is reported; copies are not reported."""
    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    from tilewright.fx.devices import devices_of, make_transfers
    from tilewright.fx.walker import walk

    with FakeTensorMode(allow_non_fake_inputs=True):
        gm = make_fx(lambda x, i: [torch.ops.aten.index.Tensor(torch.exp(x), [i]), x.sum().to("cpu")], tracing_mode="fake")(
            torch.empty(4, 8, device="cuda:0"), torch.empty(3, dtype=torch.int64))
        alone = make_fx(lambda x, n: [x * n], tracing_mode="fake")(torch.empty(4, device="cuda:0"), torch.empty(()))
    assert devices_of(alone) == {torch.device("cuda:0")}, "a number is not a tensor of the CPU"
    assert devices_of(gm) == {torch.device("cuda:0"), torch.device("cpu")}
    assert make_transfers(gm) == ["cuda:0 to cpu: sum_1 (float32[])"]
    gm.graph.lint()
    reasons = [r.reason for r in walk(gm, anywhere=True).refusals if not r.follows]
    assert "its tensors are on cpu and cuda:0" in reasons, reasons


def reduced_overhead():
    """mode="reduce-overhead" uses a CUDA graph. The results of each call are separate tensors."""
    weight = torch.randn(24, 16)
    call = torch.compile(lambda x: (F.relu(F.linear(x, weight)), x.sum()), backend="tilewright", mode="reduce-overhead")
    with warnings.catch_warnings(record=True) as caught, torch.no_grad():
        warnings.simplefilter("always")
        assert call(torch.ones(4, 16))[1] == 64
        assert any("CUDA graphs" in str(w.message) and "require a GPU" in str(w.message) for w in caught), caught
    os.environ["TILEWRIGHT_TARGET"] = "cuda"
    torch._dynamo.reset()
    before = report()["calls"]
    inputs = [torch.randn(4, 16) for _ in range(4)]
    with torch.no_grad():
        results = [call(x) for x in inputs]
    for x, (product, total) in zip(inputs, results, strict=True):
        torch.testing.assert_close(product, F.relu(F.linear(x, weight)))
        torch.testing.assert_close(total, x.sum())
    del os.environ["TILEWRIGHT_TARGET"]
    for function, times in (("cuGraphLaunch", 3), ("cuGraphInstantiateWithFlags", 1)):
        assert report()["calls"][function] - before.get(function, 0) == times, function


def main(*names):
    for name in names:
        torch.manual_seed(0)
        torch._dynamo.reset()
        globals()[name]()
        print(f"{name}: good", flush=True)
    torch._dynamo.reset()
    gc.collect()
    left = report()
    held = {kind: left[kind] for kind in ("allocations", "pinned", "modules", "events", "graphs", "contexts")}
    assert not any(held.values()), f"not freed: {held}"


if __name__ == "__main__":
    main(*sys.argv[1:])

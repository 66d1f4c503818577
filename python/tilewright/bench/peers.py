"""Defines the peers, which compile a workload with Tilewright or with another program. A peer takes a Workload and returns a function
without arguments that runs the workload."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import torch
from torch._functorch import config as functorch_config

from . import arguments
from .workloads import Workload


class Unavailable(RuntimeError):
    """Raised if the peer is not installed or cannot run this workload; the text states the reason."""


def _train(work: Workload, model: Callable) -> Callable:
    parameters = list(work.model.parameters())

    def step():
        for parameter in parameters:
            parameter.grad = None
        result = model(**work.inputs)
        result = result[0] if not isinstance(result, torch.Tensor) else result
        result = result if result.dtype == torch.float64 else result.float()
        # The loss is a weighted mean with different weights. An unweighted sum, or a sum of squares, of a layer norm's results is nearly
        # constant, so that its gradient is nearly 0.
        weights = torch.arange(result.numel(), dtype=result.dtype).cos().view(result.shape)
        (result * weights).mean().backward()
        return parameters[0].grad

    return step


def _update(work: Workload, compile: Callable, **options) -> Callable:
    parameters = list(work.model.parameters())
    generator = torch.Generator().manual_seed(0)
    for parameter in parameters:
        parameter.grad = torch.randn(parameter.shape, generator=generator).to(parameter.dtype) * 1e-2
    assert work.optimizer is not None
    step = compile(work.optimizer(parameters, **options).step)

    def call():
        step()
        return parameters[-1].detach().clone()  # a copy, because the next step overwrites it

    return call


def _infer(work: Workload, model: Callable) -> Callable:
    inputs = work.inputs

    def call():
        with torch.no_grad():
            return model(**inputs)

    return call


def _program(work: Workload, model: Callable) -> Callable:
    return _train(work, model) if work.training else _infer(work, model)


def eager(work: Workload) -> Callable:
    return _update(work, lambda step: step) if work.optimizer else _program(work, work.model)


def eager_fused(work: Workload) -> Callable:
    if not work.optimizer:
        raise Unavailable("torch has fused kernels only for optimizers")
    return _update(work, lambda step: step, fused=True)


def _mark(work: Workload) -> None:
    for name, dimension in work.dynamic.items():
        torch._dynamo.mark_dynamic(work.inputs[name], dimension)


class _Recorder:
    """A compiled graph that records the arguments of its first call."""

    def __init__(self, inner: Callable):
        self.inner = inner
        self.arguments: Any = None  # the list of arguments, after the first call
        self._boxed_call = True

    def __call__(self, arguments: list):
        if self.arguments is None:
            self.arguments = list(arguments)
        return self.inner(arguments)


def _native(compiled: Callable, recorders: list[_Recorder]) -> Callable:
    """Returns the function that the backend compiled, without Dynamo's guards and AOTAutograd's wrappers."""
    compiled()
    if len(recorders) != 1:
        raise Unavailable(f"the workload was compiled as {len(recorders)} graphs instead of one")
    inner, arguments = recorders[0].inner, recorders[0].arguments
    return lambda: inner(list(arguments))


def tilewright(work: Workload, **options) -> Callable:
    from ..dynamo import backend

    _mark(work)
    if work.optimizer:  # torch breaks the graph inside of the optimizer
        return _update(work, lambda step: torch.compile(step, backend="tilewright", options={"strict": True, **options}))
    # Neither Tilewright nor the other peers use fullgraph=True, which adds overhead to each call. worker.py checks for graph breaks instead.
    model = torch.compile(work.model, backend="tilewright", options={"strict": True, **options})
    if not work.native:
        return _program(work, model)
    recorders, original = [], backend.CompiledGraph

    def record(*arguments, **keywords):
        graph = original(*arguments, **keywords)
        recorders.append(_Recorder(graph.run))
        graph.run = recorders[-1]
        return graph

    setattr(backend, "CompiledGraph", record)
    try:
        with functorch_config.patch(enable_autograd_cache=False):  # a graph restored from the cache would not be recorded
            return _native(_program(work, model), recorders)
    finally:
        setattr(backend, "CompiledGraph", original)


def tilewright_frozen(work: Workload) -> Callable:
    return tilewright(work, freeze=True)


def _inductor(work: Workload, **settings) -> Callable:
    import torch._inductor.config as config

    from torch._inductor.compile_fx import compile_fx, compile_fx_inner

    for name, value in settings.items():
        setattr(config, name, value)
    if "max_autotune_gemm_backends" in settings:
        config.max_autotune = True
    if work.optimizer:
        return _update(work, torch.compile)
    recorders = []

    def inner(graph, example_inputs, **options):
        recorders.append(_Recorder(compile_fx_inner(graph, example_inputs, **options)))
        return recorders[-1]

    _mark(work)
    backend: Callable | str = "inductor"
    if work.native:
        backend = lambda graph, inputs: compile_fx(graph, inputs, inner_compile=inner)
    model = torch.compile(work.model, backend=backend, dynamic=True if work.dynamic else None)
    program = _program(work, model)
    return _native(program, recorders) if work.native else program


def inductor(work: Workload) -> Callable:
    return _inductor(work)


def inductor_freezing(work: Workload) -> Callable:
    if work.training or work.optimizer:
        raise Unavailable("freezing supports inference only")
    return _inductor(work, freezing=True, cpp_wrapper=True)


def inductor_autotune(work: Workload) -> Callable:
    if work.training or work.optimizer:
        raise Unavailable("freezing supports inference only")
    return _inductor(work, freezing=True, max_autotune_gemm_backends="CPP,ATEN")


def openvino(work: Workload) -> Callable:
    if importlib.util.find_spec("openvino") is None:
        raise Unavailable("openvino is not installed; pip install tilewright[bench]")
    if work.training or work.optimizer:
        raise Unavailable("openvino supports inference only")
    import openvino

    values = [*work.inputs.values(), *(work.model.parameters() if isinstance(work.model, torch.nn.Module) else ())]
    dtype = next((value.dtype for value in values if value.is_floating_point() and value.dtype != torch.float32), torch.float32)
    with torch.no_grad():  # models are converted in f32; openvino rounds the weights itself
        inputs = {name: value.float() if value.is_floating_point() else value for name, value in work.inputs.items()}
        if isinstance(work.model, torch.nn.Module):
            converted = openvino.convert_model(work.model.float(), example_input=inputs)
        else:
            traced = torch.jit.trace(work.model, tuple(inputs.values()))
            converted = openvino.convert_model(traced, example_input=tuple(inputs.values()))
    precision = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16"}[dtype]
    settings = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": torch.get_num_threads(),
                "INFERENCE_PRECISION_HINT": precision}  # fmt: skip
    request = openvino.Core().compile_model(converted, "CPU", settings).create_infer_request()
    arrays = [value.numpy() for value in inputs.values()]
    run = lambda: request.infer(arrays, share_inputs=True, share_outputs=True)
    return lambda: torch.from_numpy(next(iter(run().values())))


def jax(work: Workload) -> Callable:
    if importlib.util.find_spec("jax") is None:
        raise Unavailable("jax is not installed; pip install tilewright[bench]")
    from .jax_models import translate

    return translate(work)


def exact(work: Workload) -> Callable:
    """Runs the workload in eager in float64. The result is the reference for errors."""
    return eager(work.cast(torch.float64))


PEERS: dict[str, Callable[[Workload], Callable]] = {name: globals()[name.replace("-", "_")] for name in arguments.PEERS}

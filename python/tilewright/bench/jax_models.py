"""JAX versions of the blocks, products and single operations, with the weights of the torch model."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .workloads import EncoderBlock, Workload


def translate(work: Workload) -> Callable:
    """Returns a jitted program that computes the same as `work`. Raises peers.Unavailable for models that are not
    implemented here."""
    import jax
    import jax.numpy as jnp
    import numpy

    from .peers import Unavailable

    def array(tensor: torch.Tensor):
        kind = jnp.bfloat16 if tensor.dtype == torch.bfloat16 else None
        return jnp.asarray(tensor.detach().float().numpy() if kind else tensor.detach().numpy(), dtype=kind)

    def linear(x, layer):
        return x @ weights[layer + ".weight"].T + weights[layer + ".bias"]

    def layer_norm(x, weight, bias):
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * weight + bias

    def norm(x, layer):
        return layer_norm(x, weights[layer + ".weight"], weights[layer + ".bias"])

    def cross_entropy(x, target):
        return -jnp.take_along_axis(jax.nn.log_softmax(x), target[:, None], 1).mean()

    operations = {
        "softmax": lambda x: jax.nn.softmax(x, -1),
        "layer-norm": layer_norm,
        "gelu": lambda x: jax.nn.gelu(x, approximate=False),
        "add": lambda x, y: x + y,
        "sum": lambda x: x.sum(),
        "cross-entropy": cross_entropy,
        "chain": lambda x, y: jnp.tanh(x * jax.nn.sigmoid(y) + 1.0) * y - x,
        "empty": lambda x: x + 1,
    }

    model = work.model
    weights = {} if not isinstance(model, torch.nn.Module) else {name: array(value) for name, value in model.named_parameters()}
    if work.name in operations:
        function = operations[work.name]
    elif isinstance(model, torch.nn.Linear):
        function = lambda x: x @ weights["weight"].T + weights["bias"]
    elif isinstance(model, torch.nn.Sequential):

        def function(x):
            for name, layer in model.named_children():
                x = linear(x, name) if isinstance(layer, torch.nn.Linear) else jnp.maximum(x, 0)
            return x

    elif isinstance(model, EncoderBlock):

        def function(x):
            batch, tokens, width = x.shape
            split = lambda t: t.reshape(batch, tokens, model.heads, width // model.heads)
            normed = norm(x, "norm1")
            mixed = jax.nn.dot_product_attention(*(split(linear(normed, name)) for name in ("query", "key", "value")))
            x = x + linear(mixed.reshape(batch, tokens, width), "out")
            return x + linear(jax.nn.gelu(linear(norm(x, "norm2"), "up"), approximate=False), "down")

    else:
        raise Unavailable("the workload has no JAX version")
    compiled, inputs = jax.jit(function), [array(value) for value in work.inputs.values()]

    first = torch.from_numpy(numpy.array(compiled(*inputs), dtype="float32"))

    def call():
        jax.block_until_ready(compiled(*inputs))
        return first

    return call

"""Random distributions that are computed from uniform and normal random numbers."""

from __future__ import annotations

import math

import torch

from .demands import demand

aten = torch.ops.aten


def _like(x, draw):
    """Returns random numbers from draw() in the shape of x, as f32 or f64."""
    wide = x.dtype if x.dtype in (torch.float32, torch.float64) else torch.float32
    return draw(torch.empty_like(x, dtype=wide))


def _uniform(x):
    """Returns uniform random numbers in [0, 1). For 16-bit floats they are generated with the precision of x's dtype, because rounding from
    f32 would return 1 for some numbers."""
    if x.dtype in (torch.float16, torch.bfloat16):
        return torch.rand_like(x).to(torch.float32)
    return _like(x, torch.rand_like)


def _normal(x):
    return _like(x, torch.randn_like)


def uniform(x, from_=0.0, to=1.0, generator=None, **ends):
    if x.is_complex():
        return NotImplemented
    low = ends.get("from", from_)
    return (_uniform(x) * (to - low) + low).to(x.dtype) if generator is None else NotImplemented


def exponential(x, lambd=1.0, generator=None):
    """Returns exponentially distributed random numbers. None of them is 0, because multinomial() divides by them. The minimum is half of
    the distance between 1 and the largest uniform number of eager."""
    if generator is not None:
        return NotImplemented
    uniform = _like(x, torch.rand_like)
    return (-torch.log1p(-uniform).clamp_max(-torch.finfo(uniform.dtype).eps / 2) / lambd).to(x.dtype)


def cauchy(x, median=0.0, sigma=1.0, generator=None):
    return (torch.tan((_uniform(x) - 0.5) * math.pi) * sigma + median).to(x.dtype) if generator is None else NotImplemented


def geometric(x, p, generator=None):
    if generator is not None or not 0 < p < 1:
        return NotImplemented
    return torch.ceil(torch.log1p(-_like(x, torch.rand_like)) / math.log1p(-p)).clamp_min(1).to(x.dtype)


def log_normal(x, mean=1.0, std=2.0, generator=None):
    return torch.exp(_normal(x) * std + mean).to(x.dtype) if generator is None else NotImplemented


def normal_functional(x, mean=0.0, std=1.0, generator=None):
    return (_normal(x) * std + mean).to(x.dtype) if generator is None and not x.is_complex() else NotImplemented


def normal_tensor(mean, std=1.0, generator=None):
    """Returns normally distributed random numbers, where the mean, the standard deviation or both are tensors."""
    if generator is not None:
        return NotImplemented
    if isinstance(std, torch.Tensor):
        demand(std >= 0, "normal expects all elements of std >= 0.0")
    if isinstance(mean, torch.Tensor) and isinstance(std, torch.Tensor):
        mean, std = torch.broadcast_tensors(mean, std)
    like = mean if isinstance(mean, torch.Tensor) else std
    return (_normal(torch.empty(like.shape, dtype=like.dtype)) * std + mean).to(like.dtype)


def normal_sized(mean, std, size, generator=None, *, dtype=None, layout=None, device=None, pin_memory=None):
    if generator is not None:
        return NotImplemented
    return normal_functional(torch.empty(size, dtype=dtype or torch.get_default_dtype()), mean, std)


def multinomial(probabilities, count, replacement=False, generator=None):
    """Draws random indices. Without replacement, these are the indices of the largest p / e, where e is exponentially distributed. With
    replacement, they are the positions of uniform random numbers in the cumulative sums of p."""
    if generator is not None or not isinstance(count, int):
        return NotImplemented
    demand((probabilities >= 0) & (probabilities < float("inf")), "probability tensor contains either `inf`, `nan` or element < 0")
    demand(probabilities.sum(-1) > 0, "invalid multinomial distribution (sum of probabilities <= 0)")
    wide = probabilities.to(torch.float32) if probabilities.dtype is not torch.float64 else probabilities
    if not replacement or count == 1:
        return torch.topk(wide / exponential(wide), count, dim=-1).indices
    sums = torch.cumsum(wide, -1)
    draws = torch.rand([*sums.shape[:-1], count], dtype=wide.dtype) * sums[..., -1:]
    return torch.searchsorted(sums, draws, right=True).clamp_max(sums.shape[-1] - 1)


def rrelu(x, noise, lower=0.125, upper=1 / 3, training=False, generator=None):
    if generator is not None:
        return NotImplemented
    if not training:
        return torch.where(x <= 0, x * ((lower + upper) / 2), x), noise.clone()
    slope = uniform(x, lower, upper)
    return torch.where(x <= 0, x * slope, x), torch.where(x <= 0, slope, 1.0)


def rrelu_backward(grad, x, noise, lower, upper, training, self_is_result):
    if training and upper - lower > 1e-6:
        return grad * noise
    return aten.leaky_relu_backward(grad, x, (lower + upper) / 2, self_is_result)


TABLE = {
    aten.uniform.default: uniform, aten.exponential.default: exponential, aten.cauchy.default: cauchy, aten.geometric.default: geometric,
    aten.log_normal.default: log_normal, aten.normal_functional.default: normal_functional, aten.normal.Tensor_float: normal_tensor,
    aten.normal.Tensor_Tensor: normal_tensor, aten.normal.float_Tensor: normal_tensor, aten.normal.float_float: normal_sized,
    aten.multinomial.default: multinomial, aten.rrelu_with_noise_functional.default: rrelu,
    aten.rrelu_with_noise_backward.default: rrelu_backward,
}  # fmt: skip

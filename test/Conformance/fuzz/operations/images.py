"""Ops on images, like the layers of vision models. The graphs of seeds from generate.IMAGES on use them."""

from dataclasses import replace

from op import FLOAT, choice, floating, need, op, partner, scalar

from . import windows

IMAGE = floating(ranks=(4, 4), where=lambda v: v.numel() > 0)


def beside(b, drawn):
    """Draws an image of the same size, with any number of channels."""
    x = drawn["x"]
    return b.pick((x.dtype,), (4, 4), where=lambda v: v.shape[0] == x.shape[0] and v.shape[2:] == x.shape[2:] and v.shape[1] <= 40)


def some_channels(b, drawn):
    channels = drawn["x"].shape[1]
    need(channels > 1)
    first = b.rng.randint(0, channels - 1)
    return f"{first}:{b.rng.randint(first + 1, channels)}"


def groups(b, drawn):
    """Draws a number of groups. Each group has enough elements that a norm's gradient does not consist only of rounding
    errors."""
    channels, elements = drawn["x"].shape[1], drawn["x"].numel() // drawn["x"].shape[0]
    found = [g for g in (1, 2, 4, channels) if channels % g == 0 and elements // g >= 8]
    need(found)
    return b.rng.choice(found)


OFTEN = {"conv2d": 10, "depthwise": 4, "pointwise": 4, "conv_transpose2d": 4, "conv norm relu": 3, "max_pool2d": 2, "avg_pool2d": 2}
OPS = [replace(o, weight=OFTEN.get(o.name, 0.6)) for o in windows.OPS if "1d" not in o.name and "3d" not in o.name]
OPS += [
    op("channels", "{x}[:, {c}]", x=IMAGE, c=some_channels, exact=True, weight=6),
    op("each second channel", "{x}[:, {c}::2]", x=IMAGE, c=choice("0", "1"), exact=True, weight=3),
    op("halves of channels", "torch.chunk({x}, 2, 1)", x=IMAGE, exact=True, weight=4),
    op("lines", "{x}[:, :, {c}::{s}]", x=IMAGE, c=choice("0", "1"), s=choice("1", "2"), exact=True, weight=2),
    op("columns", "{x}[..., {c}::{s}]", x=IMAGE, c=choice("0", "1"), s=choice("1", "2"), exact=True, weight=2),
    op("image", "{x}[{c}:]", x=IMAGE, c=choice("0", "-1"), exact=True),
    op("joined", "torch.cat([{x}, {y}], 1)", x=IMAGE, y=beside, exact=True, weight=5),
    op("joined three", "torch.cat([{x}, {y}, {x}], 1)", x=IMAGE, y=beside, exact=True),
    op("group_norm of an image", "F.group_norm({x}, {g})", x=IMAGE, g=groups, weight=3),
    op("batch_norm of an image", "F.batch_norm({x}, None, None, training=True)",
       x=floating(ranks=(4, 4), where=lambda v: v.shape[2] * v.shape[3] > 8), weight=2),
    op("mean of an image", "{x}.mean((2, 3), keepdim=True)", x=IMAGE, weight=2),
    op("gate", "{x} * torch.sigmoid({y})", x=IMAGE, y=partner("x", FLOAT), weight=2),
    op("sum of images", "{x} + {a} * {y}", x=IMAGE, a=scalar(), y=partner("x", FLOAT), weight=3),
    op("activated", "F.{f}({x})", x=IMAGE, f=choice("relu", "silu", "gelu", "hardswish", "elu"), weight=4),
    op("flipped image", "{x}.flip({d})", x=IMAGE, d=choice("3", "[2, 3]", "1"), exact=True),
    op("bordered", "F.pad({x}, (1, 0, 1, 1), mode={m})", x=floating(ranks=(4, 4), where=lambda v: min(v.shape[2:]) > 1),
       m=choice("'constant'", "'reflect'", "'replicate'"), exact=True),
    op("channels last", "{x}.contiguous(memory_format=torch.channels_last)", x=IMAGE, exact=True),
    op("pixels in a row", "{x}.flatten(2).transpose(1, 2)", x=IMAGE, exact=True),
]  # fmt: skip

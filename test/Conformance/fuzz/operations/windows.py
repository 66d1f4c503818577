"""Convolutions, pooling and resizing."""

from op import choice, floating, need, new, op, scalar


def size(b, n, most=5):
    return b.rng.choice([k for k in (1, 2, 3, 3, 4, most) if k <= max(n, 1)])


def window(rank):
    """Draws the size of a kernel, at most that of the image."""
    return lambda b, d: [size(b, n) for n in d["x"].shape[-rank:]]


def groups(b, drawn):
    c = drawn["x"].shape[1]
    need(c)
    return b.rng.choice([g for g in (1, 1, 1, 2, 4, c) if c % g == 0])


def kernel(rank, transposed=False):
    def shape(b, drawn):
        c, g = drawn["x"].shape[1], drawn["g"]
        each = b.rng.choice((1, 2, 3, 4, 8, 16, 17))
        spatial = [size(b, n) for n in drawn["x"].shape[-rank:]]
        return [c, each, *spatial] if transposed else [g * each, c // g, *spatial]

    return shape


def outputs(transposed=False):
    return lambda b, d: [d["w"].shape[1] * d["g"] if transposed else d["w"].shape[0]]


def image(rank, channels=40):
    return floating(ranks=(rank + 2, rank + 2), where=lambda v: v.numel() > 0 and v.shape[1] <= channels)


def convolution(rank):
    return op(f"conv{rank}d", f"F.conv{rank}d({{x}}, {{w}}, {{b}}, stride={{s}}, padding={{p}}, dilation={{l}}, groups={{g}})",
              x=image(rank, 130), g=groups, w=new(kernel(rank), parameter=0.5), b=new(outputs(), parameter=0.5), s=choice("1", "1", "2", "3"),
              p=choice("0", "1", "2"), l=choice("1", "1", "2"), weight=(1.2, 2.5, 0.5)[rank - 1])  # fmt: skip


def pool(rank):
    return [
        op(f"max_pool{rank}d", f"F.max_pool{rank}d({{x}}, {{k}}, stride={{s}}, padding={{p}}, ceil_mode={{c}})", x=image(rank),
           k=choice("2", "3"), s=choice("None", "1", "2"), p=choice("0", "1"), c=choice("False", "True"), exact=True, weight=0.7),
        op(f"avg_pool{rank}d", f"F.avg_pool{rank}d({{x}}, {{k}}, stride={{s}}, padding={{p}}, ceil_mode={{c}}, count_include_pad={{i}})",
           x=image(rank), k=choice("2", "3"), s=choice("None", "1", "2"), p=choice("0", "1"), c=choice("False", "True"),
           i=choice("True", "False"), weight=0.7),
        op(f"adaptive_avg_pool{rank}d", f"F.adaptive_avg_pool{rank}d({{x}}, {{k}})", x=image(rank), k=choice("1", "2", "3", "7"), weight=0.4),
    ]  # fmt: skip


OPS = [convolution(rank) for rank in (1, 2, 3)] + [o for rank in (1, 2, 3) for o in pool(rank)]
OPS += [
    op("conv same", "F.conv2d({x}, {w}, padding='same', groups={g})", x=image(2), g=groups, w=new(kernel(2), parameter=0.5)),
    op("pointwise", "F.conv2d({x}, {w})", x=image(2, 130), w=new(lambda b, d: [b.rng.choice(b.sizes), d["x"].shape[1], 1, 1], parameter=0.5)),
    op("depthwise", "F.conv2d({x}, {w}, padding=1, groups={c})", x=image(2), c=lambda b, d: d["x"].shape[1],
       w=new(lambda b, d: [d["x"].shape[1], 1, 3, 3], parameter=0.5)),
    op("conv norm relu", "F.relu(F.group_norm(F.conv2d({x}, {w}, padding=1), 1))", x=image(2), g=choice("1"),
       w=new(lambda b, d: [b.rng.choice((2, 4, 16)), d["x"].shape[1], 3, 3], parameter=0.5)),
    op("conv_transpose1d", "F.conv_transpose1d({x}, {w}, stride={s}, padding={p}, groups={g})", x=image(1), g=groups,
       w=new(kernel(1, True)), s=choice("1", "2"), p=choice("0", "1"), weight=0.6),
    op("conv_transpose2d", "F.conv_transpose2d({x}, {w}, {b}, stride={s}, padding={p}, output_padding={o}, groups={g})", x=image(2), g=groups,
       w=new(kernel(2, True), parameter=0.5), b=new(outputs(True)), s=choice("1", "2", "3"), p=choice("0", "1"), o=choice("0", "1")),
    op("adaptive_max_pool2d", "F.adaptive_max_pool2d({x}, {k})", x=image(2), k=choice("1", "2", "3"), exact=True, weight=0.4),
    op("lp_pool2d", "F.lp_pool2d({x}.abs() + 0.25, 2.0, 2)", x=image(2), weight=0.2),
    op("nearest", "F.interpolate({x}, scale_factor={s}, mode='nearest')", x=image(2), s=choice("2.0", "0.5", "1.5"), weight=0.6),
    op("bilinear resize", "F.interpolate({x}, size={s}, mode='bilinear', align_corners={a})", x=image(2), s=choice("[5, 7]", "[16, 9]", "[1, 3]"),
       a=choice("True", "False"), weight=0.6),
    op("bicubic", "F.interpolate({x}, size={s}, mode='bicubic')", x=image(2), s=choice("[5, 7]", "[9, 4]"), weight=0.3),
    op("linear resize", "F.interpolate({x}, size={s}, mode='linear')", x=image(1), s=choice("5", "16"), weight=0.3),
    op("trilinear", "F.interpolate({x}, size={s}, mode='trilinear')", x=image(3), s=choice("[2, 5, 3]"), weight=0.2),
    op("unfold windows", "F.unfold({x}, {k}, stride={s}, padding={p})", x=image(2), k=choice("2", "3"), s=choice("1", "2"), p=choice("0", "1"),
       exact=True, weight=0.5),
    op("fold", "F.fold(F.unfold({x}, 2), {s}, 2)", x=image(2), s=lambda b, d: list(d["x"].shape[-2:]), weight=0.4),
    op("pixel_shuffle", "F.pixel_shuffle({x}, 2)", x=floating(ranks=(4, 4), where=lambda v: v.shape[1] % 4 == 0), exact=True, weight=0.4),
    op("pixel_unshuffle", "F.pixel_unshuffle({x}, 2)", x=floating(ranks=(4, 4), where=lambda v: v.shape[2] % 2 == v.shape[3] % 2 == 0),
       exact=True, weight=0.4),
    op("channel_shuffle", "F.channel_shuffle({x}, 2)", x=floating(ranks=(4, 4), where=lambda v: v.shape[1] % 2 == 0), exact=True, weight=0.3),
    op("grid_sample", "F.grid_sample({x}, {g}, align_corners={a}, padding_mode={m})", x=image(2),
       g=new(lambda b, d: [d["x"].shape[0], 3, 5, 2]), a=choice("True", "False"), m=choice("'zeros'", "'border'"), weight=0.3),
    op("scaled pool", "F.avg_pool2d({x} * {a}, 2)", x=image(2), a=scalar(), weight=0.3),
]  # fmt: skip

"""Softmax, normalizations and losses."""

from op import BOOL, FLOAT, I64, choice, dim, flag, floating, new, op, partner, scalar

WIDE_ENOUGH = (2, 5)


def filled(v):
    return v.numel() > 0 and all(n > 1 for n in v.shape)


def channels(b, drawn):
    return [drawn["x"].shape[1]]


def last(b, drawn):
    return [drawn["x"].shape[-1]]


def rest(of="x"):
    """Draws the trailing dimensions of a layer norm."""

    def draw(b, drawn):
        rank = drawn[of].dim()
        return list(drawn[of].shape[rank - b.rng.choice([k for k in (1, 1, 1, 2) if k <= rank]) :])

    return draw


def groups(b, drawn):
    count = drawn["x"].shape[1]
    return b.rng.choice([g for g in (1, 2, 3, 4, 5, 8, count) if count % g == 0])


def normal(name, call, weight=1.0, **keywords):
    return op(name, call, weight=weight, **({"x": floating(ranks=WIDE_ENOUGH, where=filled)} | keywords))


OPS = [
    op("softmax", "torch.softmax({x}, {d})", x=floating(ranks=(1, 5), where=filled), d=dim(), weight=3),
    op("softmax scaled", "torch.softmax({x} * {a}, dim=-1)", x=floating(ranks=(1, 5), where=filled), a=scalar(0.125, 0.5, 2)),
    op("log_softmax", "torch.log_softmax({x}, {d})", x=floating(ranks=(1, 5), where=filled), d=dim(), weight=1.5),
    op("softmin", "F.softmin({x}, {d})", x=floating(ranks=(1, 5), where=filled), d=dim(), weight=0.4),
    op("softmax of masked", "torch.softmax({x}.masked_fill({m}, -30.0), -1)", x=floating(ranks=(1, 5), where=filled),
       m=partner("x", (BOOL,))),
    normal("layer_norm", "F.layer_norm({x}, {s})", s=rest()),
    normal("layer_norm affine", "F.layer_norm({x}, {s}, {w}, {b})", s=last, w=new(last, parameter=0.7), b=new(last, parameter=0.7), weight=2),
    normal("rms_norm", "F.rms_norm({x}, {s}, {w})", s=last, w=new(last, parameter=0.7)),
    normal("group_norm", "F.group_norm({x}, {g}, {w}, {b})", g=groups, w=new(channels, parameter=0.7), b=new(channels, parameter=0.7)),
    normal("batch_norm", "F.batch_norm({x}, {m}, {v}.abs() + 0.5, {w}, {b})", m=new(channels), v=new(channels), w=new(channels, parameter=0.5),
           b=new(channels, parameter=0.5)),
    normal("batch_norm of a batch", "F.batch_norm({x}, None, None, {w}.contiguous(), {b}, training=True)", w=new(channels), b=new(channels)),
    normal("instance_norm", "F.instance_norm({x})", x=floating(ranks=(3, 5), where=filled), weight=0.5),
    normal("normalize", "F.normalize({x} + 0.25, p=2.0, dim={d})", d=dim()),
    normal("standardized", "({x} - {x}.mean({d}, keepdim=True)) * torch.rsqrt({x}.var({d}, keepdim=True) + 1e-3)", d=dim()),
    normal("cosine_similarity", "F.cosine_similarity({x} + 0.125, {y}, dim=-1)", y=partner("x", FLOAT), weight=0.5),
    normal("mse_loss", "F.mse_loss({x}, {y}, reduction={r})", y=new(lambda b, d: d["x"].shape), r=choice("'none'", "'mean'", "'sum'")),
    normal("smooth_l1_loss", "F.{o}({x}, {y}, reduction={r})", y=new(lambda b, d: d["x"].shape), r=choice("'none'", "'mean'", "'sum'"),
           o=choice("smooth_l1_loss", "huber_loss", "l1_loss"), weight=0.6),
    normal("bce_with_logits", "F.binary_cross_entropy_with_logits({x}, torch.sigmoid({y}))", y=new(lambda b, d: d["x"].shape), weight=0.6),
    normal("kl_div", "F.kl_div(torch.log_softmax({x}, -1), torch.softmax({y}, -1), reduction='batchmean')", y=new(lambda b, d: d["x"].shape),
           weight=0.5),
    normal("cross_entropy", "F.cross_entropy({x}, {t}, reduction={r})", x=floating(ranks=(2, 2), where=filled),
           t=lambda b, d: b.of_shape([d["x"].shape[0]], I64, f"index:{d['x'].shape[1]}"), r=choice("'none'", "'mean'", "'sum'")),
    normal("cross_entropy smoothed", "F.cross_entropy({x}, {t}, label_smoothing=0.1, ignore_index=0)", x=floating(ranks=(2, 2), where=filled),
           t=lambda b, d: b.of_shape([d["x"].shape[0]], I64, f"index:{d['x'].shape[1]}"), weight=0.4),
    normal("nll_loss", "F.nll_loss(torch.log_softmax({x}, 1), {t})", x=floating(ranks=(2, 4), where=filled),
           t=lambda b, d: b.of_shape([d["x"].shape[0], *d["x"].shape[2:]], I64, f"index:{d['x'].shape[1]}"), weight=0.6),
    normal("local_response_norm", "F.local_response_norm({x}, 3)", x=floating(ranks=(3, 4), where=filled), weight=0.3),
    normal("dropout of rows", "F.dropout({x}, 0.0, training={k})", k=flag(), weight=0.2),
]  # fmt: skip

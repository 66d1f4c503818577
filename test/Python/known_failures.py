"""Tests that fail today and why: each is an expected failure, so that its mending shows as XPASS and is taken off."""

KNOWN: dict[str, str] = {
    "test_attention_gradient_in_f64": "torch's meta function says the logsumexp of float64 attention is float32, and backward reads that",
    "test_resnet_all_sizes_symbolic": "max_pool2d with symbolic height and width: sizes do not follow from the symbols",
    **{
        f"test_strides_of_eager[{name}]": "torch's meta function gives the result other strides than its kernel does; aot_eager fails alike"
        for name in ("copysign", "floor_divide", "logsigmoid", "rpow", "pow_scalar", "batch_norm")
    },
}

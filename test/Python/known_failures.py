"""Tests that fail today and why: each is an expected failure, so that its mending shows as XPASS and is taken off."""

KNOWN = {
    "test_reduction[sum-f32]": "a long f32 sum keeps 16 running sums; the numbers rule wants blocks",
    "test_reduction[mean-f32]": "as sum-f32",
    "test_out_of_range[index0]": "an index out of range is clamped, not yet reported",
    "test_out_of_range[index1]": "an index out of range is clamped, not yet reported",
}

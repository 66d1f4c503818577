"""Tests that fail today and why: each is an expected failure, so that its mending shows as XPASS and is taken off."""

KNOWN = {
    "test_out_of_range[index0]": "an index out of range is clamped, not yet reported",
    "test_out_of_range[index1]": "an index out of range is clamped, not yet reported",
}

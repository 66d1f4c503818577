"""Tests that fail today and why: each is an expected failure, so that its mending shows as XPASS and is taken off."""

KNOWN: dict[str, str] = {}

"""The ops, one file per family."""

from operations import casts, contractions, elementwise, indexing, integers, mutations, reductions, rows, views, windows

FAMILIES = (elementwise, integers, reductions, rows, contractions, windows, views, indexing, casts, mutations)
OPS = [op for family in FAMILIES for op in family.OPS]

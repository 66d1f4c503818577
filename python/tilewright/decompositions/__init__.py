"""Decompositions of operators into other operators, and lowerings that users define in MLIR. The only module of Tilewright that this package
imports is the table of operators."""

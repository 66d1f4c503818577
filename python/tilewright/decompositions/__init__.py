"""Decompositions of operators into other operators, and lowerings that users define in MLIR. The only other modules of
Tilewright that this package imports are the table of operators and the extension module."""

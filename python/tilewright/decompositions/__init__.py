"""Decompositions of operators into other operators, and lowerings that users define in MLIR. Of Tilewright's modules, this package imports
only the table of operators."""

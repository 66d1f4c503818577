"""Tables of operators that are expressed as other operators or in MLIR; imports no other package of Tilewright but the table of operators."""

"""Reports what was compiled, what was not, and the reasons. The only other package of Tilewright that this package
imports is fx."""

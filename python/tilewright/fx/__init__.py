"""Reads and rewrites fx graphs, and passes them to the importer. The only other package of Tilewright
that this package imports is decompositions."""

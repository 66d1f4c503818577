"""Reads and rewrites fx graphs, and passes them to the importer. Of Tilewright's packages, this package imports only decompositions."""

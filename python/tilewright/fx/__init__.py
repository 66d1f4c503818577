"""Reads and rewrites fx graphs and passes them to the importer; of Tilewright's packages, imports only decompositions."""

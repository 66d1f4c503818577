"""The models of each library."""

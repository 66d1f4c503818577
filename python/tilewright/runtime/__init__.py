"""Executes compiled graphs at each call. The only other packages of Tilewright that this package imports are fx and reports."""

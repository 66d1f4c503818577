"""Executes compiled graphs at each call. Of Tilewright's packages, this package imports only fx and reports."""

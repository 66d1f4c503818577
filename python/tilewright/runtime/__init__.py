"""Executes compiled graphs at each call; of Tilewright's packages, imports only fx and reports."""

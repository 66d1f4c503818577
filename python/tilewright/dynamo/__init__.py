"""Compiles what torch.compile passes to the backend, and connects it to torch's caches; of the other packages, only bench imports it."""

"""The architectures, as data: one file per family."""

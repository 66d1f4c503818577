"""The architectures, as data: a file per family."""

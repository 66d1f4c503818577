"""The backend of torch.compile: compiles the graphs that it receives, and connects them to torch's caches. In the folder of
`tilewright`, only `__init__.py` and the package bench import this package."""

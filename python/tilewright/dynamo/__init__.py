"""The backend of torch.compile: compiles the graphs that it receives, and connects them to torch's caches. The only package of
Tilewright that imports this package is bench."""

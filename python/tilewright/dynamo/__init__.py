"""The backend of torch.compile: compiles the graphs that it receives, and connects them to torch's caches. Of Tilewright's packages, only
bench imports this package."""

"""Reports what was compiled, what was not, and why; of Tilewright's packages, imports only fx."""

"""Reports what was compiled, what was not, and the reasons. Of Tilewright's packages, this package imports only fx."""

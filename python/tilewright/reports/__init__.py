"""Reports what was compiled, what was not, and the reasons. Apart from the modules `options` and
`_tilewright`, this package imports only the package fx of Tilewright."""

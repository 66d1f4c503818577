"""Tilewright against its peers: `tilewright bench`, or `python -m tilewright.bench`.

    workloads   what is run: models, training steps, blocks, matrix products, single operations
    peers       how each program runs a workload: Tilewright, eager, Inductor, OpenVINO, JAX
    worker      one process, one peer
    race        workers in turn, medians of paired ratios
    goals       the rows that must be reached, and their bars
    roof        what this machine can do at most, and each kernel's share of it
    chart       a PNG of the ratios
    tuning_chart  a PNG of what `tilewright tune` has measured
"""

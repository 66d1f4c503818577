"""Benchmarks of Tilewright against other programs: `tilewright bench`, or `python -m tilewright.bench`.

    workloads   what is run: models, training steps, blocks, matrix products, single operations
    peers       how each program runs a workload: Tilewright, eager, Inductor, OpenVINO, JAX
    worker      one process, one peer
    race        alternating workers, medians of paired ratios
    goals       the rows that must be reached, and their bars
    roof        the peak rates of this machine, and each kernel's share of them
    chart       a PNG of the ratios
    operations  a kernel's operations as text
    tuning_chart  a PNG of what `tilewright tune` has measured
"""

"""Benchmarks of Tilewright against other programs: `tilewright bench`, or `python -m tilewright.bench`.

    arguments     the command line of `tilewright bench`
    workloads     the programs that are measured: models, training steps, blocks, matrix products, single operations
    peers         functions that run a workload with Tilewright, eager, Inductor, OpenVINO or JAX
    jax_models    JAX versions of blocks, products and single operations
    worker        a process that runs workloads with one peer
    race          runs the workers of several peers in alternation, and computes medians of paired ratios
    goals         the performance goals: workloads, peers and required ratios
    roof          the peak rates of this machine, and each kernel's share of them
    report        formats races, goals and the machine as text
    dynamic       compares one program for all numbers of rows with programs for fixed numbers
    chart         draws the ratios as a PNG
    operations    formats a kernel's operations as text
    tuning_chart  draws the measurements of `tilewright tune` as a PNG
"""

"""Measures and tests the target cuda on a GPU that is available only for minutes. ../gpu-run.sh starts this package.

    __main__.py         reads the arguments, and runs the parts one after another, each within its share of the time
    setting.py          the folders, the deadline and the environment of a run
    results.py          rows as lines of JSON, to which a later call appends
    summary.py          the rows as tables of text
    children.py         processes with time limits
    stages.py           compiles rows on all cores, then measures them in one process
    worker.py           a process that compiles or measures rows
    timing.py           times of calls on the device
    suites.py           the parts models, tuned and kernels: their rows and engines
    model_rows.py       the measurement of a model; model_list.py and drawn_models.py have the models
    kernel_rows.py      the measurement of a single kernel; product_rows.py, attention_rows.py and convolution_rows.py have the kernels
    tables.py           recorded tables of the tuner
    cuda_tests.py       the tests on the device; pytest_rows.py writes their results
"""

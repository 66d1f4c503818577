"""Settings that make a process of tests compile faster. No result of a test depends on them."""

import ctypes
import gc


def keep_freed_memory() -> None:
    """Makes malloc keep freed memory. By default, malloc returns large blocks to the kernel, which clears them for the next
    compilation."""
    trim_threshold, top_pad, mmap_threshold = -1, -2, -3  # malloc.h of glibc; 32 MiB is the largest mmap threshold
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt:
        for parameter, size in ((trim_threshold, 1 << 30), (top_pad, 64 << 20), (mmap_threshold, 32 << 20)):
            mallopt(parameter, size)


def skip_timing_of_guards() -> None:
    """Dynamo times the guards of each compiled frame for its metrics. Before that, it writes 256 MiB to flush the
    caches, which takes 20 ms per frame (torch/_dynamo/guards.py)."""
    import torch._dynamo.guards

    torch._dynamo.guards.profile_guard_manager = lambda root, scope, iterations: 0.0


def keep_collector_off_modules() -> None:
    """Exempts the objects that exist now from garbage collection: the modules of torch are a million objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def prepare() -> None:
    """Call this after the imports of the process."""
    keep_freed_memory()
    skip_timing_of_guards()
    keep_collector_off_modules()

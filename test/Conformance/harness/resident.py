"""The memory of this process, as Linux counts it."""


def kibibytes(field: str) -> int:
    """KiB of a field of /proc/self/status: VmRSS is what is resident, VmHWM the most that was."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field + ":"))

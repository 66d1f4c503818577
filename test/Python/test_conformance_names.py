"""The harnesses share one sys.path when pytest runs their tests together: no two of their modules may have the same
name."""

from collections import Counter
from pathlib import Path

conformance = Path(__file__).parent.parent / "Conformance"
PROCESSES = ("__main__", "worker")  # each is started as a separate process


def modules():
    for folder in [f for f in conformance.iterdir() if f.is_dir()]:
        for entry in folder.iterdir():
            if entry.suffix == ".py" or (entry / "__init__.py").exists():
                yield entry.stem


def test_modules_of_the_harnesses_have_distinct_names():
    count = Counter(modules())
    assert len(count) > 30 and not [name for name, times in count.items() if times > 1 and name not in PROCESSES]

"""Every pass has a lit test that runs the pass by its flag, in addition to tests of whole stages."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/dev"))
import write_dialect_doc  # noqa: E402


def test_every_pass_has_a_test_under_its_own_flag():
    passes = write_dialect_doc.names_of_passes()
    assert len(passes) > 50
    texts = [path.read_text() for suffix in ("mlir", "test") for path in (ROOT / "test").rglob(f"*.{suffix}")]
    run = "\n".join(line for text in texts for line in text.splitlines() if "RUN:" in line or "tilewright-opt" in line)
    flags = set(re.findall(r"--(tw-[a-z0-9-]+)|[({,](tw-[a-z0-9-]+)", run))
    without = [name for name in passes if not any(name in pair for pair in flags)]
    assert not without, f"no test of test/ runs them with tilewright-opt: {', '.join(without)}"

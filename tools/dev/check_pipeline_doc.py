"""Checks that docs/pipeline.md is up to date. Exits with 1 and prints a diff otherwise."""

import difflib
import sys

from write_pipeline_doc import ROOT, page


def main() -> int:
    written = (ROOT / "docs" / "pipeline.md").read_text().splitlines()
    diff = list(difflib.unified_diff(written, page().splitlines(), "docs/pipeline.md", "the compiler", lineterm="", n=1))
    print("\n".join(diff[:40]))
    return 1 if diff else 0


if __name__ == "__main__":
    sys.exit(main())

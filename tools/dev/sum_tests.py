"""Adds up the results of tools/test.sh: JUnit and GoogleTest XML, and runners that crashed. Exit 1 on any failure."""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def count(path: Path) -> tuple[int, int, int]:
    """Tests passed, failed and skipped in one XML file."""
    total = failed = skipped = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        total += 1
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            skipped += 1
    return total - failed - skipped, failed, skipped


def main() -> int:
    folder = Path(sys.argv[1])
    passed = failed = skipped = 0
    for path in sorted(folder.iterdir()):
        if path.suffix == ".xml":
            try:
                p, f, s = count(path)
            except ElementTree.ParseError as error:
                print(f"{path.name}: unreadable ({error})")
                p, f, s = 0, 1, 0
            if p + f == 0:
                print(f"{path.stem}: no test ran")
                f += 1
            print(f"{path.stem}: {p} passed, {f} failed, {s} skipped")
        elif path.suffix in (".crashed", ".ok"):
            p, f, s = (0, 1, 0) if path.suffix == ".crashed" else (1, 0, 0)
            print(f"{path.stem}: {'failed or crashed' if f else 'passed'}")
        else:
            continue
        passed, failed, skipped = passed + p, failed + f, skipped + s
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

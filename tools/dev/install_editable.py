"""Lets Python find the package in a build tree: writes a .pth file and a dist-info folder into the environment's site-packages, for `import
tilewright` and torch's entry point. The script takes milliseconds, and need not be run again after a rebuild.

    python tools/dev/install_editable.py build
"""

import pathlib
import sys
import sysconfig


def main() -> None:
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve() / "python"
    if not (build / "tilewright").is_dir():
        sys.exit(f"{build} contains no package; build the target _tilewright first")
    site = pathlib.Path(sysconfig.get_path("purelib"))
    (site / "tilewright.pth").write_text(f"{build}\n")
    info = site / "tilewright-0.1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tilewright\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[torch_dynamo_backends]\ntilewright = tilewright.dynamo.backend:tilewright\n")
    (info / "INSTALLER").write_text("tilewright\n")
    (info / "RECORD").write_text("")
    print(f"tilewright is importable from {build}")


if __name__ == "__main__":
    main()

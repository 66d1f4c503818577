#!/usr/bin/env python3
"""Checks the layering: which library may include headers of which other library.

A stage includes its own headers, the dialects of its input and output, and the public headers, but never those of another stage.
Only lib/Pipelines names the passes of all stages, and only lib/Compiler includes the runtime. Tools, the Python module and the
examples use include/tilewright alone. Tests may include any header.

    python3 tools/dev/check_includes.py [repository]
"""

import re
import sys
from pathlib import Path

PASSES = {"tilewright/Passes.h", "tilewright/Passes.h.inc", "tilewright/StageContract.h"}
RUNTIME_ABI = {"tilewright/RuntimeABI.h"}
FORK = {"tilewright/ForkGeneration.h", "tilewright/ForkMutex.h"}  # locks that a forked child can take
TEXTS = {"tilewright/JsonText.h", "tilewright/NumberText.h"}  # numbers as text, in every locale
RATES = {"tilewright/MachineRates.h"}  # plain numbers: the runtime measures them, the cost model reads them

# Each library with the path prefixes that it may include in addition to its own. A comment gives the reason if the rule does not explain an entry.
LIBRARIES = {
    "dialects/Graph": set(),
    "dialects/Tile": {*TEXTS},
    "dialects/Plan": set(),
    "dialects/HLS": set(),
    "dialects/Schedule": {"dialects/Tile"},
    "include": {"dialects", "tilewright"},
    "lib/Frontend": {"dialects/Graph", "tilewright/GraphBuilder.h", "tilewright/ExportedModel.h", "tilewright/DynamicSizes.h", "tilewright/OnnxModel.h"},
    # MLIR-free: hostile files are tried on it with sanitizers.
    "lib/Frontend/ExportedProgram": set(),
    "lib/Frontend/OnnxModel": set(),
    "lib/Graph": {"dialects/Graph", *PASSES},
    # Hardware asks for it: which arguments are weights, the target hls says on the graph (tw_hls.value).
    "lib/Graph/Fixed": {"dialects/Graph", "dialects/HLS/HLS.h", "tilewright/FixedPoint.h", *PASSES, *TEXTS},
    "lib/Structured": {"dialects/Graph", "dialects/Tile", *PASSES},
    "lib/Tiled": {"dialects/Tile", "dialects/Schedule", "tilewright/ScheduleSpace.h", "tilewright/SpaceText.h", *PASSES, *RATES, *TEXTS},
    "lib/Vector": {"dialects/Tile", "dialects/Plan", *PASSES},
    # Targets ask the host about itself and load programs through HostCode.h, never through lib/Runtime.
    "lib/Target/*": {"dialects/Tile", "dialects/Plan", "dialects/HLS", "dialects/Schedule", "tilewright"},
    # MLIR-free: hostile files are tried on it with sanitizers, and ptx-check links nothing else.
    "lib/Target/CUDA/PtxCheck": {"tilewright/NumberText.h", "tilewright/PtxChecker.h", "tilewright/PtxTensorMap.h"},
    # MLIR-free: the program that is scored on public designs links nothing else.
    "lib/Target/HLS/Estimate": set(),
    # MLIR-free: generated code and AOT libraries link these.
    "lib/Runtime/Plan": RUNTIME_ABI,
    "lib/Runtime/Host": {"lib/Runtime/Plan", *RUNTIME_ABI, *RATES, *FORK, "tilewright/CallersMemory.h", "tilewright/OutputMemory.h"},
    # Linked into every ahead-of-time library, never into libTilewright.
    "lib/Runtime/Library": {"lib/Runtime/Host", "lib/Runtime/Plan", *RUNTIME_ABI, *FORK},
    "lib/Runtime/Jit": {"lib/Runtime/Host", "lib/Runtime/Plan", *RUNTIME_ABI, *FORK},
    # Frames are plans with their symbols filled in, regardless of what walks them; the emulated device is ptx-check's interpreter.
    "lib/Runtime/CUDA": {"lib/Runtime/Plan", "lib/Runtime/Host/Frame.h", "tilewright/CallersMemory.h", "tilewright/PtxChecker.h",
                         "tilewright/PtxTensorMap.h", "tilewright/TensorMapRecipe.h", *RUNTIME_ABI, *FORK},
    "lib/Tuner": {"dialects/Schedule", "dialects/Tile", "tilewright"},
    "lib/Pipelines": {"dialects", "tilewright"},
    "lib/Compiler": {"dialects", "lib/Runtime", "lib/Tuner", "tilewright"},
    # The doors. The Python module and the driver speak of sizes and dtypes, which are `tw` types.
    "python": {"dialects/Graph", "tilewright"},
    "tools/ptx-check": {"lib/Target/CUDA/PtxCheck", "tilewright/PtxChecker.h", "tilewright/PtxTensorMap.h"},
    "tools/hls-estimate": {"lib/Target/HLS/Estimate"},
    "tools": {"dialects/Graph", "tilewright"},
}

OURS = ("lib/", "dialects/", "tilewright/", "tools/", "python/", "test/")
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')


def library_of(path: str) -> str | None:
    """Returns the innermost library that contains `path`; each folder of lib/Target is one, for its target."""
    parts = path.split("/")
    for length in range(len(parts) - 1, 0, -1):
        prefix = "/".join(parts[:length])
        if prefix in LIBRARIES:
            return prefix
        if length > 1 and "/".join(parts[: length - 1]) + "/*" in LIBRARIES:
            return prefix
    return None


def allowed_in(library: str) -> set[str]:
    return LIBRARIES.get(library) or LIBRARIES.get(library.rsplit("/", 1)[0] + "/*") or set()


def complaints(root: Path) -> list[str]:
    found = []
    for top in ("dialects", "include", "lib", "python", "tools"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            name = path.relative_to(root).as_posix()
            library = library_of(name)
            if library is None:
                found.append(f"{name}: its folder is in no library of tools/dev/check_includes.py; add it to LIBRARIES")
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if not match or not match.group(1).startswith(OURS):
                    continue
                target = match.group(1)
                if target.startswith(library + "/") or (library == "include" and target.startswith("tilewright/")):
                    continue
                if any(target == a or target.startswith(a + "/") for a in allowed_in(library)):
                    continue
                may = ", ".join(sorted(allowed_in(library))) or "nothing else"
                found.append(f"{name}:{number}: {library} may not include {target}; besides itself it may: {may}")
    return found


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    found = complaints(root)
    print("\n".join(found) if found else "check_includes: every library includes only what it may")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

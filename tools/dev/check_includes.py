#!/usr/bin/env python3
"""Checks the layers: the libraries whose headers each library may include, and the libraries whose passes it may run.

A library includes only its own headers and those of the libraries named in LIBRARIES. Data flows in one direction: importers, graph,
kernels, then one target's code generator. Only lib/Plan, lib/Driver and the libraries that use lib/Driver include headers of the runtime.
Tools and the Python module use include/tilewright and lib/Interfaces, and few other libraries. The headers that examples and tests include are
not checked.

A pass is defined in the folder of the stage that runs it. Code generators may also run passes of earlier stages and of lib/Codegen/Common,
but not those of another target.

The packages of python/tilewright import each other in one direction, too.

    python3 tools/dev/check_includes.py [repository]
"""

import ast
import re
import sys
from pathlib import Path

# Groups of headers. The entries of LIBRARIES refer to them by name.
PASSES = {"tilewright/Passes.h", "tilewright/Passes.h.inc", "tilewright/StageContract.h", "tilewright/Pipelines.h"}
RUNTIME_ABI = {"lib/Interfaces/RuntimeABI.h"}
FORK = {"lib/Interfaces/ForkGeneration.h", "lib/Interfaces/ForkMutex.h"}  # locks that a forked child can acquire
MEMORY = {"tilewright/CallersMemory.h", "lib/Interfaces/OutputMemory.h"}  # memory that callers own, for the runtime
RUN_ERROR = {"tilewright/RunError.h"}  # the reason why a call failed, which the runtime returns to its callers
TEXTS = {"lib/Interfaces/JsonText.h", "lib/Interfaces/NumberText.h"}  # numbers as text that does not depend on the locale
IR = {"tilewright/AttributeNames.h", "tilewright/ElementTypes.h", "tilewright/SourceLine.h"}  # properties of the IR
RATES = {"tilewright/MachineRates.h"}  # plain numbers: the runtime measures them, the cost model reads them
SPACES = {"tilewright/ScheduleSpace.h", "lib/Interfaces/SpaceText.h"}
PTX = {"tilewright/PtxChecker.h", "tilewright/PtxTensorMap.h"}
DECISIONS = {"dialects/Graph/Decisions.h"}  # reasons for the user's report
DTYPES = {"dialects/Graph/Dtypes.def"}  # names, sizes and numbers of element types, as macros
SCALARS = {"dialects/Graph/ScalarFunctions.def"}  # names and errors of functions, as macros
ANY = {"lib/Interfaces", "tilewright"}
BUILDER = {"tilewright/GraphBuilder.h", "tilewright/DynamicSizes.h"}

# For each library, the path prefixes of headers that it may include in addition to its own headers. If the rules in this file's docstring
# do not explain an entry, a comment states the reason.
LIBRARIES = {
    "dialects/Graph": {*IR},
    "dialects/Schedule": {*IR, *TEXTS},
    "dialects/Tile": {*IR},
    "dialects/Plan": set(),
    "dialects/HLS": {*IR},
    "include": {"dialects", "tilewright"},
    "lib/Interfaces": SPACES,
    "lib/Import/Builder": {"dialects/Graph", *BUILDER},
    "lib/Import/ATen": {"dialects/Graph", "lib/Import/Builder", *BUILDER},
    # lib/Import/TorchExport reads from the table of ATen operators which ops return views.
    "lib/Import/TorchExport": {"dialects/Graph", "lib/Import/ATen", "lib/Import/Builder", "tilewright/ExportedModel.h", *BUILDER},
    # Functions of the ATen importer import some ONNX operators, such as Conv, Einsum, GridSample and Mish.
    "lib/Import/ONNX": {"dialects/Graph", "lib/Import/ATen", "lib/Import/Builder", "tilewright/OnnxModel.h", *BUILDER},
    # The readers of .pt2 and .onnx files do not use MLIR, so that tests can read damaged files in builds with sanitizers.
    "lib/Import/TorchExport/Reader": {*DTYPES},
    "lib/Import/ONNX/Reader": {*DTYPES},
    "lib/Graph": {"dialects/Graph", *PASSES, *IR},
    # The pass --tw-fixed-point reads and replaces the values of weights (attribute tw_hls.value).
    "lib/Graph/Fixed": {"dialects/Graph", "dialects/HLS", "tilewright/FixedPoint.h", *IR, *PASSES, *TEXTS},
    "lib/Kernels": {"dialects/Graph", "dialects/Tile", *IR, *PASSES},
    "lib/Verify": {"dialects/Plan", "dialects/Schedule", *IR, *PASSES},
    "lib/Plan": {"dialects/Graph", "dialects/Plan", "dialects/Schedule", "dialects/Tile", "lib/Runtime/Plan", *IR, *PASSES, *RUNTIME_ABI, *RUN_ERROR},
    # The PTX interpreter does not use MLIR, so that tests can run in builds with sanitizers, and because ptx-check links no other library.
    "lib/PtxInterpreter": {"lib/Interfaces/NumberText.h", *PTX},
    # A pass in lib/Codegen/Common applies the schedules in the tuner's records.
    "lib/Codegen/Common": {"dialects/Plan", "dialects/Schedule", "dialects/Tile", "lib/Tuner", *PASSES, *RUNTIME_ABI, *FORK, *SCALARS, *SPACES, *IR},
    "lib/Codegen/CPU": {"dialects/Plan", "dialects/Schedule", "dialects/Tile", "lib/Codegen/Common", *ANY},
    "lib/Codegen/CPU/Schedule": {"dialects/Schedule", "dialects/Tile", *DECISIONS, *PASSES, *RATES, *SPACES, *TEXTS, *IR},
    "lib/Codegen/CPU/Vectorize": {"dialects/Plan", "dialects/Schedule", "dialects/Tile", *DECISIONS, *PASSES, *IR},
    "lib/Codegen/CPU/MicroKernels": {"dialects/Plan", "dialects/Schedule", "dialects/Tile", *PASSES},
    "lib/Codegen/GPU": {"dialects/Plan", "dialects/Schedule", "dialects/Tile", *IR, *PASSES, *SPACES},
    "lib/Codegen/GPU/Schedule": {"dialects/Schedule", "dialects/Tile", "lib/Codegen/GPU", "tilewright/TensorMapRecipe.h", *IR, *PASSES, *SPACES},
    "lib/Codegen/NVPTX": {"dialects/Plan", "dialects/Schedule", "dialects/Tile", "lib/Codegen/Common", "lib/Codegen/GPU", "lib/Codegen/GPU/Schedule", *ANY},
    "lib/Codegen/HLS": {"dialects/HLS", "dialects/Plan", "dialects/Tile", "lib/Codegen/Common", *ANY, *SCALARS},
    # The estimator does not use MLIR, because hls-estimate, which is evaluated with public designs, links no other library.
    "lib/Codegen/HLS/Estimate": SCALARS,
    "lib/Codegen/Reference": {"dialects/Plan", "dialects/Tile", "lib/Codegen/Common", *ANY},
    # lib/Runtime/Plan and lib/Runtime/Host do not use MLIR, because ahead-of-time libraries contain them.
    "lib/Runtime/Plan": RUNTIME_ABI,
    "lib/Runtime/Host": {"lib/Runtime/Plan", "lib/Interfaces/StepObserver.h", *RUNTIME_ABI, *RATES, *FORK, *MEMORY, *RUN_ERROR},
    # lib/Runtime/Library is linked into each ahead-of-time library, but not into libTilewright.
    "lib/Runtime/Library": {"lib/Runtime/Host", "lib/Runtime/Plan", *RUNTIME_ABI, *FORK, *DTYPES},
    "lib/Runtime/Jit": {"lib/Runtime/Host", "lib/Runtime/Plan", *RUNTIME_ABI, *FORK, *SCALARS},
    # lib/Runtime/CUDA uses the frames of lib/Runtime/Host, which evaluate a plan for given sizes. Its emulated device is the PTX
    # interpreter.
    "lib/Runtime/CUDA": {"lib/Runtime/Host", "lib/Runtime/Plan", "lib/Interfaces/StepObserver.h", "tilewright/TensorMapRecipe.h", *RUNTIME_ABI, *FORK, *MEMORY, *PTX, *RUN_ERROR},
    "lib/Tuner": {"dialects/Schedule", "dialects/Tile", *ANY},
    # The tuner's worker processes compile and run kernels with lib/Driver. The search in lib/Tuner does not depend on lib/Driver.
    "lib/Tuner/Workers": {"dialects", "lib/Driver", "lib/Tuner", *ANY},
    "lib/Driver": {"dialects", "lib/Plan", "lib/Runtime", "lib/Verify", *ANY},
    "lib/AOT": {"dialects", "lib/Driver", "lib/Plan", "lib/Runtime", *ANY},
    "lib/Report": {"dialects", "lib/Driver", "lib/Plan", "lib/Runtime/Plan", *ANY},
    # The Python module and the driver convert sizes and dtypes to types of the dialect `tw`.
    "python": {"dialects/Graph", *ANY},
    "tools/ptx-check": {"lib/PtxInterpreter", *PTX},
    "tools/hls-estimate": {"lib/Codegen/HLS/Estimate"},
    "tools/gpu-model": {"dialects/Schedule", "lib/Codegen/GPU/Schedule"},
    "tools": {"dialects/Graph", *ANY},
}

# For each library that runs passes, the other libraries whose passes it may run.
SHARED = {"lib/Graph", "lib/Kernels", "lib/Verify", "lib/Plan", "lib/Codegen/Common"}
RUNS_PASSES_OF = {
    "lib/Graph": set(),
    "lib/Kernels": {"lib/Verify"},
    "lib/Codegen/CPU": {*SHARED, "lib/Codegen/CPU/Schedule", "lib/Codegen/CPU/Vectorize", "lib/Codegen/CPU/MicroKernels"},
    "lib/Codegen/GPU/Schedule": SHARED,
    "lib/Codegen/NVPTX": {*SHARED, "lib/Codegen/GPU", "lib/Codegen/GPU/Schedule"},
    "lib/Codegen/HLS": SHARED,
    "lib/Codegen/Reference": SHARED,
    # lib/Driver runs the passes of `tilewright compile --fixed`, and registers the pipelines of tilewright-opt.
    "lib/Driver": {"lib/Graph", "lib/Graph/Fixed", "lib/Verify"},
}

# For each package of python/tilewright, the packages that its modules may import, even if the import is inside of a function. Modules that
# are directly in python/tilewright may import all packages.
PACKAGES = {
    "operators": set(),
    "options": set(),
    "decompositions": {"operators"},
    "fx": {"decompositions", "operators", "options"},
    "reports": {"fx", "options"},
    "runtime": {"fx", "options", "reports"},
    "dynamo": {"decompositions", "fx", "options", "reports", "runtime"},
    "bench": {"dynamo", "reports"},
}

OURS = ("lib/", "dialects/", "tilewright/", "tools/", "python/", "test/")
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')
DEFINES = re.compile(r"^#define GEN_PASS_DEF_(\w+)", re.MULTILINE)
RUNS = re.compile(r"(?<![\w.>])create(\w+)\(")


def library_of(path: str) -> str | None:
    """Returns the innermost library that contains `path`."""
    parts = path.split("/")
    for length in range(len(parts) - 1, 0, -1):
        if "/".join(parts[:length]) in LIBRARIES:
            return "/".join(parts[:length])
    return None


def sources(root: Path, *tops: str):
    """Yields the names and texts of the C++ files below `tops`."""
    for top in tops:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                yield path.relative_to(root).as_posix(), path.read_text()


def allows(allowed: str, target: str) -> bool:
    """Returns True if an entry allows the header `target`: a header, a library, or a folder of libraries."""
    if allowed in LIBRARIES:
        return library_of(target) == allowed
    return target == allowed or target.startswith(allowed + "/")


def wrong_includes(root: Path) -> list[str]:
    found = []
    for name, text in sources(root, "dialects", "include", "lib", "python", "tools"):
        library = library_of(name)
        if library is None:
            found.append(f"{name}: its folder is in no library of tools/dev/check_includes.py; add it to LIBRARIES")
            continue
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if not match or not match.group(1).startswith(OURS):
                continue
            target = match.group(1)
            allowed = LIBRARIES[library]
            if target.startswith(library + "/") or any(allows(a, target) for a in allowed):
                continue
            may = ", ".join(sorted(allowed)) or "nothing else"
            found.append(f"{name}:{number}: {library} may not include {target}; allowed are its own headers and: {may}")
    return found


def wrong_owners(root: Path) -> list[str]:
    """Returns a line for each pass that is run by another stage than the one that defines it."""
    owner = {}
    for name, text in sources(root, "lib"):
        for define in DEFINES.findall(text):
            owner[define] = library_of(name)
    found = []
    for name, text in sources(root, "lib"):
        library = library_of(name)
        for number, line in enumerate(text.splitlines(), 1):
            for made in RUNS.findall(line):
                defined = owner.get(made.upper()) if "std::unique_ptr<" not in line else None
                if defined and defined != library and defined not in RUNS_PASSES_OF.get(library, set()):
                    found.append(f"{name}:{number}: {library} runs the pass {made}, which {defined} defines; a pass is defined in the "
                                 "folder of the stage that runs it")  # fmt: skip
    return found


def wrong_imports(root: Path) -> list[str]:
    """Returns a line for each import between packages of python/tilewright that PACKAGES does not allow."""
    found = []
    folder = root / "python" / "tilewright"
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if len(parts) == 1 and parts[0] not in PACKAGES:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or node.level != len(parts) or node.level == 0:
                continue
            for name in [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]:
                if name in PACKAGES and name != parts[0] and name not in PACKAGES[parts[0]]:
                    may = ", ".join(sorted(PACKAGES[parts[0]])) or "no other package"
                    found.append(f"{path.relative_to(root).as_posix()}:{node.lineno}: {parts[0]} may not import {name}; it may import {may}")
    return found


def missing_folders(root: Path) -> list[str]:
    names = {*LIBRARIES, *RUNS_PASSES_OF, *(a for allowed in LIBRARIES.values() for a in allowed if a.startswith(("lib/", "dialects/")))}
    return [f"tools/dev/check_includes.py lists {name}, which does not exist" for name in sorted(names) if not (root / name).exists()]


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    found = missing_folders(root) + wrong_includes(root) + wrong_owners(root) + wrong_imports(root)
    print("\n".join(found) if found else "check_includes: all includes and imports are allowed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

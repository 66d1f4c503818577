"""Writes docs/pipeline.md: one small model's IR after each stage, as tilewright-opt prints it today."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "test" / "Pipelines" / "matmul.mlir"
STAGES = [
    ("graph", "tw ops with torch's meaning; views collapsed, convolutions channels-last."),
    ("structured", "linalg and tw_tile on tensors; @main calls kernels, equal kernels are one function."),
    ("tiled", "the weight is packed once into panels of 48 columns; each kernel is one scf.forall over tiles."),
    ("vector", "memrefs and vectors; temporaries are in the thread's scratch memory; @main is the runtime's program."),
]
INTRO = """# The pipeline, stage by stage

`x @ w.T + b` and GELU, 128x64 by 64x96, as `tilewright-opt` prints it. Written by `tools/dev/write_pipeline_doc.py`; a test
(`tools/dev/check_pipeline_doc.py`) fails when the compiler says something else. The passes of a stage
are listed in `lib/Graph/GraphStage.cpp`, `lib/Kernels/StructuredStage.cpp` and `lib/Codegen/CPU/CpuStages.cpp`. After `vector` the
cpu target lowers the kernels to LLVM (`--tw-stage-cpu`) and machine code.
"""


def printed(stages: list[str]) -> str:
    command = [str(ROOT / "build" / "bin" / "tilewright-opt"), str(MODEL), *(f"--tw-stage-{s}" for s in stages)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    # File names of decisions depend on the machine.
    return run.stdout.replace(str(MODEL), MODEL.name).strip()


def page() -> str:
    source = [line for line in MODEL.read_text().splitlines() if not line.startswith("//")]
    parts = [INTRO, "\n## The model\n\n```mlir\n" + "\n".join(source).strip() + "\n```\n"]
    for count, (stage, what) in enumerate(STAGES, 1):
        text = printed([name for name, _ in STAGES[:count]])
        parts.append(f"\n## {stage}\n\n{what[0].upper() + what[1:]}\n\n```mlir\n{text}\n```\n")
    return "".join(parts)


if __name__ == "__main__":
    (ROOT / "docs" / "pipeline.md").write_text(page())
    sys.exit(0)

// RUN: tilewright compile %s --emit=graph | FileCheck %s --check-prefix=GRAPH
// RUN: tilewright compile %s --emit=structured --target=cpu | FileCheck %s --check-prefix=STRUCTURED
// RUN: tilewright compile %s --emit=target --cpu=x86-64-v3 -o %t && FileCheck %s --check-prefix=TARGET < %t
// RUN: tilewright compile %s --emit=asm --cpu=sapphirerapids | FileCheck %s --check-prefix=ASM
// RUN: tilewright compile - --emit=tiled < %s | FileCheck %s --check-prefix=TILED
// RUN: not tilewright compile %s --emit=nonsense 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: not tilewright compile %s --emit=runtime 2>&1 | FileCheck %s --check-prefix=RUNTIME
// RUN: not tilewright compile %s --emit=cpp 2>&1 | FileCheck %s --check-prefix=CPP
// RUN: not tilewright compile %s --target=abacus 2>&1 | FileCheck %s --check-prefix=MACHINE
// RUN: not tilewright compile %S/../lit.cfg.py 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not tilewright compile %s.absent 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: not tilewright compile %s --emit=vectr 2>&1 | FileCheck %s --check-prefix=NEAR
// RUN: not tilewright compile %s --target=cpx 2>&1 | FileCheck %s --check-prefix=NEARTARGET
// RUN: not tilewright compile %s --cpu=pentium 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not tilewright compile %s --rounding=up 2>&1 | FileCheck %s --check-prefix=ROUNDING
// RUN: printf 'PK\003\004and so on, but not to an end' > %t.zip
// RUN: not tilewright compile %t.zip 2>&1 | FileCheck %s --check-prefix=ZIP
// RUN: true > %t.empty && not tilewright compile %t.empty 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not tilewright compile %S 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: not tilewright decompile %s 2>&1 | FileCheck %s --check-prefix=COMMAND

// GRAPH: tw.exp
// STRUCTURED: func.func {{.*}}@exp_0
// STRUCTURED: math.exp
// TILED: scf.forall
// TARGET: llvm.func
// ASM: vscalefps
// ASM: ret
// STAGE: tilewright compile: unknown stage 'nonsense'; --emit accepts graph, structured, tiled, vector, target, {{.*}}asm
// RUNTIME: tilewright compile: unknown stage 'runtime'; --emit accepts graph, structured
// CPP: --emit=cpp requires --target=hls; use --emit=asm for target 'cpu'
// NEAR: unknown stage 'vectr' (did you mean 'vector'?)
// NEARTARGET: unknown target 'cpx' (did you mean 'cpu'?); known targets
// CPU: pentium
// ROUNDING: rounding is 'fused' or 'eager', not 'up'
// ZIP: cannot read '{{.*}}.zip': its end is missing: the file is cut off, or something was added to it
// EMPTY: is empty; Tilewright reads .pt2 files (tilewright.export in Python), .onnx files and MLIR
// FOLDER: tilewright compile: {{.*}}irectory
// MACHINE: tilewright compile: unknown target 'abacus'; known targets: {{.*}}cpu
// TEXT: lit.cfg.py:1:1: error
// TEXT: is not valid MLIR
// ABSENT: tilewright compile: cannot open input file
// COMMAND: unknown command 'decompile' (did you mean 'compile'?)
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = tw.exp %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// IR that was saved after a stage can be compiled from that stage. The machine code is the same as that of an
// uninterrupted compilation.
// RUN: tilewright compile %s --emit=asm --threads=2 -o %t.asm
// RUN: tilewright compile %s --emit=graph --whole-constants --threads=2 -o %t.graph
// RUN: tilewright compile %t.graph --start-at=graph --emit=asm --threads=2 | diff %t.asm -
// RUN: tilewright compile %s --stop-at=structured --whole-constants --threads=2 -o %t.structured
// RUN: tilewright compile %t.structured --start-at=structured --emit=asm --threads=2 | diff %t.asm -
// RUN: tilewright compile %s --emit=tiled --whole-constants --threads=2 -o %t.tiled
// RUN: tilewright compile %t.tiled --start-at=tiled --emit=asm --threads=2 | diff %t.asm -
// RUN: tilewright compile %s --emit=vector --whole-constants --threads=2 -o %t.vector
// RUN: tilewright compile %t.vector --start-at=vector --emit=asm --threads=2 | diff %t.asm -
// RUN: tilewright compile %s --emit=target --whole-constants --threads=2 -o %t.target
// RUN: tilewright compile %t.target --start-at=target --emit=asm --threads=2 | diff %t.asm -
// RUN: tilewright compile %t.tiled --start-at=tiled --stop-at=vector --whole-constants --threads=2 | diff %t.vector -

// If the saved IR is edited, the machine code changes.
// RUN: sed 's/arith.addf/arith.subf/' %t.structured > %t.edited
// RUN: tilewright compile %t.edited --start-at=structured --emit=vector | FileCheck %s --check-prefix=EDITED
// EDITED: arith.subf

// A library is compiled from saved IR.
// RUN: rm -rf %t.library && mkdir %t.library
// RUN: tilewright compile %t.structured --start-at=structured -o %t.library/model.so
// RUN: FileCheck %s --check-prefix=HEADER < %t.library/model.h
// HEADER: model_create

// RUN: not tilewright compile %s --start-at=structured 2>&1 | FileCheck %s --check-prefix=EARLIER
// RUN: not tilewright compile %t.tiled --start-at=structured 2>&1 | FileCheck %s --check-prefix=LATER
// RUN: not tilewright compile %t.vector --start-at=graph 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: echo 'module {}' | not tilewright compile - --start-at=target 2>&1 | FileCheck %s --check-prefix=NOPLAN
// RUN: echo 'module {}' | not tilewright compile - --start-at=tiled 2>&1 | FileCheck %s --check-prefix=NOMAIN
// RUN: sed 's/tw.schedule = #tw_cpu.schedule<[^>]*>/tw.schedule = {tiles = array<i64: 40, 48>}/' %t.tiled > %t.dictionary
// RUN: not tilewright compile %t.dictionary --start-at=tiled 2>&1 | FileCheck %s --check-prefix=DICTIONARY
// RUN: not tilewright compile %t.tiled --start-at=tiled --emit=graph 2>&1 | FileCheck %s --check-prefix=BACKWARDS
// RUN: not tilewright compile %t.tiled --start-at=tyled 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not tilewright compile %t.tiled --start-at=tiled -o %t.library/model.so 2>&1 | FileCheck %s --check-prefix=LIBRARY
// RUN: tilewright compile %s --emit=graph -o %t.elided
// RUN: not tilewright compile %t.elided --start-at=graph 2>&1 | FileCheck %s --check-prefix=ELIDED
// EARLIER: start-at.mlir:{{[0-9]+}}: 'tw.constant' is an op of IR after the stage graph, not 'structured'; check the stage after which the IR was saved
// LATER: 'scf.forall{{.*}}' is an op of IR after the stage tiled or vector, not 'structured'
// OTHER: is an op of IR after the stage {{.*}}, not 'graph'
// DICTIONARY: tw.schedule of 'func.func' is {tiles = array<i64: 40, 48>}, which is not a schedule such as #tw_cpu.schedule<...>: was this saved by an older version?
// NOPLAN: the module has no tw_plan.program: this is not IR of the end of stage 'target'
// NOMAIN: the module has no function @main: this is not IR of the end of stage 'tiled'
// BACKWARDS: stage 'graph' precedes 'tiled', at whose end this IR was saved
// UNKNOWN: cannot start at 'tyled': IR can be continued from the end of graph, structured, tiled, vector, target
// LIBRARY: a library is compiled from IR of the stages graph or structured; IR of the stage 'tiled' does not contain which inputs may change
// ELIDED: the elements of this constant were left out when the IR was saved: save it with --whole-constants

func.func @main(%x: tensor<40x64xf32>, %w: tensor<64x66xf32> {tw.static}) -> tensor<40x66xf32> {
  %bias = tw.constant dense<[
    -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, -1.5, -1.0, -0.5, 0.0, 0.5,
    1.0, 1.5, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, -1.5, -1.0, -0.5,
    0.0, 0.5, 1.0, 1.5, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, -1.5, -1.0,
    -0.5, 0.0, 0.5, 1.0, 1.5, -1.5, -1.0, -0.5
  ]> : tensor<66xf32>
  %product = tw.matmul %x, %w : (tensor<40x64xf32>, tensor<64x66xf32>) -> tensor<40x66xf32>
  %sum = tw.add %product, %bias : (tensor<40x66xf32>, tensor<66xf32>) -> tensor<40x66xf32>
  %result = tw.softmax %sum {dim = 1 : i64} : tensor<40x66xf32> -> tensor<40x66xf32>
  return %result : tensor<40x66xf32>
}

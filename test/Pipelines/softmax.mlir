// This test lowers a softmax with a symbolic number of rows through every stage. A task of its kernel has several rows.
// RUN: tilewright-opt %s --tw-stage-graph | FileCheck %s --check-prefix=GRAPH
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured | FileCheck %s --check-prefix=STRUCTURED
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-stage-tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-stage-tiled --tw-stage-vector | FileCheck %s --check-prefix=VECTOR
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-stage-tiled --tw-stage-vector --tw-stage-cpu | FileCheck %s --check-prefix=TARGET

// GRAPH: tw.softmax

// STRUCTURED: func.func @main(%[[N:.*]]: index
// STRUCTURED: call @softmax_0(%[[N]],
// STRUCTURED-NOT: call
// STRUCTURED: func.func private @softmax_0
// STRUCTURED: arith.maxnumf
// STRUCTURED: math.exp
// STRUCTURED: arith.divf

// TILED: scf.forall
// TILED: arith.maxnumf
// TILED: %{{.*}}:2 = linalg.generic
// TILED: math.exp
// TILED-NEXT: arith.addf
// TILED: arith.divf

// VECTOR: func.func private @softmax_0
// VECTOR-SAME: tw.grid
// VECTOR: arith.cmpf ogt
// VECTOR: vector.shuffle
// VECTOR: arith.maxnumf
// VECTOR: math.exp {{.*}} : vector<16xf32>
// VECTOR: vector.reduction <add>
// VECTOR: tw_plan.launch @softmax_0

// TARGET: llvm.func @softmax_0
#rows = affine_map<()[s0] -> (s0, 100)>
func.func @main(%n: index {tw.symbol = "s0", tw.min = 2, tw.max = 512}, %x: tensor<?x100xf32, #rows>) -> tensor<?x100xf32, #rows> {
  %y = tw.softmax %x {dim = 1 : i64} : tensor<?x100xf32, #rows> -> tensor<?x100xf32, #rows>
  return %y : tensor<?x100xf32, #rows>
}

// This test lowers one matmul with its epilogue through every stage.
// RUN: tilewright-opt %s --tw-stage-graph | FileCheck %s --check-prefix=GRAPH
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured | FileCheck %s --check-prefix=STRUCTURED
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-stage-tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-stage-tiled --tw-stage-vector | FileCheck %s --check-prefix=VECTOR
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-stage-tiled --tw-stage-vector --tw-stage-cpu | FileCheck %s --check-prefix=TARGET

// GRAPH: tw.matmul
// GRAPH: tw.add
// GRAPH: tw.gelu

// STRUCTURED: func.func @main
// STRUCTURED: call @matmul_add_gelu_0
// STRUCTURED-SAME: tw.ops = "matmul+add+gelu"
// STRUCTURED: func.func private @matmul_add_gelu_0
// STRUCTURED: linalg.contract
// STRUCTURED: linalg.generic
// STRUCTURED: math.erf

// TILED: call @pack_0
// TILED-SAME: tw.once
// TILED: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (128, 96) step (128, 48)
// TILED: tw_tile.matmul {group = 1 : i64, lhs_permutation = array<i64: 0, 1>, panel = 48 : i64
// TILED: linalg.generic
// TILED: tensor.parallel_insert_slice

// VECTOR: func.func private @matmul_add_gelu_0
// VECTOR-NOT: memref.alloc
// VECTOR: scf.for
// VECTOR: tw_tile.matmul
// VECTOR: vector.load
// VECTOR: math.erf {{.*}} : vector<16xf32>
// VECTOR: vector.store
// VECTOR: tw_plan.program @main_plan
// VECTOR: tw_plan.launch once @pack_0
// VECTOR: tw_plan.launch @matmul_add_gelu_0

// TARGET: llvm.func @matmul_add_gelu_0(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr)
// TARGET: llvm.intr.fma
// TARGET-NOT: memref.
func.func @main(%x: tensor<128x64xf32>, %w: tensor<96x64xf32> {tw.static}, %b: tensor<96xf32> {tw.static}) -> tensor<128x96xf32> {
  %wt = tw.permute %w {permutation = array<i64: 1, 0>} : tensor<96x64xf32> -> tensor<64x96xf32>
  %m = tw.matmul %x, %wt : (tensor<128x64xf32>, tensor<64x96xf32>) -> tensor<128x96xf32>
  %a = tw.add %m, %b : (tensor<128x96xf32>, tensor<96xf32>) -> tensor<128x96xf32>
  %g = tw.gelu %a : (tensor<128x96xf32>) -> tensor<128x96xf32>
  return %g : tensor<128x96xf32>
}

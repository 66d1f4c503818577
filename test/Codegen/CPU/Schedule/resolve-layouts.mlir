// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-resolve-layouts | FileCheck %s

// A parameter is packed once per version, in a separate kernel. Its 96 columns are two panels of 48.
// CHECK: func.func @main
// CHECK: call @pack_0({{.*}}) {tw.once
// CHECK: call @matmul_0
// CHECK: func.func private @matmul_0(%{{.*}}: tensor<32x64xf32>{{.*}}, %{{.*}}: tensor<2x64x48xf32>
// CHECK: tw_tile.matmul {group = 1 : i64, lhs_permutation = array<i64: 0, 1>, panel = 48 : i64
// CHECK: func.func private @pack_0
// CHECK: tw_tile.pack {group = 1 : i64, panel = 48 : i64, permutation = array<i64: 0, 1>}
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x96xf32> {tw.static}) -> tensor<32x96xf32> {
  %0 = tw.matmul %x, %w : (tensor<32x64xf32>, tensor<64x96xf32>) -> tensor<32x96xf32>
  return %0 : tensor<32x96xf32>
}

// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-resolve-layouts --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-stage-tiled --split-input-file | FileCheck %s --check-prefix=TILED

// Matrices that indices select from a parameter are not copied. The parameter is packed once, and the product reads the
// indices. A tile of one batch element reads a slice of the packed parameter, at an index whose range is checked.
// CHECK: func.func @main
// CHECK: call @pack_0(%arg0, {{.*}}) {tw.once
// CHECK: call @matmul_1(%arg2, {{.*}}, %arg1, {{.*}}) {tw.ops = "matmul"}
// CHECK-SAME: (tensor<7x16x64xf32>, tensor<5x2x64x48xf32>, tensor<7xi64>, tensor<7x16x96xf32>)
// CHECK-NOT: tensor.extract
// CHECK: tw_tile.matmul {from_end, group = 1 : i64, lhs_permutation = array<i64: 0, 1, 2>, panel = 48 : i64
// CHECK: tw_tile.pack {group = 1 : i64, panel = 48 : i64, permutation = array<i64: 0, 2, 1>}
// TILED: scf.forall (%[[B:.*]], %{{.*}}, %{{.*}}) =
// TILED: %[[N:.*]] = tensor.extract %arg2[%[[B]]] : tensor<7xi64>
// TILED: %[[I:.*]] = arith.index_cast %[[N]]
// TILED: %[[P:.*]] = tw_tile.place %[[I]] below %{{.*}} from_end : index
// TILED: tensor.extract_slice %arg1[%[[P]], %{{.*}}, 0, 0] [1, 1, 64, 48]
func.func @main(%w: tensor<5x96x64xf32> {tw.static}, %i: tensor<7xi64>, %x: tensor<7x16x64xf32>) -> tensor<7x16x96xf32> {
  %0 = tw.permute %w {permutation = array<i64: 0, 2, 1>} : tensor<5x96x64xf32> -> tensor<5x64x96xf32>
  %1 = tw.take %0[%i] {dim = 0 : i64} : (tensor<5x64x96xf32>, tensor<7xi64>) -> tensor<7x64x96xf32>
  %2 = tw.matmul %x, %1 : (tensor<7x16x64xf32>, tensor<7x64x96xf32>) -> tensor<7x16x96xf32>
  return %2 : tensor<7x16x96xf32>
}

// -----

// A right-hand side that is not a parameter would be packed as a whole at each call, so only the selected matrices are
// copied.
// CHECK: func.func @main
// CHECK: tensor.extract
// CHECK: tw_tile.matmul {{.*}} ins(%{{.*}}, %{{.*}} : tensor<7x16x64xf32>, tensor<7x2x64x48xf32>)
// TILED: tensor.extract
func.func @main(%w: tensor<5x64x96xf32>, %i: tensor<7xi64>, %x: tensor<7x16x64xf32>) -> tensor<7x16x96xf32> {
  %0 = tw.take %w[%i] {dim = 0 : i64} : (tensor<5x64x96xf32>, tensor<7xi64>) -> tensor<7x64x96xf32>
  %1 = tw.matmul %x, %0 : (tensor<7x16x64xf32>, tensor<7x64x96xf32>) -> tensor<7x16x96xf32>
  return %1 : tensor<7x16x96xf32>
}

// -----

// If another op also reads the selected matrices, they are copied once for both consumers.
// CHECK: func.func @main
// CHECK: tensor.extract
// CHECK: tw_tile.matmul {{.*}} ins(%{{.*}}, %{{.*}} : tensor<7x16x64xf32>, tensor<7x2x64x48xf32>)
// TILED: tensor.extract
func.func @main(%w: tensor<5x64x96xf32> {tw.static}, %i: tensor<7xi64>, %x: tensor<7x16x64xf32>)
    -> (tensor<7x16x96xf32>, tensor<7x64x96xf32>) {
  %0 = tw.take %w[%i] {dim = 0 : i64} : (tensor<5x64x96xf32>, tensor<7xi64>) -> tensor<7x64x96xf32>
  %1 = tw.matmul %x, %0 : (tensor<7x16x64xf32>, tensor<7x64x96xf32>) -> tensor<7x16x96xf32>
  return %1, %0 : tensor<7x16x96xf32>, tensor<7x64x96xf32>
}

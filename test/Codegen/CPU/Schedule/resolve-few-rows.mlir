// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-resolve-layouts --split-input-file | FileCheck %s

// If there are few rows, a right-hand side that is not a parameter is read only once. Therefore it is not packed.
// CHECK-LABEL: func.func @main
// CHECK-NOT: @pack_0
// CHECK: linalg.contract
func.func @main(%x: tensor<5x64xf32>, %w: tensor<96x64xf32>) -> tensor<5x96xf32> {
  %t = tw.permute %w {permutation = array<i64: 1, 0>} : tensor<96x64xf32> -> tensor<64x96xf32>
  %0 = tw.matmul %x, %t : (tensor<5x64xf32>, tensor<64x96xf32>) -> tensor<5x96xf32>
  return %0 : tensor<5x96xf32>
}

// -----

// The right-hand side is packed if it is contiguous along k and K is less than the width of a vector, because otherwise
// its elements would be gathered one by one.
// CHECK-LABEL: func.func @main
// CHECK: call @pack_0
// CHECK: tw_tile.matmul
// CHECK: tw_tile.pack {{.*}}permutation = array<i64: 1, 0>
func.func @main(%x: tensor<5x7xf32>, %w: tensor<96x7xf32>) -> tensor<5x96xf32> {
  %t = tw.permute %w {permutation = array<i64: 1, 0>} : tensor<96x7xf32> -> tensor<7x96xf32>
  %0 = tw.matmul %x, %t : (tensor<5x7xf32>, tensor<7x96xf32>) -> tensor<5x96xf32>
  return %0 : tensor<5x96xf32>
}

// -----

// If the right-hand side is contiguous along its columns, it is read as vectors even if K is small.
// CHECK-LABEL: func.func @main
// CHECK-NOT: @pack_0
// CHECK: linalg.contract
func.func @main(%x: tensor<5x7xf32>, %w: tensor<7x96xf32>) -> tensor<5x96xf32> {
  %0 = tw.matmul %x, %w : (tensor<5x7xf32>, tensor<7x96xf32>) -> tensor<5x96xf32>
  return %0 : tensor<5x96xf32>
}

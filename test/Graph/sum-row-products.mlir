// RUN: tilewright-opt %s --pass-pipeline='builtin.module(func.func(tw-sum-row-products))' --split-input-file | FileCheck %s

// A product with one column becomes, for each row, the sum of the elementwise product of the row and the column.
// CHECK-LABEL: @column
// CHECK-SAME: %[[A:.*]]: tensor<512x768xf32>, %[[X:.*]]: tensor<768x1xf32>
// CHECK: %[[ROW:.*]] = tw.permute %[[X]] {permutation = array<i64: 1, 0>} : tensor<768x1xf32> -> tensor<1x768xf32>
// CHECK: %[[P:.*]] = tw.mul %[[A]], %[[ROW]] : (tensor<512x768xf32>, tensor<1x768xf32>) -> tensor<512x768xf32>
// CHECK: tw.reduce sum %[[P]] {dims = array<i64: 1>, keepdim} : tensor<512x768xf32> -> tensor<512x1xf32>
func.func @column(%a: tensor<512x768xf32>, %x: tensor<768x1xf32>) -> tensor<512x1xf32> {
  %0 = tw.matmul %a, %x : (tensor<512x768xf32>, tensor<768x1xf32>) -> tensor<512x1xf32>
  return %0 : tensor<512x1xf32>
}

// -----

// Two permutes that cancel leave rows contiguous. Batches and a symbolic number of rows are supported.
// CHECK-LABEL: @batch
// CHECK: tw.reduce sum %{{.*}} {dims = array<i64: 2>, keepdim}
// CHECK-NOT: tw.matmul
#rows = affine_map<()[s0] -> (4, s0, 64)>
#columns_first = affine_map<()[s0] -> (4, 64, s0)>
#column = affine_map<()[s0] -> (4, s0, 1)>
func.func @batch(%n: index {tw.symbol = "n", tw.min = 2 : i64}, %a: tensor<4x?x64xf64, #rows>, %x: tensor<4x64x1xf64>) -> tensor<4x?x1xf64, #column> {
  %0 = tw.permute %a {permutation = array<i64: 0, 2, 1>} : tensor<4x?x64xf64, #rows> -> tensor<4x64x?xf64, #columns_first>
  %1 = tw.permute %0 {permutation = array<i64: 0, 2, 1>} : tensor<4x64x?xf64, #columns_first> -> tensor<4x?x64xf64, #rows>
  %2 = tw.matmul %1, %x : (tensor<4x?x64xf64, #rows>, tensor<4x64x1xf64>) -> tensor<4x?x1xf64, #column>
  return %2 : tensor<4x?x1xf64, #column>
}

// -----

// The pass does not change a product with strided rows, one row, several columns, or 16-bit floats.
// CHECK-LABEL: @unchanged
// CHECK-COUNT-4: tw.matmul
// CHECK-NOT: tw.reduce
func.func @unchanged(%a: tensor<768x512xf32>, %x: tensor<768x1xf32>, %r: tensor<1x768xf32>, %w: tensor<768x2xf32>, %h: tensor<512x768xbf16>, %y: tensor<768x1xbf16>) -> (tensor<512x1xf32>, tensor<1x1xf32>, tensor<1x2xf32>, tensor<512x1xbf16>) {
  %0 = tw.permute %a {permutation = array<i64: 1, 0>} : tensor<768x512xf32> -> tensor<512x768xf32>
  %1 = tw.matmul %0, %x : (tensor<512x768xf32>, tensor<768x1xf32>) -> tensor<512x1xf32>
  %2 = tw.matmul %r, %x : (tensor<1x768xf32>, tensor<768x1xf32>) -> tensor<1x1xf32>
  %3 = tw.matmul %r, %w : (tensor<1x768xf32>, tensor<768x2xf32>) -> tensor<1x2xf32>
  %4 = tw.matmul %h, %y : (tensor<512x768xbf16>, tensor<768x1xbf16>) -> tensor<512x1xbf16>
  return %1, %2, %3, %4 : tensor<512x1xf32>, tensor<1x1xf32>, tensor<1x2xf32>, tensor<512x1xbf16>
}

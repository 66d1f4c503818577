// RUN: tilewright-opt %s --canonicalize | FileCheck %s

// CHECK: #[[MAP:.*]] = affine_map<() -> (5)>

// CHECK-LABEL: func.func @identities
// CHECK-SAME: (%[[X:.*]]: tensor<4x6xf32>)
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]]
func.func @identities(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %0 = tw.reshape %x : tensor<4x6xf32> -> tensor<4x6xf32>
  %1 = tw.permute %x {permutation = array<i64: 0, 1>} : tensor<4x6xf32> -> tensor<4x6xf32>
  %2 = tw.broadcast %x : tensor<4x6xf32> -> tensor<4x6xf32>
  %3 = tw.slice %x {offsets = affine_map<() -> (0, 0)>, strides = array<i64: 1, 1>} : tensor<4x6xf32> -> tensor<4x6xf32>
  return %0, %1, %2, %3 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}

// CHECK-LABEL: func.func @permutes_that_cancel
// CHECK-NEXT: return %arg0
func.func @permutes_that_cancel(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = tw.permute %x {permutation = array<i64: 1, 0>} : tensor<4x6xf32> -> tensor<6x4xf32>
  %1 = tw.permute %0 {permutation = array<i64: 1, 0>} : tensor<6x4xf32> -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// CHECK-LABEL: func.func @permute_of_permute
// CHECK-NEXT: tw.permute %arg0 {permutation = array<i64: 2, 0, 1>} : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
// CHECK-NEXT: return
func.func @permute_of_permute(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %0 = tw.permute %x {permutation = array<i64: 1, 2, 0>} : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %1 = tw.permute %0 {permutation = array<i64: 1, 2, 0>} : tensor<3x4x2xf32> -> tensor<4x2x3xf32>
  return %1 : tensor<4x2x3xf32>
}

// CHECK-LABEL: func.func @reshape_of_reshape
// CHECK-NEXT: tw.reshape %arg0 : tensor<4x6xf32> -> tensor<2x12xf32>
// CHECK-NEXT: return
func.func @reshape_of_reshape(%x: tensor<4x6xf32>) -> tensor<2x12xf32> {
  %0 = tw.reshape %x : tensor<4x6xf32> -> tensor<24xf32>
  %1 = tw.reshape %0 : tensor<24xf32> -> tensor<2x12xf32>
  return %1 : tensor<2x12xf32>
}

// CHECK-LABEL: func.func @broadcast_of_broadcast
// CHECK-NEXT: tw.broadcast %arg0 : tensor<1x6xf32> -> tensor<2x4x6xf32>
// CHECK-NEXT: return
func.func @broadcast_of_broadcast(%x: tensor<1x6xf32>) -> tensor<2x4x6xf32> {
  %0 = tw.broadcast %x : tensor<1x6xf32> -> tensor<4x6xf32>
  %1 = tw.broadcast %0 : tensor<4x6xf32> -> tensor<2x4x6xf32>
  return %1 : tensor<2x4x6xf32>
}

// CHECK-LABEL: func.func @slice_of_slice
// CHECK-NEXT: tw.slice %arg0 {offsets = #[[MAP]], strides = array<i64: 6>} : tensor<32xf32> -> tensor<4xf32>
// CHECK-NEXT: return
func.func @slice_of_slice(%x: tensor<32xf32>) -> tensor<4xf32> {
  %0 = tw.slice %x {offsets = affine_map<() -> (1)>, strides = array<i64: 2>} : tensor<32xf32> -> tensor<15xf32>
  %1 = tw.slice %0 {offsets = affine_map<() -> (2)>, strides = array<i64: 3>} : tensor<15xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @symbolic_identity
// CHECK: return %arg1
func.func @symbolic_identity(%n: index {tw.symbol = "s0"}, %x: tensor<?x6xf32, affine_map<()[s0] -> (s0, 6)>>) -> tensor<?x6xf32, affine_map<()[s0] -> (s0, 6)>> {
  %0 = tw.reshape %x : tensor<?x6xf32, affine_map<()[s0] -> (s0, 6)>> -> tensor<?xf32, affine_map<()[s0] -> (s0 * 6)>>
  %1 = tw.reshape %0 : tensor<?xf32, affine_map<()[s0] -> (s0 * 6)>> -> tensor<?x6xf32, affine_map<()[s0] -> (s0, 6)>>
  return %1 : tensor<?x6xf32, affine_map<()[s0] -> (s0, 6)>>
}

// A tw.require whose condition is the constant true is removed. If the condition is the constant false, the op remains,
// and the call reports an error.
// CHECK-LABEL: func.func @require_true
// CHECK: return %arg0
func.func @require_true(%x: tensor<4xf32>) -> tensor<4xf32> {
  %true = tw.constant dense<true> : tensor<i1>
  %0 = tw.require %true, %x {message = "x"} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @require_false
// CHECK: tw.require
func.func @require_false(%x: tensor<4xf32>) -> tensor<4xf32> {
  %false = tw.constant dense<false> : tensor<i1>
  %0 = tw.require %false, %x {message = "x"} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A reduction of dimensions of size 1 is its input.
// CHECK-LABEL: func.func @reduce_one_element
// CHECK: %[[FLAT:.*]] = tw.reshape %arg0 : tensor<5x1xf32> -> tensor<5xf32>
// CHECK: return %arg0, %[[FLAT]]
func.func @reduce_one_element(%x: tensor<5x1xf32>) -> (tensor<5x1xf32>, tensor<5xf32>) {
  %0 = tw.reduce sum %x {dims = array<i64: 1>, keepdim} : tensor<5x1xf32> -> tensor<5x1xf32>
  %1 = tw.reduce max %x {dims = array<i64: 1>} : tensor<5x1xf32> -> tensor<5xf32>
  return %0, %1 : tensor<5x1xf32>, tensor<5xf32>
}

// A reduction remains if it reduces several elements or an unknown number of elements, or if it changes the element type.
// CHECK-LABEL: func.func @other_reductions
// CHECK: tw.reduce sum
// CHECK: tw.reduce sum
// CHECK: tw.reduce any
func.func @other_reductions(%n: index {tw.symbol = "s0"}, %x: tensor<5x1xf32>, %y: tensor<?xf32, affine_map<()[s0] -> (s0)>>) -> (tensor<f32>, tensor<f32>, tensor<5xi1>) {
  %0 = tw.reduce sum %x {dims = array<i64: 0, 1>} : tensor<5x1xf32> -> tensor<f32>
  %1 = tw.reduce sum %y {dims = array<i64: 0>} : tensor<?xf32, affine_map<()[s0] -> (s0)>> -> tensor<f32>
  %2 = tw.reduce any %x {dims = array<i64: 1>} : tensor<5x1xf32> -> tensor<5xi1>
  return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<5xi1>
}

// CHECK-LABEL: func.func @divide_by_one
// CHECK: %[[BY_TWO:.*]] = tw.div
// CHECK: return %arg0, %[[BY_TWO]]
func.func @divide_by_one(%x: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %one = tw.constant dense<1.0> : tensor<f32>
  %two = tw.constant dense<2.0> : tensor<f32>
  %0 = tw.div %x, %one : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
  %1 = tw.div %x, %two : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
  return %0, %1 : tensor<5xf32>, tensor<5xf32>
}

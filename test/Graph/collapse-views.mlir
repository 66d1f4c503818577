// RUN: tilewright-opt %s --tw-collapse-views --cse | FileCheck %s

// The ops between two matmuls (bias, residual and norm) become two-dimensional.
// CHECK-LABEL: func @transformer_chain
// CHECK: %[[M:.*]] = tw.matmul %arg0, %arg1
// CHECK: %[[A:.*]] = tw.add %[[M]], %arg2 : (tensor<34x64xf32>, tensor<64xf32>) -> tensor<34x64xf32>
// CHECK: %[[R:.*]] = tw.reshape %arg3 : tensor<2x17x64xf32> -> tensor<34x64xf32>
// CHECK: %[[S:.*]] = tw.add %[[A]], %[[R]]
// CHECK: %[[N:.*]], %{{.*}}, %{{.*}} = tw.layer_norm %[[S]] {{.*}} : tensor<34x64xf32> -> tensor<34x64xf32>, tensor<34x1xf32>, tensor<34x1xf32>
// CHECK-NOT: tw.reshape
// CHECK: tw.matmul %[[N]], %arg1
func.func @transformer_chain(%x: tensor<34x64xf32>, %w: tensor<64x64xf32>, %b: tensor<64xf32>, %r: tensor<2x17x64xf32>) -> tensor<34x64xf32> {
  %0 = tw.matmul %x, %w : (tensor<34x64xf32>, tensor<64x64xf32>) -> tensor<34x64xf32>
  %1 = tw.reshape %0 : tensor<34x64xf32> -> tensor<2x17x64xf32>
  %2 = tw.add %1, %b : (tensor<2x17x64xf32>, tensor<64xf32>) -> tensor<2x17x64xf32>
  %3 = tw.add %2, %r : (tensor<2x17x64xf32>, tensor<2x17x64xf32>) -> tensor<2x17x64xf32>
  %4, %m, %s = tw.layer_norm %3 weight(%b : tensor<64xf32>) {rank = 1 : i64, eps = 1.0e-5 : f64}
    : tensor<2x17x64xf32> -> tensor<2x17x64xf32>, tensor<2x17x1xf32>, tensor<2x17x1xf32>
  %5 = tw.reshape %4 : tensor<2x17x64xf32> -> tensor<34x64xf32>
  %6 = tw.matmul %5, %w : (tensor<34x64xf32>, tensor<64x64xf32>) -> tensor<34x64xf32>
  return %6 : tensor<34x64xf32>
}

// Dimensions of symbolic size merge in the same way as dimensions of constant size.
// CHECK-LABEL: func @symbolic
// CHECK: %[[E:.*]] = tw.exp %arg2
// CHECK: tw.reshape %[[E]]
func.func @symbolic(%a: index {tw.symbol = "a"}, %b: index {tw.symbol = "b"}, %x: tensor<?x8xf32, affine_map<()[s0, s1] -> (s0 * s1, 8)>>)
    -> tensor<?x?x8xf32, affine_map<()[s0, s1] -> (s0, s1, 8)>> {
  %0 = tw.reshape %x : tensor<?x8xf32, affine_map<()[s0, s1] -> (s0 * s1, 8)>> -> tensor<?x?x8xf32, affine_map<()[s0, s1] -> (s0, s1, 8)>>
  %1 = tw.exp %0 : (tensor<?x?x8xf32, affine_map<()[s0, s1] -> (s0, s1, 8)>>) -> tensor<?x?x8xf32, affine_map<()[s0, s1] -> (s0, s1, 8)>>
  return %1 : tensor<?x?x8xf32, affine_map<()[s0, s1] -> (s0, s1, 8)>>
}

// The positions are broadcast along the batch only, so the batch and the positions cannot merge.
// CHECK-LABEL: func @mixed_broadcast
// CHECK: %[[R:.*]] = tw.reshape %arg0
// CHECK: tw.add %[[R]], %arg1
func.func @mixed_broadcast(%x: tensor<34x64xf32>, %p: tensor<1x17x64xf32>) -> tensor<2x17x64xf32> {
  %0 = tw.reshape %x : tensor<34x64xf32> -> tensor<2x17x64xf32>
  %1 = tw.add %0, %p : (tensor<2x17x64xf32>, tensor<1x17x64xf32>) -> tensor<2x17x64xf32>
  return %1 : tensor<2x17x64xf32>
}

// A permuted operand is not contiguous, so the add does not become two-dimensional: a reshape would copy the operand.
// CHECK-LABEL: func @permuted_operand
// CHECK: tw.add %{{.*}} : (tensor<2x17x64xf32>, tensor<2x17x64xf32>)
func.func @permuted_operand(%x: tensor<34x64xf32>, %p: tensor<17x2x64xf32>) -> tensor<2x17x64xf32> {
  %0 = tw.reshape %x : tensor<34x64xf32> -> tensor<2x17x64xf32>
  %1 = tw.permute %p {permutation = array<i64: 1, 0, 2>} : tensor<17x2x64xf32> -> tensor<2x17x64xf32>
  %2 = tw.add %0, %1 : (tensor<2x17x64xf32>, tensor<2x17x64xf32>) -> tensor<2x17x64xf32>
  return %2 : tensor<2x17x64xf32>
}

// The parallel dimensions of a sum merge. The result has one element per row, and is reshaped to the rank of its
// consumer.
// CHECK-LABEL: func @reductions
// CHECK: %[[T:.*]] = tw.take %arg1[%{{.*}}] {dim = 0 : i64} : (tensor<128x64xf32>, tensor<34xi64>) -> tensor<34x64xf32>
// CHECK: %[[S:.*]] = tw.reduce sum %[[T]] {dims = array<i64: 1>} : tensor<34x64xf32> -> tensor<34xf32>
// CHECK: %[[U:.*]] = tw.reshape %[[S]] : tensor<34xf32> -> tensor<34x1xf32>
// CHECK: %[[D:.*]] = tw.div %[[T]], %[[U]]
// CHECK: tw.matmul %[[D]], %arg2
func.func @reductions(%i: tensor<2x17xi64>, %table: tensor<128x64xf32>, %w: tensor<64x8xf32>) -> tensor<34x8xf32> {
  %0 = tw.take %table [%i] {dim = 0 : i64} : (tensor<128x64xf32>, tensor<2x17xi64>) -> tensor<2x17x64xf32>
  %1 = tw.reduce sum %0 {dims = array<i64: 2>, keepdim} : tensor<2x17x64xf32> -> tensor<2x17x1xf32>
  %2 = tw.div %0, %1 : (tensor<2x17x64xf32>, tensor<2x17x1xf32>) -> tensor<2x17x64xf32>
  %3 = tw.reshape %2 : tensor<2x17x64xf32> -> tensor<34x64xf32>
  %4 = tw.matmul %3, %w : (tensor<34x64xf32>, tensor<64x8xf32>) -> tensor<34x8xf32>
  return %4 : tensor<34x8xf32>
}

// Ops such as softmax do not broadcast their operands, so their broadcast operands must keep all of their elements.
// Regression: the fuzzer found a softmax of one row instead of seven.
// CHECK-LABEL: func @broadcast_operands
// CHECK: %[[X:.*]] = tw.broadcast %{{.*}} : tensor<16x1x112xf32> -> tensor<16x7x112xf32>
// CHECK: tw.softmax %[[X]] {dim = 1 : i64} : tensor<16x7x112xf32> -> tensor<16x7x112xf32>
// CHECK: tw.reduce sum %[[X]] {dims = array<i64: 1>} : tensor<16x7x112xf32> -> tensor<16x112xf32>
func.func @broadcast_operands(%x: tensor<16x1x7x16xf32>) -> (tensor<16x7x112xf32>, tensor<16x112xf32>) {
  %0 = tw.broadcast %x : tensor<16x1x7x16xf32> -> tensor<16x7x7x16xf32>
  %1 = tw.softmax %0 {dim = 1 : i64} : tensor<16x7x7x16xf32> -> tensor<16x7x7x16xf32>
  %2 = tw.reshape %1 : tensor<16x7x7x16xf32> -> tensor<16x7x112xf32>
  %3 = tw.broadcast %x : tensor<16x1x7x16xf32> -> tensor<16x7x7x16xf32>
  %4 = tw.reduce sum %3 {dims = array<i64: 1>} : tensor<16x7x7x16xf32> -> tensor<16x7x16xf32>
  %5 = tw.reshape %4 : tensor<16x7x16xf32> -> tensor<16x112xf32>
  return %2, %5 : tensor<16x7x112xf32>, tensor<16x112xf32>
}

// RUN: tilewright-opt %s --tw-lower-graph --tw-form-kernels="compute-pieces" --split-input-file | FileCheck %s
// RUN: tilewright-opt %s --tw-lower-graph --tw-form-kernels --split-input-file | FileCheck %s --check-prefix=APART

// With the option compute-pieces, the ops that compute the parts of a concatenation are fused into its kernel. Without
// this option, they are separate kernels.
// CHECK-LABEL: func.func @main
// CHECK: call @exp_neg_insert_slice_0
// CHECK-NOT: call @
// CHECK: return
// CHECK: func.func private @exp_neg_insert_slice_0
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK: arith.negf
// CHECK-COUNT-2: tensor.insert_slice
// APART-LABEL: func.func @main
// APART-COUNT-3: call @{{[a-z_]+}}_{{[0-9]}}(
func.func @main(%x: tensor<64x32xf32>, %y: tensor<64x16xf32>) -> tensor<64x48xf32> {
  %0 = tw.exp %x : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = tw.neg %y : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %2 = tw.concat %0, %1 {dim = 1 : i64} : (tensor<64x32xf32>, tensor<64x16xf32>) -> tensor<64x48xf32>
  return %2 : tensor<64x48xf32>
}

// -----

// A part that another op also reads is computed once, in a separate kernel.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: call @{{[a-z_]+}}_{{[0-9]}}(
// CHECK: return
func.func @main(%x: tensor<64x32xf32>, %y: tensor<64x16xf32>) -> (tensor<64x48xf32>, tensor<64x32xf32>) {
  %0 = tw.exp %x : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = tw.concat %0, %y {dim = 1 : i64} : (tensor<64x32xf32>, tensor<64x16xf32>) -> tensor<64x48xf32>
  return %1, %0 : tensor<64x48xf32>, tensor<64x32xf32>
}

// -----

// A concatenation along its only dimension is not tiled: the part has a separate kernel with its own tasks.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: call @{{[a-z_]+}}_{{[0-9]}}(
// CHECK: return
func.func @main(%x: tensor<4096xf32>, %y: tensor<16xf32>) -> tensor<4112xf32> {
  %0 = tw.exp %x : (tensor<4096xf32>) -> tensor<4096xf32>
  %1 = tw.concat %0, %y {dim = 0 : i64} : (tensor<4096xf32>, tensor<16xf32>) -> tensor<4112xf32>
  return %1 : tensor<4112xf32>
}

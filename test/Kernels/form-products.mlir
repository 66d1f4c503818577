// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --split-input-file | FileCheck %s

// The two products of a gated layer and the ops that combine them are one kernel.
// CHECK-LABEL: func.func @main
// CHECK: call @[[GATED:[a-z_]+_[0-9]+]]({{.*}}tw.ops = "matmul+matmul+silu+mul"
// CHECK: call @{{.*}}tw.ops = "matmul"}
// CHECK: call @{{.*}}tw.ops = "matmul"}
// CHECK-NOT: call @
// CHECK: return
// CHECK: func.func private @[[GATED]]
// CHECK-COUNT-2: linalg.contract
func.func @main(%x: tensor<64x256xf32>, %g: tensor<256x1024xf32>, %u: tensor<256x1024xf32>, %d: tensor<1024x256xf32>) -> tensor<64x256xf32> {
  %0 = tw.matmul %x, %g : (tensor<64x256xf32>, tensor<256x1024xf32>) -> tensor<64x1024xf32>
  %1 = tw.silu %0 : (tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %2 = tw.matmul %x, %u : (tensor<64x256xf32>, tensor<256x1024xf32>) -> tensor<64x1024xf32>
  %3 = tw.mul %1, %2 : (tensor<64x1024xf32>, tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %4 = tw.matmul %3, %d : (tensor<64x1024xf32>, tensor<1024x256xf32>) -> tensor<64x256xf32>
  return %4 : tensor<64x256xf32>
}

// -----

// A kernel may contain several products only if the result of each product has at least 16 tiles of 128 x 64 elements.
// In this function, results have two tiles, so each product has a separate kernel.
// CHECK: reason = "a kernel has one contraction, or products of equal sizes with enough tiles
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: call @{{[a-z_]+}}_{{[0-9]}}(
// CHECK: return
func.func @main(%x: tensor<64x256xf32>, %g: tensor<256x128xf32>, %u: tensor<256x128xf32>) -> tensor<64x128xf32> {
  %0 = tw.matmul %x, %g : (tensor<64x256xf32>, tensor<256x128xf32>) -> tensor<64x128xf32>
  %1 = tw.matmul %x, %u : (tensor<64x256xf32>, tensor<256x128xf32>) -> tensor<64x128xf32>
  %2 = tw.add %0, %1 : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  return %2 : tensor<64x128xf32>
}

// -----

// A reduction needs whole rows, but a kernel of several products computes its results tile by tile.
// CHECK: reason = "a kernel of several products needs each result tile by tile, and a reduction after them needs whole rows"
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: call @{{[a-z_]+}}_{{[0-9]}}(
// CHECK: return
func.func @main(%x: tensor<1024x256xf32>, %g: tensor<256x1024xf32>, %u: tensor<256x1024xf32>) -> tensor<1024xf32> {
  %0 = tw.matmul %x, %g : (tensor<1024x256xf32>, tensor<256x1024xf32>) -> tensor<1024x1024xf32>
  %1 = tw.matmul %x, %u : (tensor<1024x256xf32>, tensor<256x1024xf32>) -> tensor<1024x1024xf32>
  %2 = tw.mul %0, %1 : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %3 = tw.reduce sum %2 {dims = array<i64: 1>} : tensor<1024x1024xf32> -> tensor<1024xf32>
  return %3 : tensor<1024xf32>
}

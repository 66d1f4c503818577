// RUN: tilewright-opt %s --tw-scatter-pool-gradients | FileCheck %s

// CHECK-LABEL: func @channels_first
// CHECK: %[[Z:.*]] = tw.broadcast {{.*}} : tensor<f32> -> tensor<6x64xf32>
// CHECK: %[[I:.*]] = tw.reshape %arg1 : tensor<2x3x4x4xi64> -> tensor<6x16xi64>
// CHECK: %[[G:.*]] = tw.reshape %arg0 : tensor<2x3x4x4xf32> -> tensor<6x16xf32>
// CHECK: %[[S:.*]] = tw.scatter add %[[Z]][%[[I]]], %[[G]] {dim = 1 : i64, tw.from_start}
// CHECK: tw.reshape %[[S]] : tensor<6x64xf32> -> tensor<2x3x8x8xf32>
func.func @channels_first(%g: tensor<2x3x4x4xf32>, %i: tensor<2x3x4x4xi64>) -> tensor<2x3x8x8xf32> {
  %d = tw.max_pool_grad %g, %i {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>}
    : tensor<2x3x4x4xf32>, tensor<2x3x4x4xi64> -> tensor<2x3x8x8xf32>
  return %d : tensor<2x3x8x8xf32>
}

// CHECK-LABEL: func @channels_last
// CHECK: tw.max_pool_grad
// CHECK-NOT: tw.scatter
func.func @channels_last(%g: tensor<2x4x4x3xf32>, %i: tensor<2x4x4x3xi64>) -> tensor<2x8x8x3xf32> {
  %d = tw.max_pool_grad %g, %i {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, tw.channels_last}
    : tensor<2x4x4x3xf32>, tensor<2x4x4x3xi64> -> tensor<2x8x8x3xf32>
  return %d : tensor<2x8x8x3xf32>
}

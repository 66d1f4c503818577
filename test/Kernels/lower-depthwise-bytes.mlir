// RUN: tilewright-opt %s --tw-stage-structured | FileCheck %s
// RUN: tilewright run %s --check

// A depthwise convolution widens bytes before it multiplies them, as any other convolution does.
// CHECK: linalg.generic
// CHECK: arith.extsi %{{.*}} : i8 to i32
// CHECK: arith.extsi %{{.*}} : i8 to i32
// CHECK: arith.muli %{{.*}} : i32
func.func @main(%x: tensor<1x4x13x13xi8>, %k: tensor<4x1x3x3xi8>) -> tensor<1x4x6x6xi32> {
  %y = tw.convolution %x, %k {stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, groups = 4 : i64} : (tensor<1x4x13x13xi8>, tensor<4x1x3x3xi8>) -> tensor<1x4x6x6xi32>
  return %y : tensor<1x4x6x6xi32>
}

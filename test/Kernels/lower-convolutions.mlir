// RUN: tilewright-opt %s --tw-lower-graph | FileCheck %s

// CHECK-LABEL: func @channels_last
// If there are few channels, columns and channels are padded as one dimension.
// CHECK: %[[F:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<1x10x40xf32>)
// CHECK: %[[P:.*]] = tensor.expand_shape %[[F]] {{.*}} into tensor<1x10x10x4xf32>
// CHECK: linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>, tw.op = "convolution"} ins(%[[P]], %arg1 : tensor<1x10x10x4xf32>, tensor<3x3x4x16xf32>) outs(%{{.*}} : tensor<1x4x4x16xf32>)
func.func @channels_last(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x4x16xf32>) -> tensor<1x4x4x16xf32> {
  %0 = tw.convolution %x, %w {tw.channels_last, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<1x4x4x16xf32>
  return %0 : tensor<1x4x4x16xf32>
}

// A depthwise convolution has one filter per channel, and no loop over input channels.
// CHECK-LABEL: func @depthwise
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]
func.func @depthwise(%x: tensor<1x4x8x8xf32>, %w: tensor<4x1x3x3xf32>) -> tensor<1x4x6x6xf32> {
  %0 = tw.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 4 : i64} : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x6x6xf32>
  return %0 : tensor<1x4x6x6xf32>
}

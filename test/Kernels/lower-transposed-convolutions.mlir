// RUN: tilewright-opt %s --tw-lower-graph | FileCheck %s

// With stride 2, results at even and odd lines and columns read different taps, so there are four convolutions.
// CHECK-LABEL: func @phases
// CHECK: linalg.generic {{.*}}outs(%{{.*}} : tensor<1x1x8x16xf32>)
// CHECK: tensor.extract %arg1
// CHECK: linalg.conv_2d_nhwc_hwcf {{.*}}strides = dense<1>{{.*}} ins(%arg0, %{{.*}} : tensor<1x4x4x8xf32>, tensor<1x1x8x16xf32>) outs(%{{.*}} : tensor<1x4x4x16xf32>)
// CHECK: linalg.conv_2d_nhwc_hwcf {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x4x5x8xf32>, tensor<1x2x8x16xf32>) outs(%{{.*}} : tensor<1x4x4x16xf32>)
// CHECK: linalg.conv_2d_nhwc_hwcf {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x5x4x8xf32>, tensor<2x1x8x16xf32>)
// CHECK: linalg.conv_2d_nhwc_hwcf {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x5x5x8xf32>, tensor<2x2x8x16xf32>)
// CHECK: arith.remui
// CHECK-COUNT-4: tensor.extract
// CHECK: linalg.yield
func.func @phases(%x: tensor<1x4x4x8xf32>, %w: tensor<3x3x8x16xf32>) -> tensor<1x8x8x16xf32> {
  %0 = tw.convolution %x, %w {transposed, tw.channels_last, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x4x4x8xf32>, tensor<3x3x8x16xf32>) -> tensor<1x8x8x16xf32>
  return %0 : tensor<1x8x8x16xf32>
}

// If the window is one pixel, only one phase of the stride is computed, and the other results are zero. The weight is
// read without a copy.
// CHECK-LABEL: func @pixels
// CHECK: linalg.conv_2d_nhwc_hwcf {{.*}} ins(%arg0, %arg1 : tensor<1x4x4x8xf32>, tensor<1x1x8x16xf32>)
// CHECK-NOT: linalg.conv_2d_nhwc_hwcf
// CHECK: tensor.extract
// CHECK-NOT: tensor.extract
func.func @pixels(%x: tensor<1x4x4x8xf32>, %w: tensor<1x1x8x16xf32>) -> tensor<1x8x8x16xf32> {
  %0 = tw.convolution %x, %w {transposed, tw.channels_last, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x4x4x8xf32>, tensor<1x1x8x16xf32>) -> tensor<1x8x8x16xf32>
  return %0 : tensor<1x8x8x16xf32>
}

// With stride 1, a generic op pads the input, and the weight is flipped.
// CHECK-LABEL: func @unstrided
// CHECK-NOT: tensor.insert_slice
// CHECK: arith.cmpi ult
// CHECK: linalg.conv_2d_nhwc_hwcf {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x6x6x8xf32>, tensor<3x3x8x16xf32>)
func.func @unstrided(%x: tensor<1x4x4x8xf32>, %w: tensor<3x3x8x16xf32>) -> tensor<1x4x4x16xf32> {
  %0 = tw.convolution %x, %w {transposed, tw.channels_last, stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x4x4x8xf32>, tensor<3x3x8x16xf32>) -> tensor<1x4x4x16xf32>
  return %0 : tensor<1x4x4x16xf32>
}

// Zeros are inserted between the elements of the input, and the weight is flipped.
// CHECK-LABEL: func @spread
// CHECK: tensor.insert_slice %arg0 into %{{.*}}[0, 0, 1] [1, 4, 5] [1, 1, 2] : tensor<1x4x5xf32> into tensor<1x4x11xf32>
// CHECK: tensor.extract %arg1
func.func @spread(%x: tensor<1x4x5xf32>, %w: tensor<4x2x3xf32>) -> tensor<1x2x9xf32> {
  %0 = tw.convolution %x, %w {transposed, stride = array<i64: 2>, padding = array<i64: 1>, dilation = array<i64: 1>,
    output_padding = array<i64: 0>, groups = 1 : i64} : (tensor<1x4x5xf32>, tensor<4x2x3xf32>) -> tensor<1x2x9xf32>
  return %0 : tensor<1x2x9xf32>
}

// For a transposed convolution with three spatial dimensions and stride 1, output_padding is added to the high padding.
// CHECK-LABEL: func @output_padding
// CHECK: tensor.pad %arg0 low[0, 0, 2, 2, 2] high[0, 0, 3, 3, 3]
// CHECK: tensor<1x3x4x4x4xf32> to tensor<1x3x9x9x9xf32>
func.func @output_padding(%x: tensor<1x3x4x4x4xf32>, %w: tensor<3x2x2x2x2xf32>) -> tensor<1x2x7x7x7xf32> {
  %0 = tw.convolution %x, %w {transposed, stride = array<i64: 1, 1, 1>, padding = array<i64: 0, 0, 0>, dilation = array<i64: 2, 2, 2>,
    output_padding = array<i64: 1, 1, 1>, groups = 1 : i64} : (tensor<1x3x4x4x4xf32>, tensor<3x2x2x2x2xf32>) -> tensor<1x2x7x7x7xf32>
  return %0 : tensor<1x2x7x7x7xf32>
}

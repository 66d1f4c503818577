// RUN: tilewright-opt %s --tw-lower-graph | FileCheck %s

// The patches of the padded windows are gathered; then there is one product over all pixels of the batch.
// CHECK-LABEL: func @channels_last
// CHECK: %[[P:.*]] = linalg.generic {{.*}}outs(%{{.*}} : tensor<4x8x8x3x3x16xf32>)
// CHECK: arith.cmpi ult
// CHECK: tensor.extract %arg0
// CHECK: %[[A:.*]] = tensor.collapse_shape {{.*}} : tensor<4x8x8x3x3x16xf32> into tensor<256x144xf32>
// CHECK: %[[G:.*]] = tensor.collapse_shape %arg1 {{.*}} into tensor<256x32xf32>
// CHECK: linalg.contract {{.*}} ins(%[[A]], %[[G]] : tensor<256x144xf32>, tensor<256x32xf32>) outs(%{{.*}} : tensor<144x32xf32>)
// CHECK: tensor.expand_shape {{.*}} : tensor<144x32xf32> into tensor<3x3x16x32xf32>
func.func @channels_last(%x: tensor<4x8x8x16xf32>, %g: tensor<4x8x8x32xf32>) -> tensor<3x3x16x32xf32> {
  %0 = tw.convolution_weight_grad %x, %g {tw.channels_last, stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<4x8x8x16xf32>, tensor<4x8x8x32xf32>) -> tensor<3x3x16x32xf32>
  return %0 : tensor<3x3x16x32xf32>
}

// The image has 3 channels, so a line of a window has 9 elements. Each patch has 16 contiguous elements of the image's
// line instead of these 9. The gradient for the last 7 elements is not used.
// CHECK-LABEL: func @few_channels
// CHECK: %[[LINES:.*]] = tensor.collapse_shape %arg0 {{.*}} : tensor<2x9x9x3xf32> into tensor<2x9x27xf32>
// CHECK: %[[P:.*]] = linalg.generic {{.*}}outs(%{{.*}} : tensor<2x5x5x3x16xf32>)
// CHECK: tensor.extract %[[LINES]]
// CHECK: %[[A:.*]] = tensor.collapse_shape {{.*}} : tensor<2x5x5x3x16xf32> into tensor<50x48xf32>
// CHECK: linalg.contract {{.*}} ins(%[[A]], %{{.*}} : tensor<50x48xf32>, tensor<50x8xf32>) outs(%{{.*}} : tensor<48x8xf32>)
// CHECK: %[[RUNS:.*]] = tensor.expand_shape {{.*}} : tensor<48x8xf32> into tensor<3x16x8xf32>
// CHECK: %[[USED:.*]] = tensor.extract_slice %[[RUNS]][0, 0, 0] [3, 9, 8] [1, 1, 1]
// CHECK: tensor.expand_shape %[[USED]] {{.*}} : tensor<3x9x8xf32> into tensor<3x3x3x8xf32>
func.func @few_channels(%x: tensor<2x9x9x3xf32>, %g: tensor<2x5x5x8xf32>) -> tensor<3x3x3x8xf32> {
  %0 = tw.convolution_weight_grad %x, %g {tw.channels_last, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<2x9x9x3xf32>, tensor<2x5x5x8xf32>) -> tensor<3x3x3x8xf32>
  return %0 : tensor<3x3x3x8xf32>
}

// The window is one pixel, so the input itself contains the patches.
// CHECK-LABEL: func @pixelwise
// CHECK-NOT: linalg.generic
// CHECK: linalg.contract {{.*}} ins(%{{.*}}, %{{.*}} : tensor<256x16xf32>, tensor<256x32xf32>)
func.func @pixelwise(%x: tensor<4x8x8x16xf32>, %g: tensor<4x8x8x32xf32>) -> tensor<1x1x16x32xf32> {
  %0 = tw.convolution_weight_grad %x, %g {tw.channels_last, stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<4x8x8x16xf32>, tensor<4x8x8x32xf32>) -> tensor<1x1x16x32xf32>
  return %0 : tensor<1x1x16x32xf32>
}

// In channels-first layout, the result's gradient is transposed, and the weight's gradient is permuted by an indexing
// map.
// CHECK-LABEL: func @channels_first
// CHECK: linalg.contract {{.*}} ins(%{{.*}}, %{{.*}} : tensor<36x36xbf16>, tensor<36x2xbf16>) outs(%{{.*}} : tensor<36x2xf32>)
func.func @channels_first(%x: tensor<1x4x8x8xbf16>, %g: tensor<1x2x6x6xbf16>) -> tensor<2x4x3x3xbf16> {
  %0 = tw.convolution_weight_grad %x, %g {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<1x4x8x8xbf16>, tensor<1x2x6x6xbf16>) -> tensor<2x4x3x3xbf16>
  return %0 : tensor<2x4x3x3xbf16>
}

// CHECK-LABEL: func @grouped
// CHECK: linalg.contract {{.*}} ins(%{{.*}}, %{{.*}} : tensor<72x2x18xf32>, tensor<72x2x4xf32>) outs(%{{.*}} : tensor<2x18x4xf32>)
func.func @grouped(%x: tensor<2x8x8x4xf32>, %g: tensor<2x6x6x8xf32>) -> tensor<3x3x2x8xf32> {
  %0 = tw.convolution_weight_grad %x, %g {tw.channels_last, stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 2 : i64}
    : (tensor<2x8x8x4xf32>, tensor<2x6x6x8xf32>) -> tensor<3x3x2x8xf32>
  return %0 : tensor<3x3x2x8xf32>
}

// A depthwise gradient is not a product. Each image of six lines is one part, and the parts are summed.
// CHECK-LABEL: func @depthwise
// CHECK: %[[PARTS:.*]] = tw_tile.depthwise_gradient {{.*}}lines = 6 : i64{{.*}} ins(%arg0, %arg1 : tensor<2x8x8x4xf32>, tensor<2x6x6x4xf32>) outs(%{{.*}} : tensor<2x1x3x3x4xf32>)
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]{{.*}} ins(%[[PARTS]] : tensor<2x1x3x3x4xf32>) outs(%{{.*}} : tensor<3x3x4xf32>)
// CHECK-NOT: linalg.contract
func.func @depthwise(%x: tensor<2x8x8x4xf32>, %g: tensor<2x6x6x4xf32>) -> tensor<3x3x1x4xf32> {
  %0 = tw.convolution_weight_grad %x, %g {tw.channels_last, stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 4 : i64}
    : (tensor<2x8x8x4xf32>, tensor<2x6x6x4xf32>) -> tensor<3x3x1x4xf32>
  return %0 : tensor<3x3x1x4xf32>
}

// The patches of an image take 115 MB, so each image has a separate product, and the results of the two products are
// added. A result has only five tiles, so k is split into seven parts.
// CHECK-LABEL: func @in_runs
// CHECK: linalg.contract {{.*}} ins(%{{.*}}, %{{.*}} : tensor<7x7168x576xf32>, tensor<7x7168x64xf32>)
// CHECK: linalg.contract {{.*}} ins(%{{.*}}, %{{.*}} : tensor<7x7168x576xf32>, tensor<7x7168x64xf32>)
// CHECK: arith.addf
func.func @in_runs(%x: tensor<2x224x224x64xf32>, %g: tensor<2x224x224x64xf32>) -> tensor<3x3x64x64xf32> {
  %0 = tw.convolution_weight_grad %x, %g {tw.channels_last, stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<2x224x224x64xf32>, tensor<2x224x224x64xf32>) -> tensor<3x3x64x64xf32>
  return %0 : tensor<3x3x64x64xf32>
}

// RUN: tilewright-opt %s --tw-lower-graph | FileCheck %s

// The input is not copied for its padding, and the result is not filled with zeros first.
// CHECK-LABEL: func @depthwise
// CHECK-NOT: linalg
// CHECK: tw_tile.grouped_convolution {dilations = array<i64: 1, 1>, padding = array<i64: 1, 1>, strides = array<i64: 2, 2>, tw.op = "convolution"} ins(%arg0, %arg1 : tensor<1x8x8x4xf32>, tensor<3x3x1x4xf32>) outs(%{{.*}} : tensor<1x4x4x4xf32>)
// CHECK-NOT: linalg
func.func @depthwise(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x1x4xf32>) -> tensor<1x4x4x4xf32> {
  %0 = tw.convolution %x, %w {tw.channels_last, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 4 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x1x4xf32>) -> tensor<1x4x4x4xf32>
  return %0 : tensor<1x4x4x4xf32>
}

// If a tw.pad adds zeros before a convolution, these zeros become padding of the convolution, even if their numbers
// differ on both sides. Therefore the padded copy has no users.
// CHECK-LABEL: func @pad
// CHECK: tw_tile.grouped_convolution {{{.*}}padding = array<i64: 1, 0>{{.*}} ins(%arg0, %arg1 : tensor<1x8x8x4xf32>, tensor<3x3x1x4xf32>) outs(%{{.*}} : tensor<1x4x4x4xf32>)
func.func @pad(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x1x4xf32>) -> tensor<1x4x4x4xf32> {
  %0 = tw.pad %x {low = array<i64: 0, 1, 0, 0>, high = array<i64: 0, 1, 1, 0>, value = 0.0 : f32} : tensor<1x8x8x4xf32> -> tensor<1x10x9x4xf32>
  %1 = tw.convolution %0, %w {tw.channels_last, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 4 : i64} : (tensor<1x10x9x4xf32>, tensor<3x3x1x4xf32>) -> tensor<1x4x4x4xf32>
  return %1 : tensor<1x4x4x4xf32>
}

// A tw.pad with ones remains a copy, and so does a tw.pad with negative padding (which crops).
// CHECK-LABEL: func @pad_with_ones
// CHECK: %[[P:.*]] = tensor.pad %arg0
// CHECK: tw_tile.grouped_convolution {{.*}} ins(%[[P]], %arg1
func.func @pad_with_ones(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x1x4xf32>) -> tensor<1x4x4x4xf32> {
  %0 = tw.pad %x {low = array<i64: 0, 1, 0, 0>, high = array<i64: 0, 1, 1, 0>, value = 1.0 : f32} : tensor<1x8x8x4xf32> -> tensor<1x10x9x4xf32>
  %1 = tw.convolution %0, %w {tw.channels_last, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 4 : i64} : (tensor<1x10x9x4xf32>, tensor<3x3x1x4xf32>) -> tensor<1x4x4x4xf32>
  return %1 : tensor<1x4x4x4xf32>
}

// CHECK-LABEL: func @pad_that_crops
// CHECK: %[[S:.*]] = tensor.extract_slice %arg0
// CHECK: %[[P:.*]] = tensor.pad %[[S]]
// CHECK: tw_tile.grouped_convolution {{{.*}}padding = array<i64: 1, 1>{{.*}} ins(%[[P]], %arg1
func.func @pad_that_crops(%x: tensor<1x8x9x4xf32>, %w: tensor<3x3x1x4xf32>) -> tensor<1x5x5x4xf32> {
  %0 = tw.pad %x {low = array<i64: 0, 1, 0, 0>, high = array<i64: 0, 0, -1, 0>, value = 0.0 : f32} : tensor<1x8x9x4xf32> -> tensor<1x9x8x4xf32>
  %1 = tw.convolution %0, %w {tw.channels_last, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 4 : i64} : (tensor<1x9x8x4xf32>, tensor<3x3x1x4xf32>) -> tensor<1x5x4x4xf32>
  %2 = tw.pad %1 {low = array<i64: 0, 0, 0, 0>, high = array<i64: 0, 0, 1, 0>, value = 0.0 : f32} : tensor<1x5x4x4xf32> -> tensor<1x5x5x4xf32>
  return %2 : tensor<1x5x5x4xf32>
}

// The weight is widened, the input is not; the result is rounded once.
// CHECK-LABEL: func @groups_in_bf16
// CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<3x3x2x12xbf16>) outs(%{{.*}} : tensor<3x3x2x12xf32>)
// CHECK: %[[R:.*]] = tw_tile.grouped_convolution {{.*}} ins(%arg0, %[[W]] : tensor<1x8x8x8xbf16>, tensor<3x3x2x12xf32>) outs(%{{.*}} : tensor<1x6x6x12xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[R]] : tensor<1x6x6x12xf32>) outs(%{{.*}} : tensor<1x6x6x12xbf16>)
// CHECK: arith.truncf
func.func @groups_in_bf16(%x: tensor<1x8x8x8xbf16>, %w: tensor<3x3x2x12xbf16>) -> tensor<1x6x6x12xbf16> {
  %0 = tw.convolution %x, %w {tw.channels_last, stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 4 : i64} : (tensor<1x8x8x8xbf16>, tensor<3x3x2x12xbf16>) -> tensor<1x6x6x12xbf16>
  return %0 : tensor<1x6x6x12xbf16>
}

// With stride 1, a transposed convolution reverses the taps, and swaps channels and filters of each group.
// CHECK-LABEL: func @transposed
// CHECK: %[[W:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<3x3x2x12xf32>)
// CHECK: tensor.extract %arg1[{{.*}}] : tensor<3x3x8x3xf32>
// CHECK: tw_tile.grouped_convolution {{.*}}padding = array<i64: 1, 1>{{.*}} ins(%arg0, %[[W]] : tensor<1x8x8x8xf32>, tensor<3x3x2x12xf32>) outs(%{{.*}} : tensor<1x8x8x12xf32>)
func.func @transposed(%x: tensor<1x8x8x8xf32>, %w: tensor<3x3x8x3xf32>) -> tensor<1x8x8x12xf32> {
  %0 = tw.convolution %x, %w {transposed, tw.channels_last, stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 4 : i64} : (tensor<1x8x8x8xf32>, tensor<3x3x8x3xf32>) -> tensor<1x8x8x12xf32>
  return %0 : tensor<1x8x8x12xf32>
}

// With stride 2, a transposed convolution becomes four convolutions of its input, with 1x1, 1x2, 2x1 and 2x2 taps.
// CHECK-LABEL: func @phases
// CHECK: tw_tile.grouped_convolution {{.*}} ins(%arg0, %{{.*}} : tensor<1x4x4x8xf32>, tensor<1x1x1x8xf32>)
// CHECK: tw_tile.grouped_convolution {{.*}} ins(%arg0, %{{.*}} : tensor<1x4x4x8xf32>, tensor<1x2x1x8xf32>)
// CHECK: tw_tile.grouped_convolution {{.*}} ins(%arg0, %{{.*}} : tensor<1x4x4x8xf32>, tensor<2x1x1x8xf32>)
// CHECK: tw_tile.grouped_convolution {{.*}} ins(%arg0, %{{.*}} : tensor<1x4x4x8xf32>, tensor<2x2x1x8xf32>)
func.func @phases(%x: tensor<1x4x4x8xf32>, %w: tensor<3x3x8x1xf32>) -> tensor<1x8x8x8xf32> {
  %0 = tw.convolution %x, %w {transposed, tw.channels_last, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 1, 1>, groups = 8 : i64} : (tensor<1x4x4x8xf32>, tensor<3x3x8x1xf32>) -> tensor<1x8x8x8xf32>
  return %0 : tensor<1x8x8x8xf32>
}

// A convolution of integers does not become a tw_tile.grouped_convolution, which supports only floats.
// CHECK-LABEL: func @integers
// CHECK-NOT: grouped_convolution
// CHECK: linalg.generic {{.*}}"reduction"
func.func @integers(%x: tensor<1x8x8x4xi32>, %w: tensor<3x3x1x4xi32>) -> tensor<1x6x6x4xi32> {
  %0 = tw.convolution %x, %w {tw.channels_last, stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 4 : i64} : (tensor<1x8x8x4xi32>, tensor<3x3x1x4xi32>) -> tensor<1x6x6x4xi32>
  return %0 : tensor<1x6x6x4xi32>
}

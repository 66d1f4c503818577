// RUN: tilewright-opt %s --tw-split-depth --canonicalize --split-input-file | FileCheck %s

// The planes at three adjacent depths are concatenated as the channels of one image.
// CHECK-DAG: #[[$M0:.*]] = affine_map<() -> (0, 0, 0, 0, 0)>
// CHECK-DAG: #[[$M1:.*]] = affine_map<() -> (0, 1, 0, 0, 0)>
// CHECK-DAG: #[[$M2:.*]] = affine_map<() -> (0, 2, 0, 0, 0)>
// CHECK-LABEL: func @forward
// CHECK: %[[P:.*]] = tw.pad %arg0 {high = array<i64: 0, 1, 0, 0, 0>, low = array<i64: 0, 1, 0, 0, 0>
// CHECK: %[[A:.*]] = tw.slice %[[P]] {offsets = #[[$M0]], strides = array<i64: 1, 1, 1, 1, 1>} : tensor<2x10x6x6x4xf32> -> tensor<2x8x6x6x4xf32>
// CHECK: %[[B:.*]] = tw.slice %[[P]] {offsets = #[[$M1]]
// CHECK: %[[C:.*]] = tw.slice %[[P]] {offsets = #[[$M2]]
// CHECK: %[[J:.*]] = tw.concat %[[A]], %[[B]], %[[C]] {dim = 4 : i64}
// CHECK: %[[I:.*]] = tw.reshape %[[J]] : tensor<2x8x6x6x12xf32> -> tensor<16x6x6x12xf32>
// CHECK: %[[D:.*]] = tw.reshape %arg1 : tensor<3x3x3x4x16xf32> -> tensor<3x9x64xf32>
// CHECK: %[[T:.*]] = tw.permute %[[D]] {permutation = array<i64: 1, 0, 2>} : tensor<3x9x64xf32> -> tensor<9x3x64xf32>
// CHECK: %[[W:.*]] = tw.reshape %[[T]] : tensor<9x3x64xf32> -> tensor<3x3x12x16xf32>
// CHECK: %[[R:.*]] = tw.convolution %[[I]], %[[W]] {dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>, tw.channels_last}
// CHECK: tw.reshape %[[R]] : tensor<16x3x3x16xf32> -> tensor<2x8x3x3x16xf32>
func.func @forward(%x: tensor<2x8x6x6x4xf32>, %w: tensor<3x3x3x4x16xf32>) -> tensor<2x8x3x3x16xf32> {
  %0 = tw.convolution %x, %w {tw.channels_last, stride = array<i64: 1, 2, 2>, padding = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>,
    output_padding = array<i64: 0, 0, 0>, groups = 1 : i64} : (tensor<2x8x6x6x4xf32>, tensor<3x3x3x4x16xf32>) -> tensor<2x8x3x3x16xf32>
  return %0 : tensor<2x8x3x3x16xf32>
}

// -----

// The window has one plane, so nothing is concatenated. The stride along the depth becomes a slice.
// CHECK-DAG: #[[$M0:.*]] = affine_map<() -> (0, 0, 0, 0, 0)>
// CHECK-LABEL: func @one_plane
// CHECK: tw.slice %arg0 {offsets = #[[$M0]], strides = array<i64: 1, 2, 1, 1, 1>} : tensor<1x8x6x6x4xf32> -> tensor<1x4x6x6x4xf32>
// CHECK-NOT: tw.concat
// CHECK: tw.convolution {{.*}} : (tensor<4x6x6x4xf32>, tensor<1x1x4x16xf32>) -> tensor<4x3x3x16xf32>
func.func @one_plane(%x: tensor<1x8x6x6x4xf32>, %w: tensor<1x1x1x4x16xf32>) -> tensor<1x4x3x3x16xf32> {
  %0 = tw.convolution %x, %w {tw.channels_last, stride = array<i64: 2, 2, 2>, padding = array<i64: 0, 0, 0>, dilation = array<i64: 1, 1, 1>,
    output_padding = array<i64: 0, 0, 0>, groups = 1 : i64} : (tensor<1x8x6x6x4xf32>, tensor<1x1x1x4x16xf32>) -> tensor<1x4x3x3x16xf32>
  return %0 : tensor<1x4x3x3x16xf32>
}

// -----

// In a transposed convolution with stride 2, even planes of the result read one tap, and odd planes read two.
// CHECK-DAG: #[[$M0:.*]] = affine_map<() -> (1, 0, 0, 0, 0)>
// CHECK-DAG: #[[$M1:.*]] = affine_map<() -> (0, 0, 0, 0, 0)>
// CHECK-LABEL: func @phases
// CHECK: tw.slice %arg1 {offsets = #[[$M0]], strides = array<i64: 2, 1, 1, 1, 1>} : tensor<3x3x3x16x4xf32> -> tensor<1x3x3x16x4xf32>
// CHECK: %[[E:.*]] = tw.convolution {{.*}}transposed{{.*}} : (tensor<4x3x3x16xf32>, tensor<3x3x16x4xf32>) -> tensor<4x6x6x4xf32>
// CHECK: tw.slice %arg1 {offsets = #[[$M1]], strides = array<i64: 2, 1, 1, 1, 1>} : tensor<3x3x3x16x4xf32> -> tensor<2x3x3x16x4xf32>
// CHECK: %[[O:.*]] = tw.convolution {{.*}}transposed{{.*}} : (tensor<4x3x3x32xf32>, tensor<3x3x32x4xf32>) -> tensor<4x6x6x4xf32>
// CHECK: tw.concat {{.*}} {dim = 2 : i64} : (tensor<1x4x1x6x6x4xf32>, tensor<1x4x1x6x6x4xf32>) -> tensor<1x4x2x6x6x4xf32>
func.func @phases(%x: tensor<1x4x3x3x16xf32>, %w: tensor<3x3x3x16x4xf32>) -> tensor<1x8x6x6x4xf32> {
  %0 = tw.convolution %x, %w {tw.channels_last, transposed, stride = array<i64: 2, 2, 2>, padding = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>,
    output_padding = array<i64: 1, 1, 1>, groups = 1 : i64} : (tensor<1x4x3x3x16xf32>, tensor<3x3x3x16x4xf32>) -> tensor<1x8x6x6x4xf32>
  return %0 : tensor<1x8x6x6x4xf32>
}

// -----

// If there are groups, the channels of the planes are concatenated separately for each group.
// CHECK-LABEL: func @groups
// CHECK: tw.concat {{.*}} {dim = 5 : i64} : (tensor<1x6x5x5x2x2xf32>, tensor<1x6x5x5x2x2xf32>) -> tensor<1x6x5x5x2x4xf32>
// CHECK: tw.convolution {{.*}}groups = 2 : i64{{.*}} : (tensor<6x5x5x8xf32>, tensor<1x1x4x6xf32>) -> tensor<6x5x5x6xf32>
func.func @groups(%x: tensor<1x8x5x5x4xf32>, %w: tensor<2x1x1x2x6xf32>) -> tensor<1x6x5x5x6xf32> {
  %0 = tw.convolution %x, %w {tw.channels_last, stride = array<i64: 1, 1, 1>, padding = array<i64: 0, 0, 0>, dilation = array<i64: 2, 1, 1>,
    output_padding = array<i64: 0, 0, 0>, groups = 2 : i64} : (tensor<1x8x5x5x4xf32>, tensor<2x1x1x2x6xf32>) -> tensor<1x6x5x5x6xf32>
  return %0 : tensor<1x6x5x5x6xf32>
}

// -----

// The pass does not change a depthwise convolution.
// CHECK-LABEL: func @depthwise
// CHECK-NEXT: tw.convolution %arg0, %arg1
func.func @depthwise(%x: tensor<1x8x5x5x4xf32>, %w: tensor<3x1x1x1x4xf32>) -> tensor<1x6x5x5x4xf32> {
  %0 = tw.convolution %x, %w {tw.channels_last, stride = array<i64: 1, 1, 1>, padding = array<i64: 0, 0, 0>, dilation = array<i64: 1, 1, 1>,
    output_padding = array<i64: 0, 0, 0>, groups = 4 : i64} : (tensor<1x8x5x5x4xf32>, tensor<3x1x1x1x4xf32>) -> tensor<1x6x5x5x4xf32>
  return %0 : tensor<1x6x5x5x4xf32>
}

// -----

// The gradient of the weight sums over the input's planes; the result gradient's planes are concatenated as filters.
// CHECK-LABEL: func @weight
// CHECK: %[[X:.*]] = tw.reshape %arg0 : tensor<2x8x6x6x4xf32> -> tensor<16x6x6x4xf32>
// CHECK: %[[J:.*]] = tw.concat {{.*}} {dim = 4 : i64} : (tensor<2x8x6x6x5xf32>, tensor<2x8x6x6x5xf32>, tensor<2x8x6x6x5xf32>) -> tensor<2x8x6x6x15xf32>
// CHECK: %[[G:.*]] = tw.reshape %[[J]] : tensor<2x8x6x6x15xf32> -> tensor<16x6x6x15xf32>
// CHECK: %[[P:.*]] = tw.convolution_weight_grad %[[X]], %[[G]] {{.*}} -> tensor<3x3x4x15xf32>
// CHECK: %[[R:.*]] = tw.reshape %[[P]] : tensor<3x3x4x15xf32> -> tensor<36x3x5xf32>
// CHECK: tw.permute %[[R]] {permutation = array<i64: 1, 0, 2>} : tensor<36x3x5xf32> -> tensor<3x36x5xf32>
func.func @weight(%x: tensor<2x8x6x6x4xf32>, %g: tensor<2x8x6x6x5xf32>) -> tensor<3x3x3x4x5xf32> {
  %0 = tw.convolution_weight_grad %x, %g {tw.channels_last, stride = array<i64: 1, 1, 1>, padding = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>,
    groups = 1 : i64} : (tensor<2x8x6x6x4xf32>, tensor<2x8x6x6x5xf32>) -> tensor<3x3x3x4x5xf32>
  return %0 : tensor<3x3x3x4x5xf32>
}

// -----

// With stride 2 along the depth, the gradient of the weight sums over the planes of the result.
// CHECK-LABEL: func @weight_with_stride
// CHECK: tw.convolution_weight_grad {{.*}} : (tensor<8x6x6x12xf32>, tensor<8x6x6x5xf32>) -> tensor<3x3x12x5xf32>
func.func @weight_with_stride(%x: tensor<2x8x6x6x4xf32>, %g: tensor<2x4x6x6x5xf32>) -> tensor<3x3x3x4x5xf32> {
  %0 = tw.convolution_weight_grad %x, %g {tw.channels_last, stride = array<i64: 2, 1, 1>, padding = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>,
    groups = 1 : i64} : (tensor<2x8x6x6x4xf32>, tensor<2x4x6x6x5xf32>) -> tensor<3x3x3x4x5xf32>
  return %0 : tensor<3x3x3x4x5xf32>
}

// -----

// A single permute produces the weight's gradient in the user's order. Dimensions that remain adjacent are merged
// first.
// CHECK-LABEL: func @weight_in_order
// CHECK: %[[R:.*]] = tw.reshape %{{.*}} : tensor<3x3x4x15xf32> -> tensor<9x12x5xf32>
// CHECK: tw.permute %[[R]] {permutation = array<i64: 2, 1, 0>} : tensor<9x12x5xf32> -> tensor<5x12x9xf32>
// CHECK-NOT: tw.permute
func.func @weight_in_order(%x: tensor<2x8x6x6x4xf32>, %g: tensor<2x8x6x6x5xf32>) -> tensor<5x4x3x3x3xf32> {
  %0 = tw.convolution_weight_grad %x, %g {tw.channels_last, stride = array<i64: 1, 1, 1>, padding = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>,
    groups = 1 : i64} : (tensor<2x8x6x6x4xf32>, tensor<2x8x6x6x5xf32>) -> tensor<3x3x3x4x5xf32>
  %1 = tw.permute %0 {permutation = array<i64: 4, 3, 0, 1, 2>} : tensor<3x3x3x4x5xf32> -> tensor<5x4x3x3x3xf32>
  return %1 : tensor<5x4x3x3x3xf32>
}

// -----

// The result of an i8 convolution is i32.
// CHECK-LABEL: func @bytes
// CHECK: tw.convolution {{.*}} : (tensor<6x5x5x8xi8>, tensor<1x1x8x6xi8>) -> tensor<6x5x5x6xi32>
func.func @bytes(%x: tensor<1x7x5x5x4xi8>, %w: tensor<2x1x1x4x6xi8>) -> tensor<1x6x5x5x6xi32> {
  %0 = tw.convolution %x, %w {tw.channels_last, stride = array<i64: 1, 1, 1>, padding = array<i64: 0, 0, 0>, dilation = array<i64: 1, 1, 1>,
    output_padding = array<i64: 0, 0, 0>, groups = 1 : i64} : (tensor<1x7x5x5x4xi8>, tensor<2x1x1x4x6xi8>) -> tensor<1x6x5x5x6xi32>
  return %0 : tensor<1x6x5x5x6xi32>
}

// -----

// The pass does not change a convolution with a long window along the depth.
// CHECK-LABEL: func @long_window
// CHECK-NEXT: tw.convolution %arg0, %arg1
func.func @long_window(%x: tensor<1x24x5x5x4xf32>, %w: tensor<17x1x1x4x6xf32>) -> tensor<1x8x5x5x6xf32> {
  %0 = tw.convolution %x, %w {tw.channels_last, stride = array<i64: 1, 1, 1>, padding = array<i64: 0, 0, 0>, dilation = array<i64: 1, 1, 1>,
    output_padding = array<i64: 0, 0, 0>, groups = 1 : i64} : (tensor<1x24x5x5x4xf32>, tensor<17x1x1x4x6xf32>) -> tensor<1x8x5x5x6xf32>
  return %0 : tensor<1x8x5x5x6xf32>
}

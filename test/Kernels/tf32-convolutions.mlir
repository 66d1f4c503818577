// The option tf32-convolutions marks the products of f32 convolutions and of their gradients, and no other op.
// RUN: tilewright-opt %s --tw-lower-graph=tf32-convolutions | FileCheck %s
// RUN: tilewright-opt %s --tw-lower-graph | FileCheck %s --check-prefix=EXACT

// EXACT-NOT: tw.tf32

// CHECK-LABEL: func @in_plane
// CHECK-NOT: tw.tf32
// CHECK: linalg.conv_2d_nhwc_hwcf {{.*}}tw.tf32
// CHECK-NOT: tw.tf32
func.func @in_plane(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x4x16xf32>) -> tensor<1x8x8x16xf32> {
  %0 = tw.convolution %x, %w {tw.channels_last, stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<1x8x8x16xf32>
  return %0 : tensor<1x8x8x16xf32>
}

// CHECK-LABEL: func @general
// CHECK: linalg.generic {{.*}}"reduction"{{.*}}tw.tf32
// CHECK-NOT: tw.tf32
func.func @general(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32> {
  %0 = tw.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  return %0 : tensor<1x6x6x6xf32>
}

// CHECK-LABEL: func @gradient_of_the_weight
// CHECK: linalg.{{.*}}tw.tf32
// CHECK-NOT: tw.tf32
func.func @gradient_of_the_weight(%x: tensor<2x8x8x4xf32>, %g: tensor<2x6x6x16xf32>) -> tensor<3x3x4x16xf32> {
  %0 = tw.convolution_weight_grad %x, %g {tw.channels_last, stride = array<i64: 1, 1>, padding = array<i64: 0, 0>,
    dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<2x6x6x16xf32>) -> tensor<3x3x4x16xf32>
  return %0 : tensor<3x3x4x16xf32>
}

// CHECK-LABEL: func @other_ops
// CHECK-NOT: tw.tf32
func.func @other_ops(%x: tensor<1x8x8x4xbf16>, %w: tensor<3x3x4x16xbf16>, %a: tensor<8x4xf32>, %b: tensor<4x8xf32>)
    -> (tensor<1x6x6x16xbf16>, tensor<8x8xf32>) {
  %0 = tw.convolution %x, %w {tw.channels_last, stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 1 : i64} : (tensor<1x8x8x4xbf16>, tensor<3x3x4x16xbf16>) -> tensor<1x6x6x16xbf16>
  %1 = tw.matmul %a, %b : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %0, %1 : tensor<1x6x6x16xbf16>, tensor<8x8xf32>
}

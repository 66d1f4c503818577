// RUN: tilewright-opt %s --tw-propagate-layout --cse | FileCheck %s

// No permute remains between two convolutions.
// CHECK-LABEL: func @chain
// CHECK: %[[X:.*]] = tw.permute %arg0 {permutation = array<i64: 0, 2, 3, 1>}
// CHECK: %[[W:.*]] = tw.permute %arg1 {permutation = array<i64: 2, 3, 1, 0>} : tensor<4x4x3x3xf32> -> tensor<3x3x4x4xf32>
// CHECK: %[[C:.*]] = tw.convolution %[[X]], %[[W]] {{{.*}}tw.channels_last} : (tensor<1x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<1x8x8x4xf32>
// CHECK: %[[B:.*]] = tw.reshape %arg2 : tensor<4x1x1xf32> -> tensor<4xf32>
// CHECK: %[[A:.*]] = tw.add %[[C]], %[[B]] : (tensor<1x8x8x4xf32>, tensor<4xf32>) -> tensor<1x8x8x4xf32>
// CHECK: %[[R:.*]] = tw.relu %[[A]]
// CHECK: %[[P:.*]], %{{.*}} = tw.max_pool %[[R]] {{{.*}}tw.channels_last} : tensor<1x8x8x4xf32> -> tensor<1x4x4x4xf32>
// CHECK: %[[D:.*]] = tw.convolution %[[P]], %[[W]]
// CHECK: %[[S:.*]] = tw.add %[[D]], %[[P]]
// CHECK: %[[M:.*]] = tw.reduce sum %[[S]] {dims = array<i64: 1, 2>} : tensor<1x4x4x4xf32> -> tensor<1x4xf32>
// CHECK: return %[[M]]
func.func @chain(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x3x3xf32>, %b: tensor<4x1x1xf32>) -> tensor<1x4xf32> {
  %0 = tw.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>,
    groups = 1 : i64} : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32>
  %1 = tw.add %0, %b : (tensor<1x4x8x8xf32>, tensor<4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %2 = tw.relu %1 : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %3, %i = tw.max_pool %2 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>}
    : tensor<1x4x8x8xf32> -> tensor<1x4x4x4xf32>, tensor<1x4x4x4xi64>
  %4 = tw.convolution %3, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>,
    groups = 1 : i64} : (tensor<1x4x4x4xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x4x4xf32>
  %5 = tw.add %4, %3 : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %6 = tw.reduce sum %5 {dims = array<i64: 2, 3>} : tensor<1x4x4x4xf32> -> tensor<1x4xf32>
  return %6 : tensor<1x4xf32>
}

// In the patches of a vision transformer, height and width are merged before the permute, which then is the identity.
// CHECK-LABEL: func @patches
// CHECK: %[[C:.*]] = tw.convolution
// CHECK: %[[R:.*]] = tw.reshape %[[C]] : tensor<2x4x4x64xf32> -> tensor<2x16x64xf32>
// CHECK-NOT: tw.permute
// CHECK: return %[[R]]
func.func @patches(%x: tensor<2x3x32x32xf32>, %w: tensor<64x3x8x8xf32>) -> tensor<2x16x64xf32> {
  %0 = tw.convolution %x, %w {stride = array<i64: 8, 8>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, output_padding = array<i64: 0, 0>,
    groups = 1 : i64} : (tensor<2x3x32x32xf32>, tensor<64x3x8x8xf32>) -> tensor<2x64x4x4xf32>
  %1 = tw.reshape %0 : tensor<2x64x4x4xf32> -> tensor<2x64x16xf32>
  %2 = tw.permute %1 {permutation = array<i64: 0, 2, 1>} : tensor<2x64x16xf32> -> tensor<2x16x64xf32>
  return %2 : tensor<2x16x64xf32>
}

// A one-dimensional convolution becomes a convolution of a plane of height 1.
// CHECK-LABEL: func @line
// CHECK: tw.convolution {{.*}} : (tensor<1x1x8x4xf32>, tensor<1x3x4x2xf32>) -> tensor<1x1x6x2xf32>
func.func @line(%x: tensor<1x4x8xf32>, %w: tensor<2x4x3xf32>) -> tensor<1x2x6xf32> {
  %0 = tw.convolution %x, %w {stride = array<i64: 1>, padding = array<i64: 0>, dilation = array<i64: 1>, output_padding = array<i64: 0>,
    groups = 1 : i64} : (tensor<1x4x8xf32>, tensor<2x4x3xf32>) -> tensor<1x2x6xf32>
  return %0 : tensor<1x2x6xf32>
}

// An argument in channels-last memory is not transposed for a pad and the pool after it.
// CHECK-LABEL: func @argument
// CHECK-NOT: tw.permute
// CHECK: %[[P:.*]] = tw.pad %arg0 {high = array<i64: 0, 1, 1, 0>, low = array<i64: 0, 1, 1, 0>
// CHECK: %[[M:.*]], %{{.*}} = tw.max_pool %[[P]] {{{.*}}tw.channels_last}
// CHECK-NOT: tw.permute
// CHECK: return %[[M]]
func.func @argument(%x: tensor<1x8x8x4xf32>) -> tensor<1x5x5x4xf32> {
  %0 = tw.permute %x {permutation = array<i64: 0, 3, 1, 2>} : tensor<1x8x8x4xf32> -> tensor<1x4x8x8xf32>
  %1 = tw.pad %0 {low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 1, 1>, value = 0.0 : f32} : tensor<1x4x8x8xf32> -> tensor<1x4x10x10xf32>
  %2, %i = tw.max_pool %1 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>}
    : tensor<1x4x10x10xf32> -> tensor<1x4x5x5xf32>, tensor<1x4x5x5xi64>
  %3 = tw.permute %2 {permutation = array<i64: 0, 2, 3, 1>} : tensor<1x4x5x5xf32> -> tensor<1x5x5x4xf32>
  return %3 : tensor<1x5x5x4xf32>
}

// The gradient of a pool is computed in the layout of its operands.
// CHECK-LABEL: func @pool_gradient
// CHECK-NOT: tw.permute
// CHECK: %[[G:.*]] = tw.max_pool_grad %arg0, %arg1 {{{.*}}tw.channels_last} : tensor<1x4x4x5xf32>, tensor<1x4x4x5xi64> -> tensor<1x8x8x5xf32>
// CHECK-NOT: tw.permute
// CHECK: return %[[G]]
func.func @pool_gradient(%g: tensor<1x4x4x5xf32>, %i: tensor<1x4x4x5xi64>) -> tensor<1x8x8x5xf32> {
  %0 = tw.permute %g {permutation = array<i64: 0, 3, 1, 2>} : tensor<1x4x4x5xf32> -> tensor<1x5x4x4xf32>
  %1 = tw.permute %i {permutation = array<i64: 0, 3, 1, 2>} : tensor<1x4x4x5xi64> -> tensor<1x5x4x4xi64>
  %2 = tw.max_pool_grad %0, %1 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>}
    : tensor<1x5x4x4xf32>, tensor<1x5x4x4xi64> -> tensor<1x5x8x8xf32>
  %3 = tw.permute %2 {permutation = array<i64: 0, 2, 3, 1>} : tensor<1x5x8x8xf32> -> tensor<1x8x8x5xf32>
  return %3 : tensor<1x8x8x5xf32>
}

// An argument with three spatial dimensions in channels-last memory is not transposed for a pool.
// CHECK-LABEL: func @volume
// CHECK-NOT: tw.permute
// CHECK: %[[M:.*]], %{{.*}} = tw.max_pool %arg0 {{{.*}}tw.channels_last} : tensor<1x4x6x8x5xf32> -> tensor<1x2x3x4x5xf32>
// CHECK-NOT: tw.permute
// CHECK: return %[[M]]
func.func @volume(%x: tensor<1x4x6x8x5xf32>) -> tensor<1x2x3x4x5xf32> {
  %0 = tw.permute %x {permutation = array<i64: 0, 4, 1, 2, 3>} : tensor<1x4x6x8x5xf32> -> tensor<1x5x4x6x8xf32>
  %1, %i = tw.max_pool %0 {kernel = array<i64: 2, 2, 2>, stride = array<i64: 2, 2, 2>, padding = array<i64: 0, 0, 0>, dilation = array<i64: 1, 1, 1>}
    : tensor<1x5x4x6x8xf32> -> tensor<1x5x2x3x4xf32>, tensor<1x5x2x3x4xi64>
  %2 = tw.permute %1 {permutation = array<i64: 0, 2, 3, 4, 1>} : tensor<1x5x2x3x4xf32> -> tensor<1x2x3x4x5xf32>
  return %2 : tensor<1x2x3x4x5xf32>
}

// A permute of an argument to an order other than channels first is left unchanged.
// CHECK-LABEL: func @other_order
// CHECK: tw.permute %arg0 {permutation = array<i64: 0, 2, 1, 3>}
// CHECK: tw.pad {{.*}} low = array<i64: 0, 0, 1, 1>
func.func @other_order(%x: tensor<1x8x8x4xf32>) -> tensor<1x8x10x6xf32> {
  %0 = tw.permute %x {permutation = array<i64: 0, 2, 1, 3>} : tensor<1x8x8x4xf32> -> tensor<1x8x8x4xf32>
  %1 = tw.pad %0 {low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 1, 1>, value = 0.0 : f32} : tensor<1x8x8x4xf32> -> tensor<1x8x10x6xf32>
  return %1 : tensor<1x8x10x6xf32>
}

// Lines and columns that are indexed together (an upsampled image) are adjacent in both layouts, so no permute remains.
// The same holds for indexed windows.
// CHECK-LABEL: func @indexing
// CHECK: %[[T:.*]] = tw.take %arg0[%arg1, %arg2] {dim = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<5x1xi64>, tensor<3xi64>) -> tensor<2x5x3x4xf32>
// CHECK: tw.take %arg0[%arg3] {dim = 2 : i64} : (tensor<2x8x8x4xf32>, tensor<3x7xi64>) -> tensor<2x8x3x7x4xf32>
// CHECK: tw.take %arg0[%arg3] {dim = 3 : i64} : (tensor<2x8x8x4xf32>, tensor<3x7xi64>) -> tensor<2x8x8x3x7xf32>
// CHECK-NOT: tw.permute
// CHECK: return %[[T]]
func.func @indexing(%x: tensor<2x8x8x4xf32>, %i: tensor<5x1xi64>, %j: tensor<3xi64>, %k: tensor<3x7xi64>)
    -> (tensor<2x5x3x4xf32>, tensor<2x8x3x7x4xf32>, tensor<2x8x8x3x7xf32>) {
  %0 = tw.permute %x {permutation = array<i64: 0, 3, 1, 2>} : tensor<2x8x8x4xf32> -> tensor<2x4x8x8xf32>
  %1 = tw.take %0[%i, %j] {dim = 2 : i64} : (tensor<2x4x8x8xf32>, tensor<5x1xi64>, tensor<3xi64>) -> tensor<2x4x5x3xf32>
  %2 = tw.permute %1 {permutation = array<i64: 0, 2, 3, 1>} : tensor<2x4x5x3xf32> -> tensor<2x5x3x4xf32>
  %3 = tw.take %0[%k] {dim = 3 : i64} : (tensor<2x4x8x8xf32>, tensor<3x7xi64>) -> tensor<2x4x8x3x7xf32>
  %4 = tw.permute %3 {permutation = array<i64: 0, 2, 3, 4, 1>} : tensor<2x4x8x3x7xf32> -> tensor<2x8x3x7x4xf32>
  %5 = tw.take %0[%k] {dim = 1 : i64} : (tensor<2x4x8x8xf32>, tensor<3x7xi64>) -> tensor<2x3x7x8x8xf32>
  %6 = tw.permute %5 {permutation = array<i64: 0, 3, 4, 1, 2>} : tensor<2x3x7x8x8xf32> -> tensor<2x8x8x3x7xf32>
  return %2, %4, %6 : tensor<2x5x3x4xf32>, tensor<2x8x3x7x4xf32>, tensor<2x8x8x3x7xf32>
}

// If channels and lines are indexed together, the permute remains, because they are adjacent in only one of the two
// layouts.
// CHECK-LABEL: func @channels_and_lines
// CHECK: tw.permute %arg0
// CHECK: tw.take
func.func @channels_and_lines(%x: tensor<2x8x8x4xf32>, %i: tensor<5xi64>) -> tensor<2x5x8xf32> {
  %0 = tw.permute %x {permutation = array<i64: 0, 3, 1, 2>} : tensor<2x8x8x4xf32> -> tensor<2x4x8x8xf32>
  %1 = tw.take %0[%i, %i] {dim = 1 : i64} : (tensor<2x4x8x8xf32>, tensor<5xi64>, tensor<5xi64>) -> tensor<2x5x8xf32>
  return %1 : tensor<2x5x8xf32>
}

// A reshape that splits a dimension is moved before the first permute, so that the two permutes cancel.
// CHECK-LABEL: func @split
// CHECK: tw.reshape %arg0 : tensor<2x8x6x4xf32> -> tensor<2x8x3x2x2x2xf32>
// CHECK-NOT: tw.permute
func.func @split(%x: tensor<2x8x6x4xf32>) -> tensor<2x8x3x2x2x2xf32> {
  %0 = tw.permute %x {permutation = array<i64: 0, 3, 1, 2>} : tensor<2x8x6x4xf32> -> tensor<2x4x8x6xf32>
  %1 = tw.reshape %0 : tensor<2x4x8x6xf32> -> tensor<2x2x2x8x3x2xf32>
  %2 = tw.permute %1 {permutation = array<i64: 0, 3, 4, 5, 1, 2>} : tensor<2x2x2x8x3x2xf32> -> tensor<2x8x3x2x2x2xf32>
  return %2 : tensor<2x8x3x2x2x2xf32>
}

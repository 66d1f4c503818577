// RUN: tilewright-opt %s --tw-record-sizes --tw-make-contiguous -split-input-file | FileCheck %s

// A slice that is returned is copied into separate memory. A slice that a kernel reads remains a view.
// CHECK-LABEL: func.func @returned
// CHECK: %[[S:.*]] = tensor.extract_slice %{{.*}}[0, 2] [4, 3] [1, 2]
// CHECK: %[[E:.*]] = tensor.empty() : tensor<4x3xf32>
// CHECK: %[[C:.*]] = linalg.{{copy|generic}} {{.*}}ins(%[[S]] : tensor<4x3xf32>) outs(%[[E]] : tensor<4x3xf32>)
// CHECK: return %[[C]]
func.func @returned(%x: tensor<4x8xf32>) -> tensor<4x3xf32> {
  %s = tensor.extract_slice %x[0, 2] [4, 3] [1, 2] : tensor<4x8xf32> to tensor<4x3xf32>
  return %s : tensor<4x3xf32>
}

// -----

// CHECK-LABEL: func.func @reshaped
// CHECK: %[[S:.*]] = tensor.extract_slice
// CHECK: %[[C:.*]] = linalg.{{copy|generic}} {{.*}}ins(%[[S]]
// CHECK: tensor.collapse_shape %[[C]]
func.func @reshaped(%x: tensor<4x8xf32>) -> tensor<12xf32> {
  %s = tensor.extract_slice %x[0, 2] [4, 3] [1, 1] : tensor<4x8xf32> to tensor<4x3xf32>
  %r = tensor.collapse_shape %s [[0, 1]] : tensor<4x3xf32> into tensor<12xf32>
  return %r : tensor<12xf32>
}

// -----

// A convolution reads vectors of channels. Slices with a stride along the channels are copied, and other slices remain
// views.
// CHECK-LABEL: func.func @convolved
// CHECK: %[[S:.*]] = tensor.extract_slice %arg0[0, 0, 0, 0] [1, 5, 5, 4] [1, 1, 1, 2]
// CHECK: %[[C:.*]] = linalg.{{copy|generic}} {{.*}}ins(%[[S]]
// CHECK: linalg.conv_2d_nhwc_hwcf {{.*}}ins(%[[C]],
// CHECK: %[[P:.*]] = tensor.extract_slice %arg0[0, 0, 0, 0] [1, 5, 5, 4] [1, 1, 2, 1]
// CHECK: linalg.conv_2d_nhwc_hwcf {{.*}}ins(%[[P]],
func.func @convolved(%x: tensor<1x5x10x8xf32>, %w: tensor<3x3x4x6xf32>, %o: tensor<1x3x3x6xf32>) -> (tensor<1x3x3x6xf32>, tensor<1x3x3x6xf32>) {
  %s = tensor.extract_slice %x[0, 0, 0, 0] [1, 5, 5, 4] [1, 1, 1, 2] : tensor<1x5x10x8xf32> to tensor<1x5x5x4xf32>
  %0 = linalg.conv_2d_nhwc_hwcf {strides = dense<1> : vector<2xi64>, dilations = dense<1> : vector<2xi64>}
    ins(%s, %w : tensor<1x5x5x4xf32>, tensor<3x3x4x6xf32>) outs(%o : tensor<1x3x3x6xf32>) -> tensor<1x3x3x6xf32>
  %p = tensor.extract_slice %x[0, 0, 0, 0] [1, 5, 5, 4] [1, 1, 2, 1] : tensor<1x5x10x8xf32> to tensor<1x5x5x4xf32>
  %1 = linalg.conv_2d_nhwc_hwcf {strides = dense<1> : vector<2xi64>, dilations = dense<1> : vector<2xi64>}
    ins(%p, %w : tensor<1x5x5x4xf32>, tensor<3x3x4x6xf32>) outs(%o : tensor<1x3x3x6xf32>) -> tensor<1x3x3x6xf32>
  return %0, %1 : tensor<1x3x3x6xf32>, tensor<1x3x3x6xf32>
}

// -----

// CHECK-LABEL: func.func @read
// CHECK: %[[S:.*]] = tensor.extract_slice
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: linalg.exp ins(%[[S]]
func.func @read(%x: tensor<4x8xf32>) -> tensor<4x3xf32> {
  %s = tensor.extract_slice %x[0, 2] [4, 3] [1, 1] : tensor<4x8xf32> to tensor<4x3xf32>
  %e = tensor.empty() : tensor<4x3xf32>
  %r = linalg.exp ins(%s : tensor<4x3xf32>) outs(%e : tensor<4x3xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// -----

// Lowering drops the encoding; the sizes in it become an attribute.
// CHECK: #[[SIZES:.*]] = affine_map<()[s0] -> (s0, 8)>
// CHECK-LABEL: func.func @main
// CHECK-SAME: tw.sizes = #[[SIZES]]
func.func @main(%n: index {tw.symbol = "n"}, %x: tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>) {
  return
}

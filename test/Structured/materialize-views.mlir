// RUN: tilewright-opt %s --tw-record-sizes --tw-materialize-views -split-input-file | FileCheck %s

// A slice that is returned is copied into memory of its own; one that a kernel reads stays a view.
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

// What the encoding says of the sizes stays when lowering drops it.
// CHECK: #[[SIZES:.*]] = affine_map<()[s0] -> (s0, 8)>
// CHECK-LABEL: func.func @main
// CHECK-SAME: tw.sizes = #[[SIZES]]
func.func @main(%n: index {tw.symbol = "n"}, %x: tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>) {
  return
}

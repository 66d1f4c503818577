// RUN: tilewright-opt %s --tw-split-reshapes | FileCheck %s

// CHECK-LABEL: func @two_symbols
// CHECK: %[[S:.*]] = affine.apply {{.*}}[%arg2
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [%arg1, %arg2, 8], strides: [%[[S]], 8, 1]
func.func @two_symbols(%m: memref<?x8xf32>, %a: index, %b: index) -> memref<?x?x8xf32> {
  %0 = memref.expand_shape %m [[0, 1], [2]] output_shape [%a, %b, 8] : memref<?x8xf32> into memref<?x?x8xf32>
  return %0 : memref<?x?x8xf32>
}

// CHECK-LABEL: func @one_symbol
// CHECK: memref.expand_shape
func.func @one_symbol(%m: memref<?xf32>, %a: index) -> memref<?x8xf32> {
  %0 = memref.expand_shape %m [[0, 1]] output_shape [%a, 8] : memref<?xf32> into memref<?x8xf32>
  return %0 : memref<?x8xf32>
}

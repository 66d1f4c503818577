// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-resolve-layouts --tw-select-schedule=threads=2 | FileCheck %s

// In the gradient of a weight with few columns, A is stored as k x rows. Each task transposes its 128 rows of A for
// several panels.
// CHECK: func.func private @matmul_0
// CHECK-SAME: tiles = [128, {{[0-9][0-9][0-9]}}]
func.func @main(%g: tensor<512x3072xf32>, %x: tensor<512x144xf32>) -> tensor<3072x144xf32> {
  %t = tw.permute %g {permutation = array<i64: 1, 0>} : tensor<512x3072xf32> -> tensor<3072x512xf32>
  %0 = tw.matmul %t, %x : (tensor<3072x512xf32>, tensor<512x144xf32>) -> tensor<3072x144xf32>
  return %0 : tensor<3072x144xf32>
}

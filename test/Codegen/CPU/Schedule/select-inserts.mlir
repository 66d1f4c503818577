// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-select-schedule="threads=4" -split-input-file | FileCheck %s

// A concatenation is not tiled along the concatenated dimension. Outer dimensions are tiled before inner dimensions.
// CHECK: func.func private @insert_slice_0
// CHECK-SAME: tw.schedule = #tw_cpu.schedule<tiles = [2, 0, 0], nanoseconds
func.func @main(%a: tensor<64x256x64xf32>, %b: tensor<64x64x64xf32>) -> tensor<64x320x64xf32> {
  %0 = tw.concat %a, %b {dim = 1 : i64} : (tensor<64x256x64xf32>, tensor<64x64x64xf32>) -> tensor<64x320x64xf32>
  return %0 : tensor<64x320x64xf32>
}

// -----

// A concatenation of tensors of rank 1 is not tiled.
// CHECK: func.func private @insert_slice_0
// CHECK-SAME: tw.schedule = #tw_cpu.schedule<tiles = [0], nanoseconds
func.func @main(%a: tensor<65536xf32>, %b: tensor<65536xf32>) -> tensor<131072xf32> {
  %0 = tw.concat %a, %b {dim = 0 : i64} : (tensor<65536xf32>, tensor<65536xf32>) -> tensor<131072xf32>
  return %0 : tensor<131072xf32>
}

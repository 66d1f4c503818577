// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-select-schedule | FileCheck %s

// 16K elements a task: rows of 1024 in sixteens.
// CHECK: func.func private @kernel_0
// CHECK-SAME: tw.schedule = {tiles = array<i64: 16>}
func.func @main(%x: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
  %0 = tw.softmax %x {dim = 1 : i64} : tensor<512x1024xf32> -> tensor<512x1024xf32>
  return %0 : tensor<512x1024xf32>
}

// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-select-schedule | FileCheck %s

// A softmax reads its rows again after the reduction. A task has 4K elements (four rows of 1024), which stay in the L1
// cache.
// CHECK: func.func private @softmax_0
// CHECK-SAME: tw.schedule = #tw_cpu.schedule<tiles = [4], nanoseconds = {{[0-9]+}}, bound = L3>
func.func @main(%x: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
  %0 = tw.softmax %x {dim = 1 : i64} : tensor<512x1024xf32> -> tensor<512x1024xf32>
  return %0 : tensor<512x1024xf32>
}

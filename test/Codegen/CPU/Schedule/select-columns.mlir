// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-select-schedule | FileCheck %s

// A task of a sum over rows computes 64 columns, which are four adjacent cache lines, for any number of rows.
// CHECK: func.func private @reduce_0
// CHECK-SAME: tw.schedule = #tw_cpu.schedule<tiles = [64]
func.func @main(%x: tensor<4096x768xf32>) -> tensor<768xf32> {
  %0 = tw.reduce sum %x {dims = array<i64: 0>} : tensor<4096x768xf32> -> tensor<768xf32>
  return %0 : tensor<768xf32>
}

// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-select-schedule | FileCheck %s

// A task of a transposition reads 32 channels of each pixel, which are two adjacent cache lines.
// CHECK: tw.schedule = #tw_cpu.schedule<tiles = [1, 32, 9, 56]
func.func @main(%x: tensor<4x56x56x64xf32>) -> tensor<4x64x56x56xf32> {
  %0 = tw.permute %x {permutation = array<i64: 0, 3, 1, 2>} : tensor<4x56x56x64xf32> -> tensor<4x64x56x56xf32>
  return %0 : tensor<4x64x56x56xf32>
}

// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured --tw-select-schedule="threads=2" | FileCheck %s

// A task of a grouped convolution computes whole lines of all channels, at most 16K elements, with their epilogue.
// CHECK: func.func private @convolution_relu_{{.*}}tw.ops = "convolution+relu", tw.schedule = #tw_cpu.schedule<tiles = [1, 2, 0]>
// CHECK: tw_tile.grouped_convolution
// CHECK: linalg.generic
func.func @main(%x: tensor<1x144x56x56xf32>, %w: tensor<144x1x3x3xf32> {tw.static}) -> tensor<1x56x56x144xf32> {
  %0 = tw.convolution %x, %w {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>,
    output_padding = array<i64: 0, 0>, groups = 144 : i64} : (tensor<1x144x56x56xf32>, tensor<144x1x3x3xf32>) -> tensor<1x144x56x56xf32>
  %1 = tw.relu %0 : (tensor<1x144x56x56xf32>) -> tensor<1x144x56x56xf32>
  %2 = tw.permute %1 {permutation = array<i64: 0, 2, 3, 1>} : tensor<1x144x56x56xf32> -> tensor<1x56x56x144xf32>
  return %2 : tensor<1x56x56x144xf32>
}

// RUN: tilewright-opt %s --tw-stage-graph --tw-stage-structured | FileCheck %s

// The sum is lowered to two ops: the sum of each line, and the sum of these sums. The two ops are not fused, because a
// row of the fused kernel would be a channel, and a task would read only a few elements of each cache line.
// CHECK: reason = "the rows of a kernel of both would be columns of the reduction, which reads only a few elements of each cache line"
// CHECK: func.func @main
// CHECK-COUNT-2: call @{{[a-z_]+}}_{{[0-9]}}(
func.func @main(%x: tensor<4x56x56x64xf32>) -> tensor<64xf32> {
  %0 = tw.reduce sum %x {dims = array<i64: 0, 1, 2>} : tensor<4x56x56x64xf32> -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

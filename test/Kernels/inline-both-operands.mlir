// RUN: tilewright-opt --tw-stage-structured %s | FileCheck %s

// A value is multiplied by itself, so both operands have the same producer. The multiplication reads the producer's result
// without one of its dimensions. If only one operand were fused, the fused op would read its own result through the
// other operand.
// CHECK-LABEL: func private @mul_0
// CHECK: linalg.generic
// CHECK-SAME: ins(%arg0, %arg1, %arg0, %arg1 :
// CHECK-COUNT-3: arith.mulf
// CHECK-NOT: linalg.generic
func.func @main(%a: tensor<15x1xf32>, %b: tensor<1x15xf32>) -> tensor<15x15xf32> {
  %ar = tw.reshape %a : tensor<15x1xf32> -> tensor<15x1x1xf32>
  %0 = tw.permute %ar {permutation = array<i64: 2, 0, 1>} : tensor<15x1x1xf32> -> tensor<1x15x1xf32>
  %br = tw.reshape %b : tensor<1x15xf32> -> tensor<1x15x1xf32>
  %1 = tw.permute %br {permutation = array<i64: 1, 2, 0>} : tensor<1x15x1xf32> -> tensor<15x1x1xf32>
  %2 = tw.mul %0, %1 : (tensor<1x15x1xf32>, tensor<15x1x1xf32>) -> tensor<15x15x1xf32>
  %3 = tw.reshape %2 : tensor<15x15x1xf32> -> tensor<15x15xf32>
  %4 = tw.mul %3, %3 : (tensor<15x15xf32>, tensor<15x15xf32>) -> tensor<15x15xf32>
  return %4 : tensor<15x15xf32>
}

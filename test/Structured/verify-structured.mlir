// RUN: not tilewright-opt %s --tw-verify-structured 2>&1 | FileCheck %s

// CHECK: error: 'tw.exp' op may not remain after the structured stage
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tw.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

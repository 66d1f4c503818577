// RUN: not tilewright-opt %s -split-input-file --tw-fixed-point='formats="32,6"' 2>&1 | FileCheck %s
// RUN: not tilewright-opt %s -split-input-file --tw-fixed-point='formats="16,6,AP_ROUND"' 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not tilewright-opt %s -split-input-file --tw-fixed-point='formats="40,6"' 2>&1 | FileCheck %s --check-prefix=WIDTH
// RUN: not tilewright-opt %s -split-input-file --tw-fixed-point='formats="fc1=8,3"' 2>&1 | FileCheck %s --check-prefix=USUAL
// All ops without a fixed-point implementation are reported together.

// CHECK: this model has no form in fixed point yet:
// CHECK-NEXT: tw.softmax ({{.*}}fixed-point-refused.mlir:[[# @LINE + 10]]): this op has no form in fixed point
// CHECK-NEXT: tw.div ({{.*}}fixed-point-refused.mlir:[[# @LINE + 10]]): only division by constants other than 0 has a form in fixed point
// CHECK-NOT: tw.add
// MODE: the format '16,6,AP_ROUND' has the unknown mode 'AP_ROUND'; a format is W,I or W,I,Q,O as in ap_fixed<W, I, Q, O>
// MODE-SAME: AP_RND_CONV
// WIDTH: the format '40,6' needs a width from 2 to 32
// USUAL: values without a named format need a format; add one without a name, for example --fixed 16,6

module {
  func.func @main(%x: tensor<4x8xf32> {tw.name = "x"}) -> tensor<4x8xf32> {
    %s = tw.softmax %x {dim = 1 : i64} : tensor<4x8xf32> -> tensor<4x8xf32>
    %d = tw.div %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %a = tw.add %s, %d : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %a : tensor<4x8xf32>
  }
}

// -----

// CHECK: tw.matmul ({{.*}}): its exact result needs 70 bits, but the target reference computes with at most 63; reduce the bits of its layer 'big'
module {
  func.func @main(%x: tensor<4x64xf32> {tw.name = "x"}, %w: tensor<64x4xf32> {tw.name = "big.weight"}) -> tensor<4x4xf32> {
    %f = tw.add %x, %x : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
    %m = tw.matmul %f, %w : (tensor<4x64xf32>, tensor<64x4xf32>) -> tensor<4x4xf32>
    return %m : tensor<4x4xf32>
  }
}

// -----

// CHECK: tw.matmul ({{.*}}): weight 'fc1.weight' has elements that are infinite or NaN
module {
  func.func @main(%w: tensor<2x1xf32> {tw.name = "fc1.weight", tw_hls.value = dense<[[0x7F800000], [1.0]]> : tensor<2x1xf32>}, %x: tensor<4x2xf32> {tw.name = "x"}) -> tensor<4x1xf32> {
    %m = tw.matmul %x, %w : (tensor<4x2xf32>, tensor<2x1xf32>) -> tensor<4x1xf32>
    return %m : tensor<4x1xf32>
  }
}

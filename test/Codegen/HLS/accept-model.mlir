// RUN: not tilewright-opt %s --tw-hls-accept-model -split-input-file > %t 2> %t.errors; FileCheck %s < %t && FileCheck %s --check-prefix=REFUSED < %t.errors
// All unsupported ops, types and symbolic sizes are reported in one error. The names of ports are the model's names, changed to C identifiers.

// CHECK: module attributes {tw_hls.inputs = {{\[\[}}"x", tensor<4x8xf32>], ["fc_weight", tensor<8xf32>], ["input2", tensor<8xf32>]], tw_hls.outputs = {{\[\[}}"output0", tensor<4x8xf32>]]}
module {
  func.func @main(%x: tensor<4x8xf32> {tw.name = "x"}, %w: tensor<8xf32> {tw.name = "fc.weight"}, %b: tensor<8xf32>) -> (tensor<4x8xf32> {tw.name = "0"}) {
    return %x : tensor<4x8xf32>
  }
}

// -----

// REFUSED: the target hls does not support this model:
// REFUSED-NEXT: the size 's0' is symbolic, but hardware requires fixed sizes: export the model without dynamic_shapes
// REFUSED-NEXT: the input number 1 has elements of bf16: convert the model to float32 or float16
// REFUSED-NEXT: the result number 0 has elements of bf16: convert the model to float32 or float16
// REFUSED-NEXT: elements of type bf16 ({{.*}}accept-model.mlir:27)
// REFUSED-NEXT: tw_tile.place ({{.*}}accept-model.mlir:28)
// REFUSED-NEXT: the model writes argument or buffer number 0 in place
module {
  func.func @main(%n: index {tw.symbol = "s0"}, %x: tensor<?x8xbf16>) -> (tensor<?x8xbf16> {tw.into = 0 : i64}) {
    %r = call @kernel_0(%n, %x) : (index, tensor<?x8xbf16>) -> tensor<?x8xbf16>
    return %r : tensor<?x8xbf16>
  }
  func.func private @kernel_0(%n: index, %x: tensor<?x8xbf16>) -> tensor<?x8xbf16> {
    %i = arith.constant 3 : index
    %e = tensor.extract %x[%i, %i] : tensor<?x8xbf16>
    %p = tw_tile.place %i below %n : index
    return %x : tensor<?x8xbf16>
  }
}

// -----

// REFUSED: the target hls does not support this model:
// REFUSED-NEXT: the empty input tensor<0x4xf32> ({{.*}}accept-model.mlir:39)
// REFUSED-NEXT: the empty tensor tensor<0x4xf32> ({{.*}}accept-model.mlir:40)
module {
  func.func @main(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
    %y = math.exp %x : tensor<0x4xf32>
    return %y : tensor<0x4xf32>
  }
}

// -----

// Elements of ports are checked, too. The kernel of this model has no op with a bf16 result.
// REFUSED: the target hls does not support this model:
// REFUSED-NEXT: the input 'x' has elements of bf16: convert the model to float32 or float16
// REFUSED-NEXT: the input number 1 has elements of f8E5M2
// REFUSED-NEXT: the result number 1 has elements of f4E2M1FN
module {
  func.func @main(%x: tensor<4xbf16> {tw.name = "x"}, %y: tensor<4xf8E5M2>) -> (tensor<4xf32>, tensor<4xf4E2M1FN>) {
    %z = arith.constant dense<1.0> : tensor<4xf4E2M1FN>
    %r = call @kernel_0(%x) : (tensor<4xbf16>) -> tensor<4xf32>
    return %r, %z : tensor<4xf32>, tensor<4xf4E2M1FN>
  }
  func.func private @kernel_0(%x: tensor<4xbf16>) -> tensor<4xf32> {
    %r = arith.extf %x : tensor<4xbf16> to tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// RUN: not tilewright-opt %s --tw-hls-accept-model -split-input-file > %t 2> %t.errors; FileCheck %s < %t && FileCheck %s --check-prefix=REFUSED < %t.errors
// All ops without an implementation for the target hls are reported together, with symbols and lines. Tensors keep their names in the model.

// CHECK: module attributes {tw_hls.inputs = {{\[\[}}"x", tensor<4x8xf32>], ["fc_weight", tensor<8xf32>], ["input2", tensor<8xf32>]], tw_hls.outputs = {{\[\[}}"output0", tensor<4x8xf32>]]}
module {
  func.func @main(%x: tensor<4x8xf32> {tw.name = "x"}, %w: tensor<8xf32> {tw.name = "fc.weight"}, %b: tensor<8xf32>) -> (tensor<4x8xf32> {tw.name = "0"}) {
    return %x : tensor<4x8xf32>
  }
}

// -----

// REFUSED: this model has no hardware form yet:
// REFUSED-NEXT: the size 's0' is symbolic, but hardware requires fixed sizes: export the model without dynamic_shapes
// REFUSED-NEXT: elements of type bf16 ({{.*}}accept-model.mlir:25)
// REFUSED-NEXT: tw_tile.place ({{.*}}accept-model.mlir:26)
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

// REFUSED: this model has no hardware form yet:
// REFUSED-NEXT: the empty input tensor<0x4xf32> ({{.*}}accept-model.mlir:37)
// REFUSED-NEXT: the empty tensor tensor<0x4xf32> ({{.*}}accept-model.mlir:38)
module {
  func.func @main(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
    %y = math.exp %x : tensor<0x4xf32>
    return %y : tensor<0x4xf32>
  }
}

// A result that the program writes into the memory of an input is printed with the values that it has there.
// RUN: tilewright run %s | FileCheck %s
// RUN: tilewright run %s --target=reference | FileCheck %s
// RUN: tilewright run %s --target=cuda --device=emulated | FileCheck %s

// CHECK: result 0: f32[32, 48] [[VALUES:sum [-0-9.]+ magnitude [0-9.]+]]
// CHECK: result 1: f32[32, 48] [[VALUES]]
func.func @main(%r: tensor<32x48xf32>, %w: tensor<48xf32>) -> (tensor<32x48xf32>, tensor<32x48xf32> {tw.into = 0 : i64}) {
  %x = tw.mul %w, %r : (tensor<48xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %y = tw.mul %r, %w : (tensor<32x48xf32>, tensor<48xf32>) -> tensor<32x48xf32>
  return %x, %y : tensor<32x48xf32>, tensor<32x48xf32>
}

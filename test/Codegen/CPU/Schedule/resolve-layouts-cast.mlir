// RUN: tilewright-opt %s --tw-resolve-layouts | FileCheck %s

// Each call recomputes a value that depends only on parameters if the value is returned, also through a cast. (The
// fuzzer's graph 217277 has such a value: a product over no elements, plus a bias.)
// CHECK-LABEL: func.func @main
// CHECK: call @kernel_0
// CHECK-NOT: tw.once
// CHECK: return
func.func @main(%w: tensor<4xf32> {tw.static, tw.sizes = affine_map<() -> (4)>}) -> tensor<?xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = call @kernel_0(%w, %e) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = tensor.cast %0 : tensor<4xf32> to tensor<?xf32>
  return %1 : tensor<?xf32>
}
func.func private @kernel_0(%w: tensor<4xf32> {tw.sizes = affine_map<() -> (4)>}, %e: tensor<4xf32> {tw.sizes = affine_map<() -> (4)>}) -> tensor<4xf32> attributes {tw.kernel} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%w : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.addf %a, %a : f32
    linalg.yield %v : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

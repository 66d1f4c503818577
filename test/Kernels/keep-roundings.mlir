// RUN: tilewright-opt %s --tw-keep-roundings | FileCheck %s

// CHECK-LABEL: func @flags
// CHECK: arith.extf %arg0 : bf16 to f32
// CHECK: arith.addf %{{.*}} : f32
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @flags(%x: bf16) -> bf16 {
  %0 = arith.extf %x fastmath<contract> : bf16 to f32
  %1 = arith.addf %0, %0 fastmath<contract> : f32
  %2 = arith.truncf %1 fastmath<contract> : f32 to bf16
  return %2 : bf16
}

// A product in an elementwise loop is rounded before the addition; a sum over many elements may still be reordered.
// CHECK-LABEL: func @products
// CHECK: arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<reassoc,contract> : f32
func.func @products(%x: tensor<8xf32>, %s: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %p = arith.mulf %in, %in fastmath<contract> : f32
    %q = arith.addf %p, %in fastmath<contract> : f32
    linalg.yield %q : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%0 : tensor<8xf32>) outs(%s : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %p = arith.addf %out, %in fastmath<contract, reassoc> : f32
    linalg.yield %p : f32
  } -> tensor<f32>
  return %1 : tensor<f32>
}

// RUN: tilewright-opt %s --tw-form-kernels | FileCheck %s

// The producer of the scan's operand reads %p, and the last op reads both %p and the result of the scan. %p must not be
// fused into the kernel of the last op, because the scan between them needs %p first.
// CHECK: func.func @main
// CHECK: %[[P:.*]] = call @{{[a-z_0-9]*}}(%arg0
// CHECK: %[[G:.*]] = call @{{[a-z_0-9]*}}(%[[P]], %arg1
// CHECK: %[[S:.*]] = call @{{[a-z_0-9]*}}(%[[G]]
// CHECK: call @{{[a-z_0-9]*}}(%[[P]], %[[S]]
#id = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<8xf32>, %at: tensor<8xi64>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %p = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.negf %a : f32
    linalg.yield %v : f32
  } -> tensor<8xf32>
  %e1 = tensor.empty() : tensor<8xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%at : tensor<8xi64>) outs(%e1 : tensor<8xf32>) {
  ^bb0(%a: i64, %o: f32):
    %i = arith.index_cast %a : i64 to index
    %v = tensor.extract %p[%i] : tensor<8xf32>
    linalg.yield %v : f32
  } -> tensor<8xf32>
  %e2 = tensor.empty() : tensor<8xf32>
  %s = tw_tile.scan sum {dim = 0 : i64} ins(%g : tensor<8xf32>) outs(%e2 : tensor<8xf32>) -> tensor<8xf32>
  %e3 = tensor.empty() : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%p, %s : tensor<8xf32>, tensor<8xf32>) outs(%e3 : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.addf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// RUN: tilewright-opt %s --tw-apply-schedule -split-input-file | FileCheck %s
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// The row sums have one user inside: each task computes its own rows' sums, once.
// CHECK-LABEL: func private @kernel
// CHECK: scf.forall (%[[I:.*]]) = (0) to (100) step (16)
// CHECK: %[[N:.*]] = affine.min
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]
// CHECK: tensor.parallel_insert_slice %{{.*}} into %{{.*}}[%[[I]], 0] [%[[N]], 8] [1, 1]
func.func private @kernel(%x: tensor<100x8xf32> {tw.sizes = affine_map<() -> (100, 8)>}, %out: tensor<100x8xf32> {tw.sizes = affine_map<() -> (100, 8)>}) -> tensor<100x8xf32> attributes {tw.kernel, tw.schedule = {tiles = array<i64: 16>}} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<100xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<100xf32>) -> tensor<100xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<100x8xf32>) outs(%f : tensor<100xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.addf %o, %a : f32
    linalg.yield %v : f32
  } -> tensor<100xf32>
  %1 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %0 : tensor<100x8xf32>, tensor<100xf32>) outs(%out : tensor<100x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.divf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<100x8xf32>
  return %1 : tensor<100x8xf32>
}

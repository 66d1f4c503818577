// RUN: tilewright-opt %s --tw-merge-reductions | FileCheck %s
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>
#across = affine_map<(d0, d1) -> (d1, d0)>

// An elementwise op and the row sum of its result are computed in one pass.
// CHECK-LABEL: func private @rows
// CHECK: %[[R:.*]]:2 = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<4x768xf32>)
// CHECK: ^bb0(%[[X:.*]]: f32, %{{.*}}: f32, %[[SUM:.*]]: f32):
// CHECK: %[[E:.*]] = math.exp %[[X]]
// CHECK: %[[S:.*]] = arith.addf %[[SUM]], %[[E]]
// CHECK: linalg.yield %[[E]], %[[S]]
// CHECK-NOT: linalg.generic
// CHECK: return %[[R]]#0, %[[R]]#1
func.func private @rows(%x: tensor<4x768xf32>, %e: tensor<4x768xf32>, %s: tensor<4xf32>) -> (tensor<4x768xf32>, tensor<4xf32>) attributes {tw.kernel} {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x768xf32>) outs(%e : tensor<4x768xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  } -> tensor<4x768xf32>
  %1 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<4x768xf32>) outs(%s : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.addf %o, %a : f32
    linalg.yield %v : f32
  } -> tensor<4xf32>
  return %0, %1 : tensor<4x768xf32>, tensor<4xf32>
}

// A sum over the rows is not merged with the elementwise op. The sum is computed row by row, but a merged op would
// compute it column by column, and store the elements of the elementwise result with a large stride.
// CHECK-LABEL: func private @columns
// CHECK: linalg.generic
// CHECK: linalg.generic
func.func private @columns(%x: tensor<4x768xf32>, %e: tensor<4x768xf32>, %s: tensor<768xf32>) -> (tensor<4x768xf32>, tensor<768xf32>) attributes {tw.kernel} {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x768xf32>) outs(%e : tensor<4x768xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  } -> tensor<4x768xf32>
  %1 = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%0 : tensor<4x768xf32>) outs(%s : tensor<768xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.addf %o, %a : f32
    linalg.yield %v : f32
  } -> tensor<768xf32>
  return %0, %1 : tensor<4x768xf32>, tensor<768xf32>
}

// The sum also reads %t, which another op computes from the elements, so all elements must be computed before the sum.
// CHECK-LABEL: func private @between
// CHECK: %[[E:.*]] = linalg.generic
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[E]]
// CHECK: linalg.generic {{.*}} ins(%[[E]], %[[T]]
func.func private @between(%x: tensor<4x768xf32>, %e: tensor<4x768xf32>, %t: tensor<768x4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> attributes {tw.kernel} {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x768xf32>) outs(%e : tensor<4x768xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  } -> tensor<4x768xf32>
  %1 = linalg.generic {indexing_maps = [#id, #across], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4x768xf32>) outs(%t : tensor<768x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<768x4xf32>
  %2 = linalg.generic {indexing_maps = [#id, #across, #row], iterator_types = ["parallel", "reduction"]} ins(%0, %1 : tensor<4x768xf32>, tensor<768x4xf32>) outs(%s : tensor<4xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %d = arith.subf %a, %m : f32
    %v = arith.addf %o, %d : f32
    linalg.yield %v : f32
  } -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

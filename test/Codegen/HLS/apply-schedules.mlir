// RUN: tilewright-opt %s --tw-hls-apply-schedules | FileCheck %s
// CHECK-DAG: #[[TERM:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0 * 2 + d1)>

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: func.func private @product
func.func private @product(%a: memref<8x6xf32>, %b: memref<6x12xf32>, %c: memref<8x12xf32>) {
  // CHECK: %[[OUT:.*]] = tw_hls.buffer "product_out" : memref<8x12xf32>
  // CHECK: affine.for %[[I:.*]] = 0 to 8 {
  // CHECK-NEXT: affine.for %[[K:.*]] = 0 to 6 {
  // CHECK-NEXT: affine.for %[[J:.*]] = 0 to 3 {
  // CHECK-NEXT: affine.for %[[U:.*]] = 0 to 4 {
  // CHECK: affine.load %{{.*}}[%[[K]], %[[J]] * 4 + %[[U]]]
  // CHECK: %[[OLD:.*]] = affine.load %[[OUT]][%[[I]], %[[J]] * 4 + %[[U]]]
  // The first iteration of the reduction uses the initial value instead of the old element.
  // CHECK: %[[FIRST:.*]] = arith.cmpi eq
  // CHECK: arith.select %[[FIRST]], %{{.*}}, %[[OLD]]
  // CHECK: affine.store %{{.*}}, %[[OUT]][%[[I]], %[[J]] * 4 + %[[U]]]
  // CHECK: {tw_hls.loop = #tw_hls.loop<label = "product_u", unroll = 4>}
  // CHECK: {tw_hls.loop = #tw_hls.loop<label = "product_j", ii = 1, distance = 3>}
  // CHECK: {tw_hls.loop = #tw_hls.loop<label = "product_k", flatten = true>}
  // CHECK: {tw_hls.loop = #tw_hls.loop<label = "product_i", flatten = true>}
  %out = memref.alloc() : memref<8x12xf32>
  linalg.contract indexing_maps = [#a, #b, #c] {tw.op = "product", tw_hls.initial = 0.0 : f32, tw_hls.schedule = #tw_hls.schedule<order = [0, 2, 1], unroll = [1, 4, 1], ii = 1>}
    ins(%a, %b : memref<8x6xf32>, memref<6x12xf32>) outs(%out : memref<8x12xf32>)
  // Without a schedule, elements are computed one by one, in row-major order.
  // CHECK: affine.for
  // CHECK: {tw_hls.loop = #tw_hls.loop<label = "copy_j", ii = 1>}
  memref.copy %out, %c : memref<8x12xf32> to memref<8x12xf32>
  // A copy of an array to itself is removed.
  // CHECK-NOT: affine.for
  memref.copy %c, %c : memref<8x12xf32> to memref<8x12xf32>
  return
}

#ij = affine_map<(i, j) -> (i, j)>
// Accesses to slices and reshapes are replaced by accesses to the underlying array.
// CHECK-LABEL: func.func private @views
func.func private @views(%a: memref<8x12xf32>, %b: memref<3x8xf32>, %c: memref<24xf32>) {
  // CHECK-NOT: memref.
  // CHECK: affine.load %arg0[%[[I:.*]] + 1, %[[J:.*]] * 2 + 4]
  // CHECK: affine.store %{{.*}}, %arg1[%[[I]], %[[J]]]
  %v = memref.subview %a[1, 4] [3, 4] [1, 2] : memref<8x12xf32> to memref<3x4xf32, strided<[12, 2], offset: 16>>
  %w = memref.subview %b[0, 0] [3, 4] [1, 1] : memref<3x8xf32> to memref<3x4xf32, strided<[8, 1]>>
  memref.copy %v, %w : memref<3x4xf32, strided<[12, 2], offset: 16>> to memref<3x4xf32, strided<[8, 1]>>
  // %column is a view of column 5, so this index is a constant in the accesses.
  // CHECK: affine.load %arg0[%[[R:.*]], 5]
  // CHECK: affine.store %{{.*}}, %arg2[%[[R]] + 16]
  %column = memref.subview %a[0, 5] [8, 1] [1, 1] : memref<8x12xf32> to memref<8xf32, strided<[12], offset: 5>>
  %tail = memref.subview %c[16] [8] [1] : memref<24xf32> to memref<8xf32, strided<[1], offset: 16>>
  memref.copy %column, %tail : memref<8xf32, strided<[12], offset: 5>> to memref<8xf32, strided<[1], offset: 16>>
  // CHECK: affine.load %arg2[%[[R:.*]] * 8 + %[[C:.*]]]
  // CHECK: affine.store %{{.*}}, %arg1[%[[R]], %[[C]]]
  %rows = memref.expand_shape %c [[0, 1]] output_shape [3, 8] : memref<24xf32> into memref<3x8xf32>
  memref.copy %rows, %b : memref<3x8xf32> to memref<3x8xf32>
  // CHECK: affine.load %arg1[%[[K:.*]] floordiv 8, %[[K]] mod 8]
  %flat = memref.collapse_shape %b [[0, 1]] : memref<3x8xf32> into memref<24xf32>
  memref.copy %flat, %c : memref<24xf32> to memref<24xf32>
  return
}

#m = affine_map<(i, k) -> (i, k)>
#r = affine_map<(i, k) -> (i)>
// The sum reads the array in which it stores its result, so its loop gets no dependence distance.
// CHECK-LABEL: func.func private @reads_its_sum
func.func private @reads_its_sum(%a: memref<8x6xf32>) {
  // CHECK: label = "sum_i", ii = 1>
  %from = memref.subview %a[0, 1] [8, 5] [1, 1] : memref<8x6xf32> to memref<8x5xf32, strided<[6, 1], offset: 1>>
  %to = memref.subview %a[0, 0] [8, 1] [1, 1] : memref<8x6xf32> to memref<8xf32, strided<[6]>>
  linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"], tw.op = "sum", tw_hls.schedule = #tw_hls.schedule<order = [1, 0], unroll = [1, 1], ii = 1>}
    ins(%from : memref<8x5xf32, strided<[6, 1], offset: 1>>) outs(%to : memref<8xf32, strided<[6]>>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  }
  return
}

#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#ij3 = affine_map<(i, j, k) -> (i, j)>
// If the reduction is computed in blocks of two terms, the initial value is used only in the first block.
// CHECK-LABEL: func.func private @blocks
func.func private @blocks(%a: memref<8x6xf32>, %b: memref<6x12xf32>, %c: memref<8x12xf32>) {
  // CHECK: affine.for %[[B:.*]] = 0 to 3 {
  // CHECK-NEXT: affine.for %[[K:.*]] = 0 to 2 {
  // CHECK-NEXT: affine.for %[[I:.*]] = 0 to 8 {
  // CHECK-NEXT: affine.for %[[J:.*]] = 0 to 3 {
  // CHECK-NEXT: affine.for %[[U:.*]] = 0 to 4 {
  // CHECK: affine.load %{{.*}}[%[[I]], %[[B]] * 2 + %[[K]]]
  // CHECK: affine.load %{{.*}}[%[[B]] * 2 + %[[K]], %[[J]] * 4 + %[[U]]]
  // CHECK: affine.apply #[[TERM]](%[[B]], %[[K]], %[[I]], %[[J]], %[[U]])
  // CHECK: {tw_hls.loop = #tw_hls.loop<label = "contract_j", ii = 1, distance = 24>}
  // CHECK: {tw_hls.loop = #tw_hls.loop<label = "contract_k", flatten = true>}
  // CHECK: {tw_hls.loop = #tw_hls.loop<label = "contract_b">}
  linalg.contract indexing_maps = [#ik, #kj, #ij3] {tw_hls.initial = 0.0 : f32, tw_hls.schedule = #tw_hls.schedule<order = [2, 0, 1], unroll = [1, 4, 1], ii = 1, block = [2, 2]>}
    ins(%a, %b : memref<8x6xf32>, memref<6x12xf32>) outs(%c : memref<8x12xf32>)
  return
}

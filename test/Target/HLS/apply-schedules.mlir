// RUN: tilewright-opt %s --tw-hls-apply-schedules | FileCheck %s

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
  // In the first iteration of the reduction the sum begins.
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
  // Without a schedule: in order, one by one.
  // CHECK: affine.for
  // CHECK: {tw_hls.loop = #tw_hls.loop<label = "copy_j", ii = 1>}
  memref.copy %out, %c : memref<8x12xf32> to memref<8x12xf32>
  // A copy onto itself is nothing.
  // CHECK-NOT: affine.for
  memref.copy %c, %c : memref<8x12xf32> to memref<8x12xf32>
  return
}

// RUN: tilewright-opt %s --tw-hls-split-kernels | FileCheck %s

#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// A product and its epilogue become separate kernels. The product's result is stored in a buffer of the plan.
// CHECK-LABEL: func.func private @product_0(
// CHECK-SAME:    %[[A:.*]]: memref<8x6xf32>, %[[B:.*]]: memref<6x4xf32>, %[[SUM:.*]]: memref<8x4xf32>) attributes {{{.*}}tw.ops = "matmul"}
// CHECK:         linalg.fill ins(%{{.*}}) outs(%[[SUM]] :
// CHECK:         linalg.contract {{.*}} ins(%[[A]], %[[B]] : {{.*}}) outs(%[[SUM]] :
// CHECK-LABEL: func.func private @product_1(
// CHECK-SAME:    %[[IN:.*]]: memref<8x4xf32>, %[[OUT:.*]]: memref<8x4xf32>) attributes {{{.*}}tw.ops = "mul"}
// CHECK:         linalg.generic {{.*}} ins(%[[IN]] : {{.*}}) outs(%[[OUT]] :
func.func private @product(%a: memref<8x6xf32>, %b: memref<6x4xf32>, %c: memref<8x4xf32>) attributes {tw.kernel, tw.ops = "matmul+mul"} {
  %factor = arith.constant 1.5 : f32
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloc() : memref<8x4xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<8x4xf32>)
  linalg.contract indexing_maps = [#map, #map1, #map2] {tw.op = "matmul"} ins(%a, %b : memref<8x6xf32>, memref<6x4xf32>) outs(%sum : memref<8x4xf32>)
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%sum : memref<8x4xf32>) outs(%c : memref<8x4xf32>) attrs = {tw.op = "mul"} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %factor : f32
    linalg.yield %0 : f32
  }
  return
}

// After a split, the first argument would have two consumers and would have to be copied, so the kernel is not split.
// CHECK-LABEL: func.func private @shared(
// CHECK:         linalg.contract
// CHECK:         linalg.generic
func.func private @shared(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %c: memref<8x8xf32>) attributes {tw.kernel, tw.ops = "matmul+add"} {
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloc() : memref<8x8xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<8x8xf32>)
  linalg.contract indexing_maps = [#map, #map1, #map2] {tw.op = "matmul"} ins(%a, %b : memref<8x8xf32>, memref<8x8xf32>) outs(%sum : memref<8x8xf32>)
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%sum, %a : memref<8x8xf32>, memref<8x8xf32>) outs(%c : memref<8x8xf32>) attrs = {tw.op = "add"} {
  ^bb0(%in: f32, %more: f32, %out: f32):
    %0 = arith.addf %in, %more : f32
    linalg.yield %0 : f32
  }
  return
}

// CHECK:      tw_plan.buffer 4 input 3
// CHECK:      tw_plan.buffer 6 arena 1 bytes
// CHECK-NEXT: tw_plan.launch @product_0 [0, 1, 6] writes 4
// CHECK-NEXT: tw_plan.launch @product_1 [6, 2] writes 2
// CHECK-NEXT: tw_plan.launch @shared [3, 4, 5] writes 4
tw_plan.program @main_plan [] in [] to [] {
  tw_plan.buffer 0 input 0 bytes affine_map<() -> (192)>
  tw_plan.buffer 1 input 1 bytes affine_map<() -> (96)>
  tw_plan.buffer 2 arena 0 bytes affine_map<() -> (128)>
  tw_plan.buffer 3 input 2 bytes affine_map<() -> (256)>
  tw_plan.buffer 4 input 3 bytes affine_map<() -> (256)>
  tw_plan.buffer 5 output 0 bytes affine_map<() -> (256)>
  tw_plan.launch @product [0, 1, 2] writes 4 sizes affine_map<() -> ()>
  tw_plan.launch @shared [3, 4, 5] writes 4 sizes affine_map<() -> ()>
}

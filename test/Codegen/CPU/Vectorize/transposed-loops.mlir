// RUN: tilewright-opt %s --tw-vectorize-loops=lanes=4 | FileCheck %s

#across = affine_map<(d0, d1) -> (d1, d0)>
#along = affine_map<(d0, d1) -> (d0, d1)>

// The transposition of a whole block has four loads, two rounds of shuffles and four stores.
// CHECK-LABEL: func @whole_blocks
// CHECK-COUNT-4: vector.load %arg0
// CHECK: %[[A:.*]] = vector.shuffle %{{.*}}, %{{.*}} [0, 1, 4, 5]
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [2, 3, 6, 7]
// CHECK: vector.shuffle %[[A]], %{{.*}} [0, 4, 2, 6]
// CHECK-COUNT-4: vector.store %{{.*}}, %arg1
// CHECK-NOT: vector.load
func.func @whole_blocks(%a: memref<64x56xf32>, %b: memref<56x64xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [#across, #along], iterator_types = ["parallel", "parallel"]}
      ins(%a: memref<64x56xf32>) outs(%b: memref<56x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}

// Nine columns are two blocks and one line of a third block. Three rows are a block whose fourth line is not loaded.
// CHECK-LABEL: func @remainders
// CHECK: scf.for
// CHECK: vector.create_mask %{{.*}} : vector<4xi1>
// CHECK-COUNT-3: vector.load %arg0
// CHECK: ub.poison : vector<4xf32>
// CHECK-COUNT-4: vector.maskedstore %arg1
// CHECK-COUNT-3: vector.maskedload %arg0
// CHECK-COUNT-1: vector.maskedstore %arg1
// CHECK-NOT: vector.maskedstore
func.func @remainders(%a: memref<3x9xf32>, %b: memref<9x3xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [#across, #along], iterator_types = ["parallel", "parallel"]}
      ins(%a: memref<3x9xf32>) outs(%b: memref<9x3xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}

// If the sizes are symbolic, a block at the end loads the last line again instead of lines that do not exist. The
// remaining columns are gathered.
// CHECK-LABEL: func @unknown
// CHECK: vector.load %arg0
// CHECK: scf.if
// CHECK: arith.minsi
// CHECK: vector.maskedstore
// CHECK: memref.load %arg0
func.func @unknown(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [#across, #along, #along], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b: memref<?x?xf32>, memref<?x?xf32>) outs(%c: memref<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  }
  return
}

// Unit dimensions after the contiguous dimension (a filter of one pixel) do not prevent the transposition.
// CHECK-LABEL: func @unit
// CHECK: vector.shuffle
func.func @unit(%a: memref<8x12xf32>, %b: memref<12x8x1x1xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%a: memref<8x12xf32>) outs(%b: memref<12x8x1x1xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}

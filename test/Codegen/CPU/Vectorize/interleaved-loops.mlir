// RUN: tilewright-opt %s --tw-vectorize-loops=lanes=8 --canonicalize --cse | FileCheck %s

#pairs = affine_map<(d0, d1) -> (d0, d1)>
#line = affine_map<(d0, d1) -> (d0)>

// A select by the index within a pair is replaced by an interleaving of both inputs.
// CHECK-LABEL: func @pairs
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c32 step %c8
// CHECK-DAG: %[[A:.*]] = vector.load %arg0[%[[I]]]
// CHECK-DAG: %[[B:.*]] = vector.load %arg1[%[[I]]]
// CHECK-NOT: arith.select
// CHECK: memref.reinterpret_cast %{{.*}} sizes: [16], strides: [1]
// CHECK: vector.shuffle
// CHECK: vector.shuffle %{{.*}}, %[[B]] [0, 8, 2, 9, 4, 10, 6, 11]
// CHECK: vector.shuffle
// CHECK: vector.shuffle %{{.*}}, %[[B]] [0, 12, 2, 13, 4, 14, 6, 15]
// CHECK-COUNT-2: vector.store
func.func @pairs(%a: memref<32xf32>, %b: memref<32xf32>, %c: memref<32x2xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [#line, #line, #pairs], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b: memref<32xf32>, memref<32xf32>) outs(%c: memref<32x2xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %j = linalg.index 1 : index
    %zero = arith.constant 0 : index
    %first = arith.cmpi eq, %j, %zero : index
    %taken = arith.select %first, %x, %y : f32
    linalg.yield %taken : f32
  }
  return
}

// Loaded pairs are deinterleaved: 8 lanes with stride two span exactly 15 elements. The elements of a pair are swapped
// by a load at a computed index.
// CHECK-LABEL: func @swapped
// CHECK: memref.reinterpret_cast %{{.*}} sizes: [15], strides: [1]
// CHECK: vector.load %{{.*}}[%c0] : memref<15xf32
// CHECK: vector.load %{{.*}}[%c7] : memref<15xf32
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 1, 2, 3, 9, 11, 13, 15]
// CHECK-NOT: memref.load
func.func @swapped(%a: memref<16x2xf32>, %c: memref<16x2xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [#pairs], iterator_types = ["parallel", "parallel"]} outs(%c: memref<16x2xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %one = arith.constant 1 : index
    %other = arith.subi %one, %j : index
    %x = memref.load %a[%i, %other] : memref<16x2xf32>
    linalg.yield %x : f32
  }
  return
}

// If the number of lines is symbolic, masked stores write the remainder of interleaved elements, which may fill two
// vectors.
// CHECK-LABEL: func @remainder
// CHECK: scf.if
// CHECK: vector.create_mask
// CHECK: vector.maskedstore
// CHECK: %[[LEFT:.*]] = arith.addi %{{.*}}, %c-8 : index
// CHECK: %[[MASK:.*]] = vector.create_mask %[[LEFT]] : vector<8xi1>
// CHECK: vector.maskedstore %{{.*}}[%c8], %[[MASK]]
func.func @remainder(%a: memref<?xf32>, %c: memref<?x2xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [#line, #pairs], iterator_types = ["parallel", "parallel"]}
      ins(%a: memref<?xf32>) outs(%c: memref<?x2xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}

// A vector along a dimension of three elements fills three of eight lanes, which is as fast as interleaving.
// CHECK-LABEL: func @threes
// CHECK-NOT: vector.shuffle
// CHECK: return
func.func @threes(%a: memref<32xf32>, %c: memref<32x3xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [#line, #pairs], iterator_types = ["parallel", "parallel"]}
      ins(%a: memref<32xf32>) outs(%c: memref<32x3xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}

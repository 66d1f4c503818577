// RUN: tilewright-opt %s --tw-expand-loops -split-input-file | FileCheck %s

// A running sum of f32 is kept in f64, as eager has it.
// CHECK-LABEL: func.func private @scan
// CHECK: scf.for %[[I:.*]] =
// CHECK: scf.for %[[J:[a-z0-9]+]] = {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (f64)
// CHECK: %[[X:.*]] = memref.load %{{.*}}[%[[I]], %[[J]]] : memref<4x9xf32>
// CHECK: %[[W:.*]] = arith.extf %[[X]] : f32 to f64
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[W]] {{.*}}: f64
// CHECK: %[[S:.*]] = arith.truncf %[[NEXT]] : f64 to f32
// CHECK: memref.store %[[S]], %{{.*}}[%[[I]], %[[J]]]
// CHECK: scf.yield %[[NEXT]]
func.func private @scan(%x: memref<4x9xf32>, %y: memref<4x9xf32>) attributes {tw.kernel} {
  tw_tile.scan sum {dim = 1} ins(%x : memref<4x9xf32>) outs(%y : memref<4x9xf32>)
  return
}

// -----

// A running maximum needs no wider numbers, and goes down the first dimension here.
// CHECK-LABEL: func.func private @scan_max
// CHECK: scf.for %[[J:.*]] =
// CHECK: scf.for %[[I:[a-z0-9]+]] = {{.*}} -> (f32)
// CHECK: memref.load %{{.*}}[%[[I]], %[[J]]]
// CHECK: arith.maximumf
func.func private @scan_max(%x: memref<4x9xf32>, %y: memref<4x9xf32>) attributes {tw.kernel} {
  tw_tile.scan max {dim = 0} ins(%x : memref<4x9xf32>) outs(%y : memref<4x9xf32>)
  return
}

// -----

// A merge sort of each row: runs double until they are the row; values and indices move together.
// CHECK-LABEL: func.func private @sort
// CHECK-DAG: memref.alloc{{.*}}: memref<2x9xf32>
// CHECK-DAG: memref.alloc{{.*}}: memref<2x9xi64>
// CHECK: scf.while
// CHECK: arith.cmpf
func.func private @sort(%x: memref<4x9xf32>, %v: memref<4x9xf32>, %i: memref<4x9xi64>) attributes {tw.kernel} {
  tw_tile.sort {dim = 1} ins(%x : memref<4x9xf32>) outs(%v, %i : memref<4x9xf32>, memref<4x9xi64>)
  return
}

// Few of many: the results hold what is kept; what comes before their last is inserted. No memory beside them.
// CHECK-LABEL: func.func private @topk
// CHECK-NOT: memref.alloc
// CHECK: scf.for {{.*}} iter_args(%[[WORST:.*]] = %{{.*}}) -> (f32)
// CHECK: arith.cmpf olt, %[[WORST]], %{{.*}} : f32
// CHECK: scf.while
// CHECK-NOT: memref.alloc
func.func private @topk(%x: memref<4x99xf32>, %v: memref<4x3xf32>, %i: memref<4x3xi64>) attributes {tw.kernel} {
  tw_tile.sort {dim = 1, descending} ins(%x : memref<4x99xf32>) outs(%v, %i : memref<4x3xf32>, memref<4x3xi64>)
  return
}

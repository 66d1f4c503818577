// RUN: tilewright-opt %s --tw-vectorize-loops | FileCheck %s

// 20 columns: one vector of 16 and a masked rest of 4.
// CHECK-LABEL: func private @elementwise
// CHECK: vector.load
// CHECK: math.exp {{.*}} : vector<16xf32>
// CHECK: vector.store
// CHECK: vector.create_mask
// CHECK: vector.maskedload
// CHECK: vector.maskedstore
func.func private @elementwise(%x: memref<3x20xf32>, %y: memref<3x20xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<3x20xf32>) outs(%y : memref<3x20xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  }
  return
}

// A sum over the contiguous dimension carries vectors, four of a long one, and reduces them at the end.
// CHECK-LABEL: func private @row_sum
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: vector.reduction <add>
// CHECK: memref.store
func.func private @row_sum(%x: memref<3x128xf32>, %y: memref<3xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<3x128xf32>) outs(%y : memref<3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.addf %o, %a : f32
    linalg.yield %v : f32
  }
  return
}

// A sum over the other dimension runs along the columns.
// CHECK-LABEL: func private @column_sum
// CHECK-NOT: vector.reduction
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: vector.store
func.func private @column_sum(%x: memref<50x64xf32>, %y: memref<64xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%x : memref<50x64xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.addf %o, %a : f32
    linalg.yield %v : f32
  }
  return
}

// A sum over outer loops, vectors of columns: sums of at most 32 sums, each from zero, so that no accumulator
// takes all 30000 elements.
// CHECK-LABEL: func.func private @outer_sum
// CHECK: scf.for {{.*}} step %c16
// CHECK: scf.for %{{.*}} to %c300{{.*}} step %c16
// CHECK: scf.for
// CHECK: scf.for %{{.*}} to %c100{{.*}} step %c16{{.*}} iter_args(
// CHECK: scf.for
// CHECK: vector.load
// CHECK-COUNT-4: arith.addf {{.*}} vector<16xf32>
func.func private @outer_sum(%x: memref<300x100x32xf32>, %y: memref<32xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2, d0)>, affine_map<(d0, d1, d2) -> (d0)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : memref<300x100x32xf32>) outs(%y : memref<32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  }
  return
}

// Up to four vectors need no loop.
// CHECK-LABEL: func private @narrow
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c3
// CHECK-NOT: scf.for
// CHECK-COUNT-3: math.exp {{.*}} : vector<16xf32>
// CHECK-NOT: math.exp
func.func private @narrow(%x: memref<3x48xf32>, %y: memref<3x48xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<3x48xf32>) outs(%y : memref<3x48xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  }
  return
}

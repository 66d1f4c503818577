// If a long loop is not vectorized, the reason is reported as a remark and in tw.decisions of its kernel.
// RUN: tilewright-opt %s --tw-vectorize-loops --remarks-filter-missed=vectorize --remark-policy=all 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: tilewright-opt %s --tw-vectorize-loops | FileCheck %s

// The loop is not vectorized, because it writes its result along a diagonal.
// REMARK: [Missed] VectorizeLoops | Category:vectorize {{.*}}its results are not contiguous along any loop
// CHECK-LABEL: func private @diagonal
// CHECK-SAME: kind = "vectorize", reason = "its results are not contiguous along any loop
func.func private @diagonal(%x: memref<128xf32>, %y: memref<128x128xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0, d0)>], iterator_types = ["parallel"]} ins(%x : memref<128xf32>) outs(%y : memref<128x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// There are no remarks for loops with few elements and for vectorized loops.
// CHECK-LABEL: func private @short
// CHECK-NOT: tw.decisions
// REMARK-NOT: [Missed]
func.func private @short(%x: memref<3xf32>, %y: memref<3x3xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0, d0)>], iterator_types = ["parallel"]} ins(%x : memref<3xf32>) outs(%y : memref<3x3xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}
func.func private @long(%x: memref<128xf32>, %y: memref<128xf32>) attributes {tw.kernel} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : memref<128xf32>) outs(%y : memref<128xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

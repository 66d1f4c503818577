// RUN: tilewright-opt %s --tw-cpu-expand-contractions --canonicalize | FileCheck %s

// A pair of elements of A that are adjacent along k is broadcast to all lanes. A vector of B contains the elements of B
// at the same two indices along k, for 16 columns. One vdpbf16ps adds the 32 products to 16 sums.
// CHECK-LABEL: func private @pairs
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c1 iter_args
// CHECK-COUNT-2: vector.load %arg1{{.*}} vector<32xbf16>
// CHECK: vector.load %arg0{{.*}} vector<2xbf16>
// CHECK: vector.broadcast %{{.*}} : i32 to vector<16xi32>
// CHECK-COUNT-2: x86vector.avx512.dot
func.func private @pairs(%a: memref<14x64xbf16>, %b: memref<1x32x64xbf16>, %c: memref<14x32xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<14x64xbf16>, memref<1x32x64xbf16>) outs(%c : memref<14x32xf32>)
  return
}

// If K is odd, the second element of the last pair is zero. No element after the end of the row is read.
// CHECK-LABEL: func private @odd
// CHECK: scf.for %{{.*}} = %c0 to %c16 step %c1 iter_args
// CHECK: vector.load %arg0{{.*}} vector<2xbf16>
// CHECK: scf.yield
// CHECK: %[[LAST:.*]] = memref.load %arg0[%c0, %c32]
// CHECK: vector.from_elements %[[LAST]], %cst{{.*}} : vector<2xbf16>
func.func private @odd(%a: memref<1x33xbf16>, %b: memref<1x17x64xbf16>, %c: memref<1x32xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<1x33xbf16>, memref<1x17x64xbf16>) outs(%c : memref<1x32xf32>)
  return
}

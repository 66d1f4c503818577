// RUN: tilewright-opt %s --tw-cpu-expand-contractions=amx=true --canonicalize | FileCheck %s

// A is stored as k x rows. K is 512. For each K-block of 256 elements, 64 rows are transposed in blocks of 16 rows by
// 16 pairs of elements along k, and their products are added to C, which is zero at first. No element of A is loaded
// separately.
// CHECK-LABEL: func private @transposed
// CHECK: %[[ROWS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64x288xbf16>
// CHECK: vector.store %{{.*}}, %arg2
// CHECK: scf.for %{{.*}} = %c0 to %c512 step %c256
// CHECK-NOT: memref.load
// CHECK: scf.for %{{.*}} = %c0 to %c256 step %c32
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c16
// CHECK-COUNT-32: vector.load %arg0
// CHECK-NOT: vector.load
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: vector.store %{{.*}}, %[[ROWS]]
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c32
// CHECK-COUNT-4: amx.tile_load %arg2
// CHECK: scf.for %{{.*}} = %c0 to %c256 step %c32 iter_args(
// CHECK: memref.prefetch %arg1
// CHECK-COUNT-2: amx.tile_load %[[ROWS]]
// CHECK-COUNT-2: amx.tile_load %arg1
// CHECK-COUNT-4: amx.tile_mulf
// CHECK-COUNT-4: amx.tile_store %arg2
func.func private @transposed(%a: memref<512x64xbf16>, %b: memref<1x256x64xbf16>, %c: memref<64x32xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 1, 0>, panel = 32 : i64} ins(%a, %b : memref<512x64xbf16>, memref<1x256x64xbf16>) outs(%c : memref<64x32xf32>)
  return
}

// The 5 rows and the 33 elements along k are not multiples of a block's sizes. Elements after the last row, or after
// the end along k, are not read. Rows of C after the last one are computed, but not stored.
// CHECK-LABEL: func private @remainders
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<32x288xbf16>
// CHECK-NOT: memref.load
// CHECK: vector.maskedload %arg0
// CHECK-NOT: memref.load
// CHECK: vector.maskedstore %arg2
func.func private @remainders(%a: memref<33x5xbf16>, %b: memref<2x32x64xbf16>, %c: memref<5x40xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 1, 0>, panel = 32 : i64} ins(%a, %b : memref<33x5xbf16>, memref<2x32x64xbf16>) outs(%c : memref<5x40xf32>)
  return
}

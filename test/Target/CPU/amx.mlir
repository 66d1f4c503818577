// RUN: tilewright-opt %s --tw-cpu-expand-contractions=amx=true --canonicalize | FileCheck %s

// Four accumulator tiles, two of A where it lies, two of B; stores of whole tiles.
// CHECK-LABEL: func private @whole
// CHECK: scf.for %{{.*}} = %{{.*}} to %c64
// CHECK-COUNT-4: amx.tile_zero
// CHECK: scf.for %{{.*}} step %c32 iter_args(
// CHECK-COUNT-2: amx.tile_load %arg0
// CHECK-COUNT-2: amx.tile_load %arg1
// CHECK-COUNT-4: amx.tile_mulf
// CHECK: scf.yield
// CHECK-COUNT-4: amx.tile_store %arg2
// CHECK-NOT: vector.masked
func.func private @whole(%a: memref<64x128xbf16>, %b: memref<1x64x64xbf16>, %c: memref<64x32xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<64x128xbf16>, memref<1x64x64xbf16>) outs(%c : memref<64x32xf32>)
  return
}

// 40 columns, 33 k, 5 rows: A through a pad with zeros, C through a pad and masked stores.
// CHECK-LABEL: func private @tails
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<32x32x
// CHECK: vector.maskedload %arg0
// CHECK: amx.tile_load %{{alloca.*}}
// CHECK: amx.tile_store %{{alloca.*}}
// CHECK: vector.maskedstore %arg2
func.func private @tails(%a: memref<5x33xbf16>, %b: memref<2x32x64xbf16>, %c: memref<5x40xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<5x33xbf16>, memref<2x32x64xbf16>) outs(%c : memref<5x40xf32>)
  return
}

// A long sum in even blocks of k, with C read back between them.
// CHECK-LABEL: func private @deep
// CHECK: scf.for %{{.*}} = %c0 to %c512 step %c32
// CHECK: scf.for %{{.*}} = %c512 to %c2048 step %c512
// CHECK-COUNT-4: amx.tile_load %arg2
func.func private @deep(%a: memref<32x2048xbf16>, %b: memref<1x1024x64xbf16>, %c: memref<32x32xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<32x2048xbf16>, memref<1x1024x64xbf16>) outs(%c : memref<32x32xf32>)
  return
}

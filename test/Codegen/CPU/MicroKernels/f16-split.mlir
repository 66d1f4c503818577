// RUN: tilewright-opt %s --tw-cpu-expand-contractions=split-f16=true --canonicalize | FileCheck %s

// Each f16 is split into a sum of two bf16. For each K-block of 192 elements, the rows of A and a panel of B are split.
// Each step of 32 elements along k has sixteen products of tiles and twelve loads. If the second bf16 of an element
// would be zero, a tiny value is stored instead. At the end, sums of only such values become zero.
// CHECK-LABEL: func private @split
// CHECK-DAG: %[[A:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64x416xbf16>
// CHECK-DAG: %[[B:.*]] = memref.alloca() {alignment = 64 : i64} : memref<192x64xbf16>
// CHECK: vector.maskedstore %arg2
// CHECK: scf.for %{{.*}} = %c0 to %c384 step %c192
// CHECK: vector.load %arg0{{.*}} vector<32xf16>
// CHECK: %[[X:.*]] = arith.extf
// CHECK: arith.andi
// CHECK: %[[REST:.*]] = arith.subf %[[X]]
// CHECK: %[[NONE:.*]] = arith.cmpf ueq, %[[REST]]
// CHECK: %[[TINY:.*]] = arith.mulf %[[X]]
// CHECK: %[[LOW:.*]] = arith.select %[[NONE]], %[[TINY]], %[[REST]]
// CHECK: arith.truncf %[[LOW]]
// CHECK-COUNT-2: vector.store {{.*}}, %[[A]]
// CHECK: scf.for %{{.*}} = %c0 to %c2
// CHECK-COUNT-4: vector.store {{.*}}, %[[B]]
// CHECK-COUNT-4: amx.tile_load %arg2
// CHECK: scf.for %{{.*}} = %c0 to %c384 step %c64
// CHECK-COUNT-2: amx.tile_load %[[A]]
// CHECK-COUNT-2: amx.tile_load %[[B]]
// CHECK-COUNT-4: amx.tile_mulf
// CHECK-COUNT-2: amx.tile_load %[[B]]
// CHECK-COUNT-4: amx.tile_mulf
// CHECK-COUNT-2: amx.tile_load %[[A]]
// CHECK-COUNT-2: amx.tile_load %[[B]]
// CHECK-COUNT-4: amx.tile_mulf
// CHECK-COUNT-2: amx.tile_load %[[B]]
// CHECK-COUNT-4: amx.tile_mulf
// CHECK: scf.yield
// CHECK-COUNT-4: amx.tile_store %arg2
// CHECK: arith.cmpf olt
// CHECK: vector.maskedstore %arg2
func.func private @split(%a: memref<64x384xf16>, %b: memref<2x192x64xf16>, %c: memref<64x64xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<64x384xf16>, memref<2x192x64xf16>) outs(%c : memref<64x64xf32>)
  return
}

// For 5 rows, FMAs compute the products of pairs of elements along k. K is odd, so the second element of A's last pair
// is not read.
// CHECK-LABEL: func private @few_rows
// CHECK-NOT: amx.
// CHECK: %{{.*}}:10 = scf.for %[[K:.*]] = %c0 to %c17
// CHECK-COUNT-2: vector.deinterleave {{.*}} : vector<32xf32>
// CHECK-COUNT-10: vector.fma
// CHECK: arith.cmpi slt, %{{.*}}, %c33
// CHECK-COUNT-10: vector.fma
// CHECK-NOT: vector.fma
// CHECK: return
func.func private @few_rows(%a: memref<5x33xf16>, %b: memref<1x32x64xf16>, %c: memref<5x32xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<5x33xf16>, memref<1x32x64xf16>) outs(%c : memref<5x32xf32>)
  return
}

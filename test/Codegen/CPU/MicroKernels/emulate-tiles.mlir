// RUN: tilewright-opt %s --tw-cpu-emulate-tiles | FileCheck %s

// Each tile becomes one 2-D vector, also if the tile is an iteration argument of a loop. Vectors are loaded and stored
// row by row. A product of tiles consists of two FMAs for each row and each pair of elements along k.
// CHECK-LABEL: func @product
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16x16xf32>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[ZERO]]) -> (vector<16x16xf32>)
// CHECK-COUNT-32: vector.load %{{.*}} vector<32xbf16>
// CHECK: scf.for
// CHECK: scf.for
// CHECK: vector.deinterleave
// CHECK-COUNT-2: vector.fma
// CHECK-COUNT-16: vector.store {{.*}} vector<16xf32>
// CHECK-NOT: amx
func.func @product(%a: memref<16x64xbf16>, %b: memref<32x32xbf16>, %c: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = amx.tile_zero : !amx.tile<16x16xf32>
  %sum = scf.for %k = %c0 to %c64 step %c32 iter_args(%acc = %zero) -> (!amx.tile<16x16xf32>) {
    %l = amx.tile_load %a[%c0, %k], %c64 : memref<16x64xbf16> into !amx.tile<16x32xbf16>
    %pair = arith.shrui %k, %c0 : index
    %r = amx.tile_load %b[%c0, %c0], %c32 : memref<32x32xbf16> into !amx.tile<16x32xbf16>
    %next = amx.tile_mulf %l, %r, %acc : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
    scf.yield %next : !amx.tile<16x16xf32>
  }
  amx.tile_store %c[%c0, %c0], %sum, %c16 : memref<16x16xf32>, !amx.tile<16x16xf32>
  return
}

// Products of i8 are computed in steps of four elements along k. Each operand is sign- or zero-extended, as the op
// specifies.
// CHECK-LABEL: func @bytes
// CHECK-COUNT-3: vector.deinterleave
// CHECK: arith.extui %{{.*}} : i8 to i32
// CHECK: arith.extsi %{{.*}} : vector<16xi8> to vector<16xi32>
// CHECK: arith.muli
// CHECK-NOT: amx
func.func @bytes(%a: memref<16x64xi8>, %b: memref<16x64xi8>, %c: memref<16x16xi32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = amx.tile_zero : !amx.tile<16x16xi32>
  %l = amx.tile_load %a[%c0, %c0], %c64 : memref<16x64xi8> into !amx.tile<16x64xi8>
  %r = amx.tile_load %b[%c0, %c0], %c64 : memref<16x64xi8> into !amx.tile<16x64xi8>
  %sum = amx.tile_muli %l zext, %r, %zero : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
  amx.tile_store %c[%c0, %c0], %sum, %c16 : memref<16x16xi32>, !amx.tile<16x16xi32>
  return
}

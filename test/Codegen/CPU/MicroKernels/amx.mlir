// RUN: tilewright-opt %s --tw-cpu-expand-contractions=amx=true --canonicalize | FileCheck %s

// The kernel has four accumulator tiles, two tiles of A that are loaded without a copy, and two tiles of B. It stores
// whole tiles.
// CHECK-LABEL: func private @whole_tiles
// CHECK: scf.for %{{.*}} = %{{.*}} to %c64
// CHECK-COUNT-4: amx.tile_zero
// CHECK: scf.for %{{.*}} step %c32 iter_args(
// CHECK: memref.prefetch %arg1[%c0, {{.*}}], read, locality<2>, data
// CHECK-COUNT-2: amx.tile_load %arg0
// CHECK-COUNT-2: amx.tile_load %arg1
// CHECK-COUNT-4: amx.tile_mulf
// CHECK: scf.yield
// CHECK-COUNT-4: amx.tile_store %arg2
// CHECK-NOT: vector.masked
func.func private @whole_tiles(%a: memref<64x256xbf16>, %b: memref<1x128x64xbf16>, %c: memref<64x32xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<64x256xbf16>, memref<1x128x64xbf16>) outs(%c : memref<64x32xf32>)
  return
}

// The loop over k is unrolled by two if the task has packed B into scratch memory, because such a B is not prefetched.
// CHECK-LABEL: func private @b_in_scratch
// CHECK: scf.for %{{.*}} = %{{.*}} to %c64
// CHECK-NOT: iter_args
// CHECK-NOT: memref.prefetch
// CHECK-COUNT-4: amx.tile_load
// CHECK-COUNT-4: amx.tile_mulf
// CHECK-COUNT-4: amx.tile_load
// CHECK-COUNT-4: amx.tile_mulf
// CHECK-COUNT-4: amx.tile_store %arg1
func.func private @b_in_scratch(%a: memref<64x64xbf16>, %c: memref<64x32xf32>, %arg2: memref<?xi8>) attributes {tw.kernel} {
  %c0 = arith.constant 0 : index
  %b = memref.view %arg2[%c0][] : memref<?xi8> to memref<1x32x64xbf16>
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<64x64xbf16>, memref<1x32x64xbf16>) outs(%c : memref<64x32xf32>)
  return
}

// The sizes 5, 40 and 33 are not multiples of the 16 rows and 16 columns of a tile and of the 32 elements along k of a
// step. Therefore A is copied to a buffer that is padded with zeros, and C is computed in a buffer and then stored with
// masks.
// CHECK-LABEL: func private @remainders
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<32x32x
// CHECK: vector.maskedload %arg0
// CHECK: amx.tile_load %{{alloca.*}}
// CHECK: amx.tile_store %{{alloca.*}}
// CHECK: vector.maskedstore %arg2
func.func private @remainders(%a: memref<5x33xbf16>, %b: memref<2x32x64xbf16>, %c: memref<5x40xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<5x33xbf16>, memref<2x32x64xbf16>) outs(%c : memref<5x40xf32>)
  return
}

// A long sum is computed in equal K-blocks. Each K-block except the first loads the sums of the previous K-block from
// C.
// CHECK-LABEL: func private @large_k
// CHECK: scf.for %{{.*}} = %c0 to %c256 step %c32
// CHECK: scf.for %{{.*}} = %c256 to %c2048 step %c256
// CHECK-COUNT-4: amx.tile_load %arg2
func.func private @large_k(%a: memref<32x2048xbf16>, %b: memref<1x1024x64xbf16>, %c: memref<32x32xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<32x2048xbf16>, memref<1x1024x64xbf16>) outs(%c : memref<32x32xf32>)
  return
}

// The row-wise epilogue of a block of 32 rows is executed while the product computes the next block: each of the 8
// steps of the last K-block also computes 4 rows of the epilogue. The epilogue of the last block of rows follows after
// the product.
// CHECK-LABEL: func private @overlapped
// CHECK: scf.for %{{.*}} = %c0 to %c256 step %c32
// CHECK-NOT: math.exp
// CHECK: scf.for %{{.*}} = %c256 to %c512 step %c32
// CHECK-NOT: math.exp
// CHECK: scf.for %[[FIRST:.*]] = %c32 to %c128 step %c32
// CHECK-COUNT-4: amx.tile_load %arg2
// CHECK: scf.for %{{.*}} = %c512 to %c768 step %c32 iter_args(
// CHECK: scf.for %{{.*}} step %c1
// CHECK: math.exp
// CHECK-COUNT-4: amx.tile_mulf
// CHECK: scf.for %{{.*}} = %c96 to %c128 step %c1
// CHECK: math.exp
// CHECK-NOT: math.exp
func.func private @overlapped(%a: memref<128x768xbf16>, %b: memref<1x384x64xbf16>, %c: memref<128x32xf32>, %d: memref<128x32xf32>, %scratch: memref<?xi8>) attributes {tw.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<128x768xbf16>, memref<1x384x64xbf16>) outs(%c : memref<128x32xf32>)
  scf.for %row = %c0 to %c128 step %c1 {
    %x = vector.load %c[%row, %c16] : memref<128x32xf32>, vector<16xf32>
    %y = math.exp %x : vector<16xf32>
    vector.store %y, %d[%row, %c16] : memref<128x32xf32>, vector<16xf32>
  }
  return
}

// Epilogue and product do not overlap if the epilogue reads another row of the product, or writes an operand of the
// product.
// CHECK-LABEL: func private @not_overlapped
// CHECK: amx.tile_mulf
// CHECK: scf.for %{{.*}} = %c0 to %c128 step %c1
// CHECK: math.exp
// CHECK: amx.tile_mulf
// CHECK: scf.for %{{.*}} = %c0 to %c128 step %c1
// CHECK: math.absf
func.func private @not_overlapped(%a: memref<128x768xbf16>, %b: memref<1x384x64xbf16>, %c: memref<128x32xf32>, %d: memref<128x32xf32>, %scratch: memref<?xi8>) attributes {tw.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c127 = arith.constant 127 : index
  %c128 = arith.constant 128 : index
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<128x768xbf16>, memref<1x384x64xbf16>) outs(%c : memref<128x32xf32>)
  scf.for %row = %c0 to %c128 step %c1 {
    %x = vector.load %c[%c127, %c0] : memref<128x32xf32>, vector<16xf32>
    %y = math.exp %x : vector<16xf32>
    vector.store %y, %d[%row, %c0] : memref<128x32xf32>, vector<16xf32>
  }
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<128x768xbf16>, memref<1x384x64xbf16>) outs(%c : memref<128x32xf32>)
  scf.for %row = %c0 to %c128 step %c1 {
    %x = vector.load %c[%row, %c0] : memref<128x32xf32>, vector<16xf32>
    %y = math.absf %x : vector<16xf32>
    %z = arith.truncf %y : vector<16xf32> to vector<16xbf16>
    vector.store %z, %a[%row, %c0] : memref<128x768xbf16>, vector<16xbf16>
  }
  return
}

// If A is contiguous neither along the rows nor along k, A is copied to a padded buffer. In this case, too, the
// epilogue overlaps with the product.
// CHECK-LABEL: func private @overlapped_strided
// CHECK: scf.for %{{.*}} = %c32 to %c128 step %c32
// CHECK: scf.for %{{.*}} = %c0 to %c256 step %c32 iter_args(
// CHECK: math.exp
// CHECK: memref.load %arg0
// CHECK-COUNT-4: amx.tile_mulf
// CHECK: scf.for %{{.*}} = %c96 to %c128 step %c1
// CHECK: math.exp
func.func private @overlapped_strided(%a: memref<256x128xbf16, strided<[512, 2]>>, %b: memref<1x128x64xbf16>, %c: memref<128x32xf32>, %d: memref<128x32xf32>, %scratch: memref<?xi8>) attributes {tw.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 1, 0>, panel = 32 : i64} ins(%a, %b : memref<256x128xbf16, strided<[512, 2]>>, memref<1x128x64xbf16>) outs(%c : memref<128x32xf32>)
  scf.for %row = %c0 to %c128 step %c1 {
    %x = vector.load %c[%row, %c0] : memref<128x32xf32>, vector<16xf32>
    %y = math.exp %x : vector<16xf32>
    vector.store %y, %d[%row, %c0] : memref<128x32xf32>, vector<16xf32>
  }
  return
}

// The tiles of A and C have the same number of rows in all products of a kernel, because LLVM can run out of the eight
// tile registers if it assigns them to tiles of many shapes. In the first kernel, a product of 60 rows is the only
// product, and these tiles have 15 rows. The second kernel also contains a product of 32 rows, so they have 16 rows.
// CHECK-LABEL: func private @one_product
// CHECK: amx.tile_zero : !amx.tile<15x16xf32>
// CHECK-LABEL: func private @two_products
// CHECK-NOT: amx.tile<15x
// CHECK: return
func.func private @one_product(%a: memref<60x256xbf16>, %b: memref<1x128x64xbf16>, %c: memref<60x32xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<60x256xbf16>, memref<1x128x64xbf16>) outs(%c : memref<60x32xf32>)
  return
}
func.func private @two_products(%a: memref<60x256xbf16>, %b: memref<1x128x64xbf16>, %c: memref<60x32xf32>, %d: memref<32x256xbf16>, %e: memref<32x32xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<60x256xbf16>, memref<1x128x64xbf16>) outs(%c : memref<60x32xf32>)
  tw_tile.matmul {group = 2 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%d, %b : memref<32x256xbf16>, memref<1x128x64xbf16>) outs(%e : memref<32x32xf32>)
  return
}

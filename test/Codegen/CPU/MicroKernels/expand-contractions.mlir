// RUN: tilewright-opt %s --tw-cpu-expand-contractions | FileCheck %s

// A register block has eight rows of three vectors, which are 24 accumulators. Each step along k has 3 loads of B, 8
// broadcasts of A and 24 FMAs.
// CHECK-LABEL: func private @matmul
// CHECK: scf.for %{{.*}} = %{{.*}} to %c16{{.*}} step %c8
// CHECK: %{{.*}}:24 = scf.for
// CHECK-COUNT-3: vector.load
// CHECK-COUNT-24: vector.fma
// CHECK: scf.yield
// CHECK-COUNT-24: vector.store
// CHECK-NOT: tw_tile
func.func private @matmul(%a: memref<16x64xf32>, %b: memref<1x64x48xf32>, %c: memref<16x48xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 1 : i64, lhs_permutation = array<i64: 0, 1>, panel = 48 : i64} ins(%a, %b : memref<16x64xf32>, memref<1x64x48xf32>) outs(%c : memref<16x48xf32>)
  return
}

// A long sum is computed in K-blocks of 128 elements. The sums of each K-block after the first are added to C.
// CHECK-LABEL: func private @large_k
// CHECK: scf.for %{{.*}} = %c128{{.*}} to %c1024{{.*}} step %c128
// CHECK: arith.addf
func.func private @large_k(%a: memref<8x1024xf32>, %b: memref<1x1024x48xf32>, %c: memref<8x48xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 1 : i64, lhs_permutation = array<i64: 0, 1>, panel = 48 : i64} ins(%a, %b : memref<8x1024xf32>, memref<1x1024x48xf32>) outs(%c : memref<8x48xf32>)
  return
}

// The 32 blocks of 8 rows share the prefetching of the next panel of B: each block prefetches 4 of the panel's 128
// rows, one row in every 32 steps along k. During the last panel, the blocks prefetch the first panel of the next
// K-block.
// CHECK-LABEL: func private @prefetched
// CHECK: scf.for %[[PANEL:.*]] = %{{.*}} to %c2
// CHECK: %[[NEXT:.*]] = arith.addi %[[PANEL]], %c1
// CHECK: %[[MORE:.*]] = arith.cmpi ult, %[[NEXT]], %c2
// CHECK: %[[P:.*]] = arith.select %[[MORE]], %[[NEXT]], %c0
// CHECK-NOT: memref.prefetch
// CHECK: %{{.*}}:24 = scf.for {{.*}} step %c32
// CHECK-COUNT-3: memref.prefetch %{{.*}}[%[[P]], %{{.*}}, %{{.*}}], read, locality<2>, data : memref<2x512x48xf32>
// CHECK-NOT: memref.prefetch
// CHECK: %{{.*}}:24 = scf.for
func.func private @prefetched(%a: memref<256x512xf32>, %b: memref<2x512x48xf32>, %c: memref<256x96xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 1 : i64, lhs_permutation = array<i64: 0, 1>, panel = 48 : i64} ins(%a, %b : memref<256x512xf32>, memref<2x512x48xf32>) outs(%c : memref<256x96xf32>)
  return
}

// A product with a third operand loads from it, for each batch element, the index of the matrix of B.
// CHECK-LABEL: func @chosen
// CHECK: scf.for %[[B:.*]] = %c0{{.*}} to %c2
// CHECK: %[[N:.*]] = memref.load %arg2[%[[B]]] : memref<2xi64>
// CHECK: arith.index_cast %[[N]]
// CHECK: %[[AT:.*]] = arith.select
// CHECK: memref<5x1x8x16xf32>
func.func @chosen(%a: memref<2x4x8xf32>, %b: memref<5x1x8x16xf32>, %i: memref<2xi64>, %c: memref<2x4x16xf32>) {
  tw_tile.matmul {panel = 16, group = 1, lhs_permutation = array<i64: 0, 1, 2>}
    ins(%a, %b, %i : memref<2x4x8xf32>, memref<5x1x8x16xf32>, memref<2xi64>) outs(%c : memref<2x4x16xf32>)
  return
}

// Rows of A with a stride of 4096 bytes are mapped to the same set of the L1 cache, which has eight ways. Therefore the
// register block has seven rows instead of 14, which is the number for a stride of 2048 bytes. A register block of
// eight rows, in the third kernel, is not reduced.
// CHECK-LABEL: func private @stride_4096
// CHECK: scf.for %{{.*}} = %{{.*}} to %c28{{.*}} step %c7
// CHECK: %{{.*}}:14 = scf.for
// CHECK-LABEL: func private @stride_2048
// CHECK: scf.for %{{.*}} = %{{.*}} to %c28{{.*}} step %c14
// CHECK: %{{.*}}:28 = scf.for
// CHECK-LABEL: func private @eight_rows_stride_4096
// CHECK: scf.for %{{.*}} = %{{.*}} to %c16{{.*}} step %c8
func.func private @stride_4096(%a: memref<28x1024xf32>, %b: memref<1x1024x32xf32>, %c: memref<28x32xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 1 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<28x1024xf32>, memref<1x1024x32xf32>) outs(%c : memref<28x32xf32>)
  return
}
func.func private @stride_2048(%a: memref<28x512xf32>, %b: memref<1x512x32xf32>, %c: memref<28x32xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 1 : i64, lhs_permutation = array<i64: 0, 1>, panel = 32 : i64} ins(%a, %b : memref<28x512xf32>, memref<1x512x32xf32>) outs(%c : memref<28x32xf32>)
  return
}
func.func private @eight_rows_stride_4096(%a: memref<16x1024xf32>, %b: memref<1x1024x48xf32>, %c: memref<16x48xf32>) attributes {tw.kernel} {
  tw_tile.matmul {group = 1 : i64, lhs_permutation = array<i64: 0, 1>, panel = 48 : i64} ins(%a, %b : memref<16x1024xf32>, memref<1x1024x48xf32>) outs(%c : memref<16x48xf32>)
  return
}

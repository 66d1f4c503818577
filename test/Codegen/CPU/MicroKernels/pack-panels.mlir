// RUN: tilewright-opt %s --tw-cpu-expand-contractions --mlir-print-local-scope | FileCheck %s

// A matrix of 38 columns that is contiguous along k is packed to two panels of 32 columns. The loads for columns after
// the last one have an empty mask, and an address inside the matrix, because a masked load from unmapped memory is
// slow.
// CHECK-LABEL: func private @two_panels
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c32
// CHECK: %[[THERE:.*]] = arith.cmpi slt, %[[FIRST]], %[[COLUMNS:.*]] : index
// CHECK: %[[NEAR:.*]] = arith.minsi %[[FIRST]], %c37
// CHECK: %[[VALID:.*]] = arith.select %[[THERE]]
// CHECK: %[[MASK:.*]] = vector.create_mask %[[VALID]]
// CHECK: vector.maskedload %arg0[%[[NEAR]], %{{.*}}], %[[MASK]]
func.func private @two_panels(%a: memref<38x4096xf32>, %p: memref<2x4096x32xf32>) attributes {tw.kernel} {
  tw_tile.pack {group = 1 : i64, panel = 32 : i64, permutation = array<i64: 1, 0>} ins(%a : memref<38x4096xf32>) outs(%p : memref<2x4096x32xf32>)
  return
}

// The six columns of the only panel are read by six loads.
// CHECK-LABEL: func private @one_panel
// CHECK-COUNT-6: vector.maskedload %arg0
// CHECK-NOT: vector.maskedload
func.func private @one_panel(%a: memref<6x4096xf32>, %p: memref<1x4096x32xf32>) attributes {tw.kernel} {
  tw_tile.pack {group = 1 : i64, panel = 32 : i64, permutation = array<i64: 1, 0>} ins(%a : memref<6x4096xf32>) outs(%p : memref<1x4096x32xf32>)
  return
}

// The code for whole panels uses no masks.
// CHECK-LABEL: func private @whole_panels
// CHECK-NOT: arith.minsi
// CHECK: vector.load %arg0
func.func private @whole_panels(%a: memref<64x4096xf32>, %p: memref<2x4096x32xf32>) attributes {tw.kernel} {
  tw_tile.pack {group = 1 : i64, panel = 32 : i64, permutation = array<i64: 1, 0>} ins(%a : memref<64x4096xf32>) outs(%p : memref<2x4096x32xf32>)
  return
}

// K is 7. Each block of 16 columns is transposed as one square block, of which seven rows are stored.
// CHECK-LABEL: func private @few_k
// CHECK-COUNT-16: vector.maskedload %arg0
// CHECK-NOT: vector.maskedload
// CHECK-COUNT-7: vector.store {{.*}}, %arg1
// CHECK-NOT: vector.store
// CHECK: return
func.func private @few_k(%a: memref<16x7xf32>, %p: memref<1x7x16xf32>) attributes {tw.kernel} {
  tw_tile.pack {group = 1 : i64, panel = 16 : i64, permutation = array<i64: 1, 0>} ins(%a : memref<16x7xf32>) outs(%p : memref<1x7x16xf32>)
  return
}

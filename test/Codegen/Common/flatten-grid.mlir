// RUN: tilewright-opt %s --tw-flatten-grid -split-input-file | FileCheck %s

// A grid of 7 x 3 tiles becomes a loop over 21 tasks. The last dimension of the grid varies fastest.
// CHECK: #[[GRID:.*]] = affine_map<() -> (21)>
// CHECK-LABEL: func.func private @tiles
// CHECK-SAME: %[[BEGIN:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index
// CHECK-SAME: tw.grid = #[[GRID]]
// CHECK: scf.for %[[T:.*]] = %[[BEGIN]] to %[[END]]
// CHECK-NOT: scf.forall
func.func private @tiles(%x: memref<100x40xf32>) attributes {tw.kernel} {
  scf.forall (%i, %j) = (0, 0) to (100, 40) step (16, 16) {
    %one = arith.constant 1.0 : f32
    memref.store %one, %x[%i, %j] : memref<100x40xf32>
  }
  return
}

// -----

// The number of tasks is computed from the kernel's size argument, which is the number of rows.
// CHECK: #[[GRID:.*]] = affine_map<()[s0] -> (s0 ceildiv 16)>
// CHECK-LABEL: func.func private @rows
// CHECK-SAME: tw.grid = #[[GRID]]
func.func private @rows(%n: index, %x: memref<?xf32>) attributes {tw.kernel} {
  scf.forall (%i) = (0) to (%n) step (16) {
    %one = arith.constant 1.0 : f32
    memref.store %one, %x[%i] : memref<?xf32>
  }
  return
}

// -----

// A kernel without an scf.forall has one task.
// CHECK: #[[GRID:.*]] = affine_map<() -> (1)>
// CHECK-LABEL: func.func private @one
// CHECK-SAME: %[[BEGIN:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index
// CHECK-SAME: tw.grid = #[[GRID]]
func.func private @one(%x: memref<4xf32>) attributes {tw.kernel} {
  %i = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  memref.store %one, %x[%i] : memref<4xf32>
  return
}

// -----

// The induction variable begins at the lower bound of the scf.forall.
// CHECK: #[[GRID:.*]] = affine_map<() -> (3)>
// CHECK-LABEL: func.func private @from_eight
// CHECK-SAME: tw.grid = #[[GRID]]
// CHECK: scf.for %[[TASK:.*]] =
// CHECK: %[[STEPS:.*]] = arith.muli %[[TASK]]
// CHECK: %[[INDEX:.*]] = arith.addi %[[STEPS]], %c8
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[INDEX]]]
func.func private @from_eight(%x: memref<20xf32>) attributes {tw.kernel} {
  scf.forall (%i) = (8) to (20) step (4) {
    %one = arith.constant 1.0 : f32
    memref.store %one, %x[%i] : memref<20xf32>
  }
  return
}

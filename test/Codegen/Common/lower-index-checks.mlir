// RUN: tilewright-opt %s --tw-lower-index-checks | FileCheck %s

// CHECK-LABEL: func @scalar
// CHECK: %[[STATUS:.*]] = memref.view %arg2[%{{.*}}][] : memref<?xi8> to memref<3xi64>
// CHECK: %[[END:.*]] = arith.addi %arg0, %arg1
// CHECK: %[[PLACE:.*]] = arith.select %{{.*}}, %[[END]], %arg0
// CHECK: %[[OUTSIDE:.*]] = arith.cmpi uge, %[[PLACE]], %arg1
// CHECK: scf.if %[[OUTSIDE]] {
// CHECK-COUNT-3: memref.store %{{.*}}, %[[STATUS]]
// CHECK: arith.select %[[OUTSIDE]], %{{.*}}, %[[PLACE]]
func.func @scalar(%i: index, %n: index, %scratch: memref<?xi8>) -> index attributes {tw.checks} {
  %p = tw_tile.place %i below %n from_end : index
  return %p : index
}

// Without the attribute from_end, a negative index is out of range. The comparisons of a vector of indices are reduced
// to one branch.
// CHECK-LABEL: func @lanes
// CHECK-NOT: arith.addi
// CHECK: %[[OUTSIDE:.*]] = arith.cmpi uge, %arg0, %arg1 : vector<16xindex>
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[OUTSIDE]]
// CHECK: scf.if %[[ANY]] {
// CHECK: vector.reduction <maxui>
// CHECK: memref.store
func.func @lanes(%i: vector<16xindex>, %n: vector<16xindex>, %scratch: memref<?xi8>) -> vector<16xindex> attributes {tw.checks} {
  %p = tw_tile.place %i below %n : vector<16xindex>
  return %p : vector<16xindex>
}

// CHECK-LABEL: func @write
// CHECK: scf.if %arg2 {
// CHECK-COUNT-3: memref.store
func.func @write(%i: index, %n: index, %outside: i1, %scratch: memref<?xi8>) attributes {tw.checks} {
  scf.if %outside {
    tw_tile.report %i below %n
  }
  return
}

// In a function without a status argument, an index out of range is replaced, and no error is reported.
// CHECK-LABEL: func @without_status
// CHECK-NOT: scf.if
// CHECK: arith.select
func.func @without_status(%i: index, %n: index) -> index {
  %p = tw_tile.place %i below %n : index
  tw_tile.report %i below %n
  return %p : index
}

// A divisor of 0 is replaced by 1, and the division by zero is reported in the status.
// CHECK-LABEL: func @divisor
// CHECK: %[[STATUS:.*]] = memref.view %arg2
// CHECK: %[[ZERO:.*]] = arith.cmpi eq, %arg1
// CHECK: %[[SAFE:.*]] = arith.select %[[ZERO]], %{{.*}}, %arg1 : vector<8xi1>, vector<8xi32>
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[ZERO]]
// CHECK: scf.if %[[ANY]] {
// CHECK: %[[TWO:.*]] = arith.constant 2 : i64
// CHECK: memref.store %[[TWO]], %[[STATUS]]
// CHECK: arith.divsi %arg0, %[[SAFE]]
func.func @divisor(%x: vector<8xi32>, %y: vector<8xi32>, %scratch: memref<?xi8>) -> vector<8xi32> attributes {tw.checks} {
  %d = tw_tile.divisor %y : vector<8xi32>
  %q = arith.divsi %x, %d : vector<8xi32>
  return %q : vector<8xi32>
}

// A failed condition stores status 3 and the number of its message. The value is returned unchanged.
// CHECK-LABEL: func @require
// CHECK-SAME: (%[[HOLDS:.*]]: vector<8xi1>, %[[X:.*]]: vector<8xf32>, %[[SCRATCH:.*]]: memref<?xi8>)
// CHECK: %[[STATUS:.*]] = memref.view %[[SCRATCH]]
// CHECK: %[[ALL:.*]] = vector.reduction <and>, %[[HOLDS]]
// CHECK: %[[FAILS:.*]] = arith.xori %[[ALL]], %true
// CHECK: scf.if %[[FAILS]] {
// CHECK-DAG: %[[NUMBER:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : i64
// CHECK: memref.store %[[THREE]], %[[STATUS]]
// CHECK: return %[[X]]
func.func @require(%holds: vector<8xi1>, %x: vector<8xf32>, %scratch: memref<?xi8>) -> vector<8xf32>
    attributes {tw.checks, tw.messages = ["first", "x is at most 1"]} {
  %r = tw_tile.require %holds, %x "x is at most 1" : vector<8xi1>, vector<8xf32>
  return %r : vector<8xf32>
}

// Without a status argument, the condition is not checked.
// CHECK-LABEL: func @require_without_status
// CHECK-NEXT: return %arg1
func.func @require_without_status(%holds: i1, %x: f32) -> f32 {
  %r = tw_tile.require %holds, %x "x is at most 1" : i1, f32
  return %r : f32
}

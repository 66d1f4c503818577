// RUN: tilewright-opt %s --tw-cpu-expand-contractions | FileCheck %s

// Four vectors of channels and three taps need 12 accumulators, which start at zero. An inner block of 14 pixels loads
// 14 * 4 vectors of the gradient and 16 * 4 vectors of the image for 14 * 12 FMAs. Then the accumulators are added to
// the result.
// CHECK-LABEL: func private @gradient
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c128{{.*}} step %c64
// CHECK: vector.store %{{.*}} : memref<1x1x3x3x144xf32>, vector<16xf32>
// CHECK: scf.for %[[LINE:.*]] = %{{.*}} to
// CHECK: scf.for %[[TAP:.*]] = %{{.*}} to
// CHECK: scf.for %{{.*}} = %c14{{.*}} to %c42{{.*}} step %c14
// CHECK-COUNT-168: vector.fma
// CHECK-NOT: vector.fma
// CHECK: vector.load %{{.*}} : memref<1x1x3x3x144xf32>, vector<16xf32>
// CHECK: arith.addf
// CHECK: vector.store
// CHECK: %c80{{.*}} = arith.constant 80 : index
// CHECK-NOT: mask
// CHECK-NOT: tw_tile
func.func private @gradient(%x: memref<1x56x56x144xf32>, %g: memref<1x56x56x144xf32>, %part: index, %w: memref<1x1x3x3x144xf32>) attributes {tw.kernel} {
  tw_tile.depthwise_gradient {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1>, lines = 9 : i64} ins(%x, %g : memref<1x56x56x144xf32>, memref<1x56x56x144xf32>) first_part %part outs(%w : memref<1x1x3x3x144xf32>)
  return
}

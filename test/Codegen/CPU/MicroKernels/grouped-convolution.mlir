// RUN: tilewright-opt %s --tw-cpu-expand-contractions | FileCheck %s
// RUN: tilewright-opt %s --tw-cpu-expand-contractions="lanes=8 registers=16" | FileCheck %s --check-prefix=AVX2

// A line is computed in blocks of 14 pixels: one block at the left end, inner blocks in a loop, and one block at the
// right end. For each line of the filter, an inner block has 42 FMAs of 16 vectors of the image and 3 vectors of the
// weight, and a block at an end has 41 FMAs of 15 vectors of the image. The last vector of the 40 channels overlaps
// with the vector before it, so no mask is needed.
// CHECK-LABEL: func private @depthwise
// CHECK-NOT: mask
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c32{{.*}} step %c16
// CHECK: %{{.*}}:14 = scf.for
// CHECK-COUNT-41: vector.fma
// CHECK-NOT: vector.fma
// CHECK: scf.yield
// CHECK-COUNT-14: vector.store %{{.*}} : memref<1x2x56x40xf32>, vector<16xf32>
// CHECK: arith.constant 24 : index
// CHECK: %{{.*}}:14 = scf.for
// CHECK-COUNT-41: vector.fma
// CHECK-NOT: vector.fma
// CHECK: scf.for %{{.*}} = %c14{{.*}} to %c42{{.*}} step %c14
// CHECK: %{{.*}}:14 = scf.for
// CHECK-COUNT-42: vector.fma
// CHECK-NOT: vector.fma
// CHECK: scf.yield
// CHECK-NOT: tw_tile

// With 16 registers, at most 11 are accumulators, so the 56 pixels are computed in blocks of 10.
// AVX2-LABEL: func private @depthwise
// AVX2: %{{.*}}:10 = scf.for
// AVX2-COUNT-29: vector.fma %{{.*}} : vector<8xf32>
// AVX2-NOT: vector.fma
// AVX2: scf.yield
func.func private @depthwise(%x: memref<1x56x56x40xf32>, %w: memref<3x3x1x40xf32>, %line: index, %y: memref<1x2x56x40xf32>) attributes {tw.kernel} {
  %c0 = arith.constant 0 : index
  tw_tile.grouped_convolution {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1>} ins(%x, %w : memref<1x56x56x40xf32>, memref<3x3x1x40xf32>) first(%line, %c0) outs(%y : memref<1x2x56x40xf32>)
  return
}

// A vector has four groups of four channels. Each channel is shuffled to all lanes of its group.
// CHECK-LABEL: func private @spread
// CHECK: vector.load %{{.*}} : memref<1x7x7x32xbf16>, vector<16xbf16>
// CHECK: vector.shuffle %{{.*}} [0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12]
// CHECK: arith.extf
// CHECK: vector.shuffle %{{.*}} [1, 1, 1, 1, 5, 5, 5, 5, 9, 9, 9, 9, 13, 13, 13, 13]
func.func private @spread(%x: memref<1x7x7x32xbf16>, %w: memref<3x3x4x32xf32>, %y: memref<1x7x7x32xf32>) attributes {tw.kernel} {
  tw_tile.grouped_convolution {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1>} ins(%x, %w : memref<1x7x7x32xbf16>, memref<3x3x4x32xf32>) outs(%y : memref<1x7x7x32xf32>)
  return
}

// Two vectors of filters are multiplied by one channel of their group at a time. At most 63 of the 288 products are
// summed in an accumulator before it is added to the result.
// CHECK-LABEL: func private @broadcast
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c2{{.*}}
// CHECK: %{{.*}}:14 = scf.for %{{.*}} = %c0{{.*}} to %c21
// CHECK: memref.load
// CHECK: vector.broadcast
// CHECK: arith.addf
// CHECK: %{{.*}}:14 = scf.for %{{.*}} = %c0{{.*}} to %c11
// CHECK: arith.addf
func.func private @broadcast(%x: memref<1x7x7x64xf32>, %w: memref<3x3x32x64xf32>, %y: memref<1x7x7x64xf32>) attributes {tw.kernel} {
  tw_tile.grouped_convolution {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1>} ins(%x, %w : memref<1x7x7x64xf32>, memref<3x3x32x64xf32>) outs(%y : memref<1x7x7x64xf32>)
  return
}

// If the line's width is symbolic, pixels whose taps may be outside of the image are computed one by one, in a loop
// over the taps that are inside. The pixels between them are computed in blocks of 14.
// CHECK-LABEL: func private @unknown
// CHECK: %[[FROM:.*]] = arith.maxsi
// CHECK: %[[TO:.*]] = arith.minsi
// CHECK: scf.for %{{.*}} = %[[FROM]] to %[[TO]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[END:.*]] step %c14
// CHECK: %{{.*}}:14 = scf.for
// CHECK: scf.for %{{.*}} = %[[END]] to %{{.*}} step %c1
func.func private @unknown(%x: memref<1x56x?x16xf32>, %w: memref<3x3x1x16xf32>, %y: memref<1x56x?x16xf32>) attributes {tw.kernel} {
  tw_tile.grouped_convolution {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1>} ins(%x, %w : memref<1x56x?x16xf32>, memref<3x3x1x16xf32>) outs(%y : memref<1x56x?x16xf32>)
  return
}

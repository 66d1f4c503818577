// RUN: tilewright-opt %s --tw-cpu-expand-contractions=amx=true --canonicalize | FileCheck %s

// A window of 3 x 3 pixels of 3 channels, with a dilation of two between lines, has 27 elements. It is concatenated
// from its three lines in one vector, which becomes a row of 32 elements of a tile.
// CHECK-LABEL: func private @small
// CHECK: %[[PACKED:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64x32xbf16>
// CHECK: %[[LINES:.*]] = memref.collapse_shape %arg0 {{\[\[}}0], [1], [2, 3]]
// CHECK: scf.for %{{.*}} = %c0 to %c40 step %c4
// CHECK-COUNT-12: vector.maskedload %[[LINES]]
// CHECK-NOT: vector.maskedload
// CHECK-COUNT-4: vector.store %{{.*}}, %[[PACKED]]
// CHECK-NOT: memref.prefetch
// CHECK: amx.tile_load %[[PACKED]]
// CHECK: amx.tile_mulf
// CHECK: amx.tile_store
func.func private @small(%a: memref<1x5x83x3xbf16>, %b: memref<1x16x64xbf16>, %c: memref<1x1x40x32xf32>) attributes {tw.kernel} {
  tw_tile.convolution {dilations = array<i64: 2, 1>, group = 2 : i64, merged_height = 3 : i64, merged_width = 3 : i64, panel = 32 : i64, strides = array<i64: 1, 2>} ins(%a, %b : memref<1x5x83x3xbf16>, memref<1x16x64xbf16>) outs(%c : memref<1x1x40x32xf32>)
  return
}

// A window of 7 x 7 pixels of 3 channels has 147 elements, so its product has five steps of 32 elements along k. The
// windows of 32 pixels at a time are gathered into a buffer, which stays in the L1 cache. The remaining 16 of the 112
// pixels are gathered last.
// CHECK-LABEL: func private @blocks
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<32x160xbf16>
// CHECK: scf.for %{{.*}} = %c0 to %c96 step %c32
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c4
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1
// CHECK: scf.for %{{.*}} = %c0 to %c160 step %c32
// CHECK: scf.for %{{.*}} = %c0 to %c16 step %c4
func.func private @blocks(%a: memref<1x7x229x3xbf16>, %b: memref<2x80x64xbf16>, %c: memref<1x1x112x64xf32>) attributes {tw.kernel} {
  tw_tile.convolution {dilations = array<i64: 1, 1>, group = 2 : i64, merged_height = 7 : i64, merged_width = 7 : i64, panel = 32 : i64, strides = array<i64: 2, 2>} ins(%a, %b : memref<1x7x229x3xbf16>, memref<2x80x64xbf16>) outs(%c : memref<1x1x112x64xf32>)
  return
}

// If the width of a line is symbolic, the last block may have fewer windows. The windows of a block are gathered four
// at a time, and up to three windows at its end are gathered one by one.
// CHECK-LABEL: func private @unknown
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<256x32xbf16>
// CHECK: scf.for %[[AT:.*]] = %c0 to %{{.*}} step %c256
// CHECK: %[[HERE:.*]] = affine.min #{{.*}}(%[[AT]])
// CHECK: scf.for %{{.*}} step %c4
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[HERE]] step %c1
func.func private @unknown(%a: memref<1x3x?x3xbf16>, %b: memref<1x16x64xbf16>, %c: memref<1x1x?x32xf32>) attributes {tw.kernel} {
  tw_tile.convolution {dilations = array<i64: 1, 1>, group = 2 : i64, merged_height = 3 : i64, merged_width = 3 : i64, panel = 32 : i64, strides = array<i64: 1, 1>} ins(%a, %b : memref<1x3x?x3xbf16>, memref<1x16x64xbf16>) outs(%c : memref<1x1x?x32xf32>)
  return
}

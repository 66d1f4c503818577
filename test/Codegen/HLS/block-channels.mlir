// RUN: tilewright-opt %s --tw-hls-stream-channels | FileCheck %s
// @make writes x in blocks of two rows, and @use reads the same blocks, so x becomes a queue of blocks. @use reads z at
// an index with a negative multiple of a loop counter, which the pass does not prove to be inside the current block, so
// z remains an array. @use waits for z. Meanwhile, the queues must store all blocks of x and all elements of %beside.

!dram = memref<8x3xf32, #tw_hls.partition<none, none>, #tw_hls.memory<dram>>
!chip = memref<8x3xf32, #tw_hls.partition<cyclic 2, none>, #tw_hls.memory<bram>>
!plain = memref<8x3xf32, #tw_hls.partition<none, none>, #tw_hls.memory<bram>>

// CHECK-LABEL: func.func private @make
// CHECK-SAME: %[[X:[a-z0-9]+]]: !tw_hls.stream<memref<2x3xf32, #tw_hls.partition<complete, none>, #tw_hls.memory<bram>>, 4>, %{{.*}}: !tw_hls.stream<f32, 24>
func.func private @make(%from: !dram, %x: !chip, %beside: !plain, %z: !plain) {
  // CHECK: affine.for %[[B:.*]] = 0 to 4 {
  // CHECK-NEXT: %[[BLOCK:.*]] = tw_hls.lock write %[[X]]
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 2 {
      affine.for %j = 0 to 3 {
        // CHECK: %[[V:.*]] = affine.load %{{.*}}[%[[B]] * 2 + %[[I:.*]], %[[J:.*]]]
        %v = affine.load %from[%b * 2 + %i, %j] : !dram
        // CHECK: affine.store %[[V]], %[[BLOCK]][%[[I]], %[[J]]]
        affine.store %v, %x[%b * 2 + %i, %j] : !chip
        // CHECK: tw_hls.write
        affine.store %v, %beside[%b * 2 + %i, %j] : !plain
        // CHECK: affine.store
        affine.store %v, %z[%b * 2 + %i, %j] : !plain
      } {tw_hls.loop = #tw_hls.loop<label = "make_j", ii = 1>}
    } {tw_hls.loop = #tw_hls.loop<label = "make_i", flatten = true>}
  } {tw_hls.loop = #tw_hls.loop<label = "make_b">}
  return
}
// CHECK-LABEL: func.func private @use
func.func private @use(%x: !chip, %z: !plain, %u: !plain) {
  affine.for %b = 0 to 4 {
    // CHECK: %[[READ:[a-z0-9_]+]] = tw_hls.lock %{{.*}} : <memref<2x3xf32
    affine.for %i = 0 to 2 {
      affine.for %j = 0 to 3 {
        // CHECK: affine.load %[[READ]]
        %v = affine.load %x[%b * 2 + %i, %j] : !chip
        // CHECK: affine.load %[[READ]][0, %{{.*}}]
        %first = affine.load %x[%b * 2, %j] : !chip
        // CHECK: affine.load %{{.*}}[%{{.*}} * 2 - %{{.*}} + 1, %{{.*}}]
        %w = affine.load %z[%b * 2 - %i + 1, %j] : !plain
        %t = arith.addf %v, %first : f32
        %s = arith.addf %t, %w : f32
        affine.store %s, %u[%b * 2 + %i, %j] : !plain
      } {tw_hls.loop = #tw_hls.loop<label = "use_j", ii = 1>}
    } {tw_hls.loop = #tw_hls.loop<label = "use_i", flatten = true>}
  } {tw_hls.loop = #tw_hls.loop<label = "use_b">}
  return
}
// CHECK-LABEL: func.func private @join
func.func private @join(%u: !plain, %beside: !plain, %to: !dram) {
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 2 {
      affine.for %j = 0 to 3 {
        %v = affine.load %u[%b * 2 + %i, %j] : !plain
        %w = affine.load %beside[%b * 2 + %i, %j] : !plain
        %s = arith.addf %v, %w : f32
        affine.store %s, %to[%b * 2 + %i, %j] : !dram
      } {tw_hls.loop = #tw_hls.loop<label = "join_j", ii = 1>}
    } {tw_hls.loop = #tw_hls.loop<label = "join_i", flatten = true>}
  } {tw_hls.loop = #tw_hls.loop<label = "join_b">}
  return
}
// CHECK-LABEL: func.func @model
func.func @model(%from: !dram, %to: !dram) attributes {tw_hls.top} {
  tw_hls.dataflow {
    // CHECK: tw_hls.stream "x" : <memref<2x3xf32, #tw_hls.partition<complete, none>, #tw_hls.memory<bram>>, 4>
    // CHECK: tw_hls.stream "beside" : <f32, 24>
    // CHECK: tw_hls.buffer "z"
    // CHECK: tw_hls.stream "u" : <f32, 2>
    %x = tw_hls.buffer "x" : !chip
    %beside = tw_hls.buffer "beside" : !plain
    %z = tw_hls.buffer "z" : !plain
    %u = tw_hls.buffer "u" : !plain
    tw_hls.task @make reads(%from) writes(%x, %beside, %z) : (!dram) -> (!chip, !plain, !plain)
    tw_hls.task @use reads(%x, %z) writes(%u) : (!chip, !plain) -> !plain
    tw_hls.task @join reads(%u, %beside) writes(%to) : (!plain, !plain) -> !dram
  }
  return
}

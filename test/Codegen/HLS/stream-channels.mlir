// RUN: tilewright-opt %s --tw-hls-stream-channels | FileCheck %s
// @transpose reads x in reverse order, so x must be an array, and @transpose starts after @load has written all of x.
// Until then, @join waits, so the queue of its copy of x must store all 16 elements. @join reads the elements of
// @transpose immediately, so a queue of two elements is sufficient.

!dram = memref<16xf32, #tw_hls.partition<none>, #tw_hls.memory<dram>>
!chip = memref<16xf32, #tw_hls.partition<none>, #tw_hls.memory<bram>>

// CHECK-LABEL: func.func private @load
// CHECK-SAME: !tw_hls.stream<f32, 16>
func.func private @load(%from: !dram, %whole: !chip, %copy: !chip) {
  affine.for %i = 0 to 16 {
    %v = affine.load %from[%i] : !dram
    affine.store %v, %whole[%i] : !chip
    // CHECK: tw_hls.write
    affine.store %v, %copy[%i] : !chip
  } {tw_hls.loop = #tw_hls.loop<label = "load_i", ii = 1>}
  return
}
// CHECK-LABEL: func.func private @transpose
func.func private @transpose(%x: !chip, %y: !chip) {
  affine.for %i = 0 to 16 {
    // CHECK: affine.load
    %v = affine.load %x[-%i + 15] : !chip
    // CHECK: tw_hls.write
    affine.store %v, %y[%i] : !chip
  } {tw_hls.loop = #tw_hls.loop<label = "turn_i", ii = 1>}
  return
}
// CHECK-LABEL: func.func private @join
// CHECK-SAME: !tw_hls.stream<f32, 2>, %{{.*}}: !tw_hls.stream<f32, 16>
func.func private @join(%x: !chip, %y: !chip, %to: !dram) {
  affine.for %i = 0 to 16 {
    // CHECK-COUNT-2: tw_hls.read
    %v = affine.load %x[%i] : !chip
    %w = affine.load %y[%i] : !chip
    %s = arith.addf %v, %w : f32
    affine.store %s, %to[%i] : !dram
  } {tw_hls.loop = #tw_hls.loop<label = "join_i", ii = 1>}
  return
}
// CHECK-LABEL: func.func @model
func.func @model(%x: !dram, %y: !dram) attributes {tw_hls.top} {
  tw_hls.dataflow {
    // CHECK: tw_hls.buffer "whole"
    // CHECK: tw_hls.stream "copy" : <f32, 16>
    // CHECK: tw_hls.stream "transposed" : <f32, 2>
    %whole = tw_hls.buffer "whole" : !chip
    %copy = tw_hls.buffer "copy" : !chip
    %transposed = tw_hls.buffer "transposed" : !chip
    tw_hls.task @load reads(%x) writes(%whole, %copy) : (!dram) -> (!chip, !chip)
    tw_hls.task @transpose reads(%whole) writes(%transposed) : (!chip) -> !chip
    tw_hls.task @join reads(%transposed, %copy) writes(%y) : (!chip, !chip) -> !dram
  }
  return
}

// RUN: tilewright-opt %s --tw-hls-place-memories="budget=bram=40" | FileCheck %s
// RUN: tilewright-opt %s --tw-hls-place-memories="budget=bram=40,uram=1" | FileCheck %s --check-prefix=NONE
// RUN: tilewright-opt %s --tw-hls-place-memories="part=xczu9eg budget=bram=40" | FileCheck %s --check-prefix=NONE
// RUN: tilewright-opt %s --tw-hls-place-memories | FileCheck %s --check-prefix=NONE
// The design has two arrays, which are double-buffered. !large takes 2 x 16 block memories or 2 x 2 UltraRAMs. !small
// has eight banks, and takes 2 x 16 block memories or 2 x 8 UltraRAMs. The array that saves more block memories per
// UltraRAM is moved to UltraRAM, with the arguments to which it is passed. The other array is not moved.

!dram = memref<8192xf32, #tw_hls.partition<none>, #tw_hls.memory<dram>>
!large = memref<8192xf32, #tw_hls.partition<none>, #tw_hls.memory<bram>>
!small = memref<8192xf32, #tw_hls.partition<cyclic 8>, #tw_hls.memory<bram>>

// NONE-NOT: uram

// CHECK-LABEL: func.func private @load
// CHECK-SAME: %arg1: memref<8192xf32, #tw_hls.partition<none>, #tw_hls.memory<uram>>
func.func private @load(%from: !dram, %to: !large) {
  affine.for %i = 0 to 8192 {
    %v = affine.load %from[%i] : !dram
    affine.store %v, %to[%i] : !large
  } {tw_hls.loop = #tw_hls.loop<label = "load_i", ii = 1>}
  return
}
// CHECK-LABEL: func.func private @transpose
// CHECK-SAME: %arg0: memref<8192xf32, #tw_hls.partition<none>, #tw_hls.memory<uram>>, %arg1: memref<8192xf32, #tw_hls.partition<cyclic 8>, #tw_hls.memory<bram>>
func.func private @transpose(%x: !large, %y: !small) {
  affine.for %i = 0 to 8192 {
    %v = affine.load %x[-%i + 8191] : !large
    affine.store %v, %y[%i] : !small
  } {tw_hls.loop = #tw_hls.loop<label = "turn_i", ii = 1>}
  return
}
func.func private @store(%from: !small, %to: !dram) {
  affine.for %i = 0 to 8192 {
    %v = affine.load %from[-%i + 8191] : !small
    affine.store %v, %to[%i] : !dram
  } {tw_hls.loop = #tw_hls.loop<label = "store_i", ii = 1>}
  return
}
// CHECK-LABEL: func.func @model
// CHECK: tw_hls.buffer "large" : memref<8192xf32, #tw_hls.partition<none>, #tw_hls.memory<uram>>
// CHECK: tw_hls.buffer "small" : memref<8192xf32, #tw_hls.partition<cyclic 8>, #tw_hls.memory<bram>>
func.func @model(%x: !dram, %y: !dram) attributes {tw_hls.top} {
  tw_hls.dataflow {
    %large = tw_hls.buffer "large" : !large
    %small = tw_hls.buffer "small" : !small
    tw_hls.task @load reads(%x) writes(%large) : (!dram) -> !large
    tw_hls.task @transpose reads(%large) writes(%small) : (!large) -> !small
    tw_hls.task @store reads(%small) writes(%y) : (!small) -> !dram
  }
  return
}
